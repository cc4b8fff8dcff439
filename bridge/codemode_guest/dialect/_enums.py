"""Enums of programs: the standard library's own, behind a metaclass that refuses the functional form's open doors.

`enum` neither execs nor evals, so it is used as it is and its results are CPython's.  Not offered: `type=`/`module=` of
the functional form, special names through it, bases other than plain data.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import enum
from typing import Any, Final

from ._user_types import SHARED_CLASSES, USER_METACLASSES, UserType, exact_type, refuse_change

_MIXINS: Final = frozenset([object, str, int, float, bytes])


class UserEnumType(enum.EnumType):
    """The metaclass of enums of a program."""

    def __call__(cls, value: Any, *arguments: Any, **keywords: Any) -> Any:
        """Look a member up; with names, make an enum of them (names and values only)."""
        if not arguments and not keywords:
            return super().__call__(value)
        if cls._member_map_ and not keywords:
            return super().__call__(value, *arguments)
        if cls._member_map_ or len(arguments) != 1 or set(keywords) - {"start"}:
            raise TypeError("in programs an enum is made by a class statement, or by Enum(name, names)")
        return super().__call__(_plain_name(value), _members(arguments[0]), module="__main__", **keywords)

    def __setattr__(cls, name: str, value: Any) -> None:
        refuse_change(cls)
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        refuse_change(cls)
        super().__delattr__(name)


def _plain_name(name: Any) -> str:
    if type(name) is not str or not name.isidentifier() or name.startswith("_"):
        raise TypeError(f"an enum's name must be an identifier, not {name!r}")
    return name


def _members(names: Any) -> list[Any]:
    """Check the second argument of the functional form: names, pairs, or a mapping, nothing special among them.

    What comes out is made of exact strings and pairs: an object of the program could read differently the next time.
    """
    if type(names) is str:
        names = names.replace(",", " ").split()
    members: list[Any] = []
    for each in names.items() if type(names) is dict else names:
        if type(each) is str:
            members.append(_plain_name(each))
        else:
            name, value = each
            members.append((_plain_name(name), value))
    return members


UserEnumType.__name__ = "EnumType"
USER_METACLASSES.add(UserEnumType)


def _base(name: str, *bases: type) -> Any:
    """An empty enum of ours over one of the library's, so that its metaclass is ours."""
    space = UserEnumType.__prepare__(name, bases)
    space["__module__"] = "enum"
    space["__qualname__"] = name
    return UserEnumType(name, bases, space)


ENUM: Final = _base("Enum", enum.Enum)
INT_ENUM: Final = _base("IntEnum", enum.IntEnum)
STR_ENUM: Final = _base("StrEnum", enum.StrEnum)
FLAG: Final = _base("Flag", enum.Flag)
INT_FLAG: Final = _base("IntFlag", enum.IntFlag)
SHARED_CLASSES.update((ENUM, INT_ENUM, STR_ENUM, FLAG, INT_FLAG))


def is_enum_base(bases: tuple[Any, ...]) -> bool:
    """Whether a class statement makes an enum."""
    return any(type(base) is UserEnumType for base in bases)


def has_members(cls: Any) -> bool:
    """Whether a class is an enum with members, which nothing can inherit from."""
    return type(cls) is UserEnumType


def prepare(name: str, bases: tuple[Any, ...]) -> Any:
    """The namespace of an enum's body."""
    _check_bases(name, bases)
    return UserEnumType.__prepare__(name, bases)


def make_enum(name: str, bases: tuple[Any, ...], namespace: Any) -> Any:
    """Make an enum."""
    _check_bases(name, bases)
    namespace["__module__"] = "__main__"
    for key in [key for key in namespace if "<" in key]:
        del namespace[key]
    return UserEnumType(name, bases, namespace)


def _check_bases(name: str, bases: tuple[Any, ...]) -> None:
    for base in bases:
        if type(base) is UserEnumType or type(base) is UserType or (type(base) is type and base in _MIXINS):
            continue
        raise TypeError(f"enum {name} cannot inherit from {getattr(base, '__name__', 'that')} in programs")


def enum_value(value: object) -> tuple[bool, Any]:
    """Whether a value is a member of a program's enum, and the value that it stands for."""
    if exact_type(type(value)) is not UserEnumType:
        return False, None
    return True, value._value_  # type: ignore[attr-defined]


def is_enum_class(value: object) -> bool:
    """Whether a value is an enum class of the program."""
    return type(value) is UserEnumType


_unique: Final[Any] = getattr(enum, "unique")  # noqa: B009


def unique(enumeration: Any) -> Any:
    """`enum.unique`, for enums of the program."""
    if type(enumeration) is not UserEnumType:
        raise TypeError("unique() needs an enum")
    return _unique(enumeration)
