"""What the gateway answers: the result of a run, of a search, of a failed call, in MCP's shape.

Rules
- `content` is for a model and complete without the rest; `structuredContent` is for a host and passes the advertised
  schema, whatever the outcome. A run without a result has no `result`.
- A failed run is `isError` with the same structure, so that a model sees what was done before it failed.
- No error tells where this machine keeps its files, or what the configuration holds: `Clean` takes both out of every
  message. Values are the tools' business and pass as they are.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mcp_types import CallToolResult
from pydantic import TypeAdapter

from codemode._result import RunResult
from codemode_registry import ToolResult, thaw

from ._json import is_object, list_or_empty, object_or_empty
from ._values import is_block

_LOG = logging.getLogger(__name__)
_RESULT = TypeAdapter(CallToolResult)

_CALL_STATES = ["done", "failed", "denied", "abandoned", "aborted"]

RUN_OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ok": {"type": "boolean", "description": "Whether the program ran to its end."},
        "result": {"description": "What it returned; absent if it returned nothing."},
        "logs": {"type": "array", "items": {"type": "string"}, "description": "The printed lines."},
        "error": {
            "type": "object",
            "properties": {
                "kind": {"type": "string"},
                "message": {"type": "string"},
                "type": {"type": "string", "description": "The exception's class."},
                "line": {"type": "integer", "description": "The program's line, from 1."},
                "traceback": {"type": "string"},
            },
            "required": ["kind", "message"],
            "additionalProperties": False,
        },
        "calls": {
            "type": "array",
            "description": "The tool calls that were made, whatever became of the program.",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "status": {"enum": _CALL_STATES},
                    "message": {"type": "string"},
                },
                "required": ["name", "status"],
                "additionalProperties": False,
            },
        },
        "notes": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["ok", "logs", "calls"],
    "additionalProperties": False,
}
"""The output schema of the gateway's `run_code`."""


@dataclass(frozen=True, slots=True)
class Clean:
    """Takes the machine's places and the configuration's secrets out of messages.

    Args:
        redact: takes out the secrets.
    """

    redact: Callable[[str], str] = str

    def __call__(self, text: str) -> str:
        text = self.redact(text)
        for place, shown in _PLACES:
            text = text.replace(place, shown)
        return text


def _places() -> list[tuple[str, str]]:
    """Folders that only this machine has, and what stands for them; the longest first."""
    interpreter = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()}
    packages = {str(Path(__file__).resolve().parents[2]), *(entry for entry in sys.path if "site-packages" in entry)}
    found = dict.fromkeys(interpreter | packages, "<python>")
    with contextlib.suppress(RuntimeError):
        found[str(Path.home())] = "~"
    return sorted(
        ((place, shown) for place, shown in found.items() if len(place) > 4 and Path(place).is_absolute()),
        key=lambda pair: -len(pair[0]),
    )


_PLACES = _places()


def run_answer(run: RunResult, clean: Clean) -> CallToolResult:
    """The answer to a `run_code` call that reached the program."""
    structured: dict[str, Any] = {"ok": run.ok}
    if run.has_value:
        structured["result"] = thaw(run.value)
    structured["logs"] = list(run.logs)
    if run.error is not None:
        structured["error"] = _without_none(
            kind=run.error.kind,
            message=clean(run.error.message),
            type=run.error.type,
            line=run.error.line,
            traceback=clean(run.error.traceback) if run.error.traceback else None,
        )
    structured["calls"] = [
        _without_none(name=call.name, status=call.status, message=clean(call.message) if call.message else None)
        for call in run.calls
    ]
    if run.notes:
        structured["notes"] = list(run.notes)
    text = run.text if run.ok else clean(run.text)
    blocks = [{"type": "text", "text": text}, *_shown(run.result.contexts)]
    return answer(blocks, structured=structured, is_error=not run.ok)


def tool_answer(result: ToolResult, clean: Clean) -> CallToolResult:
    """The answer to a direct call of a tool."""
    blocks = [*cast("list[dict[str, Any]]", thaw(result.content)), *_shown(result.contexts)]
    if result.is_error:
        blocks = [
            {**block, "text": clean(str(block.get("text", "")))} if block.get("type") == "text" else block
            for block in blocks
        ]
    return answer(blocks, is_error=result.is_error)


def refused_run(message: str) -> CallToolResult:
    """The answer to a `run_code` call whose arguments are wrong: nothing ran."""
    structured: dict[str, Any] = {"ok": False, "logs": [], "error": {"kind": "denied", "message": message}, "calls": []}
    return answer([{"type": "text", "text": f"Error: {message}"}], structured=structured, is_error=True)


def failure(message: str) -> CallToolResult:
    """An error result with one text."""
    return answer([{"type": "text", "text": f"Error: {message}"}], is_error=True)


def broken(what: str, error: BaseException) -> CallToolResult:
    """The answer to a fault of ours: the log has it, the client gets a sentence."""
    _LOG.error("%s failed", what, exc_info=error)
    return failure(f"{what} failed inside the gateway; its log says why")


def answer(blocks: Sequence[Mapping[str, Any]], *, structured: Any = None, is_error: bool = False) -> CallToolResult:
    """A result of plain JSON. A block that the protocol does not know is passed on as its JSON text."""
    result: dict[str, Any] = {"content": list(blocks), "isError": is_error}
    if structured is not None:
        result["structuredContent"] = structured
    try:
        return _RESULT.validate_python(result, by_name=False)
    except ValueError:
        result["content"] = [_known(block) for block in blocks]
        return _RESULT.validate_python(result, by_name=False)


def _known(block: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        _RESULT.validate_python({"content": [block]}, by_name=False)
    except ValueError:
        return {"type": "text", "text": str(dict(block))}
    return block


def _shown(contexts: Iterable[Any]) -> list[dict[str, Any]]:
    """The blocks of the messages that calls left for the model: images, and what they wanted to add."""
    blocks: list[dict[str, Any]] = []
    for context in contexts:
        content = object_or_empty(thaw(context)).get("content")
        if isinstance(content, str):
            blocks.append({"type": "text", "text": content})
        blocks += [block for block in list_or_empty(content) if is_block(block) or _is_text(block)]
    return blocks


def _is_text(block: Any) -> bool:
    return is_object(block) and block.get("type") == "text" and isinstance(block.get("text"), str)


def _without_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
