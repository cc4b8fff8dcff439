"""Integer keys of a tool's value, as the decimal strings that stand for them in JSON.

A mapping with integer keys is the one thing that Python's own `json` turns into JSON without losing anything, and host
functions return such mappings all the time; a program's own completion is converted by the same rule. Two keys that
would become one are left as they are, and the value is refused as what it is.
"""

from __future__ import annotations

from typing import Any, cast


def with_decimal_keys(value: object) -> object:
    """The value with each integer key as text, where no two keys would meet; anything else as it is."""
    try:
        return _renamed(value)
    except RecursionError:  # deeper than a value may be, or in a circle: refused as it stands
        return value


def _renamed(value: object) -> object:
    if type(value) is list:
        return [_renamed(item) for item in cast("list[object]", value)]
    if type(value) is not dict:
        return value
    given = cast("dict[Any, object]", value)
    keys = [str(key) if type(key) is int else key for key in given]
    if len(set(keys)) < len(keys):
        return given
    return dict(zip(keys, map(_renamed, given.values()), strict=True))
