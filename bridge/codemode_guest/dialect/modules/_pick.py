"""How a family of facades lists what it takes from a real module."""

from __future__ import annotations

from types import ModuleType
from typing import Any

Members = dict[str, Any]
"""Names of a facade -> what they are."""


def pick(module: ModuleType, names: str, **own: Any) -> Members:
    """Take the listed names from a module (those that this Python version has), and add our own."""
    found = {name: getattr(module, name) for name in names.split() if hasattr(module, name)}
    found.update(own)
    return found


def only(function: str, given: dict[str, Any], allowed: frozenset[str]) -> None:
    """Refuse keyword arguments that a stand-in does not take."""
    for name in given:
        if name not in allowed:
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
