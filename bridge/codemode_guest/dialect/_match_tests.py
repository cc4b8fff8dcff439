"""What a pattern asks of its subject: the hooks behind `_match`.

Each returns None for "does not match", else the parts that the sub-patterns look at.  Attributes go through the guard;
`__match_args__` must be an exact tuple; a long sequence is never copied for a pattern that needs a few items of it.

Source: the language reference, "The match statement"; CPython `Python/ceval.c` (MATCH_CLASS, MATCH_KEYS).
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import collections.abc
import sys
from typing import Any, Final

from ._guards import guarded_getattr
from ._names import is_dunder
from ._user_types import exact_type, is_class

_MISSING: Final = object()
_SAYS_CLASS: Final = sys.version_info >= (3, 12)
_NO_MAPPINGS: Final = frozenset([str, int, float, bool, type(None), list, tuple, set, frozenset, bytes, complex])
_NO_SEQUENCES: Final = _NO_MAPPINGS - {list, tuple} | {dict, bytearray}
"""Plain data that is no mapping, or no sequence to a pattern: known without asking the abstract classes."""
_SELF_MATCHING: Final = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def match_sequence(subject: Any, size: int, star: int | None, star_unused: bool) -> list[Any] | None:
    """The items that the sub-patterns get; the starred part is a list."""
    kind = exact_type(subject)
    if kind in _NO_SEQUENCES:
        return None
    if star is None and (kind is list or kind is tuple):
        return list(subject) if len(subject) == size else None
    plain = kind is list or kind is tuple
    if not plain and (issubclass(kind, (str, bytes, bytearray)) or not isinstance(subject, collections.abc.Sequence)):
        return None
    length = len(subject)
    if star is None:
        if length != size:
            return None
        return list(subject)
    if length < size - 1:
        return None
    after = size - 1 - star
    tail = [subject[length - after + index] for index in range(after)]
    if star_unused:
        return [*(subject[index] for index in range(star)), None, *tail]
    items = list(subject)
    return [*items[:star], items[star : length - after], *items[length - after :]]


def match_mapping(subject: Any, keys: tuple[Any, ...], rest: bool, distinct: bool) -> list[Any] | None:
    """The values of the keys, and the rest of the mapping if it is wanted."""
    if type(subject) in _NO_MAPPINGS:
        return None
    if type(subject) is dict and distinct:
        found = [subject[key] for key in keys if key in subject]
        if len(found) != len(keys):
            return None
    else:
        if not isinstance(subject, collections.abc.Mapping) or len(subject) < len(keys):
            return None
        if not distinct:
            _refuse_duplicates(keys)
        found = []
        get = subject.get
        for key in keys:
            value = get(key, _MISSING)
            if value is _MISSING:
                return None
            found.append(value)
    if rest:
        remaining = dict(subject)
        for key in keys:
            del remaining[key]
        found.append(remaining)
    return found


def _refuse_duplicates(keys: tuple[Any, ...]) -> None:
    seen: set[Any] = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
        seen.add(key)


def match_class(subject: Any, cls: Any, positional: int, names: tuple[str, ...]) -> list[Any] | None:
    """The attributes that the sub-patterns get."""
    if not is_class(cls) and not any("__instancecheck__" in each.__dict__ for each in type(cls).__mro__):
        raise TypeError(
            "called match pattern must be a class" if _SAYS_CLASS else "called match pattern must be a type"
        )
    if not isinstance(subject, cls):
        return None
    found: list[Any] = []
    wanted = names
    if positional:
        if cls in _SELF_MATCHING:
            if positional > 1:
                raise TypeError(f"{cls.__name__}() accepts 1 positional sub-pattern ({positional} given)")
            found.append(subject)
        else:
            wanted = _positional_names(cls, positional, names) + names
    try:
        for name in wanted:
            found.append(guarded_getattr(subject, name))
    except AttributeError:
        return None
    return found


def _positional_names(cls: Any, count: int, names: tuple[str, ...]) -> tuple[str, ...]:
    given = getattr(cls, "__match_args__", ()) if is_class(cls) else ()
    if type(given) is not tuple:
        raise TypeError(f"{cls.__name__}.__match_args__ must be a tuple (got {type(given).__name__})")
    if len(given) < count:
        allowed = f"{len(given)} positional sub-pattern{'' if len(given) == 1 else 's'}"
        raise TypeError(f"{cls.__name__}() accepts {allowed} ({count} given)")
    for name in given[:count]:
        if type(name) is not str:
            raise TypeError(f"__match_args__ elements must be strings (got {type(name).__name__})")
        if is_dunder(name):
            raise AttributeError(f"a class pattern cannot read '{name}'")
        if name in names:
            raise TypeError(f"{cls.__name__}() got multiple sub-patterns for attribute '{name}'")
    return given[:count]
