"""dataclasses for programs, continued: what works on instances (fields, asdict, astuple, replace, make_dataclass)."""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any

from ._dataclasses import (
    FIELD_TYPE,
    INIT_VAR,
    KW_ONLY,
    MISSING,
    Field,
    FrozenInstanceError,
    dataclass,
    field,
    fields_of,
)
from ._names import is_dunder
from ._user_types import UserType, exact_type, is_user_class, is_user_instance


def _real_fields(value: Any) -> list[Field]:
    found = fields_of(value) if is_user_class(value) or is_user_instance(value) else None
    if found is None:
        raise TypeError("must be called with a dataclass type or instance")
    return [each for each in found.values() if not each.is_init_var]


def fields(value: Any) -> tuple[Field, ...]:
    """`dataclasses.fields`."""
    return tuple(_real_fields(value))


def is_dataclass(value: Any) -> bool:
    """`dataclasses.is_dataclass`."""
    return (is_user_class(value) or is_user_instance(value)) and fields_of(value) is not None


def _is_instance(value: Any) -> bool:
    return is_user_instance(value) and fields_of(value) is not None


def asdict(value: Any, *, dict_factory: Callable[[Any], Any] = dict) -> Any:
    """`dataclasses.asdict`."""
    if not _is_instance(value):
        raise TypeError("asdict() should be called on dataclass instances")
    return _inner(value, lambda pairs: dict_factory(pairs), as_pairs=True)


def astuple(value: Any, *, tuple_factory: Callable[[Any], Any] = tuple) -> Any:
    """`dataclasses.astuple`."""
    if not _is_instance(value):
        raise TypeError("astuple() should be called on dataclass instances")
    return _inner(value, lambda pairs: tuple_factory([item for _, item in pairs]), as_pairs=False)


def _inner(value: Any, build: Callable[[list[tuple[str, Any]]], Any], as_pairs: bool) -> Any:
    from ._copying import deep_copy

    kind = exact_type(value)
    if _is_instance(value):
        return build([(each.name, _inner(getattr(value, each.name), build, as_pairs)) for each in _real_fields(value)])
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple.__new__(kind, [_inner(item, build, as_pairs) for item in value])
    if kind in (list, tuple):
        return kind(_inner(item, build, as_pairs) for item in value)
    if issubclass(kind, dict):
        pairs = [(_inner(key, build, as_pairs), _inner(item, build, as_pairs)) for key, item in value.items()]
        if hasattr(kind, "default_factory"):
            made = kind(value.default_factory)
            made.update(pairs)
            return made
        return kind(pairs)
    return deep_copy(value)


def replace(value: Any, /, **changes: Any) -> Any:
    """`dataclasses.replace`."""
    if not _is_instance(value):
        raise TypeError("replace() should be called on dataclass instances")
    known = fields_of(value) or {}
    for each in known.values():
        if not each.init:
            if each.name in changes:
                raise ValueError(
                    f"field {each.name} is declared with init=False, it cannot be specified with replace()"
                )
        elif each.name not in changes:
            if each.is_init_var and each.default is MISSING:
                raise ValueError(f"InitVar {each.name!r} must be specified with replace()")
            if not each.is_init_var:
                changes[each.name] = getattr(value, each.name)
    return type(value)(**changes)


def make_dataclass(name: Any, described: Any, *, bases: tuple[Any, ...] = (), **options: Any) -> Any:
    """`dataclasses.make_dataclass`, with checked names and without a namespace."""
    annotations: dict[str, str] = {}
    space: dict[str, Any] = {"__annotations__": annotations, "__module__": "__main__"}
    for each in described:
        parts = (each,) if type(each) is str else tuple(each)
        key = parts[0]
        if type(key) is not str or not key.isidentifier() or keyword.iskeyword(key) or is_dunder(key):
            raise TypeError(f"Field names must be valid identifiers: {key!r}")
        if key in annotations:
            raise TypeError(f"Field name duplicated: {key!r}")
        annotations[key] = "Any"
        if len(parts) == 3:
            space[key] = parts[2]
    if type(name) is not str or any(not is_user_class(base) for base in bases):
        raise TypeError("make_dataclass() needs a name, and bases that are classes of the program")
    return dataclass(UserType(name, tuple(bases), space), **options)


def members() -> dict[str, Any]:
    """The names of the facade."""
    return {
        "FrozenInstanceError": FrozenInstanceError,
        "InitVar": INIT_VAR,
        "KW_ONLY": KW_ONLY,
        "MISSING": MISSING,
        "Field": FIELD_TYPE,
        "asdict": asdict,
        "astuple": astuple,
        "dataclass": dataclass,
        "field": field,
        "fields": fields,
        "is_dataclass": is_dataclass,
        "make_dataclass": make_dataclass,
        "replace": replace,
    }
