"""A tool as a method: its parameters, defaults, result and documentation, before any name is spelled.

What lives here: the step from a tool's two schemas to what one stub entry shows. Defaults are shown as literals where
they are short and fit the parameter's type; a default that breaks its own schema is only a remark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ._convert import Converter, Typed
from ._document import Document
from ._flatten import ParametersRoot, parameters_root
from ._literals import value_literal
from ._merge import Schema
from ._names import join_names, pascal
from ._prose import one_line, paragraphs
from ._remarks import default_remark, note
from ._shapes import (
    ANY,
    FLOAT,
    INT,
    NONE,
    Atom,
    Declaration,
    DictOf,
    Field,
    ListOf,
    Literals,
    OneOf,
    Record,
    Ref,
    Shape,
)
from ._spelling import Spelling
from ._tool import ToolLike

#: Longest list or object that is shown as a default, in characters of source.
MAX_DEFAULT = 40


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a method."""

    name: str
    shape: Shape
    default: str | None
    """Python source after `=`; None for a required parameter."""
    note: str


@dataclass(frozen=True, slots=True)
class Method:
    """All that one stub entry shows."""

    spelling: Spelling
    hint: str
    """PascalCase of namespace and name: where the names of its types start."""
    parameters: tuple[Parameter, ...]
    extra: Shape | None
    """The type of further arguments."""
    record: Declaration
    """The arguments as one object."""
    returns: Shape
    lines: tuple[str, ...]
    """The description's lines."""
    tags: tuple[str, ...]
    """What the tool declares of its effects, and conditions on its arguments."""
    result_note: str
    """What the result's type does not say."""


def read_method(tool: ToolLike, spelling: Spelling, converter: Converter) -> Method:
    """Reads one tool. A schema too deep for this interpreter's stack is shown as unknown."""
    try:
        return _read(tool, spelling, converter, tool.parameters, tool.output)
    except RecursionError:
        return _read(tool, spelling, converter, {"type": "object"}, None)


def _read(tool: ToolLike, spelling: Spelling, converter: Converter, schema: object, output: object) -> Method:
    document = Document(schema)
    root = parameters_root(document)
    space = pascal(spelling.namespace or "")
    own = pascal(tool.name)
    hint = join_names(space, own or "Tool") if space or own else "Tool"
    parameters: list[Parameter] = []
    fields: list[Field] = []
    for name in root.order:
        parameter, described = _parameter(converter, document, root, name, hint)
        parameters.append(parameter)
        fields.append(described)
    extra = None if root.extra is None else converter.convert(document, root.extra, hint).shape
    record = Record(
        tuple(fields), "" if extra is None else "other keys allowed", (), extra is not None or "" in root.properties
    )
    typed = Typed(ANY) if output is None else converter.convert(Document(output), output, hint + "Result", own=True)
    effects = tool.annotations
    tags = ["read-only"] if effects.read_only else ["destructive"] if effects.destructive else []
    return Method(
        spelling,
        hint,
        tuple(parameters),
        extra,
        Declaration(hint + "Args", record),
        typed.shape,
        tuple(paragraphs(tool.description)),
        (*tags, *root.notes),
        _result_note(typed, output),
    )


def _parameter(
    converter: Converter, document: Document, root: ParametersRoot, name: str, hint: str
) -> tuple[Parameter, Field]:
    schema = root.properties[name]
    typed = converter.convert(document, schema, join_names(hint, pascal(name)))
    remarks = list(typed.remarks)
    node: Schema = cast("Schema", schema) if isinstance(schema, Mapping) else {}
    description = one_line(node.get("description")) or typed.text
    shown = default_remark(node)
    required = name in root.required
    field = Field(name, typed.shape, required, note(description, remarks if required else remarks + shown))
    default: str | None = None
    if not required:
        default = _default(node, typed.shape)
        if default == "...":
            remarks += shown
    return Parameter(name, typed.shape, default, note(description, remarks)), field


def _default(schema: Schema, shape: Shape) -> str:
    if "default" not in schema or not _fits(schema["default"], shape):
        return "..."
    text = value_literal(schema["default"])
    if text is None or (len(text) > MAX_DEFAULT and isinstance(schema["default"], (list, tuple, Mapping))):
        return "..."
    return text


def _fits(value: object, shape: Shape, depth: int = 20) -> bool:
    """Whether a type checker takes the value's literal for the shape."""
    if depth == 0:
        return False
    if isinstance(shape, Ref):
        body = shape.target.body
        if isinstance(body, Record):
            return isinstance(value, Mapping) and _fits_record(cast("Schema", value), body, depth)
        return body is not None and _fits(value, body, depth - 1)
    if isinstance(shape, Literals):
        return isinstance(value, (str, int, float)) and value_literal(value) in shape.values
    if isinstance(shape, OneOf):
        return any(_fits(value, part, depth - 1) for part in shape.parts)
    if isinstance(shape, ListOf):
        return isinstance(value, (list, tuple)) and all(
            _fits(item, shape.item, depth - 1) for item in cast("list[object]", value)
        )
    if isinstance(shape, DictOf):
        return isinstance(value, Mapping) and all(
            _fits(item, shape.value, depth - 1) for item in cast("Schema", value).values()
        )
    return _fits_atom(value, shape)


def _fits_record(value: Schema, record: Record, depth: int) -> bool:
    fields = {field.name: field for field in record.fields}
    return all(field.name in value for field in record.fields if field.required) and all(
        name in fields and _fits(item, fields[name].shape, depth - 1) for name, item in value.items()
    )


def _fits_atom(value: object, atom: Atom) -> bool:
    if atom == ANY:
        return True
    if atom == NONE:
        return value is None
    if isinstance(value, bool):
        return atom.name == "bool"
    if isinstance(value, float):
        return atom == FLOAT or (atom == INT and value.is_integer())
    if isinstance(value, int):
        return atom in (INT, FLOAT)
    return isinstance(value, str) and atom.name == "str"


def _result_note(returns: Typed, output: object) -> str:
    text = returns.text
    if not text and not isinstance(returns.shape, Ref) and isinstance(output, Mapping):
        text = one_line(cast("Any", output).get("description"))
    return note(text, list(returns.remarks))
