"""Results of tools, marked, so that a finding about a result can be told from one about a program's own values.

What lives here: the step that gives result types names of their own in the form `check`. Why: a program is untyped,
and what a checker says of its own classes, exceptions and containers is mostly no mistake (attributes set from
outside, values that change their type). What a tool returns has a declared type. So results are subclasses, `ToolStr`
for `str` and so on, and only findings that mention one of them, or a call of a tool, count. A `number` is an int here:
servers declare counts as numbers, and what takes a float takes an int.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ._shapes import Atom, Declaration, DictOf, Field, ListOf, OneOf, Record, Ref, Shape

#: Marked name -> what it is called in a message.
MARKS = {"ToolStr": "str", "ToolInt": "int", "ToolNumber": "float", "ToolList": "list", "ToolDict": "dict"}
_ATOMS = {"str": Atom("ToolStr"), "int": Atom("ToolInt"), "float": Atom("ToolNumber")}
_MARKED = re.compile(rf"\b(?:{'|'.join(MARKS)})\b")

#: The classes, as text of the stub.
CLASSES = """\
from typing import TypeVar as __TypeVar
__T = __TypeVar("__T")
class ToolStr(str): ...
class ToolInt(int): ...
class ToolNumber(int): ...
class ToolList(list[__T]): ...
class ToolDict(dict[str, __T]): ...
"""


class Marker:
    """Marks the results of one set of tools; a record that is an argument too keeps its unmarked twin."""

    def __init__(self) -> None:
        self.twins: dict[Declaration, Declaration] = {}
        """Unmarked -> marked."""

    def mark(self, shape: Shape) -> Shape:
        """The same type as a result."""
        if isinstance(shape, Atom):
            return _ATOMS.get(shape.name, shape)
        if isinstance(shape, ListOf):
            return ListOf(self.mark(shape.item), marked=True)
        if isinstance(shape, DictOf):
            return DictOf(self.mark(shape.value), marked=True)
        if isinstance(shape, OneOf):
            return OneOf(tuple(self.mark(part) for part in shape.parts))
        if isinstance(shape, Ref):
            return Ref(self._twin(shape.target))
        return shape

    def _twin(self, declaration: Declaration) -> Declaration:
        twin = self.twins.get(declaration)
        if twin is None:
            twin = self.twins[declaration] = Declaration(declaration.hint)
            body = declaration.body
            if isinstance(body, Record):
                twin.body = replace(body, fields=tuple(self._field(field) for field in body.fields))
            elif body is not None:
                twin.body = self.mark(body)
        return twin

    def _field(self, field: Field) -> Field:
        return replace(field, shape=self.mark(field.shape))


def is_marked(message: str) -> bool:
    """Whether ty's words mention a result."""
    return bool(_MARKED.search(message))


def unmarked(message: str) -> str:
    """ty's words with the types' own names."""
    return _MARKED.sub(lambda match: MARKS[match[0]], message)
