"""dataclasses for programs: our own, because the library builds its methods as text and execs them.

`__init__` is generated as a syntax tree out of checked field names and compiled (once per shape), so that making an
instance is as fast as in CPython; the other methods are closures over `operator.attrgetter`.

Source: CPython `Lib/dataclasses.py` for the rules (which method is added when, the hash table, order of fields).
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import operator
import re
import reprlib
import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Final

from ._dataclass_init import init_code
from ._names import is_dunder
from ._tables import register_type
from ._typing import TypeStandIn
from ._user_types import SHARED_CLASSES, is_user_class, mro


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "<dataclasses.MISSING>"


MISSING: Final[Any] = _Missing()
KW_ONLY: Final = TypeStandIn("KW_ONLY")
INIT_VAR: Final = TypeStandIn("InitVar")
_CLASS_VAR: Final = re.compile(r"(\w+\.)?ClassVar\b")
_INIT_VAR: Final = re.compile(r"(\w+\.)?InitVar\b")
_KW_ONLY: Final = re.compile(r"(\w+\.)?KW_ONLY\b")
_FIELD_NAMES: Final = (
    "name", "type", "default", "default_factory", "init", "repr", "hash", "compare", "metadata", "kw_only",
)  # fmt: skip


class FrozenInstanceError(AttributeError):
    """A field of a frozen instance was assigned or deleted."""


class Field:
    """One field, as `dataclasses.fields` gives it."""

    __slots__ = (*_FIELD_NAMES, "is_init_var")

    def __init__(
        self, default: Any, default_factory: Any, init: bool, repr: bool, hash: bool | None, compare: bool,
        metadata: Any, kw_only: Any,
    ) -> None:  # fmt: skip
        self.name: str = ""
        self.type: Any = None
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.hash = hash
        self.compare = compare
        self.metadata: dict[Any, Any] = dict(metadata or {})
        self.kw_only = kw_only
        self.is_init_var = False

    def __repr__(self) -> str:
        return f"Field(name={self.name!r},type={self.type!r},default={self.default!r})"

    @property
    def has_default(self) -> bool:
        """Whether a value need not be given."""
        return self.default is not MISSING or self.default_factory is not MISSING


register_type(Field, _FIELD_NAMES)
_FIELDS: Final[dict[type, dict[str, Field]]] = {}
_FROZEN: Final[set[type]] = set()


def field(
    *,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    init: bool = True,
    repr: bool = True,
    hash: bool | None = None,
    compare: bool = True,
    metadata: Any = None,
    kw_only: Any = MISSING,
    doc: Any = None,
) -> Any:
    """`dataclasses.field`."""
    if default is not MISSING and default_factory is not MISSING:
        raise ValueError("cannot specify both default and default_factory")
    return Field(default, default_factory, init, repr, hash, compare, metadata, kw_only)


def dataclass(cls: Any = None, /, **options: Any) -> Any:
    """`dataclasses.dataclass`."""
    known = _Options(**options)
    if cls is None:
        return lambda each: _process(each, known)
    return _process(cls, known)


class _Options:
    __slots__ = ("eq", "frozen", "init", "kw_only", "match_args", "order", "repr", "slots", "unsafe_hash")

    def __init__(
        self, *, init: bool = True, repr: bool = True, eq: bool = True, order: bool = False, unsafe_hash: bool = False,
        frozen: bool = False, match_args: bool = True, kw_only: bool = False, slots: bool = False,
        weakref_slot: bool = False,
    ) -> None:  # fmt: skip
        self.init, self.repr, self.eq, self.order = init, repr, eq, order
        self.unsafe_hash, self.frozen, self.match_args = unsafe_hash, frozen, match_args
        self.kw_only, self.slots = kw_only, slots


def _process(cls: Any, options: _Options) -> Any:
    if not is_user_class(cls) or cls in SHARED_CLASSES:
        raise TypeError("dataclass() needs a class of the program")
    fields = _collect(cls, options)
    _FIELDS[cls] = fields
    real = [each for each in fields.values() if not each.is_init_var]
    if options.init:
        _add_init(cls, list(fields.values()), options)
    if options.repr and "__repr__" not in cls.__dict__:
        _set(cls, "__repr__", _make_repr([each.name for each in real if each.repr]))
    compared = _reader([each.name for each in real if each.compare])
    had_eq = "__eq__" in cls.__dict__
    if options.eq and not had_eq:
        _set(cls, "__eq__", _make_eq(compared))
    if options.order:
        _add_order(cls, compared, options)
    if options.frozen:
        _add_frozen(cls, fields)
    _add_hash(cls, real, options, had_eq)
    if options.match_args and "__match_args__" not in cls.__dict__:
        names = tuple(each.name for each in fields.values() if each.init and not each.kw_only)
        type.__setattr__(cls, "__match_args__", names)
    if options.slots:
        cls = _with_slots(cls, [each.name for each in real])
        _FIELDS[cls] = fields
        if options.frozen:
            _FROZEN.add(cls)
    return cls


def _set(cls: Any, name: str, function: Any) -> None:
    function.__qualname__ = f"{cls.__qualname__}.{name}"
    type.__setattr__(cls, name, function)


def _collect(cls: Any, options: _Options) -> dict[str, Field]:
    """The fields of the bases, then the class's own; defaults go back into the class."""
    fields: dict[str, Field] = {}
    any_frozen = has_bases = False
    for base in reversed(mro(cls)[1:]):
        if base in _FIELDS:
            has_bases = True
            any_frozen = any_frozen or base in _FROZEN
            fields.update(_FIELDS[base])
            if base not in _FROZEN and options.frozen:
                raise TypeError("cannot inherit frozen dataclass from a non-frozen one")
    if has_bases and any_frozen and not options.frozen:
        raise TypeError("cannot inherit non-frozen dataclass from a frozen one")
    annotations: dict[str, Any] = vars(cls).get("__annotations__", {})
    only_keywords = options.kw_only
    for name, annotation in annotations.items():
        text = annotation if type(annotation) is str else ""
        if _CLASS_VAR.match(text):
            continue
        if _KW_ONLY.match(text):
            only_keywords = True
            continue
        fields[name] = _own_field(cls, name, annotation, only_keywords, bool(_INIT_VAR.match(text)))
    for name, value in cls.__dict__.items():
        if type(value) is Field and name not in annotations:
            raise TypeError(f"{name!r} is a field but has no type annotation")
    return fields


