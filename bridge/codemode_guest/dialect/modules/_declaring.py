"""What classes are declared with: dataclasses, enum, typing, abc, types."""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false

from __future__ import annotations

import collections
import collections.abc
import enum
import types
from typing import Any, Final

from .. import _dataclass_functions, _enums
from .._namedtuples import NAMED_TUPLE
from .._policy import ASYNC_GENERATOR, COROUTINE, FUNCTION, GENERATOR
from .._types_seen import TYPE, opaque_type
from .._typing import (
    ABC,
    GENERIC,
    PROTOCOL,
    TYPED_DICT,
    TypeStandIn,
    abstract_method,
    new_type,
    runtime_checkable,
)
from .._user_types import SHARED_CLASSES, UserType
from ._pick import Members

_ORIGINS: Final[dict[str, type]] = {
    "List": list,
    "Dict": dict,
    "Set": set,
    "FrozenSet": frozenset,
    "Tuple": tuple,
    "Deque": collections.deque,
    "DefaultDict": collections.defaultdict,
    "OrderedDict": collections.OrderedDict,
    "Counter": collections.Counter,
    "ChainMap": collections.ChainMap,
}
_ABSTRACT: Final = """
AsyncGenerator AsyncIterable AsyncIterator Awaitable Callable Collection Container Coroutine Generator
Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping MutableSequence MutableSet Reversible
Sequence Sized ValuesView"""
_INERT: Final = """
Annotated Any AnyStr ClassVar Concatenate Final ForwardRef Literal LiteralString Never NoReturn NotRequired
Optional ParamSpec ParamSpecArgs ParamSpecKwargs ReadOnly Required Self Text TypeAlias TypeAliasType TypeGuard TypeIs
TypeVar TypeVarTuple Union Unpack SupportsAbs SupportsFloat SupportsIndex SupportsInt BinaryIO IO TextIO"""


def _cast(kind: Any, value: Any) -> Any:
    return value


def _same(value: Any) -> Any:
    return value


def _overload(function: Any) -> Any:
    return function


def _assert_never(value: Any) -> Any:
    raise AssertionError(f"Expected code to be unreachable, but got: {value!r}")


def _type_check_only(*arguments: Any, **keywords: Any) -> Any:
    return _same


def _namespace_init(self: Any, mapping: Any = None, /, **values: Any) -> None:
    from .._writes import dynamic_setattr

    for name, value in {**(mapping or {}), **values}.items():
        dynamic_setattr(self, name, value)


def _namespace_repr(self: Any) -> str:
    inner = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
    return f"namespace({inner})" if type(self) is NAMESPACE else f"{type(self).__name__}({inner})"


def _namespace_eq(self: Any, other: Any) -> Any:
    if not isinstance(other, NAMESPACE):
        return NotImplemented
    return self.__dict__ == other.__dict__


NAMESPACE: Final[Any] = UserType(
    "SimpleNamespace",
    (),
    {
        "__init__": _namespace_init,
        "__repr__": _namespace_repr,
        "__eq__": _namespace_eq,
        "__hash__": None,
        "__module__": "types",
    },
)
"""`types.SimpleNamespace` as a class of the kind that programs make."""
SHARED_CLASSES.add(NAMESPACE)


def _typing_members() -> Members:
    members: Members = {name: TypeStandIn(name) for name in _INERT.split()}
    members.update({name: TypeStandIn(name, origin) for name, origin in _ORIGINS.items()})
    members.update({name: TypeStandIn(name, getattr(collections.abc, name)) for name in _ABSTRACT.split()})
    members.update(
        {
            "AbstractSet": TypeStandIn("AbstractSet", collections.abc.Set),
            "Type": TypeStandIn("Type"),
            "Generic": GENERIC,
            "Protocol": PROTOCOL,
            "TypedDict": TYPED_DICT,
            "NamedTuple": NAMED_TUPLE,
            "NewType": new_type,
            "TYPE_CHECKING": False,
            "cast": _cast,
            "overload": _overload,
            "override": _same,
            "final": _same,
            "no_type_check": _same,
            "dataclass_transform": _type_check_only,
            "runtime_checkable": runtime_checkable,
            "assert_never": _assert_never,
            "assert_type": lambda value, kind: value,
            "reveal_type": _same,
        }
    )
    return members


def modules() -> dict[str, Members]:
    """The shared facades of this family."""
    return {
        "dataclasses": _dataclass_functions.members(),
        "enum": {
            "Enum": _enums.ENUM,
            "IntEnum": _enums.INT_ENUM,
            "StrEnum": _enums.STR_ENUM,
            "Flag": _enums.FLAG,
            "IntFlag": _enums.INT_FLAG,
            "auto": enum.auto,
            "unique": _enums.unique,
        },
        "typing": _typing_members(),
        "abc": {"ABC": ABC, "ABCMeta": TYPE, "abstractmethod": abstract_method},
        "types": {
            "SimpleNamespace": NAMESPACE,
            "NoneType": type(None),
            "EllipsisType": type(...),
            "FunctionType": opaque_type(FUNCTION),
            "LambdaType": opaque_type(FUNCTION),
            "MethodType": opaque_type(types.MethodType),
            "BuiltinFunctionType": opaque_type(types.BuiltinFunctionType),
            "GeneratorType": opaque_type(GENERATOR),
            "AsyncGeneratorType": opaque_type(ASYNC_GENERATOR),
            "CoroutineType": opaque_type(COROUTINE),
            "ModuleType": opaque_type(types.ModuleType),
            "TracebackType": opaque_type(types.TracebackType),
        },
    }
