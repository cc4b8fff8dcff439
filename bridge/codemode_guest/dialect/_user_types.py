"""How classes that a program made are told from all others: by their metaclass, compared by identity.

No instance, name or attribute of a program takes part in the decision, so nothing can lie about it.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Final, cast

from ._names import PROGRAM_FILENAME

exact_type: Final[Callable[[object], type[Any]]] = type
"""`type` of one argument, typed so that what comes out can be looked into."""


SHARED_CLASSES: Final[set[type]] = set()
"""Classes of the kind that programs make which facades hand out: all runs of a process share them."""


def refuse_change(cls: type) -> None:
    """Refuse to change a class that is shared; however the change was written, it ends here."""
    if cls in SHARED_CLASSES:
        raise TypeError(f"cannot set attributes of built-in class '{cls.__name__}': inherit from it")


class UserType(type):
    """The metaclass of an ordinary class of a program."""

    def __setattr__(cls, name: str, value: object) -> None:
        refuse_change(cls)
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        refuse_change(cls)
        super().__delattr__(name)


UserType.__name__ = "type"  # as messages of the interpreter name the metaclass of a plain class

USER_METACLASSES: Final[set[type]] = {UserType}
"""Exact metaclasses of program-made classes (enums and protocols add theirs)."""


def is_user_class(value: object) -> bool:
    """Whether a value is a class that the program made."""
    return type(value) in USER_METACLASSES


def is_user_instance(value: object) -> bool:
    """Whether a value is an instance of a class that the program made."""
    return type(type(value)) in USER_METACLASSES


def is_class(value: object) -> bool:
    """Whether a value is a class of any kind."""
    return issubclass(type(value), type)


def is_program_function(value: object) -> bool:
    """Whether a value is a function that the program wrote."""
    return type(value) is types.FunctionType and value.__code__.co_filename == PROGRAM_FILENAME


def mro(cls: type) -> tuple[type, ...]:
    """The classes that an attribute is looked up in."""
    found: tuple[type, ...] = type.__dict__["__mro__"].__get__(cls)
    return found


def instance_dict(value: object) -> dict[str, Any] | None:
    """The live attribute dict of an instance, past any `__getattribute__`; None if it has none."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return cast("dict[str, Any]", found) if type(found) is dict else None