def _own_field(cls: Any, name: str, annotation: Any, kw_only: bool, init_var: bool) -> Field:
    default = cls.__dict__.get(name, MISSING)
    if type(default) is Field:
        made = default
        if made.default is MISSING:
            type.__delattr__(cls, name)
        else:
            type.__setattr__(cls, name, made.default)
    else:
        if type(default).__name__ == "member_descriptor":
            default = MISSING
        made = field(default=default)
    made.name, made.type, made.is_init_var = name, annotation, init_var
    if made.kw_only is MISSING:
        made.kw_only = kw_only
    if made.default is not MISSING and type(made.default).__hash__ is None:
        kind = type(made.default)
        raise ValueError(f"mutable default {kind} for field {name} is not allowed: use default_factory")
    if init_var and made.default_factory is not MISSING:
        raise TypeError(f"field {name} cannot have a default factory")
    return made


# ---- __init__


def _add_init(cls: Any, fields: list[Field], options: _Options) -> None:
    positional = [each for each in fields if each.init and not each.kw_only]
    keywords = [each for each in fields if each.init and each.kw_only]
    seen_default = None
    for each in positional:
        if each.has_default:
            seen_default = each
        elif seen_default is not None:
            named = f" {seen_default.name!r}" if sys.version_info >= (3, 13) else ""
            raise TypeError(f"non-default argument {each.name!r} follows default argument{named}")
    post = any("__post_init__" in each.__dict__ for each in mro(cls))
    shape = (
        tuple((each.name, each.default_factory is not MISSING) for each in positional),
        tuple((each.name, each.default_factory is not MISSING) for each in keywords),
        tuple(
            (each.name, each.init, each.default_factory is not MISSING)
            for each in fields
            if not each.is_init_var and (each.init or each.default_factory is not MISSING)
        ),
        tuple(each.name for each in fields if each.is_init_var) if post else None,
        options.frozen,
    )
    space: dict[str, Any] = {"__builtins__": {}, "<missing>": MISSING, "<set>": object.__setattr__}
    space.update({f"<factory {each.name}>": each.default_factory for each in fields})
    defaults = tuple(_default(each) for each in positional if each.has_default)
    made = FunctionType(init_code(*shape), space, "__init__", defaults)
    made.__kwdefaults__ = {each.name: _default(each) for each in keywords if each.has_default}
    made.__module__ = "__main__"
    _set(cls, "__init__", made)


