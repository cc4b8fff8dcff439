"""What kind of JSON a value from outside is, in terms that type checkers follow."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard

JsonObject: TypeAlias = dict[str, Any]


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Whether `value` is a JSON object (its keys are strings: it came through a JSON parser)."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether `value` is a JSON array."""
    return isinstance(value, list)


def object_or_empty(value: object) -> JsonObject:
    """`value` if it is an object, else an empty one."""
    return value if is_object(value) else {}


def list_or_empty(value: object) -> list[Any]:
    """`value` if it is an array, else an empty one."""
    return value if is_list(value) else []
