"""Modules as programs see them: immutable slotted objects with exactly the names that were listed.

No real module is ever reachable.  Each facade has a class of its own, so that the guard knows it by exact type; its
names are slots, so that a load is as fast as that of a module attribute.  Facades that hold state of one run (random,
sys, logging, ...) are made when a program first imports them; all others are made once and shared.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any, Final, NoReturn

from ._tables import TABLE

FACADES: Final[dict[type, str]] = {}
"""Class of a facade -> the module's name."""


def _read_only(self: object, *arguments: object) -> NoReturn:
    raise AttributeError("a module cannot be changed by a program")


def _no_copy(self: object, *arguments: object) -> NoReturn:
    raise TypeError("a module cannot be copied")


def facade_class(module: str, names: frozenset[str]) -> type:
    """Make the class of a module's facade."""
    cls = type(
        "module",
        (),
        {
            "__slots__": tuple(sorted(names)),
            "__setattr__": _read_only,
            "__delattr__": _read_only,
            "__reduce_ex__": _no_copy,
            "__reduce__": _no_copy,
            "__repr__": lambda self: f"<module '{module}'>",
        },
    )
    FACADES[cls] = module
    TABLE[cls] = names
    return cls


def make_facade(cls: type, members: Mapping[str, Any]) -> Any:
    """Make one facade; `members` are what its slots hold."""
    made: Any = object.__new__(cls)
    fill = object.__setattr__
    for name, value in members.items():
        own_name(name, value)
        fill(made, name, value)
    return made


def own_name(name: str, value: Any) -> None:
    """Call a function of ours as its module calls it, so that messages and reprs read as CPython's."""
    function = getattr(value, "__func__", value)
    if type(function) is FunctionType and function.__module__.partition(".")[0] == _PACKAGE:
        function.__name__ = function.__qualname__ = name


_PACKAGE: Final = __name__.partition(".")[0]
