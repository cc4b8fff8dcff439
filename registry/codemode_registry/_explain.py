"""What is wrong with a value, in words that let a model repair it: path, expected, came, accepted names, a near name.

Rules
- One sentence per problem; all problems of a value in one message, in the order of the value.
- A validator's own wording is the last resort. Values that came are shown short, in JSON spelling.
- A union is explained by the branch the value plainly means (its kind fits), not by listing every branch's complaint.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# What comes in is looked at, not trusted to a type.

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import jsonschema_rs

from ._json import join_path, shown_string

MAX_VIOLATIONS = 20
"""Problems listed in one message; a model repairs the first few and tries again."""


MAX_SEARCHED_NAME = 128
"""Characters of a name that near ones are searched for; the longest that a tool can have."""

MAX_SEARCHED = 5_000
"""Names among which a near one is searched: some 20 ms."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One problem of a value."""

    path: str
    """Where: `rows[0].name`; "" for the root."""
    text: str
    """What is wrong there: `expected an integer, got the string "3"`."""

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


def near(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one most likely means. A hint: long names and large sets are not searched."""
    known = list(known)
    if len(name) > MAX_SEARCHED_NAME or len(known) > MAX_SEARCHED:
        return None
    folded: dict[str, str] = {}
    for candidate in known:
        folded.setdefault(candidate.casefold().replace("-", "_"), candidate)
    wanted = name.casefold().replace("-", "_")
    if wanted in folded:
        return folded[wanted]
    matches = difflib.get_close_matches(wanted, folded, n=1, cutoff=0.6)
    if matches:
        return folded[matches[0]]
    tails = [full for key, full in folded.items() if key.rpartition(".")[2] == wanted.rpartition(".")[2]]
    return tails[0] if len(tails) == 1 else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?` or nothing."""
    match = near(name, known)
    return f"; did you mean {shown_string(match)}?" if match is not None else ""


def shown(value: object, limit: int = 60) -> str:
    """A JSON value, short, with its kind: `the string "3"`, `an object with keys "a", "b"`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the string {shown_string(value, limit)}"
    if isinstance(value, (int, float)):
        return f"the number {literal(value, limit)}"
    if isinstance(value, dict):
        keys = list(cast("dict[str, Any]", value))
        names = ", ".join(shown_string(key, 30) for key in keys[:5]) + (", …" if len(keys) > 5 else "")
        return f"an object with keys {names}" if keys else "an empty object"
    if isinstance(value, list):
        size = len(value)
        return f"an array of {size}" if size else "an empty array"
    return f"a {type(value).__name__}"


def literal(value: object, limit: int = 60) -> str:
    """A JSON value in JSON spelling, cut where it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return f"a {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 1] + "…"


_KINDS = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
    "null": "null",
}


def kind_names(types: Sequence[str]) -> str:
    """`an integer or null`."""
    ordered = sorted(types, key=lambda name: name == "null")
    return " or ".join(_KINDS.get(name, name) for name in ordered)


def violations(
    errors: Iterable[jsonschema_rs.ValidationError], value: object, schema: Mapping[str, Any], *, complete: bool = True
) -> list[Violation]:
    """The validator's errors, reworded; at most `MAX_VIOLATIONS` and one that counts the rest (where all are there)."""
    found: dict[Violation, None] = {}
    for error in errors:
        for violation in _reword(error, value, schema):
            found[violation] = None
    listed = list(found)
    if len(listed) > MAX_VIOLATIONS:
        rest = len(listed) - MAX_VIOLATIONS
        listed[MAX_VIOLATIONS:] = [Violation("", f"and {rest} more" if complete else "and more")]
    return listed


_Error: TypeAlias = jsonschema_rs.ValidationError


def _path(steps: Iterable[str | int]) -> str:
    path = ""
    for step in steps:
        path = join_path(path, step)
    return path


