"""Reading special attributes (`__name__`, `__dict__`, `__len__`, ...), each by its own rule.

A program may read what tells it about its own objects, and call an operator by its special name where that does no
more than the operator.  It gets no way to a function's globals, to a frame, or from a class to its subclasses.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import types
from typing import Any, Final

from ._names import CLASS_MAGIC, DATA_MAGIC, ENUM_READABLE, OBJECT_MAGIC, is_dunder, is_reserved
from ._policy import COROUTINE, EXCEPTION_POLICY, FUNCTION, GENERATOR, LRU_CACHE, POLICY
from ._tables import TABLE, denied
from ._types_seen import OpaqueType, opaque_name, type_of
from ._user_types import (
    USER_METACLASSES,
    exact_type,
    instance_dict,
    is_class,
    is_program_function,
    is_user_instance,
    mro,
)

_NAMED: Final = frozenset(
    [
        FUNCTION,
        types.BuiltinFunctionType,
        types.MethodType,
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
        types.MethodWrapperType,
        types.ClassMethodDescriptorType,
        LRU_CACHE,
        GENERATOR,
        COROUTINE,
    ]
)
_EXCEPTION_LINKS: Final = frozenset(["__cause__", "__context__", "__suppress_context__", "__notes__"])
_SAMPLES: Final[tuple[Any, ...]] = ([], (), {}, set[int](), "", b"", range(0), {}.items(), {}.values())
_ITERATORS: Final = frozenset(type(iter(sample)) for sample in _SAMPLES) | {
    GENERATOR,
    zip,
    map,
    filter,
    enumerate,
    reversed,
}
_DATA: Final = frozenset(
    cls
    for cls in POLICY
    if cls.__module__ in ("builtins", "collections", "datetime", "decimal", "fractions", "uuid")
    and cls not in (property, GENERATOR, COROUTINE)
    and "generator" not in cls.__name__
    and "lru" not in cls.__name__
)
_SUPER_MAGIC: Final = CLASS_MAGIC | {"__setattr__", "__delattr__", "__doc__", "__module__"}
"""Special names of a class of the program that `super()` gives; the two stores are those of a frozen dataclass."""
_EXCEPTION_MAGIC: Final = frozenset(["__init__", "__str__", "__repr__"])


def read_magic(value: Any, name: str) -> Any:
    """Load a special attribute, or raise AttributeError."""
    kind = exact_type(value)
    if kind is super:
        return super_attribute(value, name)
    if name in CLASS_MAGIC:
        return _operator(value, name)
    reader = _READERS.get(name)
    if reader is not None:
        return reader(value, name)
    if name in _EXCEPTION_LINKS and issubclass(kind, BaseException):
        return getattr(value, name)
    raise denied(value, name)


def _read_name(value: Any, name: str) -> str:
    if type(value) is OpaqueType:
        return opaque_name(value)
    if is_class(value):
        return str(type.__dict__[name].__get__(value))
    if type(value) in _NAMED:
        found = getattr(value, name)
        if type(found) is str:
            return found
    raise denied(value, name)


def _read_text(value: Any, name: str) -> Any:
    if is_class(value) or type(value) in _NAMED or is_user_instance(value):
        found = getattr(value, name)
        if found is None or type(found) is str:
            return found
    raise denied(value, name)


def _read_class(value: Any, name: str) -> Any:
    if is_user_instance(value) or isinstance(value, BaseException):
        return type_of(value)
    raise denied(value, name)


def _read_dict(value: Any, name: str) -> Any:
    if is_user_instance(value):
        found = instance_dict(value)
        if found is not None:
            return found
    elif type(value) in USER_METACLASSES:
        return {key: item for key, item in value.__dict__.items() if _is_own_name(key)}
    elif is_program_function(value):
        return dict(value.__dict__)
    raise denied(value, name)


def _is_own_name(name: str) -> bool:
    """Whether a name of a class's namespace is the program's own, not the interpreter's or the enum machinery's."""
    return not is_dunder(name) and "<" not in name and (not is_reserved(name) or name in ENUM_READABLE)


def _read_members(value: Any, name: str) -> Any:
    if type(value) in USER_METACLASSES and hasattr(value, "_member_map_"):
        return dict(value.__members__)
    raise denied(value, name)


def _read_match_args(value: Any, name: str) -> Any:
    # Looked up only if it is a class: an object's own `__eq__` would be shown the keys of the table.
    if type(value) in USER_METACLASSES or (is_class(value) and value in TABLE):
        found = getattr(value, name, None)
        if type(found) is tuple:
            return found
    raise denied(value, name)


def _read_setattr(value: Any, name: str) -> Any:
    if value is object:
        return set_plainly
    raise denied(value, name)


def set_plainly(value: Any, name: Any, item: Any, /) -> None:
    """`object.__setattr__` for instances of the program's own classes (how a frozen dataclass fills its fields)."""
    if type(name) is not str or is_dunder(name) or not is_user_instance(value):
        raise AttributeError(f"cannot assign attribute {name!r}")
    object.__setattr__(value, name, item)


_READERS: Final = {
    "__name__": _read_name,
    "__qualname__": _read_name,
    "__doc__": _read_text,
    "__module__": _read_text,
    "__class__": _read_class,
    "__dict__": _read_dict,
    "__members__": _read_members,
    "__match_args__": _read_match_args,
    "__setattr__": _read_setattr,
}


def _operator(value: Any, name: str) -> Any:
    """A special method by name: on the program's own classes and objects, and on plain data."""
    kind = exact_type(value)
    if is_class(value):
        for cls in mro(value):
            if name in cls.__dict__:
                if type(cls) in USER_METACLASSES or _host_magic(cls, name):
                    return getattr(value, name)
                break
        raise denied(value, name)
    if name in ("__iter__", "__next__") and kind in _ITERATORS:
        return getattr(value, name)
    for cls in mro(kind):
        if name in cls.__dict__:
            if type(cls) in USER_METACLASSES or _host_magic(cls, name):
                return getattr(value, name)
            break
    raise denied(value, name)


def _host_magic(cls: type, name: str) -> bool:
    """Whether a special method of a host class may be had by name."""
    if cls in _DATA:
        return name in DATA_MAGIC
    if cls is object:
        return name in OBJECT_MAGIC
    return issubclass(cls, BaseException) and name in _EXCEPTION_MAGIC


def super_attribute(value: Any, name: str) -> Any:
    """`super().name`: what the program's classes, or a harmless host base, have further up."""
    this = super.__getattribute__(value, "__thisclass__")
    owner = super.__getattribute__(value, "__self__")
    classes = mro(owner if is_class(owner) else type(owner))
    for cls in classes[classes.index(this) + 1 :]:
        if name in cls.__dict__:
            if type(cls) in USER_METACLASSES:
                if is_dunder(name) and name not in _SUPER_MAGIC:
                    break
                return super.__getattribute__(value, name)
            if name == "__setattr__" and cls is object:
                return lambda key, item: set_plainly(owner, key, item)
            if is_dunder(name):
                if _host_magic(cls, name):
                    return super.__getattribute__(value, name)
            elif name in TABLE.get(cls, ()) or name in EXCEPTION_POLICY.get(cls, ()):
                return super.__getattribute__(value, name)
            break
    raise AttributeError(f"'super' object has no attribute '{name}'", name=name, obj=None)


def guarded_super(cls: Any, *owner: Any) -> Any:
    """The program's `super` (`<super>` for the form without arguments)."""
    if type(cls) not in USER_METACLASSES:
        raise TypeError("super() needs a class of the program")
    return super(cls, *owner)
