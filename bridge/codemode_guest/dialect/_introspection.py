"""What the result encoder may know of a program's objects, without calling any code of the program."""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from ._dataclasses import fields_of
from ._enums import enum_value
from ._facade import FACADES
from ._namedtuples import named_tuple_fields as _fields_of_tuple
from ._names import PROGRAM_FILENAME
from ._types_seen import OpaqueType, opaque_name
from ._user_types import instance_dict, is_user_class, is_user_instance


def is_program_frame(filename: str) -> bool:
    """Whether a frame's `co_filename` is that of a program."""
    return filename == PROGRAM_FILENAME


def dataclass_fields(value: object) -> dict[str, object] | None:
    """The fields of a dataclass instance of the program with their values, or None for anything else.

    Nothing of the program runs: values are taken from the instance's dict and slots.  A field that was never set, or
    that a property stands for, is left out.
    """
    if not is_user_instance(value):
        return None
    known = fields_of(value)
    if known is None:
        return None
    own = instance_dict(value) or {}
    found: dict[str, object] = {}
    for name, each in known.items():
        if each.is_init_var:
            continue
        if name in own:
            found[name] = own[name]
            continue
        slot = _slot(value, name)
        if slot is not None:
            found[name] = slot[0]
    return found


def _slot(value: object, name: str) -> tuple[object] | None:
    for cls in type(value).__mro__:
        item = cls.__dict__.get(name)
        if item is not None:
            if type(item).__name__ != "member_descriptor":
                return None
            try:
                return (item.__get__(value),)
            except AttributeError:
                return None
    return None


def named_tuple_fields(value: object) -> tuple[str, ...] | None:
    """The field names, if a value is a named tuple of the program, else None."""
    return _fields_of_tuple(type(value)) if isinstance(value, tuple) else None


def is_namedtuple(value: object) -> bool:
    """Whether a value is a named tuple of the program, or one that the library made."""
    return isinstance(value, tuple) and (
        _fields_of_tuple(type(value)) is not None or type(getattr(type(value), "_fields", None)) is tuple
    )


def user_base(value: object) -> type | None:
    """The plain data class below a class of the program (a named tuple's `tuple`, a str enum's `str`), or None."""
    if not is_user_instance(value):
        return None
    return next((cls for cls in type(value).__mro__ if cls in (dict, list, tuple, set, str, int, float, bytes)), None)


def is_module(value: object) -> bool:
    """Whether a value is a module as programs see it."""
    return type(value) in FACADES


def describe_type(value: object) -> str:
    """The name of a value's type, for messages to a program's author."""
    if type(value) is OpaqueType:
        return opaque_name(value)
    return type(value).__name__


__all__ = [
    "dataclass_fields",
    "describe_type",
    "enum_value",
    "is_module",
    "is_namedtuple",
    "is_program_frame",
    "is_user_class",
    "is_user_instance",
    "named_tuple_fields",
    "user_base",
]
