"""copy.copy, copy.deepcopy and copy.replace for programs.

The library's own call `__reduce_ex__` of whatever they are given, and hand the memo (a dict that holds host objects'
ids) to `__deepcopy__`.  Here plain data is copied by its type, instances of the program's classes attribute by
attribute, immutable values stay as they are, and everything else is refused.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import collections
import copy
import datetime
import decimal
import fractions
import re
import types
import uuid
import zoneinfo
from collections.abc import Callable
from typing import Any, Final

from . import _dataclass_functions as _dataclasses
from ._enums import is_enum_class
from ._facade import FACADES
from ._namedtuples import named_tuple_fields
from ._user_types import USER_METACLASSES, exact_type, instance_dict, is_class, mro

_ATOMS: Final = frozenset(
    [
        type(None), type(...), type(NotImplemented), bool, int, float, complex, str, bytes, range, types.FunctionType,
        types.BuiltinFunctionType, types.MethodType, datetime.date, datetime.time, datetime.datetime,
        datetime.timedelta, datetime.timezone, decimal.Decimal, fractions.Fraction, uuid.UUID, zoneinfo.ZoneInfo,
        re.Pattern, re.Match, slice, property,
    ]
)  # fmt: skip
_SHALLOW: Final = frozenset(
    [
        list, dict, set, frozenset, tuple, bytearray, collections.deque, collections.Counter, collections.defaultdict,
        collections.OrderedDict, collections.ChainMap,
    ]
)  # fmt: skip


def _uncopyable(value: Any) -> TypeError:
    what = "module" if type(value) in FACADES else type(value).__name__
    return TypeError(f"cannot copy '{what}' object in programs")


def _is_atom(value: Any) -> bool:
    kind = exact_type(value)
    return kind in _ATOMS or is_class(value) or is_enum_class(kind)


def copy_value(value: Any, /) -> Any:
    """`copy.copy`."""
    kind = exact_type(value)
    if _is_atom(value) or kind is tuple or kind is frozenset:
        return value
    if kind in _SHALLOW:
        return copy.copy(value)
    if named_tuple_fields(kind) is not None:
        return value
    if type(kind) in USER_METACLASSES or issubclass(kind, BaseException):
        return _instance(value, lambda item: item)
    raise _uncopyable(value)


def deep_copy(value: Any, memo: Any = None, /) -> Any:
    """`copy.deepcopy`; a memo of the program's own is not used."""
    return _deep(value, {})


def _deep(value: Any, memo: dict[int, Any]) -> Any:
    if _is_atom(value):
        return value
    known = memo.get(id(value), memo)
    if known is not memo:
        return known
    kind = exact_type(value)
    if kind in _SHALLOW or named_tuple_fields(kind) is not None:
        return _container(value, kind, memo)
    if type(kind) in USER_METACLASSES or issubclass(kind, BaseException):
        return _instance(value, lambda item: _deep(item, memo), memo)
    raise _uncopyable(value)


def _container(value: Any, kind: type, memo: dict[int, Any]) -> Any:
    made: Any
    if kind is list:
        made = memo[id(value)] = []
        made.extend(_deep(item, memo) for item in value)
    elif kind is collections.deque:
        made = memo[id(value)] = collections.deque(maxlen=value.maxlen)
        made.extend(_deep(item, memo) for item in value)
    elif issubclass(kind, dict):
        made = memo[id(value)] = (
            collections.defaultdict(value.default_factory) if kind is collections.defaultdict else kind()
        )
        for key, item in value.items():
            made[_deep(key, memo)] = _deep(item, memo)
    elif kind is collections.ChainMap:
        made = memo[id(value)] = collections.ChainMap(*(_deep(each, memo) for each in value.maps))
    elif kind is bytearray:
        made = memo[id(value)] = bytearray(value)
    elif issubclass(kind, tuple):
        items = [_deep(item, memo) for item in value]
        if id(value) in memo:
            return memo[id(value)]
        same = all(new is old for new, old in zip(items, value, strict=True))
        made = memo[id(value)] = value if same else tuple.__new__(kind, items)
    else:
        make: Callable[..., Any] = kind
        made = memo[id(value)] = make(_deep(item, memo) for item in value)
    return made


def _slots(kind: type) -> list[str]:
    found: list[str] = []
    for cls in mro(kind):
        if type(cls) in USER_METACLASSES:
            found += [name for name, item in cls.__dict__.items() if type(item) is types.MemberDescriptorType]
    return found


def _instance(value: Any, convert: Callable[[Any], Any], memo: dict[int, Any] | None = None) -> Any:
    """Copy an instance of a class of the program, or an exception, past its constructor."""
    kind = exact_type(value)
    if issubclass(kind, BaseException):
        made = kind.__new__(kind, *value.args)
        made.args = value.args
    elif issubclass(kind, tuple):
        return value
    else:
        made = object.__new__(kind)
    if memo is not None:
        memo[id(value)] = made
    own = instance_dict(value)
    if own:
        target = instance_dict(made)
        if target is not None:
            target.update({name: convert(item) for name, item in own.items()})
    for name in _slots(kind):
        try:
            item = object.__getattribute__(value, name)
        except AttributeError:
            continue
        object.__setattr__(made, name, convert(item))
    return made


def replace_value(value: Any, /, **changes: Any) -> Any:
    """`copy.replace`: of dataclasses and named tuples of the program, dates and times."""
    if named_tuple_fields(type(value)) is not None:
        return value._replace(**changes)
    if type(value) in (datetime.date, datetime.time, datetime.datetime):
        return value.replace(**changes)
    return _dataclasses.replace(value, **changes)