def _reword(error: _Error, root: object, schema: Mapping[str, Any]) -> list[Violation]:
    name = error.kind.name
    if name in ("anyOf", "oneOf"):
        return _union(error, root, schema)
    path = _path(error.instance_path)
    if name == "required":
        missing = str(error.kind.value)
        what = _described(_declared(schema, error, missing))
        return [Violation(join_path(path, missing), f"missing{what}")]
    if name in ("additionalProperties", "unevaluatedProperties"):
        return _unknown(cast("list[str]", error.kind.value), path, _properties(_owner(schema, error)))
    wording = _WORDINGS.get(name)
    came = _at(root, error.instance_path)
    if wording is not None:
        hint = _hint(error, came) or _leave_out(error, came, schema)
        return [Violation(path, f"expected {wording(error.kind.value)}, got {shown(came)}{hint}")]
    if name == "falseSchema":
        steps = list(error.evaluation_path)
        if isinstance(came, dict) and steps and steps[-1] == "additionalProperties":  # closed, and declares nothing
            return _unknown(list(came), path, {})
        return [Violation(path, "is not accepted here")]
    if name == "propertyNames":
        return [Violation(path, f"has a key that is not accepted: {getattr(error.kind.value, 'message', '')}")]
    return [Violation(path, _short(error.message))]


def _hint(error: _Error, came: object) -> str:
    if error.kind.name == "enum" and isinstance(came, str):
        return did_you_mean(came, [option for option in error.kind.value if isinstance(option, str)])
    if error.kind.name == "type" and isinstance(came, str) and ({"object", "array"} & set(error.kind.value)):
        try:
            parsed = json.loads(came)
        except (ValueError, RecursionError):
            return ""
        if isinstance(parsed, (dict, list)):
            return "; pass the value itself, not its JSON text"
    return ""


def _leave_out(error: _Error, came: object, schema: Mapping[str, Any]) -> str:
    """What to do in place of passing null for an optional name."""
    steps = list(error.evaluation_path)
    if came is not None or len(steps) < 3 or steps[-3] != "properties":
        return ""
    required = _follow(schema, steps[:-3]).get("required", ())
    return "" if steps[-2] in required else "; leave it out where there is no value"


def _short(message: str, limit: int = 300) -> str:
    return message if len(message) <= limit else message[: limit - 1] + "…"


def _options(values: Any) -> str:
    texts = [literal(value, 40) for value in values]
    return "one of " + ", ".join(texts[:30]) + (", …" if len(texts) > 30 else "") if len(texts) != 1 else texts[0]


_WORDINGS: dict[str, Callable[[Any], str]] = {
    "type": kind_names,
    "enum": _options,
    "const": lambda value: literal(value),
    "minimum": lambda value: f"a number of at least {value}",
    "maximum": lambda value: f"a number of at most {value}",
    "exclusiveMinimum": lambda value: f"a number greater than {value}",
    "exclusiveMaximum": lambda value: f"a number less than {value}",
    "multipleOf": lambda value: f"a multiple of {value}",
    "minLength": lambda value: f"a string of at least {value} characters",
    "maxLength": lambda value: f"a string of at most {value} characters",
    "pattern": lambda value: f"a string that matches {value}",
    "minItems": lambda value: f"an array of at least {value} items",
    "maxItems": lambda value: f"an array of at most {value} items",
    "uniqueItems": lambda value: "an array without duplicates",
    "contains": lambda value: "an array with at least one fitting item",
    "minProperties": lambda value: f"an object with at least {value} keys",
    "maxProperties": lambda value: f"an object with at most {value} keys",
}


def _unknown(unknown: list[str], path: str, properties: Mapping[str, Any]) -> list[Violation]:
    accepted = sorted_names(properties)
    names = "accepted: " + ", ".join(accepted) if accepted else "none is accepted here"
    found = [
        Violation(join_path(path, key), f"unknown name{did_you_mean(key, accepted)} ({names})")
        for key in unknown[:MAX_VIOLATIONS]
    ]
    return found + [Violation(join_path(path, key), "unknown name") for key in unknown[MAX_VIOLATIONS:]]


