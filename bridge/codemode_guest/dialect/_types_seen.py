"""What `type(x)` and `x.__class__` give a program: a real class where that is harmless, else a stand-in.

A stand-in knows its name, compares by identity and works in `isinstance`; it cannot be called, so no function, module,
code object or task can be made from one.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any, Final, NoReturn

from ._policy import EXPOSED_CLASSES
from ._user_types import USER_METACLASSES, exact_type


class OpaqueType:
    """Stands for a class that programs cannot have."""

    __slots__ = ("__weakref__",)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a type cannot be changed")

    def __instancecheck__(self, value: object) -> bool:
        return type(value) is _REAL[self]

    def __subclasscheck__(self, value: object) -> bool:
        return value is self or value is _REAL[self]

    def __or__(self, other: object) -> tuple[object, ...]:
        return (self, *other) if isinstance(other, tuple) else (self, other)

    def __ror__(self, other: object) -> tuple[object, ...]:
        return (other, self)

    def __repr__(self) -> str:
        return f"<class '{opaque_name(self)}'>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a type cannot be copied")


_REAL: Final[dict[OpaqueType, type]] = {}
_OPAQUE: Final[dict[type, OpaqueType]] = {}
_NAMES: Final[dict[OpaqueType, str]] = {}
SEEN_CLASSES: Final[set[type]] = set(EXPOSED_CLASSES)
"""Classes handed out as themselves; `expose_class` adds to it."""


def opaque_type(cls: type, name: str | None = None) -> OpaqueType:
    """Return the one stand-in of a class."""
    found = _OPAQUE.get(cls)
    if found is None:
        found = _OPAQUE[cls] = OpaqueType()
        _REAL[found] = cls
        _NAMES[found] = name or cls.__name__
    return found


def opaque_name(opaque: OpaqueType) -> str:
    """The name of the class that a stand-in stands for."""
    return _NAMES[opaque]


def expose_class(cls: type) -> None:
    """Let `type(x)` hand out this class itself."""
    SEEN_CLASSES.add(cls)


class _TypeMeta(type):
    """Makes `type` usable as a function of one argument and in `isinstance`, and nothing else."""

    def __call__(cls, *arguments: Any) -> Any:
        if len(arguments) != 1:
            raise TypeError("type() takes 1 argument in programs: write a class statement to make a class")
        return type_of(arguments[0])

    def __instancecheck__(cls, value: object) -> bool:
        return issubclass(type(value), type)

    def __subclasscheck__(cls, value: Any) -> bool:
        return value is cls

    __iter__: None = None
    """Else Python would loop over it by number, without an end."""

    def __getitem__(cls, item: object) -> Any:
        return cls

    def __setattr__(cls, name: str, value: object) -> NoReturn:
        raise TypeError("cannot set attributes of built-in type 'type'")

    def __repr__(cls) -> str:
        return "<class 'type'>"


TYPE: Final[Any] = _TypeMeta("type", (), {"__slots__": (), "__module__": "builtins", "__qualname__": "type"})
"""The program's `type`."""


def type_of(value: object) -> Any:
    """What `type(value)` is for a program."""
    kind = exact_type(value)
    if type(kind) in USER_METACLASSES or kind in SEEN_CLASSES or issubclass(kind, BaseException):
        return kind
    if issubclass(kind, type) or kind is OpaqueType:
        return TYPE
    return opaque_type(kind)
