"""Stand-ins for typing constructs, and the classes that typing makes: typed dicts, protocols, abstract classes.

Annotations are never evaluated, but programs mention these names at run time as well (`Row = dict[str, Any]`, a base
class, `cast`, `isinstance(x, Mapping)`).  A stand-in answers every such use and leads nowhere.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from ._tables import register_type
from ._user_types import USER_METACLASSES, UserType, is_program_function, is_user_class, mro


class TypeStandIn:
    """A typing name: subscripted, combined with `|`, called or used as a base, it stays inert."""

    __slots__ = ("_arguments", "_label", "_origin")
    _label: str
    _origin: type | None
    _arguments: tuple[Any, ...]

    def __init__(self, label: str, origin: type | None = None, arguments: tuple[Any, ...] = ()) -> None:
        fill = object.__setattr__
        fill(self, "_label", label)
        fill(self, "_origin", origin)
        fill(self, "_arguments", arguments)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a type cannot be changed")

    def is_named(self, label: str) -> bool:
        """Whether this stands for the typing name."""
        return self._label == label

    __iter__: None = None
    """Else Python would loop over it by number, without an end."""

    def __getitem__(self, arguments: Any) -> TypeStandIn:
        given = arguments if type(arguments) is tuple else (arguments,)
        return TypeStandIn(self._label, self._origin, given)

    def __or__(self, other: object) -> TypeStandIn:
        return TypeStandIn("Union", None, (self, other))

    def __ror__(self, other: object) -> TypeStandIn:
        return TypeStandIn("Union", None, (other, self))

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if self._origin is not None:
            return self._origin(*arguments, **keywords)
        return arguments[-1] if arguments else self

    def __instancecheck__(self, value: object) -> bool:
        if self._origin is not None and not self._arguments:
            return isinstance(value, self._origin)
        if self._label == "Union":
            return isinstance(value, self._arguments)
        raise TypeError(f"typing.{self._label} cannot be used with isinstance()")

    def __subclasscheck__(self, value: Any) -> bool:
        if self._origin is not None and not self._arguments:
            return issubclass(value, self._origin)
        raise TypeError(f"typing.{self._label} cannot be used with issubclass()")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return ()

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is TypeStandIn
            and other._label == self._label
            and other._origin is self._origin
            and other._arguments == self._arguments
        )

    def __hash__(self) -> int:
        return hash((self._label, self._origin))

    def __repr__(self) -> str:
        inner = ", ".join(each.__name__ if isinstance(each, type) else repr(each) for each in self._arguments)
        return f"typing.{self._label}[{inner}]" if inner else f"typing.{self._label}"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a type cannot be copied")


register_type(TypeStandIn, ())


class _TypedDictName(TypeStandIn):
    """`typing.TypedDict`: a base, and a function of a name and fields."""

    __slots__ = ()

    def __call__(self, name: Any, fields: Any = None, /, *, total: bool = True) -> TypedDictType:
        return TypedDictType(str(name), {str(key): "" for key in (fields or {})})


register_type(_TypedDictName, ())

GENERIC: Final = TypeStandIn("Generic")
PROTOCOL: Final = TypeStandIn("Protocol")
TYPED_DICT: Final = _TypedDictName("TypedDict")
ABC: Final = TypeStandIn("ABC")


class AbstractType(UserType):
    """The metaclass of classes under `abc.ABC`: abstract methods are looked for."""


class ProtocolType(AbstractType):
    """The metaclass of protocols and what implements them by name."""

    def __instancecheck__(cls, value: object) -> bool:
        if not cls.__dict__.get("_is_protocol_"):
            return type.__instancecheck__(cls, value)
        if not cls.__dict__.get("_is_checkable_"):
            raise TypeError("Instance and class checks can only be used with @runtime_checkable protocols")
        if type.__instancecheck__(cls, value):
            return True
        from ._guards import dynamic_hasattr

        return all(dynamic_hasattr(value, name) for name in _protocol_members(cls))


AbstractType.__name__, ProtocolType.__name__ = "ABCMeta", "_ProtocolMeta"
USER_METACLASSES.update((AbstractType, ProtocolType))
_NOT_MEMBERS: Final = frozenset(
    ["__module__", "__dict__", "__weakref__", "__doc__", "__annotations__", "__qualname__", "__class_getitem__",
     "_is_protocol_", "_is_checkable_", "__abstractmethods__", "__static_attributes__", "__firstlineno__",
     "__init__", "__slots__", "__match_args__"]
)  # fmt: skip


def _protocol_members(cls: type) -> set[str]:
    found: set[str] = set()
    for each in mro(cls):
        if type(each) is ProtocolType and each.__dict__.get("_is_protocol_"):
            found.update(name for name in each.__dict__ if name not in _NOT_MEMBERS)
            found.update(vars(each).get("__annotations__", {}))
    return found


def runtime_checkable(cls: Any) -> Any:
    """The program's `typing.runtime_checkable`."""
    if type(cls) is not ProtocolType:
        raise TypeError("@runtime_checkable can be only applied to protocol classes")
    type.__setattr__(cls, "_is_checkable_", True)
    return cls