def sorted_names(properties: Mapping[str, Any], limit: int = 40) -> list[str]:
    """The declared names, in the order of the schema, cut where there are very many."""
    names = list(properties)
    return names if len(names) <= limit else [*names[:limit], "…"]


def _union(error: _Error, root: object, schema: Mapping[str, Any]) -> list[Violation]:
    branches = cast("list[list[_Error]]", getattr(error.kind, "context", []))
    steps = list(error.instance_path)
    path = _path(steps)
    came = _at(root, steps)
    if any(not branch for branch in branches):
        return [Violation(path, f"fits more than one of the accepted forms, got {shown(came)}")]
    wrong_kind: list[str] = []
    close: list[list[_Error]] = []
    for branch in branches:
        kinds = [e for e in branch if e.kind.name == "type" and list(e.instance_path) == steps]
        if kinds:
            wrong_kind += [name for name in kinds[0].kind.value if name not in wrong_kind]
        else:
            close.append(branch)
    if not close:
        return [Violation(path, f"expected {kind_names(wrong_kind)}, got {shown(came)}")]
    if len(close) > 1:  # several branches of the right kind: the one with the fewest complaints is what was meant
        close.sort(key=lambda branch: (_tag_mismatch(branch), len(branch)))
    return [violation for e in close[0] for violation in _reword(e, root, schema)]


def _tag_mismatch(branch: list[_Error]) -> bool:
    """A branch whose literal tag differs is another variant than the one that was meant."""
    return any(e.kind.name in ("const", "enum") for e in branch)


def _at(root: object, steps: Iterable[str | int]) -> object:
    value: Any = root
    try:
        for step in steps:
            value = value[step]
    except (KeyError, IndexError, TypeError):
        return None
    return value


def _owner(schema: Mapping[str, Any], error: _Error) -> Mapping[str, Any]:
    """The subschema that an error's keyword stands in, following local references."""
    return _follow(schema, list(error.evaluation_path)[:-1])


def _follow(schema: Mapping[str, Any], steps: Iterable[str | int]) -> Mapping[str, Any]:
    """The subschema at the end of an evaluation path, references followed; empty where it leads nowhere."""
    node: Any = schema
    for step in steps:
        if step == "$ref":
            node = _local(schema, node.get("$ref") if isinstance(node, Mapping) else None)
            continue
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            return {}
    return cast("Mapping[str, Any]", node) if isinstance(node, Mapping) else {}


def _local(schema: Mapping[str, Any], ref: object) -> Any:
    if not isinstance(ref, str) or not ref.startswith("#"):
        return {}
    node: Any = schema
    for step in ref[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        try:
            node = node[int(step)] if isinstance(node, list) else node[step]
        except (KeyError, IndexError, TypeError, ValueError):
            return {}
    return node


def _properties(owner: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = owner.get("properties")
    return cast("Mapping[str, Any]", properties) if isinstance(properties, Mapping) else {}


def _declared(schema: Mapping[str, Any], error: _Error, name: str) -> Mapping[str, Any]:
    declared = _properties(_owner(schema, error)).get(name)
    if isinstance(declared, Mapping) and "$ref" in declared:
        local = _local(schema, cast("Any", declared)["$ref"])
        declared = {**local, **declared} if isinstance(local, Mapping) else declared
    return cast("Mapping[str, Any]", declared) if isinstance(declared, Mapping) else {}


def _described(declared: Mapping[str, Any]) -> str:
    kind = declared.get("type")
    if isinstance(kind, str):
        text = f"; expected {_KINDS.get(kind, kind)}"
    elif isinstance(kind, list):
        text = f"; expected {kind_names(cast('list[str]', kind))}"
    elif isinstance(declared.get("enum"), list):
        text = f"; expected {_options(declared['enum'])}"
    else:
        text = ""
    description = declared.get("description")
    return f"{text} ({_short(' '.join(description.split()), 120)})" if isinstance(description, str) else text
