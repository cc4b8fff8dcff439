"""How a class statement of a program becomes a class: the `<class>` hook.

It checks the namespace (special names, slots) and the bases, and hands over to the family that a base belongs to:
enums, named tuples, typed dicts, protocols.  Bases are told apart by identity.  Of host classes, only exceptions and
what the facades made for the purpose can be inherited from: a subclass of `str` or `dict` could lie to host code.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import builtins
from typing import Any, Final

from . import _enums, _namedtuples, _typing
from ._names import CLASS_BOOKKEEPING, CLASS_MAGIC, CLASS_SETTINGS, is_dunder
from ._tables import TABLE
from ._types_seen import TYPE
from ._user_types import USER_METACLASSES, UserType

BASE_EXCEPTIONS: Final[set[type]] = {
    value
    for value in vars(builtins).values()
    if isinstance(value, type) and issubclass(value, BaseException) and not issubclass(value, BaseExceptionGroup)
}
"""Host exceptions that a program's class may inherit from."""

_WHOLE_BASE_HINTS: Final = {
    dict: "keep a dict in an attribute and write the methods you need",
    list: "keep a list in an attribute and write the methods you need",
    str: "keep a str in an attribute; for constants inherit from (str, Enum)",
    int: "keep an int in an attribute; for constants inherit from enum.IntEnum",
    tuple: "inherit from typing.NamedTuple",
}


_DEFINABLE: Final = CLASS_MAGIC | CLASS_BOOKKEEPING | CLASS_SETTINGS


class ClassMaker:
    """The metaclass argument of every class statement of a program."""

    __slots__ = ()

    def __prepare__(self, name: str, bases: tuple[Any, ...], **keywords: Any) -> Any:
        """Give an enum's body the namespace that counts its members; any other class a dict."""
        if _enums.is_enum_base(bases):
            return _enums.prepare(name, bases)
        return {}

    def __call__(self, name: str, bases: tuple[Any, ...], namespace: Any, **keywords: Any) -> Any:
        """Make the class."""
        _check_namespace(namespace)
        originals = namespace.get("__orig_bases__", bases)
        if _enums.is_enum_base(bases):
            return _enums.make_enum(name, bases, namespace)
        namespace = {key: value for key, value in namespace.items() if "<" not in key}
        namespace["__module__"] = "__main__"
        annotations = namespace.get("__annotations__", {})
        if _typing.is_typed_dict(originals):
            return _typing.make_typed_dict(name, originals, annotations, keywords)
        if _namedtuples.is_named_tuple(originals):
            return _namedtuples.make_named_tuple(name, namespace, annotations)
        if keywords:
            raise TypeError(f"{name}.__init_subclass__() takes no keyword arguments")
        return _plain_class(name, bases, originals, namespace)


def _check_namespace(namespace: Any) -> None:
    for key in namespace:
        if type(key) is not str:
            raise TypeError("class attributes must have string names")
        if is_dunder(key) and "<" not in key and key not in _DEFINABLE:
            raise TypeError(f"a class cannot define '{key}' in programs")
    slots = namespace.get("__slots__", ())
    slots = (slots,) if type(slots) is str else slots
    if type(slots) not in (tuple, list) or any(type(each) is not str for each in slots):
        raise TypeError("__slots__ must be a tuple of strings")
    if any(is_dunder(each) and each not in ("__dict__",) for each in slots):
        raise TypeError("__slots__ cannot have special names")


def _plain_class(name: str, bases: tuple[Any, ...], originals: tuple[Any, ...], namespace: dict[str, Any]) -> Any:
    kept: list[type] = []
    for base in bases:
        if base is object:
            continue
        if not _may_inherit(base):
            raise TypeError(_refused_base(base))
        kept.append(base)
    metaclass: type[UserType] = UserType
    if _typing.is_protocol(originals) or any(type(base) is _typing.ProtocolType for base in kept):
        metaclass = _typing.ProtocolType
        namespace["_is_protocol_"] = _typing.is_protocol(originals)
    elif (kept and any(type(base) is _typing.AbstractType for base in kept)) or _typing.is_abstract(originals):
        metaclass = _typing.AbstractType
    if _typing.is_generic(originals) or any("__class_getitem__" in base.__dict__ for base in kept):
        namespace["__class_getitem__"] = classmethod(_typing.parametrised)
    namespace.pop("__orig_bases__", None)
    made = metaclass(name, tuple(kept), namespace)
    _typing.find_abstract(made)
    return made


def _may_inherit(base: Any) -> bool:
    kind = type(base)
    if kind in USER_METACLASSES:
        return not _enums.has_members(base)
    return kind is type and (base in BASE_EXCEPTIONS or base in _namedtuples.NAMED_TUPLES)


def _refused_base(base: Any) -> str:
    if base is TYPE:
        return "metaclasses are not available in programs: use a class decorator"
    if not issubclass(type(base), type):
        return f"cannot inherit from {type(base).__name__} object: a base must be a class"
    hint = _WHOLE_BASE_HINTS.get(base, "write a class that keeps the object in an attribute")
    return f"programs cannot inherit from '{base.__name__}': {hint}"


def allow_base(cls: type, names: frozenset[str] = frozenset()) -> None:
    """Let programs inherit from an exception class of a facade."""
    BASE_EXCEPTIONS.add(cls)
    if names:
        TABLE[cls] = names


CLASS_MAKER: Final = ClassMaker()