def _default(each: Field) -> Any:
    return MISSING if each.default_factory is not MISSING else each.default


# ---- the other methods


def _reader(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that gives the named attributes as a tuple."""
    if not names:
        return lambda value: ()
    if len(names) == 1:
        one = operator.attrgetter(names[0])
        return lambda value: (one(value),)
    return operator.attrgetter(*names)


def _make_repr(names: list[str]) -> Any:
    @reprlib.recursive_repr()
    def __repr__(self: Any) -> str:
        inner = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{type(self).__qualname__}({inner})"

    return __repr__


def _make_eq(read: Callable[[Any], tuple[Any, ...]]) -> Any:
    def __eq__(self: Any, other: Any) -> Any:
        if type(other) is type(self):
            return read(self) == read(other)
        return NotImplemented

    return __eq__


def _add_order(cls: Any, read: Callable[[Any], tuple[Any, ...]], options: _Options) -> None:
    if not options.eq:
        raise ValueError("eq must be true if order is true")

    def comparison(compare: Callable[[Any, Any], Any]) -> Any:
        def method(self: Any, other: Any) -> Any:
            if type(other) is type(self):
                return compare(read(self), read(other))
            return NotImplemented

        return method

    for name, compare in (
        ("__lt__", operator.lt),
        ("__le__", operator.le),
        ("__gt__", operator.gt),
        ("__ge__", operator.ge),
    ):
        if name in cls.__dict__:
            raise TypeError(
                f"Cannot overwrite attribute {name} in class {cls.__name__}. Consider using functools.total_ordering"
            )
        method = comparison(compare)
        method.__name__ = name
        _set(cls, name, method)


def _add_frozen(cls: Any, fields: dict[str, Field]) -> None:
    _FROZEN.add(cls)

    # `super().__setattr__` of a class below hands these out, so they hold what every store of a program is held to.
    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in fields:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        _refuse_special(name)
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in fields:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        _refuse_special(name)
        super(cls, self).__delattr__(name)

    _set(cls, "__setattr__", __setattr__)
    _set(cls, "__delattr__", __delattr__)


def _refuse_special(name: Any) -> None:
    if type(name) is not str or is_dunder(name):
        raise AttributeError(f"cannot assign attribute {name!r}")


def _add_hash(cls: Any, fields: list[Field], options: _Options, had_eq: bool) -> None:
    explicit = "__hash__" in cls.__dict__ and not (cls.__dict__["__hash__"] is None and had_eq)
    explicit = explicit and cls.__dict__["__hash__"] is not None
    read = _reader([each.name for each in fields if (each.compare if each.hash is None else each.hash)])

    def __hash__(self: Any) -> int:
        return hash(read(self))

    if options.unsafe_hash:
        if explicit:
            raise TypeError(f"Cannot overwrite attribute __hash__ in class {cls.__name__}")
        _set(cls, "__hash__", __hash__)
    elif options.eq and not explicit:
        if options.frozen:
            _set(cls, "__hash__", __hash__)
        else:
            type.__setattr__(cls, "__hash__", None)


def _with_slots(cls: Any, names: list[str]) -> Any:
    """The same class again, with slots for its fields."""
    if "__slots__" in cls.__dict__:
        raise TypeError(f"{cls.__name__} already specifies __slots__")
    inherited = {name for base in mro(cls)[1:] for name in _slot_names(base)}
    space = {key: value for key, value in cls.__dict__.items() if key not in ("__dict__", "__weakref__")}
    for name in names:
        space.pop(name, None)
    space["__slots__"] = tuple(name for name in names if name not in inherited)
    qualname = cls.__qualname__
    made = type(cls)(cls.__name__, cls.__bases__, space)
    made.__qualname__ = qualname
    return made


def _slot_names(cls: type) -> Iterable[str]:
    slots = cls.__dict__.get("__slots__", ())
    return (slots,) if type(slots) is str else slots


def fields_of(value: object) -> dict[str, Field] | None:
    """The fields of a dataclass or of an instance of one, or None."""
    cls = value if is_user_class(value) else type(value)
    assert isinstance(cls, type)
    for each in mro(cls):
        if each in _FIELDS:
            return _FIELDS[each]
    return None


FIELD_TYPE: Final = TypeStandIn("Field", Field)
"""`dataclasses.Field`, for `isinstance`."""
