"""A schema without `$ref` and `allOf` at its top, and a tool's parameters as a plain list.

What lives here: the two ways to look through combinators at the top of a schema. The spelling of calls and the stub's
text both start from `parameters_root`, so that what a stub shows is what a program can call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ._document import REFERENCES, Document
from ._merge import Schema, merge

#: Keywords that say what a value is; beside a `$ref` or a union all others only describe or bound it.
STRUCTURE = frozenset(
    (
        "type",
        "properties",
        "required",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
        "items",
        "prefixItems",
        "additionalProperties",
        "patternProperties",
    )
)


def reference_of(schema: Schema) -> str | None:
    """The reference at the top of a schema."""
    for keyword in REFERENCES:
        reference = schema.get(keyword)
        if isinstance(reference, str):
            return reference
    return None


def mappings(value: object) -> list[Schema]:
    """The members of a list that are schemas with keywords."""
    if not isinstance(value, (list, tuple)):
        return []
    return [cast("Schema", item) for item in cast("list[object]", value) if isinstance(item, Mapping)]


def texts(value: object) -> list[str]:
    """The members of a list that are strings, each once."""
    if not isinstance(value, (list, tuple)):
        return []
    return list(dict.fromkeys(item for item in cast("list[object]", value) if isinstance(item, str)))


def flatten(document: Document, schema: Schema, seen: frozenset[str] = frozenset()) -> Schema:
    """The schema with references and `allOf` at its top resolved and merged; a reference to itself adds nothing."""
    reference = reference_of(schema)
    parts = mappings(schema.get("allOf"))
    if (reference is None and not parts) or not document.spend():
        return schema
    flat: Schema = {key: value for key, value in schema.items() if key != "allOf" and key not in REFERENCES}
    if reference is not None and reference not in seen:
        target = document.resolve(reference)
        seen = seen | {reference}
        if isinstance(target, Mapping):
            flat = merge(flat, flatten(document, cast("Schema", target), seen))
    for part in parts:
        flat = merge(flat, flatten(document, part, seen))
    return flat


@dataclass(frozen=True, slots=True)
class ParametersRoot:
    """The parameters of a tool, before anything is known of their types."""

    properties: Mapping[str, Any]
    """Name -> schema, in declared order; names that are only in `required` come last."""
    required: frozenset[str]
    extra: Any
    """The schema of further arguments, or None where there are none."""
    notes: tuple[str, ...]
    flat: Schema

    @property
    def order(self) -> tuple[str, ...]:
        """Required ones first, then optional ones, each in declared order."""
        first = [name for name in self.properties if name in self.required]
        return (*first, *(name for name in self.properties if name not in self.required))


def parameters_root(document: Document) -> ParametersRoot:
    """Reads the root of a tool's parameters schema; what cannot be read becomes "any further arguments"."""
    root = document.root
    if not isinstance(root, Mapping):
        return ParametersRoot({}, frozenset(), True, ("parameters unknown",), {})
    flat = flatten(document, cast("Schema", root))
    declared = flat.get("properties", {})
    if not isinstance(declared, Mapping):
        return ParametersRoot({}, frozenset(), True, ("parameters unknown",), {})
    properties = dict(cast("Schema", declared))
    required = set(texts(flat.get("required")))
    notes: list[str] = []
    for keyword in ("anyOf", "oneOf"):
        branches = [flatten(document, branch) for branch in mappings(flat.get(keyword))]
        if branches:
            notes.append(_branches(branches, properties, required))
    for name in sorted(required - properties.keys()):
        properties[name] = True
    extra = flat.get("additionalProperties", None if "properties" in flat or properties else True)
    if extra is False or (extra is not True and not isinstance(extra, Mapping)):
        extra = None
    return ParametersRoot(properties, frozenset(required), extra, tuple(note for note in notes if note), flat)


def _branches(branches: list[Schema], properties: dict[str, Any], required: set[str]) -> str:
    """Adds what alternatives at the root say; a parameter is required if every alternative requires it."""
    sets = [texts(branch.get("required")) for branch in branches]
    required.update(name for name in sets[0] if all(name in names for names in sets))
    alternatives: dict[str, list[Any]] = {}
    for branch in branches:
        own = branch.get("properties")
        for name, schema in cast("Schema", own).items() if isinstance(own, Mapping) else ():
            alternatives.setdefault(name, []).append(schema)
    for name, schemas in alternatives.items():
        if name not in properties:
            properties[name] = schemas[0] if all(one == schemas[0] for one in schemas) else {"anyOf": schemas}
    shown = list(dict.fromkeys(" + ".join(names) for names in sets if names))
    return "needs " + " or ".join(shown) if len(shown) > 1 else ""
