"""Values of a program as JSON text: the arguments of its calls and its completion.

Rules (code-mode.md):

- Exact JSON types go as they are. Evident Python values are converted: tuples, named tuples, sets, frozensets, dict
  views and deques to lists; dict subclasses and dataclasses to objects; int keys to decimal strings unless two keys
  collide; str and int Enums to their value; date, time and datetime to ISO 8601; UUID and Decimal to text. Each
  conversion that changes a type is one note with path and type.
- Everything else is refused, all places at once, each with path, type and what to do instead. No `str()` of anything
  is ever sent in place of a value.
- Integers are exact at any size; surrogates are escaped; NaN and infinities do not exist; depth counts containers.

How: a clean value, which most are, is recognised without a Python step per scalar (`set(map(type, ...))`) and goes to
the C encoder as it is. Only a value that is not clean is walked and rebuilt. No method of a program's class is
called on either road, except where a set is sorted.
"""

# Values of programs have no types that a checker could know.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import collections
import datetime
import decimal
import math
import sys
import types
import uuid
from collections.abc import Callable, ItemsView, KeysView, Mapping, ValuesView
from typing import Any

from codemode_guest import dialect
from codemode_guest._calls import UnawaitedCall
from codemode_guest._channel import encode
from codemode_guest._plain import MAX_DEPTH, SCALARS, TooBig, is_plain

__all__ = ["CONVERTED", "NotJson", "TooBig", "encode_arguments", "encode_completion"]

CONVERTED = "converted "
"""How a note about a conversion begins; other notes are advice to whoever wrote the program."""

_WALK_FRAMES = 4
"""Python frames that the walk takes a level."""
_MOST_ARGUMENTS = 1024 * 1024 * 1024
"""Bytes of one call's arguments: the longest frame that any host takes."""
_MAX_PROBLEMS = 10
_MAX_NOTES = 20

_VIEWS: tuple[type, ...] = (
    type({}.keys()),
    type({}.values()),
    type({}.items()),
    type(collections.OrderedDict[Any, Any]().keys()),
    type(collections.OrderedDict[Any, Any]().values()),
    type(collections.OrderedDict[Any, Any]().items()),
    KeysView,
    ValuesView,
    ItemsView,
)
_SORTABLE: frozenset[type] = frozenset(
    (str, int, float, bool, tuple, bytes, datetime.date, datetime.datetime, datetime.time, uuid.UUID, decimal.Decimal)
)
"""Types whose comparison runs no code of the program (a tuple's may; a program only harms its own result)."""


class NotJson(Exception):
    """A value that cannot be said in JSON; its text names each place, and what to do."""

    def __init__(self, problems: list[str], *, is_type: bool) -> None:
        super().__init__("; ".join(problems))
        self.is_type = is_type
        """Whether a type is wrong (TypeError), rather than a value of a right type (ValueError)."""


def encode_arguments(arguments: dict[object, object], shown: str) -> bytes:
    """Turn the arguments object of a call into JSON text.

    Args:
        arguments: the object, by parameter name.
        shown: the tool as the program writes it, for the message.

    Raises:
        TypeError: something in it is no JSON value.
        ValueError: a number, a depth, a cycle or colliding keys that JSON cannot carry.
    """
    try:
        return _encode(arguments, "", _MOST_ARGUMENTS)[0]
    except TooBig as refused:
        kind: type[Exception] = ValueError
        message = f"{shown}(): the arguments are {refused}"
    except NotJson as refused:
        kind = TypeError if refused.is_type else ValueError
        message = f"{shown}(): arguments must be JSON: {refused}"
    raise kind(message)


def encode_completion(value: object, most: int) -> tuple[bytes, list[str]]:
    """Turn what a program returned into JSON text and the notes about conversions.

    Args:
        value: what it returned.
        most: bytes that it may have; a lower bound is checked here, the host counts exactly.

    Raises:
        NotJson: it cannot be said in JSON.
        TooBig: it is certainly over `most`; it was not encoded.
    """
    return _encode(value, "result", most)


def _encode(value: object, root: str, most: int) -> tuple[bytes, list[str]]:
    notes: list[str] = []
    if not is_plain(value, most):
        value, notes = _rebuilt(value, root, most)
    try:
        return encode(value), notes
    except ValueError:
        # NaN or an infinity, which the walk names, or an int of more digits than str() takes, which is exact here.
        value, notes = _rebuilt(value, root, most)
        return _with_long_integers(value), notes


def _with_long_integers(value: object) -> bytes:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return encode(value)
    finally:
        sys.set_int_max_str_digits(before)


