"""Values that fit a JSON Schema, chosen to make rules speak: limits and just past them, paths, hosts, big numbers.

No schema is trusted to be satisfiable or small: what does not validate is left out, and there is a bound on how many.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, cast

import jsonschema_rs

from codemode_registry import thaw

MAX_SAMPLES = 48
MAX_DEPTH = 6

_TEXTS = (
    "text", "", "secret", "admin", "/etc/passwd", "../../secret", "https://example.com/", "http://169.254.169.254/",
    "a@example.com", "rm -rf /", "DROP TABLE users", "*", "2026-01-31", "00000000-0000-4000-8000-000000000000",
)  # fmt: skip
_NUMBERS = (1, 0, -1, 11, 51, 101, 1_001, 10_001, 1_000_001, 10**9)


def samples(schema: Mapping[str, Any], *, limit: int = MAX_SAMPLES) -> list[Any]:
    """Values that the schema accepts.

    Args:
        schema: a JSON Schema; `$ref` is followed within it.
        limit: how many values at the most.

    Returns:
        Distinct valid values, the plainest first; empty where none was found.
    """
    plain = cast("dict[str, Any]", thaw(schema))
    validator = jsonschema_rs.validator_for(plain)
    found: list[Any] = []
    for value in itertools.islice(_candidates(plain, plain, 0), 40 * limit):
        if value not in found and validator.is_valid(value):
            found.append(value)
            if len(found) >= limit:
                break
    return found


def _candidates(schema: Any, root: Mapping[str, Any], depth: int) -> Iterator[Any]:
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        yield from ("text", 1, None, {}, [])
        return
    node = cast("Mapping[str, Any]", schema)
    if "const" in node:
        yield node["const"]
        return
    if "enum" in node:
        yield from node["enum"]
        return
    yield from node.get("examples", ())
    if "default" in node:
        yield node["default"]
    if isinstance(node.get("$ref"), str):
        yield from _candidates(_target(node["$ref"], root), root, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        for option in node.get(key, ()):
            yield from _candidates(option, root, depth + 1)
    kinds = node.get("type", ("object",) if "properties" in node else ())
    for kind in (kinds,) if isinstance(kinds, str) else tuple(kinds) or ("string", "number"):
        yield from _of_kind(kind, node, root, depth)


def _of_kind(kind: str, node: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Iterator[Any]:
    if kind == "string":
        yield from _TEXTS
        yield "x" * int(min(node.get("minLength", 0), 1_000))
    elif kind in ("integer", "number"):
        for bound in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"):
            if isinstance(node.get(bound), int | float):
                yield from (node[bound], node[bound] + 1, node[bound] - 1)
        yield from _NUMBERS
        if kind == "number":
            yield from (0.5, 99.5)
    elif kind == "boolean":
        yield from (False, True)
    elif kind == "null":
        yield None
    elif kind == "array":
        items = list(itertools.islice(_candidates(node.get("items", {}), root, depth + 1), 4))
        yield []
        yield from ([item] for item in items)
        yield items
    elif kind == "object":
        yield from _objects(node, root, depth)


def _objects(node: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Iterator[dict[str, Any]]:
    """The plainest object, one with everything, then each property's other values one at a time."""
    properties: Mapping[str, Any] = node.get("properties", {})
    room = 16 if depth == 0 else 3
    values = {
        name: list(itertools.islice(_candidates(part, root, depth + 1), room)) or [None]
        for name, part in properties.items()
    }
    required = [name for name in node.get("required", ()) if name in values]
    base = {name: values[name][0] for name in required}
    yield base
    yield {name: options[0] for name, options in values.items()}
    for name, options in values.items():
        yield from ({**base, name: option} for option in options)


def _target(reference: str, root: Mapping[str, Any]) -> Any:
    if not reference.startswith("#"):
        return {}
    place: Any = root
    for part in reference[1:].strip("/").split("/"):
        if not part:
            continue
        key = part.replace("~1", "/").replace("~0", "~")
        place = cast("Mapping[str, Any]", place).get(key, {}) if isinstance(place, Mapping) else {}
    return place
