"""dataclasses for programs: our own, because the library builds its methods as text and execs them.

`__init__` is generated as a syntax tree out of checked field names and compiled (once per shape), so that making an
instance is as fast as in CPython; the other methods are closures over `operator.attrgetter`.

Source: CPython `Lib/dataclasses.py` for the rules (which method is added when, the hash table, order of fields).
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import ast
import functools
import keyword
import operator
import re
import reprlib
import sys
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType
from typing import Any, Final

from ._build import fill_locations
from ._names import is_dunder
from ._tables import register_type
from ._typing import TypeStandIn
from ._user_types import UserType, exact_type, is_user_class, is_user_instance, mro


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
    if not is_user_class(cls):
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
    made = FunctionType(_init_code(*shape), space, "__init__", defaults)
    made.__kwdefaults__ = {each.name: _default(each) for each in keywords if each.has_default}
    made.__module__ = "__main__"
    _set(cls, "__init__", made)


def _default(each: Field) -> Any:
    return MISSING if each.default_factory is not MISSING else each.default


@functools.lru_cache(maxsize=256)
def _init_code(
    positional: tuple[tuple[str, bool], ...],
    keywords: tuple[tuple[str, bool], ...],
    assigned: tuple[tuple[str, bool, bool], ...],
    post: tuple[str, ...] | None,
    frozen: bool,
) -> CodeType:
    """Compile an `__init__` of this shape; every name was checked to be an identifier."""
    names = {name for name, _ in (*positional, *keywords)}
    owner = "<self>" if "self" in names else "self"
    body: list[ast.stmt] = []
    for name, init, factory in assigned:
        value: ast.expr = ast.Name(name, ast.Load())
        if factory:
            made = ast.Call(ast.Name(f"<factory {name}>", ast.Load()), [], [])
            if init:
                test = ast.Compare(ast.Name(name, ast.Load()), [ast.Is()], [ast.Name("<missing>", ast.Load())])
                value = ast.IfExp(test, made, value)
            else:
                value = made
        body.append(_store(owner, name, value, frozen))
    if post is not None:
        method = ast.Attribute(ast.Name(owner, ast.Load()), "__post_init__", ast.Load())
        body.append(ast.Expr(ast.Call(method, [ast.Name(name, ast.Load()) for name in post], [])))
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(owner), *(ast.arg(name) for name, _ in positional)],
        kwonlyargs=[ast.arg(name) for name, _ in keywords],
        kw_defaults=[None for _ in keywords],
        defaults=[],
    )
    function = ast.FunctionDef(name="__init__", args=arguments, body=body or [ast.Pass()], decorator_list=[])
    if "type_params" in ast.FunctionDef._fields:
        setattr(function, "type_params", [])  # noqa: B010
    module = ast.Module([function], [])
    fill_locations(module)
    code = compile(module, "<dataclass>", "exec", dont_inherit=True)
    return next(each for each in code.co_consts if isinstance(each, CodeType))


def _store(owner: str, name: str, value: ast.expr, frozen: bool) -> ast.stmt:
    if frozen:
        call = ast.Call(ast.Name("<set>", ast.Load()), [ast.Name(owner, ast.Load()), ast.Constant(name), value], [])
        return ast.Expr(call)
    return ast.Assign([ast.Attribute(ast.Name(owner, ast.Load()), name, ast.Store())], value)


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

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in fields:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in fields:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    _set(cls, "__setattr__", __setattr__)
    _set(cls, "__delattr__", __delattr__)


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


# ---- functions over instances


def fields_of(value: object) -> dict[str, Field] | None:
    """The fields of a dataclass or of an instance of one, or None."""
    cls = value if is_user_class(value) else type(value)
    assert isinstance(cls, type)
    for each in mro(cls):
        if each in _FIELDS:
            return _FIELDS[each]
    return None


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
        "Field": TypeStandIn("Field", Field),
        "asdict": asdict,
        "astuple": astuple,
        "dataclass": dataclass,
        "field": field,
        "fields": fields,
        "is_dataclass": is_dataclass,
        "make_dataclass": make_dataclass,
        "replace": replace,
    }
