"""Random JSON Schemas of the kinds that tools declare, and values for them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = st.one_of(
    st.sampled_from(
        ["id", "name", "from", "class", "list", "str", "a-b", "self", "__x", "Any", "content-type", "ﬁ", "x y"]
    ),
    st.text(min_size=1, max_size=6),
)
TEXTS = st.text(max_size=12)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
PROSE = st.fixed_dictionaries(
    {}, optional={"description": st.text(max_size=20), "title": NAMES, "default": SCALARS, "format": TEXTS}
)


def leaves() -> st.SearchStrategy[dict[str, Any]]:
    kinds = st.sampled_from(["string", "integer", "number", "boolean", "null"])
    return st.one_of(
        st.builds(lambda kind: {"type": kind}, kinds),
        st.builds(lambda some: {"type": sorted(some)}, st.sets(kinds, min_size=1, max_size=3)),
        st.builds(lambda some: {"enum": some}, st.lists(SCALARS, min_size=1, max_size=4)),
        st.builds(lambda one: {"const": one}, SCALARS),
        st.just({}),
        st.sampled_from([{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]),
    )


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.builds(lambda item: {"type": "array", "items": item}, inner),
        st.builds(
            lambda items: {"type": "array", "prefixItems": items, "items": False},
            st.lists(inner, min_size=1, max_size=3),
        ),
        st.builds(lambda value: {"type": "object", "additionalProperties": value}, inner),
        objects(inner),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"oneOf": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"allOf": parts}, st.lists(objects(inner), min_size=1, max_size=2)),
        st.builds(lambda part: {**part, "nullable": False}, inner),
    )


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    properties = draw(st.dictionaries(NAMES, inner, max_size=4))
    required = [name for name in properties if draw(st.booleans())]
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    rest = draw(st.sampled_from([None, True, False, {"type": "integer"}]))
    return schema if rest is None else {**schema, "additionalProperties": rest}


@st.composite
def described(draw: st.DrawFn, inner: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    return {**draw(PROSE), **draw(inner)}


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    """Any schema; its references lead to `$defs` A and B, which `documents` adds."""
    return st.recursive(described(leaves()), lambda inner: described(_containers(inner)), max_leaves=8)


@st.composite
def documents(draw: st.DrawFn, root: st.SearchStrategy[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A schema with the definitions that it refers to."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/B"}, "value": draw(schemas())}}
    return {**draw(root if root is not None else schemas()), "$defs": {"A": draw(schemas()), "B": node}}


#: Anything that JSON can be, as values that a schema may or may not accept.
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)


@st.composite
def values_near(draw: st.DrawFn, schema: Any, root: Any, depth: int = 6) -> Any:
    """A value that tries to fit: right more often than not, wrong often enough."""
    if depth == 0 or not isinstance(schema, dict) or draw(st.integers(0, 9)) == 0:
        return draw(VALUES)
    if "$ref" in schema:
        return draw(values_near(root["$defs"][schema["$ref"][-1]], root, depth - 1))
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return draw(values_near(draw(st.sampled_from(schema[keyword])), root, depth - 1))
    if "allOf" in schema:
        merged: dict[str, Any] = {}
        for part in schema["allOf"]:
            value = draw(values_near(part, root, depth - 1))
            merged.update(value if isinstance(value, dict) else {})
        return merged
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kinds = schema.get("type", "any")
    kind = draw(st.sampled_from(kinds)) if isinstance(kinds, list) else kinds
    if kind == "array":
        items = schema.get("prefixItems") or [schema.get("items", {})] * draw(st.integers(0, 2))
        return [draw(values_near(item, root, depth - 1)) for item in items]
    if kind == "object":
        value = {
            name: draw(values_near(part, root, depth - 1))
            for name, part in schema.get("properties", {}).items()
            if name in schema.get("required", []) or draw(st.booleans())
        }
        rest = schema.get("additionalProperties")
        if isinstance(rest, dict) and draw(st.booleans()):
            value[draw(NAMES)] = draw(values_near(rest, root, depth - 1))
        return value
    scalars: dict[str, st.SearchStrategy[Any]] = {
        "string": TEXTS, "integer": st.integers(), "number": st.floats(-1e9, 1e9), "boolean": st.booleans(),
        "null": st.none(),
    }  # fmt: skip
    return draw(scalars.get(kind, VALUES))
