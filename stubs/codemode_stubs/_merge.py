"""Two schemas that must both hold, as one schema (`allOf`, and keywords beside a `$ref` or a union).

What lives here: the merge of keywords. It is exact for what types can say (type, properties, required, enum, const,
additionalProperties, items) and keeps one of the two where a type could not say both; it never invents a value that
neither side allows to be absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

Schema: TypeAlias = "Mapping[str, Any]"

#: Keywords that describe and do not restrict: those of the first side that has them stay.
_PROSE = frozenset(("title", "description", "default", "examples", "example", "$comment", "$schema", "$id", "id"))
#: Bounds: the larger, or the smaller, of two is the one that holds.
_LARGER = frozenset(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"))
_SMALLER = frozenset(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"))


def merge(first: Schema, second: Schema) -> dict[str, Any]:
    """A schema for the values that both allow, as far as one schema without `allOf` can say it."""
    merged: dict[str, Any] = dict(first)
    for keyword, value in second.items():
        if keyword not in merged:
            merged[keyword] = value
        elif keyword not in _PROSE and merged[keyword] != value:
            merged[keyword] = _both(keyword, merged[keyword], value)
    return merged


def types_of(schema: Schema) -> list[str] | None:
    """The `type` keyword as a list; None where there is none (or none that can be read)."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return [declared]
    if isinstance(declared, (list, tuple)):
        return [name for name in cast("list[object]", declared) if isinstance(name, str)]
    return None


def _both(keyword: str, mine: Any, other: Any) -> Any:
    if keyword in ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"):
        return _both_properties(keyword, mine, other)
    if keyword in ("required", "enum", "anyOf", "oneOf", "allOf"):
        return _both_lists(keyword, mine, other)
    if keyword == "type":
        return _both_types({"type": mine}, {"type": other})
    if keyword in ("additionalProperties", "unevaluatedProperties", "items", "additionalItems"):
        return _both_schemas(mine, other)
    if keyword in _LARGER | _SMALLER and isinstance(mine, (int, float)) and isinstance(other, (int, float)):
        return max(mine, other) if keyword in _LARGER else min(mine, other)
    return mine


def _both_lists(keyword: str, mine: Any, other: Any) -> Any:
    if not isinstance(mine, (list, tuple)) or not isinstance(other, (list, tuple)):
        return cast("Any", mine)
    first, second = list(cast("list[Any]", mine)), list(cast("list[Any]", other))
    if keyword == "required":
        return [*first, *(name for name in second if name not in first)]
    if keyword == "allOf":
        return first + second
    both = [value for value in first if value in second]
    return both if keyword == "enum" else both or first


def _both_properties(keyword: str, mine: Any, other: Any) -> Any:
    if not isinstance(mine, Mapping) or not isinstance(other, Mapping):
        return cast("object", mine if isinstance(mine, Mapping) else other)
    properties: dict[str, Any] = dict(cast("Schema", mine))
    for name, schema in cast("Schema", other).items():
        same = name not in properties or properties[name] == schema or keyword in ("$defs", "definitions")
        properties[name] = properties.get(name, schema) if same else _both_schemas(properties[name], schema)
    return properties


def _both_schemas(mine: Any, other: Any) -> Any:
    if mine is False or other is False:
        return False
    if mine is True or mine == {}:
        return other
    if other is True or other == {}:
        return mine
    return {"allOf": [mine, other]}


def _both_types(first: Schema, second: Schema) -> list[str]:
    mine, other = types_of(first) or [], types_of(second) or []
    both = [name for name in mine if name in other]
    for wide, narrow in ((mine, other), (other, mine)):
        if "number" in wide and "integer" in narrow and "number" not in narrow and "integer" not in both:
            both.append("integer")
    return both
