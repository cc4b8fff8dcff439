"""Explaining a big value by a small part of it.

The validator lists all its errors before it gives the first, at tens of microseconds each: a hostile array of a million
wrong items would hold the host for a minute. So a big value is explained by a sample: the same value with its
containers cut short. Only what cannot come from the cutting is reported; the verdict is
always that of the whole value.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# What comes in is looked at, not trusted to a type.

from __future__ import annotations

from typing import Any, TypeAlias

import jsonschema_rs

BIG = 5_000
"""Items of a value that is explained whole: at most a few tenths of a second of errors."""

_KEPT = 50
"""Items of a container in a sample; more than a message lists."""

_BUDGET = 2_000
"""Items of a whole sample."""

Path: TypeAlias = tuple[str | int, ...]

_ALWAYS_TRUE = frozenset(
    {
        "type",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "additionalProperties",
        "propertyNames",
        "maxItems",
        "maxProperties",
        "falseSchema",
    }
)
"""Errors that cutting a container short cannot cause."""


def is_big(value: object) -> bool:
    """Whether a value has more than `BIG` items; stops counting there."""
    count = 0
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, (dict, list)):
            count += len(item)
            if count > BIG:
                return True
            stack.extend(item.values() if isinstance(item, dict) else item)
    return False


def sample(value: object) -> tuple[Any, set[Path]]:
    """(a small copy of a frozen value, the paths of the containers that were cut short)."""
    cut: set[Path] = set()
    budget = _BUDGET
    top = [value]
    queue: list[tuple[Any, str | int, Path]] = [(top, 0, ())]
    for holder, key, path in queue:  # breadth first: what is near the root is kept
        item = holder[key]
        if not isinstance(item, (dict, list)):
            continue
        kept = max(0, min(_KEPT, budget))
        budget -= min(len(item), kept)
        if len(item) > kept:
            cut.add(path)
        if isinstance(item, dict):
            small: Any = dict(list(item.items())[:kept])
            queue.extend((small, name, (*path, name)) for name in small)
        else:
            small = item[:kept]
            queue.extend((small, index, (*path, index)) for index in range(len(small)))
        holder[key] = small
    return top[0], cut


def certain(error: jsonschema_rs.ValidationError, cut: set[Path]) -> bool:
    """Whether an error of a sample is one of the whole value too."""
    if error.kind.name in ("anyOf", "oneOf"):
        return all(any(certain(inner, cut) for inner in branch) for branch in getattr(error.kind, "context", [[]]))
    if error.kind.name in _ALWAYS_TRUE:
        return True
    path = tuple(error.instance_path)
    return not any(where[: len(path)] == path for where in cut)
