"""One entry of a server's `tools/list`, read into a definition; what is wrong with it is said, never fatal.

Rules
- Pure: JSON in, definition out. Whether a schema is sound is the registry's word; here only its outer shape is judged.
- An input schema without `type` means an object (many servers leave it out); any other root cannot be called with
  named arguments, so the tool takes any object.
- An entry without a usable name is dropped, a second one of a name as well: the first stays, as with every client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._json import JsonObject, is_object, object_or_empty
from ._values import unwrapped_schema

OPEN_OBJECT: Mapping[str, Any] = {"type": "object"}
"""The schema of arguments about which nothing is known."""

_HINTS = {
    "readOnlyHint": "read_only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as its server describes it. Equal definitions are the same tool: it keeps its registration."""

    name: str
    description: str
    parameters: JsonObject
    output: JsonObject | None
    """The schema of the canonical value; None if the server declares none."""
    wrapped: bool = False
    """Whether structured content is `{"result": value}` by the schema's own mark."""
    title: str | None = None
    hints: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """The server's annotations that are set, by our field names."""
    problems: tuple[str, ...] = ()
    """What of the entry could not be used, in words."""

    @property
    def read_only(self) -> bool:
        """Whether the server says that calls change nothing; silence counts as a write."""
        return self.hints.get("read_only") is True


def read_listing(entries: Sequence[Any]) -> tuple[tuple[ToolDefinition, ...], tuple[str, ...]]:
    """The tools of all pages, and what had to be left out.

    Args:
        entries: the raw entries, in the server's order.
    """
    definitions: dict[str, ToolDefinition] = {}
    dropped: list[str] = []
    for entry in entries:
        name = entry.get("name") if is_object(entry) else None
        if not isinstance(name, str) or not name:
            dropped.append("an entry without a name was left out")
        elif name in definitions:
            dropped.append(f"a second tool named {name!r} was left out")
        else:
            definitions[name] = read_tool(entry)
    return tuple(definitions.values()), tuple(dropped)


def read_tool(entry: JsonObject) -> ToolDefinition:
    """The definition in one entry that has a name."""
    problems: list[str] = []
    annotations = object_or_empty(entry.get("annotations"))
    title = entry.get("title", annotations.get("title"))
    description = entry.get("description")
    output, wrapped = unwrapped_schema(_output(entry, problems))
    parameters, hints = _parameters(entry, problems), _hints(annotations, problems)
    return ToolDefinition(
        name=entry["name"],
        description=description.strip() if isinstance(description, str) else "",
        parameters=parameters,
        output=output,
        wrapped=wrapped,
        title=title if isinstance(title, str) else None,
        hints=hints,
        problems=tuple(problems),
    )


def _hints(annotations: JsonObject, problems: list[str]) -> dict[str, bool]:
    hints = {ours: annotations[theirs] for theirs, ours in _HINTS.items() if isinstance(annotations.get(theirs), bool)}
    if hints.get("read_only") is True and hints.get("destructive") is True:
        problems.append("it says that it only reads and that it destroys: it counts as one that writes")
        hints["read_only"] = False
    return hints


def _parameters(entry: JsonObject, problems: list[str]) -> JsonObject:
    schema = entry.get("inputSchema")
    if is_object(schema) and schema.get("type", "object") == "object":
        return {**schema, "type": "object"}
    problems.append("its input schema is not that of an object: it takes any arguments")
    return dict(OPEN_OBJECT)


def _output(entry: JsonObject, problems: list[str]) -> JsonObject | None:
    schema = entry.get("outputSchema")
    if schema is None or schema is True:
        return None
    if is_object(schema):
        return schema
    problems.append("its output schema is not a schema: its result is Any")
    return None
