"""The guard of attribute loads: one look-up by exact type, then the rules for what the table does not know.

`TABLE` maps an exact type to the names that may be loaded from its instances.  For a class of the program the set
fills as names are met: a name is allowed once it is known that no host class below it has such an attribute, which
depends on the class only.  Everything else takes the slow road, `_resolve`, and is refused at its end.
"""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Final

from ._direct import forget
from ._format import safe_format, safe_format_map
from ._magic import read_magic, super_attribute
from ._names import ENUM_READABLE, FRAME_NAMES, is_dunder, is_reserved
from ._policy import CLASS_NAMES, EXCEPTION_POLICY, FUNCTION, POLICY
from ._tables import GETTERS, OVERRIDES, TABLE, denied
from ._user_types import USER_METACLASSES, exact_type, is_program_function, mro

_MISSING: Final = object()


def guarded_getattr(
    value: Any,
    name: str,
    _table: dict[type, Any] = TABLE,
    _load: Callable[[Any, str], Any] = getattr,
    _type: Callable[[object], type] = type,
) -> Any:
    """Load an attribute (`<getattr>`); the defaults only make the globals of the fast path local."""
    allowed = _table.get(_type(value))
    if allowed is not None and name in allowed:
        return _load(value, name)
    return _resolve(value, name)


def _resolve(value: Any, name: str) -> Any:
    kind = exact_type(value)
    if name in FRAME_NAMES:
        raise denied(value, name)
    if is_dunder(name):
        return read_magic(value, name)
    if is_reserved(name) and name not in ENUM_READABLE:
        raise denied(value, name)
    override = OVERRIDES.get((kind, name))
    if override is not None:
        return override(value)
    if issubclass(kind, type):
        return _class_attribute(value, name)
    if type(kind) in USER_METACLASSES:
        return _user_attribute(value, name, kind)
    if kind is super:
        return super_attribute(value, name)
    if kind is FUNCTION:
        if is_program_function(value) and name in value.__dict__:
            return value.__dict__[name]
        raise denied(value, name)
    if issubclass(kind, BaseException):
        return _exception_attribute(value, name, kind)
    getter = GETTERS.get(kind)
    if getter is not None:
        return getter(value, name)
    raise denied(value, name)


def _user_attribute(value: Any, name: str, kind: type) -> Any:
    """An instance of a class of the program: everything is its own but what a host class below it has."""
    cache = True
    for cls in mro(kind):
        if type(cls) in USER_METACLASSES:
            if name in cls.__dict__ and not cache:
                return getattr(value, name)
        elif cls is not object and name in cls.__dict__:
            if any(name in each.__dict__ for each in _user_part(kind, cls)):
                return getattr(value, name)
            override = OVERRIDES.get((cls, name))
            if override is not None:
                return override(value)
            if name not in TABLE.get(cls, ()) and name not in EXCEPTION_POLICY.get(cls, ()):
                raise denied(value, name)
            cache = False
    if cache:
        TABLE.setdefault(kind, set()).add(name)
    return getattr(value, name)


def _user_part(kind: type, before: type) -> list[type]:
    """The program's classes that come before a host class in the order of look-up."""
    classes = mro(kind)
    return [cls for cls in classes[: classes.index(before)] if type(cls) in USER_METACLASSES]


def _exception_attribute(value: BaseException, name: str, kind: type) -> Any:
    for cls in mro(kind):
        if name in EXCEPTION_POLICY.get(cls, ()):
            return getattr(value, name)
        if cls is not object and name in cls.__dict__:
            raise denied(value, name)
    if name in value.__dict__:
        return value.__dict__[name]
    raise denied(value, name)


def _class_attribute(cls: type, name: str) -> Any:
    for each in mro(cls):
        if type(each) in USER_METACLASSES:
            if name in each.__dict__:
                return getattr(cls, name)
        elif name in each.__dict__:
            override = _CLASS_OVERRIDES.get((each, name))
            if override is not None:
                return override
            if (
                name in CLASS_NAMES.get(each, ())
                or name in TABLE.get(each, ())
                or name in EXCEPTION_POLICY.get(each, ())
            ):
                return getattr(cls, name)
            break
    raise denied(cls, name)


