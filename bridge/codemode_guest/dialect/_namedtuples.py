"""Named tuples: `collections.namedtuple` and `typing.NamedTuple`.

The library evaluates a lambda with the field names in it, so names are checked first to be plain identifiers, after
the normalisation that the parser would make; `module=` cannot be set.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import collections
import keyword
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any, Final

from ._names import is_dunder, words
from ._tables import register_type
from ._types_seen import expose_class
from ._user_types import mro

_make: Final[Callable[..., Any]] = collections.namedtuple

NAMED_TUPLES: Final[dict[type, tuple[str, ...]]] = {}
"""Named tuple classes that programs made -> their fields."""

_OFFERED: Final = words("_asdict _replace _make _fields _field_defaults count index")


class _NamedTupleBase:
    """What `typing.NamedTuple` is in programs: a base that leaves no trace among the bases."""

    __slots__ = ()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return ()

    def __call__(self, typename: Any, fields: Iterable[Any] = (), /) -> Any:
        pairs = list(fields)
        return named_tuple(typename, [name for name, _ in pairs])

    def __repr__(self) -> str:
        return "<function NamedTuple>"


NAMED_TUPLE: Final = _NamedTupleBase()


def is_named_tuple(bases: tuple[Any, ...]) -> bool:
    """Whether a class statement makes a named tuple."""
    return any(base is NAMED_TUPLE for base in bases)


def named_tuple(typename: Any, field_names: Any, *, rename: bool = False, defaults: Iterable[Any] | None = None) -> Any:
    """The program's `collections.namedtuple`."""
    if not isinstance(typename, str):
        typename = str(typename)
    if isinstance(field_names, str):
        field_names = field_names.replace(",", " ").split()
    names = [_plain(name if type(name) is str else str(name)) for name in field_names]
    made: Any = _make(_plain(typename), names, rename=bool(rename), defaults=defaults, module="__main__")
    _register(made, ())
    return made


def _plain(name: str) -> str:
    """A name that means the same to the check and to the parser."""
    name = str.__str__(name)
    if unicodedata.normalize("NFKC", name) != name:
        raise ValueError(f"Type names and field names must be valid identifiers: {name!r}")
    return name


def _register(cls: type, own: Iterable[str]) -> None:
    fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
    NAMED_TUPLES[cls] = fields
    register_type(cls, _OFFERED | set(fields) | set(own))
    expose_class(cls)


def make_named_tuple(name: str, namespace: dict[str, Any], annotations: dict[str, str]) -> Any:
    """Make the class of a `class P(NamedTuple)` statement."""
    fields = list(annotations)
    defaults: list[Any] = []
    for field in fields:
        if field.startswith("_"):
            raise ValueError(f"Field names cannot start with an underscore: {field!r}")
        if keyword.iskeyword(field):
            raise ValueError(f"Type names and field names cannot be a keyword: {field!r}")
        if field in namespace:
            defaults.append(namespace[field])
        elif defaults:
            raise TypeError(f"non-default namedtuple field {field} cannot follow default field")
    made: Any = _make(_plain(name), fields, defaults=defaults, module="__main__")
    own: list[str] = []
    for key, value in namespace.items():
        if key in ("__init__", "__slots__"):
            if key == "__init__":
                raise AttributeError(f"Cannot overwrite NamedTuple attribute {key}")
        elif key not in annotations and key not in ("__module__", "__annotations__", "__orig_bases__", "__classcell__"):
            if key in _OFFERED:
                raise AttributeError(f"Cannot overwrite NamedTuple attribute {key}")
            type.__setattr__(made, key, value)
            if not is_dunder(key):
                own.append(key)
    cell = namespace.get("__classcell__")
    if cell is not None:
        cell.cell_contents = made
    _register(made, own)
    return made


def named_tuple_fields(cls: type) -> tuple[str, ...] | None:
    """The fields of a named tuple class of the program (or a class derived from one), or None."""
    for each in mro(cls):
        if each in NAMED_TUPLES:
            return NAMED_TUPLES[each]
    return None
