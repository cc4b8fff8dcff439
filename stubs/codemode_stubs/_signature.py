"""One-line signatures for error messages.

What lives here: `signature`, which says in one line how a tool is called. Types of objects are summed up (`dict`),
because the names of a stub belong to a whole set of tools and a message stands alone.
"""

from __future__ import annotations

from ._convert import Converter
from ._literals import string_literal
from ._methods import Method, read_method
from ._shapes import Atom, Declaration, DictOf, ListOf, Literals, OneOf, Record, Shape
from ._spelling import method_spellings
from ._tool import ToolLike

#: Longest set of literals that a message lists, in characters; the start says enough of what is meant.
MAX_LITERALS = 80


def signature(tool: ToolLike) -> str:
    """How a tool is called: `search(query: str, limit: int = 10) -> list[dict]`."""
    method = read_method(tool, method_spellings([tool])[0], Converter())
    if method.spelling.dict_form:
        inside = "{" + ", ".join(_entries(method)) + "}"
    else:
        parts = [
            f"{parameter.name}: {_short(parameter.shape)}"
            + ("" if parameter.default is None else f" = {parameter.default}")
            for parameter in method.parameters
        ]
        if method.extra is not None:
            parts.append(f"**arguments: {_short(method.extra)}")
        inside = ", ".join(parts)
    return f"{tool.full_name}({inside}) -> {_short(method.returns)}"


def _entries(method: Method) -> list[str]:
    return [
        f"{string_literal(parameter.name)}{'' if parameter.default is None else '?'}: {_short(parameter.shape)}"
        for parameter in method.parameters
    ]


def _short(shape: Shape, open_: frozenset[Declaration] = frozenset()) -> str:
    if isinstance(shape, Atom):
        return shape.name
    if isinstance(shape, ListOf):
        return f"list[{_short(shape.item, open_)}]"
    if isinstance(shape, DictOf):
        return "dict"
    if isinstance(shape, Literals):
        text = ", ".join(shape.values)
        return f"Literal[{text}]" if len(text) <= MAX_LITERALS else f"Literal[{text[:MAX_LITERALS]}...]"
    if isinstance(shape, OneOf):
        return " | ".join(dict.fromkeys(_short(part, open_) for part in shape.parts))
    body = shape.target.body
    if body is None or isinstance(body, Record):
        return "dict" if body is not None else "Any"
    return "Any" if shape.target in open_ else _short(body, open_ | {shape.target})