def dynamic_getattr(value: Any, name: Any, default: Any = _MISSING, /) -> Any:
    """The program's `getattr`."""
    name = attribute_name(name, "getattr")
    if default is _MISSING:
        return guarded_getattr(value, name)
    try:
        return guarded_getattr(value, name)
    except AttributeError:
        return default


def dynamic_hasattr(value: Any, name: Any, /) -> bool:
    """The program's `hasattr`."""
    try:
        guarded_getattr(value, attribute_name(name, "hasattr"))
    except AttributeError:
        return False
    return True


def attribute_name(name: Any, function: str) -> str:
    """An exact string: a subclass could compare differently each time it is asked."""
    if type(name) is str:
        return name
    if isinstance(name, str):
        return str.__str__(name)
    raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")


def allow_type(
    cls: type,
    names: Iterable[str] | None,
    getattr: Callable[[Any, str], Any] | None = None,
    getitem: Callable[[Any, Any], Any] | None = None,
) -> None:
    """Make instances of a host class usable in programs.

    Args:
        cls: the exact class.
        names: attributes that may be loaded as they are; the class must have no other public attribute.
        getattr: called for every other name, `(value, name)`; it raises AttributeError for what there is not.
        getitem: what `value[key]` does.
    """
    if cls.__dictoffset__ and not issubclass(cls, BaseException):
        raise TypeError(f"{cls.__name__} must have __slots__: a program could store attributes in its instances")
    TABLE[cls] = frozenset(names or ())
    forget()
    if getattr is not None:
        GETTERS[cls] = getattr
        # Loads of names that no host object has are native: they reach the same function through the class.
        setattr(cls, "__getattr__", getattr)  # noqa: B010
    if getitem is not None:
        setattr(cls, "__getitem__", getitem)  # noqa: B010


def _task_creator(group: asyncio.TaskGroup) -> Callable[..., Any]:
    def create_task(coro: Any, *, name: str | None = None) -> Any:
        return group.create_task(coro, name=name)

    return create_task


class _Callback:
    """A program's callback on a future; it equals no callback of another, and shows itself to none."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[Any], object]) -> None:
        self._function = function

    def __call__(self, future: asyncio.Future[Any]) -> None:
        self._function(future)

    def __eq__(self, other: object) -> bool:
        return type(other) is _Callback and bool(self._function == other._function)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        function = self._function
        return function.__qualname__ if isinstance(function, FunctionType) else type(function).__name__


def _callback_adder(future: asyncio.Future[Any]) -> Callable[..., None]:
    def add_done_callback(fn: Callable[[Any], object], /) -> None:
        future.add_done_callback(_Callback(fn))

    return add_done_callback


def _callback_remover(future: asyncio.Future[Any]) -> Callable[..., int]:
    def remove_done_callback(fn: Callable[[Any], object], /) -> int:
        return future.remove_done_callback(_Callback(fn))

    return remove_done_callback


def _group_index(pattern: re.Pattern[Any]) -> dict[str, int]:
    return dict(pattern.groupindex)


def _fill() -> None:
    for cls, names in POLICY.items():
        TABLE[cls] = names | CLASS_NAMES.get(cls, frozenset())
    OVERRIDES.update(
        {
            (str, "format"): lambda value: functools.partial(safe_format, value),
            (str, "format_map"): lambda value: functools.partial(safe_format_map, value),
            (asyncio.TaskGroup, "create_task"): _task_creator,
            (re.Pattern, "groupindex"): _group_index,
        }
    )
    for future in (asyncio.Task, asyncio.Future, asyncio.tasks._GatheringFuture):  # type: ignore[attr-defined]
        OVERRIDES[future, "add_done_callback"] = _callback_adder
        OVERRIDES[future, "remove_done_callback"] = _callback_remover
    for cls, name in OVERRIDES:
        TABLE[cls] = frozenset(TABLE[cls]) - {name}


_CLASS_OVERRIDES: Final[dict[tuple[type, str], Any]] = {
    (str, "format"): safe_format,
    (str, "format_map"): safe_format_map,
}

_fill()
