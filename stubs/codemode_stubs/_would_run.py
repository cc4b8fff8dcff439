"""Whether an argument that a type checker minds would still run.

What lives here: a small comparison of two types as ty prints them. A program's values are JSON, and the bridge
converts what evidently is JSON, so a call runs where a checker says no:
- lists and dicts are invariant for a checker (`list[int]` is no `list[float]`), but not for JSON;
- a dictionary that was built before the call is no TypedDict for a checker, but it is the same object in JSON;
- tuples, sets and dict views become lists; dataclasses become objects; enums, dates, UUIDs and decimals become
  scalars. What is left is a mistake: the wrong kind of value, at any depth.
"""

from __future__ import annotations

import re
from collections.abc import Set

_EXPECTED_FOUND = re.compile(r"Expected `(?P<expected>.*)`, found `(?P<found>.*)`$")
_DECLARED_VALUE = re.compile(r"declared type `(?P<expected>.*)` on TypedDict `.*`: value of type `(?P<found>.*)`$")
_SCALARS = frozenset(("str", "int", "float", "bool", "None", "bytes", "complex"))
_LISTS = frozenset(
    ("list", "tuple", "set", "frozenset", "deque", "dict_keys", "dict_values", "Sequence", "Iterable", "Collection")
)
#: Views of a dict have two parameters, and one of them is what they hold.
_VIEWS = {"dict_keys": 0, "dict_values": 1}
_DICTS = frozenset(("dict", "defaultdict", "OrderedDict", "Counter", "Mapping", "ChainMap", "MutableMapping"))
_UNKNOWN = frozenset(("Any", "Unknown", "object", "Todo", "Divergent"))


def would_run(message: str, records: Set[str]) -> bool:
    """Whether ty's words about an argument name two types of which the found one is right at run time.

    Args:
        message: ends in "Expected `...`, found `...`", or says the same of a key of a dictionary.
        records: names of the TypedDicts of the stub.
    """
    match = _EXPECTED_FOUND.search(message) or _DECLARED_VALUE.search(message)
    return match is not None and _fits(match["found"], match["expected"], records)


def _fits(found: str, expected: str, records: Set[str], depth: int = 20) -> bool:
    if depth == 0:
        return True
    wanted = _split(expected, "|")
    return all(any(_part_fits(one, other, records, depth) for other in wanted) for one in _split(found, "|"))


def _part_fits(found: str, expected: str, records: Set[str], depth: int) -> bool:
    head, inside = _head(found)
    wanted, wanted_inside = _head(expected)
    if found == expected or head in _UNKNOWN or wanted in _UNKNOWN:
        return True
    if head == "Literal":
        if wanted == "Literal":
            return set(_split(inside, ",")) <= set(_split(wanted_inside, ","))
        return all(_scalar_fits(_kind(value), wanted) for value in _split(inside, ","))
    if head in _SCALARS:
        return _scalar_fits(head, wanted)
    if head in _VIEWS:
        inside = _split(inside, ",")[_VIEWS[head]] if inside else "Any"
    if head in _LISTS:
        return wanted == "list" and _items_fit(inside, wanted_inside, records, depth)
    if head in _DICTS:
        if wanted != "dict":
            return wanted in records
        return _items_fit(
            inside.rpartition(", ")[2] if head != "Counter" else "int", _value(wanted_inside), records, depth
        )
    if head in records:
        return wanted == "dict" or wanted in records
    return head[:1].isupper() or "." in head or head in ("date", "datetime", "time")  # a class that may be converted


def _items_fit(inside: str, wanted: str, records: Set[str], depth: int) -> bool:
    items = [item for item in _split(inside, ",") if item not in ("...", "")]
    return all(_fits(item, wanted, records, depth - 1) for item in items[:20])


def _value(inside: str) -> str:
    return ", ".join(_split(inside, ",")[1:]) or "Any"


def _scalar_fits(found: str, expected: str) -> bool:
    return found == expected or (found == "int" and expected == "float")


def _kind(literal: str) -> str:
    if literal.startswith(('"', "'")):
        return "str"
    if literal in ("True", "False"):
        return "bool"
    return "int" if literal.lstrip("-").isdecimal() else literal


def _head(text: str) -> tuple[str, str]:
    head, bracket, rest = text.partition("[")
    return (head, rest[:-1]) if bracket and text.endswith("]") else (text, "")


def _split(text: str, mark: str) -> list[str]:
    """The parts between marks that are in no brackets and no quotes."""
    parts: list[str] = []
    depth, start, quote, index = 0, 0, "", 0
    while index < len(text):
        char = text[index]
        if quote:
            if char == "\\":
                index += 1
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in "[(":
            depth += 1
        elif char in "])":
            depth -= 1
        elif char == mark and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
        index += 1
    parts.append(text[start:].strip())
    return parts
