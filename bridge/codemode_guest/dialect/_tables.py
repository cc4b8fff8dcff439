"""The live tables of the guard, apart from its rules, so that every part of the dialect can register what it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from ._types_seen import OpaqueType, opaque_name
from ._user_types import exact_type

TABLE: Final[dict[type, Any]] = {}
"""Exact type -> the attributes that may be loaded natively from its instances."""

GETTERS: Final[dict[type, Callable[[Any, str], Any]]] = {}
"""Exact type -> the function that answers for every other name."""

OVERRIDES: Final[dict[tuple[type, str], Callable[[Any], Any]]] = {}
"""(exact type, attribute) -> what makes the object handed out instead of the real one."""


def register_type(cls: type, names: Iterable[str]) -> None:
    """Let programs load these attributes from instances of a host-made class."""
    TABLE[cls] = frozenset(names)


def type_name(value: object) -> str:
    """The name for messages: of the module for a module, of the class for anything else."""
    if type(value) is OpaqueType:
        return opaque_name(value)
    return type(value).__name__


def denied(value: Any, name: str) -> AttributeError:
    """The error of a load that is refused or that finds nothing; it reads as CPython's own."""
    kind = exact_type(value)
    if issubclass(kind, type):
        text = f"type object '{value.__name__}' has no attribute '{name}'"
    else:
        text = f"'{type_name(value)}' object has no attribute '{name}'"
    try:
        exists = hasattr(kind, name)
    except Exception:
        exists = False
    if exists:
        text += " that programs may use"
    return AttributeError(text, name=name, obj=value)
