"""Whether a value is made of exact JSON types only; the fast road of `_json`.

Most values are, and finding out takes no Python step per scalar (`set(map(type, ...))`). Each container is looked at
once, however often it is referred to, so that a small value whose JSON would be huge is found out at once. Says nothing
about NaN: the encoder does.
"""

# Values of programs have no types that a checker could know.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["MAX_DEPTH", "SCALARS", "TooBig", "is_plain"]

MAX_DEPTH = 500
"""Containers inside each other; the host holds the same bound."""

SCALARS: frozenset[type] = frozenset((str, int, float, bool, type(None)))
_CONTAINERS: frozenset[type] = frozenset((list, dict))
_PLAIN = SCALARS | _CONTAINERS


class TooBig(Exception):
    """A value whose JSON text is longer than it may be."""

    def __init__(self, most: int) -> None:
        super().__init__(f"more than {most} bytes of JSON")
        self.most = most


class _NotPlain(Exception):
    """Something in it is no exact JSON type, or it is too deep, or contains itself."""


_Measure = tuple[int, int]
"""Bytes at least, and levels."""


def is_plain(value: object, most: int) -> bool:
    """Whether a value can be encoded as it is.

    Args:
        value: any value.
        most: bytes that its JSON text may have.

    Raises:
        TooBig: it is plain, and its text is certainly longer.
    """
    if type(value) not in _CONTAINERS:
        return type(value) in SCALARS
    try:
        size, levels = _measured(value, 1, {})
    except _NotPlain:
        return False
    if levels > MAX_DEPTH:
        return False
    if size > most:
        raise TooBig(most)
    return True


def _measured(value: Any, level: int, known: dict[int, _Measure | None]) -> _Measure:
    """A lower bound of a container's JSON text, and its levels."""
    mark = id(value)
    if mark in known:
        before = known[mark]
        if before is None:  # we are inside it
            raise _NotPlain
        return before
    if level > MAX_DEPTH:
        raise _NotPlain
    items: Iterable[Any] = value
    size = 1 + 2 * len(value)
    if type(value) is dict:
        if value and set(map(type, value)) != {str}:
            raise _NotPlain
        size += 3 * len(value) + sum(map(len, value))
        items = value.values()
    kinds = set(map(type, items))
    if not kinds <= _PLAIN:
        raise _NotPlain
    if str in kinds:
        size += sum(map(len, items)) if len(kinds) == 1 else sum(len(item) for item in items if type(item) is str)
    if kinds.isdisjoint(_CONTAINERS):
        known[mark] = (size, 1)
        return size, 1
    known[mark] = None
    levels = 0
    for item in items:
        if type(item) in _CONTAINERS:
            inner, below = _measured(item, level + 1, known)
            size += inner - 1
            levels = max(levels, below)
    known[mark] = (size, levels + 1)
    return size, levels + 1
