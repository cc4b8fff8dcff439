"""A tool result of MCP, as plain JSON, becomes a canonical value; a canonical value becomes content blocks again.

Rules
- Pure: JSON in, JSON out. No SDK types, no registry, no I/O.
- The value, first rule that applies:
  1. `isError`: the call failed, and its text is the message.
  2. `structuredContent`; unwrapped from `{"result": ...}` only where the output schema is marked as a wrapper.
  3. With a declared output schema but no structured content: the one text block, as JSON or as it is, if the schema
     accepts that. Else rule 4, and the schema is broken (said by the caller).
  4. No output schema: one text block that is a JSON object or array is that; other text is a str; one other block
     is that block; several blocks are a list of these (without parsing: their text was not meant to be one value);
     none is None.
- Text that only looks like data (a Python `repr`, numbers, `true`) stays text: a scalar's text is ambiguous.
- Images, audio and resources stay content blocks, so that a program can hand them on and the model can be shown them.
- `render` is the way back, by shape alone, because a review may have replaced the value in between.

Source: MCP 2025-11-25 and 2026-07-28, "Tool Result"; `x-fastmcp-wrap-result` is FastMCP's mark for wrapped scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json, to_json

from ._json import JsonObject, is_list, is_object, list_or_empty, object_or_empty

WRAP_MARK = "x-fastmcp-wrap-result"

_BLOCK_FIELDS: Mapping[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
}
"""The string fields that make an object a content block of its type."""

_PARTS_OF_JSON = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool result says."""

    value: Any
    """The canonical value; the message (str) of a failure."""
    failed: bool = False
    off_schema: str | None = None
    """Why the value is not what the output schema promised, where that is plain from the shape; None if it may be."""
    attachments: tuple[JsonObject, ...] = ()
    """Images, audio and resources that came beside structured content, so are not part of the value."""


def outcome(
    result: Mapping[str, Any],
    *,
    output: Mapping[str, Any] | None = None,
    wrapped: bool = False,
    accepts: Callable[[Any], bool] | None = None,
) -> Outcome:
    """The canonical value of a `tools/call` result, or its failure.

    Args:
        result: the result object as the server sent it.
        output: the tool's declared output schema (unwrapped), None if there is none.
        wrapped: whether structured content is `{"result": value}` by the schema's own mark.
        accepts: whether a value satisfies `output`; asked only where a text must be read as the promised value.
    """
    blocks = [block for block in list_or_empty(result.get("content")) if is_object(block)]
    if result.get("isError") is True:
        return Outcome(_failure(blocks, result.get("structuredContent")), failed=True)
    structured = result.get("structuredContent")
    if structured is not None or ("structuredContent" in result and accepts is not None and accepts(None)):
        return _structured(structured, blocks, wrapped=wrapped)
    value = value_of_blocks(blocks)
    if output is None:
        return Outcome(value)
    if len(blocks) == 1 and blocks[0].get("type") == "text" and accepts is not None:
        found, read = _promised(str(blocks[0].get("text", "")), accepts)
        if found:
            return Outcome(read)
    return Outcome(value, off_schema="no structured content, though the tool declares an output schema")


def value_of_blocks(blocks: Sequence[JsonObject]) -> Any:
    """Rule 4: the value that content blocks stand for when no output schema says otherwise."""
    if not blocks:
        return None
    if len(blocks) > 1:
        return [_text_or_block(block) for block in blocks]
    value = _text_or_block(blocks[0])
    return parsed_text(value) if isinstance(value, str) else value


def parsed_text(text: str) -> Any:
    """The object or array that `text` is the JSON of, else `text` itself."""
    inner = text.strip()
    if not inner or _PARTS_OF_JSON.get(inner[0]) != inner[-1]:
        return text
    try:
        return from_json(inner, allow_inf_nan=False)
    except ValueError:
        return text


def unwrapped_schema(schema: Mapping[str, Any] | None) -> tuple[JsonObject | None, bool]:
    """(the schema of the value, whether structured content wraps it) of a declared output schema.

    Local definitions go along with the inner schema, whose references point at them.
    """
    if schema is None:
        return None, False
    inner = object_or_empty(schema.get("properties")).get("result")
    if schema.get(WRAP_MARK) is not True or not (is_object(inner) or isinstance(inner, bool)):
        return dict(schema), False
    value: JsonObject = dict(inner) if is_object(inner) else ({} if inner else {"not": {}})
    for key in ("$defs", "definitions", "$schema"):
        if key in schema:
            value.setdefault(key, schema[key])
    return value, True


def render(arguments: Mapping[str, Any], value: Any) -> str | list[JsonObject]:
    """The content for the model of a canonical value: text, or blocks where the value holds blocks.

    The registry's default rendering but for images, audio and resources, which are shown instead of spelt out.
    """
    if isinstance(value, str):
        return value
    if is_block(value):
        return [dict(value)]
    if is_list(value) and any(is_block(item) for item in value):
        return [dict(item) if is_block(item) else {"type": "text", "text": _text(item)} for item in value]
    return _text(value)


def is_block(value: Any) -> bool:
    """Whether `value` has exactly the shape of a content block that is shown (not of text)."""
    if not is_object(value):
        return False
    kind = value.get("type")
    if kind == "resource":
        return isinstance(object_or_empty(value.get("resource")).get("uri"), str)
    fields = _BLOCK_FIELDS.get(kind) if isinstance(kind, str) and kind != "text" else None
    return fields is not None and all(isinstance(value.get(field), str) for field in fields)


def _structured(structured: Any, blocks: Sequence[JsonObject], *, wrapped: bool) -> Outcome:
    attachments = tuple(block for block in blocks if is_block(block))
    if not wrapped:
        return Outcome(structured, attachments=attachments)
    if is_object(structured) and set(structured) == {"result"}:
        return Outcome(structured["result"], attachments=attachments)
    return Outcome(structured, off_schema='structured content is not {"result": ...}', attachments=attachments)


def _promised(text: str, accepts: Callable[[Any], bool]) -> tuple[bool, Any]:
    """(whether `text` holds what the output schema promises, that value): as JSON first, then as it stands."""
    try:
        read = from_json(text, allow_inf_nan=False)
    except ValueError:
        pass
    else:
        if accepts(read):
            return True, read
    return accepts(text), text


def _failure(blocks: Sequence[JsonObject], structured: Any) -> str:
    texts = [text for block in blocks if (text := _block_text(block))]
    if texts:
        return "\n".join(texts)
    return _text(structured) if structured is not None else "the tool failed and gave no reason"


def _block_text(block: JsonObject) -> str:
    text = block.get("text") if block.get("type") == "text" else object_or_empty(block.get("resource")).get("text")
    return text if isinstance(text, str) else ""


def _text_or_block(block: JsonObject) -> Any:
    text = block.get("text")
    return text if block.get("type") == "text" and isinstance(text, str) else block


def _text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
