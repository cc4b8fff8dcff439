"""What a type cannot say of a schema, in a few words: bounds, formats, patterns, conditions.

Each remark is one short phrase; a field's note is its description and then its remarks in brackets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ._literals import number_literal, value_literal
from ._merge import Schema
from ._prose import one_line

#: Longest default, pattern or value in a remark, in characters: beyond it the reader gains nothing from the rest.
MAX_VALUE = 60

_CONDITIONS = ("if", "not", "dependentSchemas", "dependentRequired", "dependencies")


def remarks(schema: Schema) -> list[str]:
    """The remarks of one schema node, without those of its parts."""
    found = [
        _between(schema),
        _counted(schema, "minLength", "maxLength", "characters"),
        _counted(schema, "minItems", "maxItems", "items"),
        _counted(schema, "minProperties", "maxProperties", "keys"),
    ]
    for keyword in ("format", "contentEncoding", "contentMediaType"):
        found.append(one_line(schema.get(keyword)))
    if isinstance(schema.get("pattern"), str):
        found.append("matches " + one_line(schema["pattern"])[: 2 * MAX_VALUE])
    step = schema.get("multipleOf")
    if isinstance(step, (int, float)) and _is_number(step):
        found.append(f"multiple of {number_literal(step)}")
    if schema.get("uniqueItems") is True:
        found.append("unique")
    if schema.get("deprecated") is True:
        found.append("deprecated")
    if schema.get("readOnly") is True:
        found.append("read-only")
    names = schema.get("propertyNames")
    if isinstance(names, Mapping):
        found.extend("keys: " + remark for remark in remarks(cast("Schema", names)))
    if any(keyword in schema for keyword in _CONDITIONS):
        found.append("has further conditions")
    return [remark for remark in found if remark]


def default_remark(schema: Schema) -> list[str]:
    """The default as a remark, where it is short; null says nothing that `optional` does not."""
    if schema.get("default") is None:
        return []
    text = value_literal(schema["default"])
    return [f"default {text}"] if text is not None and len(text) <= MAX_VALUE else []


def note(description: object, extra: list[str]) -> str:
    """A description and remarks as one line."""
    text = one_line(description)
    kept = list(dict.fromkeys(extra))
    if not kept:
        return text
    brackets = "(" + "; ".join(kept) + ")"
    return f"{text} {brackets}" if text else brackets


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _between(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    strict_low, strict_high = above is True, below is True  # draft 4 wrote them as booleans
    least = number_literal(low) if isinstance(low, (int, float)) and _is_number(low) else None
    most = number_literal(high) if isinstance(high, (int, float)) and _is_number(high) else None
    # JavaScript schema builders write the safe-integer range for "any integer"; saying so would help nobody.
    if least == "-9007199254740991":
        least = None
    if most == "9007199254740991":
        most = None
    parts: list[str] = []
    if least is not None and most is not None and not strict_low and not strict_high:
        parts.append(f"{least}..{most}")
    else:
        if least is not None:
            parts.append(f"{'>' if strict_low else '>='} {least}")
        if most is not None:
            parts.append(f"{'<' if strict_high else '<='} {most}")
    if isinstance(above, (int, float)) and _is_number(above):
        parts.append(f"> {number_literal(above)}")
    if isinstance(below, (int, float)) and _is_number(below):
        parts.append(f"< {number_literal(below)}")
    return ", ".join(parts)


def _counted(schema: Schema, least_key: str, most_key: str, unit: str) -> str:
    least, most = schema.get(least_key), schema.get(most_key)
    has_least = _is_number(least) and least
    has_most = _is_number(most)
    if has_least and has_most:
        return f"{least} {unit}" if least == most else f"{least}..{most} {unit}"
    if has_least:
        return f"at least {least} {unit}"
    return f"at most {most} {unit}" if has_most else ""
