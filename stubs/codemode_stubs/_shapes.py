"""The types a stub can say: what a JSON Schema is turned into before any name or text exists.

What lives here: immutable shapes, compared by structure, and `Declaration`, compared by identity, which stands for
what will get a name. What must not: schemas (see `_convert`), spelling (see `_declare`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Atom:
    """A type that Python has a name for: str, int, float, bool, None, Any, Never."""

    name: str


@dataclass(frozen=True, slots=True)
class Literals:
    """One of some exact values."""

    values: tuple[str, ...]
    """Python source of each value, in declared order, without repeats."""


@dataclass(frozen=True, slots=True)
class ListOf:
    """A JSON array."""

    item: Shape
    marked: bool = False
    """In a result of a tool: see `_marking`."""


@dataclass(frozen=True, slots=True)
class DictOf:
    """A JSON object whose keys are not known."""

    value: Shape
    marked: bool = False


@dataclass(frozen=True, slots=True)
class OneOf:
    """A union; made by `union`, which keeps it flat and without repeats."""

    parts: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Ref:
    """A named type."""

    target: Declaration


@dataclass(frozen=True, slots=True)
class Field:
    """One property of a record."""

    name: str
    shape: Shape
    required: bool
    note: str
    """Description and remarks in one visible line, '' for none."""


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object with known properties: a TypedDict."""

    fields: tuple[Field, ...]
    note: str
    """A remark on the object as a whole (other keys, conditions), '' for none."""
    doc: tuple[str, ...]
    """The lines of its description."""
    open: bool = False
    """Whether the schema invites keys that it does not declare (by saying so, not by saying nothing)."""


class Declaration:
    """Something that may get a name: a record, or another shape that is used by reference.

    `body` is None while the schema behind it is being read: that is how recursion ends.
    """

    __slots__ = ("body", "hint")

    def __init__(self, hint: str, body: Shape | Record | None = None) -> None:
        self.hint = hint
        self.body = body


Shape: TypeAlias = "Atom | Literals | ListOf | DictOf | OneOf | Ref"

ANY = Atom("Any")
NONE = Atom("None")
NEVER = Atom("Never")
STR = Atom("str")
INT = Atom("int")
FLOAT = Atom("float")
BOOL = Atom("bool")
ANY_OBJECT = DictOf(ANY)


def union(parts: list[Shape]) -> Shape:
    """The union of `parts`: flat, without repeats, all literals together at the place of the first, None last.

    `Any` swallows everything, and a whole type swallows its literals.
    """
    flat = dict.fromkeys(_flatten(parts))
    if ANY in flat:
        return ANY
    values = dict.fromkeys(value for part in flat if isinstance(part, Literals) for value in part.values)
    kept = tuple(value for value in values if value != "None" and not _covered(value, flat))
    ordered: list[Shape] = []
    for part in flat:
        if isinstance(part, Literals):
            if kept:
                ordered.append(Literals(kept))
                kept = ()
        elif part not in (NONE, NEVER):
            ordered.append(part)
    if NONE in flat or "None" in values:
        ordered.append(NONE)
    if not ordered:
        return NEVER
    return ordered[0] if len(ordered) == 1 else OneOf(tuple(ordered))


def _flatten(parts: list[Shape]) -> Iterator[Shape]:
    for part in parts:
        if isinstance(part, OneOf):
            yield from part.parts
        else:
            yield part


def _covered(literal: str, flat: dict[Shape, None]) -> bool:
    """Whether a literal says nothing beside the whole type that is in the union too."""
    if literal.startswith('"'):
        return STR in flat
    if literal in ("True", "False"):
        return BOOL in flat
    return INT in flat or FLOAT in flat


def children(shape: Shape | Record) -> tuple[Shape, ...]:
    """The shapes directly inside one."""
    if isinstance(shape, ListOf):
        return (shape.item,)
    if isinstance(shape, DictOf):
        return (shape.value,)
    if isinstance(shape, OneOf):
        return shape.parts
    if isinstance(shape, Record):
        return tuple(field.shape for field in shape.fields)
    return ()


def brief(shape: Shape) -> str:
    """A shape in a remark: short, with the hint where a name will be."""
    if isinstance(shape, Atom):
        return shape.name
    if isinstance(shape, Literals):
        return " | ".join(shape.values)
    if isinstance(shape, ListOf):
        return f"list[{brief(shape.item)}]"
    if isinstance(shape, DictOf):
        return f"dict[str, {brief(shape.value)}]"
    if isinstance(shape, OneOf):
        return " | ".join(brief(part) for part in shape.parts)
    return "object"