def _rebuilt(value: object, root: str, most: int) -> tuple[object, list[str]]:
    walk = _Walk(root, most)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + _WALK_FRAMES * MAX_DEPTH)
    try:
        result = walk.value(value, (), 0)
    finally:
        sys.setrecursionlimit(limit)
    if walk.problems:
        shown = walk.problems[:_MAX_PROBLEMS]
        if walk.count > len(shown):
            shown.append(f"and {walk.count - len(shown)} more")
        raise NotJson(shown, is_type=walk.is_type)
    notes = walk.notes
    if walk.conversions > _MAX_NOTES:
        notes = [*notes[: _MAX_NOTES - 1], f"{CONVERTED}{walk.conversions - _MAX_NOTES + 1} more values"]
    return result, notes


_Path = tuple[Any, ...]
"""Steps from the root, innermost first and nested: (step, outer path); () is the root itself."""


class _Walk:
    """One pass over a value that is not clean: what it becomes, what changed, what is refused."""

    __slots__ = ("_inside", "_most", "_root", "_size", "conversions", "count", "is_type", "notes", "problems")

    def __init__(self, root: str, most: int) -> None:
        self._root = root
        self._most = most
        self._size = 0
        self._inside: set[int] = set()
        self.problems: list[str] = []
        self.count = 0
        self.is_type = False
        self.notes: list[str] = []
        self.conversions = 0

    def value(self, value: object, path: _Path, depth: int) -> object:
        kind = type(value)
        self._size += 2 + (len(value) if kind is str else 0)  # type: ignore[arg-type]
        if self._size > self._most:
            raise TooBig(self._most)
        if kind in SCALARS:
            if kind is float and not math.isfinite(value):  # type: ignore[arg-type]
                self._refuse(path, f"is {_number(value)}", "JSON has no NaN and no infinities; use None or a text")
            return value
        if kind is list:
            return self._list(value, path, depth)  # type: ignore[arg-type]
        if kind is dict:
            return self._object(value, path, depth)  # type: ignore[arg-type]
        return self._converted(value, path, depth)

    def _converted(self, value: Any, path: _Path, depth: int) -> object:
        """The evident value of something that is not JSON itself."""
        kind = type(value)
        simple = _SIMPLE.get(kind)
        if simple is not None:
            self._note(path, kind, "text")
            return simple(value)
        if kind in (tuple, set, frozenset, collections.deque) or kind in _VIEWS or dialect.is_namedtuple(value):
            self._note(path, kind, "list")
            return self._list(_items(value), path, depth, identity=id(value))
        is_member, member = dialect.enum_value(value)
        if is_member and type(member) in (str, int):
            self._note(path, kind, "its value")
            return member
        fields = dialect.dataclass_fields(value)
        if fields is not None:
            self._note(path, kind, "object")
            return self._object(fields, path, depth, identity=id(value))
        return self._subclass(value, path, depth)

    def _subclass(self, value: Any, path: _Path, depth: int) -> object:
        """An instance of a subclass of a JSON type, read without its own methods; or refused."""
        kind = type(value)
        if isinstance(value, dict):
            self._note(path, kind, "object")
            return self._object(dict(dict.items(value)), path, depth, identity=id(value))
        if isinstance(value, list):
            self._note(path, kind, "list")
            return self._list(list(list.__iter__(value)), path, depth, identity=id(value))
        if isinstance(value, str):
            self._note(path, kind, "text")
            return str.__str__(value)
        if isinstance(value, int):
            self._note(path, kind, "int")
            return int.__index__(value)
        if isinstance(value, float):
            self._note(path, kind, "float")
            return self.value(float.__float__(value), path, depth)
        self.is_type = True
        self._refuse(path, f"is {_a(value)}", _hint(value))
        return None

    def _list(self, items: list[object], path: _Path, depth: int, *, identity: int | None = None) -> object:
        mark = id(items) if identity is None else identity
        if not self._enter(mark, path, depth):
            return None
        result = [self.value(item, (index, path), depth + 1) for index, item in enumerate(items)]
        self._inside.discard(mark)
        return result

    def _object(self, items: Mapping[Any, object], path: _Path, depth: int, *, identity: int | None = None) -> object:
        mark = id(items) if identity is None else identity
        if not self._enter(mark, path, depth):
            return None
        result: dict[str, object] = {}
        converted = False
        for key, item in items.items():
            name = self._key(key, path)
            if name is None:
                continue
            converted = converted or type(key) is not str
            if name in result:
                self._refuse(path, f"has two keys that both become {name!r}", "make all keys texts")
                continue
            result[name] = self.value(item, (name, path), depth + 1)
        if converted:
            self._note(path, None, "text", what="keys that are no text")
        self._inside.discard(mark)
        return result

    def _key(self, key: object, path: _Path) -> str | None:
        if type(key) is str:
            return key
        if type(key) is int:
            return int.__repr__(key)
        is_member, member = dialect.enum_value(key)
        if is_member and type(member) in (str, int):
            return str(member)
        if isinstance(key, str):
            return str.__str__(key)
        self.is_type = True
        self._refuse(path, f"has a key that is {_a(key)}", "keys must be texts; use str(key) or f-strings")
        return None

    def _enter(self, mark: int, path: _Path, depth: int) -> bool:
        if mark in self._inside:
            self._refuse(path, "contains itself", "JSON has no cycles")
            return False
        if depth >= MAX_DEPTH:
            self._refuse(path, f"is nested deeper than {MAX_DEPTH} levels", "flatten it")
            return False
        self._inside.add(mark)
        return True

    def _note(self, path: _Path, kind: type | None, to: str, *, what: str = "") -> None:
        self.conversions += 1
        if len(self.notes) < _MAX_NOTES:
            self.notes.append(f"{CONVERTED}{self._at(path)}: {what or _name(kind)} to {to}")

    def _refuse(self, path: _Path, what: str, hint: str) -> None:
        """Keep a problem; what stands in the value's place does not matter any more."""
        self.count += 1
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(f"{self._at(path)} {what} ({hint})")

    def _at(self, path: _Path) -> str:
        steps: list[str] = []
        while path:
            step, path = path
            if type(step) is int:
                steps.append(f"[{step}]")
            else:
                steps.append(f".{step}" if step.isidentifier() else f"[{step[:80]!r}]")
            if len(steps) > 40:
                steps.append("...")
                break
        where = self._root + "".join(reversed(steps))
        return where.removeprefix(".") or "the arguments object"