def _is(bases: tuple[Any, ...], label: str) -> bool:
    return any(type(base) is TypeStandIn and base.is_named(label) for base in bases)


def is_generic(bases: tuple[Any, ...]) -> bool:
    """Whether a class statement names Generic (or Protocol) as a base."""
    return _is(bases, "Generic") or _is(bases, "Protocol")


def is_protocol(bases: tuple[Any, ...]) -> bool:
    """Whether a class statement names Protocol as a base."""
    return _is(bases, "Protocol")


def is_abstract(bases: tuple[Any, ...]) -> bool:
    """Whether a class statement names ABC as a base."""
    return _is(bases, "ABC")


def is_typed_dict(bases: tuple[Any, ...]) -> bool:
    """Whether a class statement makes a typed dict."""
    return any(type(base) is TypedDictType or (base is TYPED_DICT) for base in bases)


def parametrised(cls: type, parameters: Any) -> type:
    """`Stack[int]`, of a generic class of the program: the class itself."""
    return cls


class TypedDictType:
    """A typed dict: calling it makes a dict."""

    __slots__ = ("_keys", "_name")
    _name: str
    _keys: dict[str, str]

    def __init__(self, name: str, keys: dict[str, str]) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_keys", keys)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a typed dict cannot be changed")

    def inherited(self) -> dict[str, str]:
        """The keys that a typed dict under this one starts with."""
        return dict(self._keys)

    def __call__(self, *arguments: Any, **keywords: Any) -> dict[str, Any]:
        return dict(*arguments, **keywords)

    __iter__: None = None
    """Else Python would loop over it by number, without an end."""

    def __getitem__(self, parameters: Any) -> TypedDictType:
        return self

    def __or__(self, other: object) -> TypeStandIn:
        return TypeStandIn("Union", None, (self, other))

    __ror__ = __or__

    def __instancecheck__(self, value: object) -> NoReturn:
        raise TypeError("TypedDict does not support instance and class checks")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return ()

    def __repr__(self) -> str:
        return f"<class '__main__.{self._name}'>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a type cannot be copied")


register_type(TypedDictType, ())


def make_typed_dict(name: str, bases: tuple[Any, ...], annotations: dict[str, str], keywords: dict[str, Any]) -> Any:
    """Make the typed dict of a class statement."""
    keys: dict[str, str] = {}
    for base in bases:
        if type(base) is TypedDictType:
            keys.update(base.inherited())
    return TypedDictType(name, keys | annotations)


def abstract_method(function: Any) -> Any:
    """The program's `abc.abstractmethod`."""
    if is_program_function(function):
        function.__isabstractmethod__ = True
    return function


def find_abstract(cls: Any) -> None:
    """Mark a class abstract while it has abstract methods: CPython itself then refuses to make instances of it."""
    if not isinstance(cls, AbstractType):
        return
    names: set[str] = set()
    for each in reversed(mro(cls)):
        if not is_user_class(each):
            continue
        for name, value in each.__dict__.items():
            if _is_abstract_member(value):
                names.add(name)
            else:
                names.discard(name)
    type.__setattr__(cls, "__abstractmethods__", frozenset(names))


def _is_abstract_member(value: Any) -> bool:
    if type(value) in (staticmethod, classmethod):
        value = value.__func__
    elif type(value) is property:
        return any(_is_abstract_member(each) for each in (value.fget, value.fset, value.fdel))
    return is_program_function(value) and bool(value.__dict__.get("__isabstractmethod__"))


def type_stand_in(name: str) -> TypeStandIn:
    """What a type parameter or a `type X = ...` name is at run time (`<type-stand-in>`)."""
    return TypeStandIn(name)


def new_type(name: Any, kind: Any) -> Callable[[Any], Any]:
    """`typing.NewType`."""
    return TypeStandIn(str(name))
