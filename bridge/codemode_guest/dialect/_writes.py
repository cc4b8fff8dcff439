"""The guard of attribute stores and deletes that are not native, and the program's setattr, delattr, vars and dir."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ._facade import FACADES
from ._guards import attribute_name, guarded_getattr
from ._names import ENUM_SETTINGS, FRAME_NAMES, is_dunder, is_reserved
from ._policy import EXCEPTION_POLICY, WRITABLE
from ._tables import GETTERS, TABLE, type_name
from ._user_types import (
    USER_METACLASSES,
    exact_type,
    instance_dict,
    is_program_function,
    is_user_class,
    is_user_instance,
    mro,
)

_MISSING: Final = object()

WRITABLE_SEEN: Final[dict[type, set[str]]] = {}
"""Class of the program -> attributes of its instances that were found to be writable: no host class has them."""


def write_guard(
    value: Any,
    name: str,
    _table: dict[type, set[str]] = WRITABLE_SEEN,
    _type: Callable[[object], type] = type,
) -> Any:
    """Return the value if its attribute may be written (`<write>`), else raise AttributeError.

    The fast path is one look-up: for a class of the program, names that were found to be its own.
    """
    allowed = _table.get(_type(value))
    if allowed is not None and name in allowed:
        return value
    return _checked(value, name)


def _checked(value: Any, name: str) -> Any:
    kind = exact_type(value)
    if is_dunder(name) or name in FRAME_NAMES or (is_reserved(name) and name not in ENUM_SETTINGS):
        raise AttributeError(f"cannot assign to attribute '{name}' of '{type_name(value)}' object")
    if type(kind) in USER_METACLASSES:
        if all(_host_allows(cls, name) for cls in mro(kind)):
            WRITABLE_SEEN.setdefault(kind, set()).add(name)
            return value
    elif (
        is_user_class(value)
        or is_program_function(value)
        or name in WRITABLE.get(kind, ())
        or (issubclass(kind, BaseException) and all(_host_allows(cls, name) for cls in mro(kind)))
    ):
        return value
    if name in TABLE.get(kind, ()):
        raise AttributeError(f"'{type_name(value)}' object attribute '{name}' is read-only")
    raise AttributeError(f"'{type_name(value)}' object has no attribute '{name}' that can be assigned", name=name)


def _host_allows(cls: type, name: str) -> bool:
    """Whether an instance may have its own attribute of this name, as far as one class is concerned."""
    return (
        type(cls) in USER_METACLASSES
        or cls is object
        or name not in cls.__dict__
        or name in EXCEPTION_POLICY.get(cls, ())
    )


def dynamic_setattr(value: Any, name: Any, item: Any, /) -> None:
    """The program's `setattr`."""
    name = attribute_name(name, "setattr")
    setattr(write_guard(value, name), name, item)


def dynamic_delattr(value: Any, name: Any, /) -> None:
    """The program's `delattr`."""
    name = attribute_name(name, "delattr")
    delattr(write_guard(value, name), name)


def program_vars(value: Any = _MISSING, /) -> Any:
    """The program's `vars`, of one object."""
    if value is _MISSING:
        raise TypeError("vars() needs an argument in programs")
    try:
        return guarded_getattr(value, "__dict__")
    except AttributeError:
        raise TypeError("vars() argument must have __dict__ attribute") from None


def program_dir(value: Any = _MISSING, /) -> list[str]:
    """The program's `dir`: the names that a load would give."""
    if value is _MISSING:
        return []
    kind = exact_type(value)
    if kind in FACADES:
        return sorted(TABLE[kind])
    if is_user_instance(value) or is_user_class(value):
        classes = mro(value if is_user_class(value) else kind)
        names = {name for cls in classes if type(cls) in USER_METACLASSES for name in cls.__dict__}
        names.update(instance_dict(value) or () if is_user_instance(value) else ())
        return sorted(name for name in names if type(name) is str and "<" not in name and not _internal(name))
    if issubclass(kind, BaseException):
        return sorted({name for cls in mro(kind) for name in EXCEPTION_POLICY.get(cls, ())} | set(value.__dict__))
    names_of = getattr(kind, "__dir__", None)
    if kind in GETTERS and names_of is not None:
        return sorted(str(name) for name in names_of(value) if not is_dunder(name))
    if isinstance(value, type):
        return sorted(TABLE.get(value, ()))
    return sorted(TABLE.get(kind, ()))


def _internal(name: str) -> bool:
    return is_dunder(name) and name in (
        "__module__",
        "__dict__",
        "__weakref__",
        "__annotations__",
        "__static_attributes__",
    )
