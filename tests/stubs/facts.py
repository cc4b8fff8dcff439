"""A second opinion on what a schema means, and a reading of what an executed stub says: both as plain facts to compare.

Shares no code with the renderer. `of_schema` reads JSON Schema, `of_type` reads the objects of `typing`; each gives a
nested tuple. Below `DEPTH` both give the same mark, which is how recursion ends.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, NotRequired, Required, Union, get_args, get_origin

DEPTH = 7
CUT = ("cut",)
ANY = ("any",)
SCALARS = {"string": ("str",), "integer": ("int",), "number": ("float",), "boolean": ("bool",), "null": ("none",)}
Fact = tuple[Any, ...]


def union(parts: list[Fact]) -> Fact:
    flat: set[Fact] = set()
    values: set[Any] = set()
    for part in parts:
        for one in part[1] if part[0] == "union" else [part]:
            if one[0] == "literal":
                values |= one[1]
            else:
                flat.add(one)
    if ANY in flat:
        return ANY
    whole = {"str": str, "bool": bool, "int": int, "float": int}
    values = {
        value for value in values if not any((name,) in flat and type(value[1]) is kind for name, kind in whole.items())
    }
    if ("str", None) in values or ("none", None) in values:
        values.discard(("none", None))
        flat.add(("none",))
    if values:
        flat.add(("literal", frozenset(values)))
    return next(iter(flat)) if len(flat) == 1 else ("union", frozenset(flat))


def literal(value: Any) -> Fact:
    if value is None:
        return ("none",)
    return ("literal", frozenset([(type(value).__name__, value)]))


def of_schema(schema: Any, root: Any, depth: int = DEPTH) -> Fact:
    if depth == 0:
        return CUT
    if schema is True or schema == {}:
        return ANY
    if "$ref" in schema:
        target = root
        for token in schema["$ref"].split("/")[1:]:
            target = target[token]
        return of_schema(target, root, depth)
    if "const" in schema:
        return literal(schema["const"])
    if "enum" in schema:
        return union([literal(value) for value in schema["enum"]])
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema and any(set(branch) - {"required"} for branch in schema[keyword]):
            return union([of_schema(branch, root, depth) for branch in schema[keyword]])
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return union([of_schema({**schema, "type": kind}, root, depth) for kind in kinds])
    if kinds in SCALARS:
        return SCALARS[kinds]
    if kinds == "array":
        return ("list", of_schema(schema.get("items", True), root, depth - 1))
    if kinds == "object" or "properties" in schema:
        if not schema.get("properties") and schema.get("additionalProperties", True) is not False:
            return ("dict", of_schema(schema.get("additionalProperties", True), root, depth - 1))
        required = schema.get("required", [])
        return (
            "object",
            frozenset(
                (name, name in required, of_schema(part, root, depth - 1))
                for name, part in schema.get("properties", {}).items()
            ),
        )
    return ANY


def of_type(hint: Any, depth: int = DEPTH) -> Fact:
    if depth == 0:
        return CUT
    if hint is Any:
        return ANY
    if hint in (None, type(None)):
        return ("none",)
    if hint in (str, int, float, bool):
        return (hint.__name__,)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return union([literal(value) for value in arguments])
    if origin in (Union, types.UnionType):
        return union([of_type(part, depth) for part in arguments])
    if origin is list:
        return ("list", of_type(arguments[0], depth - 1))
    if origin is dict:
        assert arguments[0] is str
        return ("dict", of_type(arguments[1], depth - 1))
    if typing.is_typeddict(hint):
        fields = typing.get_type_hints(hint, include_extras=True)
        return (
            "object",
            frozenset(
                (name, name in hint.__required_keys__, of_type(_bare(field), depth - 1))
                for name, field in fields.items()
            ),
        )
    raise AssertionError(f"an annotation that no rule knows: {hint!r}")


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) in (NotRequired, Required) else hint


def accepts(hint: Any, value: Any) -> bool:
    """Whether a JSON value is one that the annotation describes (open TypedDicts: undeclared keys pass)."""
    if hint is Any:
        return True
    if hint in (None, type(None)):
        return value is None
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        )
    if hint in (str, bool):
        return isinstance(value, hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return any(value == one and isinstance(value, bool) is isinstance(one, bool) for one in arguments)
    if origin in (Union, types.UnionType):
        return any(accepts(part, value) for part in arguments)
    if origin is list:
        return isinstance(value, list) and all(accepts(arguments[0], item) for item in value)
    if origin is dict:
        return isinstance(value, Mapping) and all(accepts(arguments[1], item) for item in value.values())
    if typing.is_typeddict(hint):
        fields = {name: _bare(field) for name, field in typing.get_type_hints(hint, include_extras=True).items()}
        return (
            isinstance(value, Mapping)
            and all(name in value for name in hint.__required_keys__)
            and all(accepts(fields[name], item) for name, item in value.items() if name in fields)
        )
    if hint is typing.Never:
        return False
    raise AssertionError(f"an annotation that no rule knows: {hint!r}")