def _text_of(value: Any) -> str:
    return str(value)


def _iso(value: Any) -> str:
    text: str = value.isoformat()
    return text


_SIMPLE: dict[type, Callable[[Any], str]] = {
    datetime.date: _iso,
    datetime.datetime: _iso,
    datetime.time: _iso,
    uuid.UUID: _text_of,
    decimal.Decimal: _text_of,
}


def _items(value: Any) -> list[object]:
    """What a collection holds, in an order that is the same each time; a named tuple's own `__iter__` is not asked."""
    if type(value) in (set, frozenset):
        return _sorted(value)
    return list(tuple.__iter__(value)) if isinstance(value, tuple) else list(value)


def _sorted(items: set[object] | frozenset[object]) -> list[object]:
    if set(map(type, items)) <= _SORTABLE:
        try:
            return sorted(items)  # type: ignore[type-var]
        except TypeError:
            pass
    return list(items)


def _number(value: object) -> str:
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(value), "not finite")


def _name(kind: type | None) -> str:
    return "value" if kind is None else str(type.__dict__["__name__"].__get__(kind))


def _a(value: object) -> str:
    """What a value is, in words."""
    if isinstance(value, UnawaitedCall):
        return f"{value!r}"
    if isinstance(value, types.CoroutineType):
        value.close()  # nobody can await it any more, and Python need not say so as well
        return f"a coroutine ({value.__name__})"
    if isinstance(value, type):
        return f"the class {_name(value)}"
    name = dialect.describe_type(value)
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


_HINTS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((UnawaitedCall, types.CoroutineType), "write `await` in front of the call"),
    ((asyncio.Future,), "write `await` in front of it"),
    ((bytes, bytearray), "use .decode() or base64.b64encode(...).decode()"),
    ((datetime.timedelta,), "use .total_seconds()"),
    ((complex,), "use [z.real, z.imag]"),
    ((range, types.GeneratorType, map, filter, zip, enumerate, reversed), "use list(...)"),
    ((types.AsyncGeneratorType,), "collect it: [x async for x in ...]"),
    ((types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.LambdaType), "call it, or leave it out"),
    ((BaseException,), "use str(e)"),
    ((type,), "make an instance's data of it, or leave it out"),
)


def _hint(value: object) -> str:
    for kinds, hint in _HINTS:
        if isinstance(value, kinds):
            return hint
    if hasattr(type(value), "__next__"):
        return "use list(...)"
    return "use dicts, lists, texts, numbers, True, False and None"
