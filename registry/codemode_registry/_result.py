"""What a call ends as: a success with a value, or a failure with an error; never both.

Rules
- A result that leaves the pipeline is frozen to the bottom. `content` is a list of blocks: what the model reads.
- `ToolSuccess` and `ToolFailure` are also what wrappers write by hand; the pipeline does not trust those: it validates
  and renders the value again.
- A context is a JSON object; a plain string stands for a user message with one text block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from ._json import FrozenDict, FrozenList, JsonValue, NotJsonError, freeze

ContentBlock: TypeAlias = dict[str, JsonValue]
"""One content block in MCP's shape."""

# What the codes of api.md say of a call, apart from why it failed. A code in none of these: the body ran, and failed.
DENIED_CODES = frozenset(("DENIED", "APPROVAL_REJECTED", "APPROVAL_CANCELLED", "APPROVAL_UNAVAILABLE"))
"""A policy, a guard or a human said no; the body did not run."""
ABORTED_CODES = frozenset(("ABORTED", "ABORTED_BEFORE_DISPATCH"))
"""Cancelled, in the body or before it."""
NEVER_RAN_CODES = DENIED_CODES | {"ABORTED_BEFORE_DISPATCH", "INVALID_ARGS", "UNKNOWN_TOOL"}
"""The body did not run, whoever or whatever stopped the call."""


@dataclass(frozen=True, slots=True)
class CallError:
    """Why a call failed."""

    message: str
    """What the model and the program read."""
    code: str
    """One of the codes of api.md."""
    name: str
    """The exception class's name, or the code's where there was no exception."""


@dataclass(frozen=True, slots=True)
class ToolSuccess:
    """A call that worked."""

    value: JsonValue
    """The canonical value: what a program gets."""
    content: Any = None
    """Content blocks: what the model reads. None in a hand-written result: rendered from the value."""
    meta: JsonValue = None
    """What `presentation_meta` made of it; top-level calls only."""
    contexts: tuple[ContentBlock, ...] = ()
    """Messages to add to the conversation, in order."""
    concludes_turn: bool = False
    """The tool asked to end the model's turn."""
    is_error: Literal[False] = field(default=False, init=False)


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """A call that failed, was refused or was cancelled."""

    error: CallError
    content: Any = None
    """Content blocks: what the model reads."""
    meta: JsonValue = None
    contexts: tuple[ContentBlock, ...] = ()
    is_error: Literal[True] = field(default=True, init=False)

    @classmethod
    def of(cls, message: str, *, code: str = "TOOL_ERROR", name: str | None = None) -> ToolFailure:
        """A failure with the standard content, `Error: <message>`.

        Args:
            message: What the model and the program read.
            code: One of the codes of api.md.
            name: An exception class's name; the code by default.
        """
        return cls(CallError(message, code, name or code), text_content(f"Error: {message}"))


ToolResult: TypeAlias = ToolSuccess | ToolFailure


def text_content(text: str) -> FrozenList:
    """Content of one text block."""
    return FrozenList((FrozenDict({"type": "text", "text": text}),))


def as_content(blocks: object) -> FrozenList:
    """Content from what a renderer or a policy gave: a string or a list of blocks, frozen.

    Raises:
        NotJsonError: it is neither, or a block is not a JSON object.
    """
    if isinstance(blocks, str):
        return text_content(blocks if type(blocks) is str else str(blocks))
    if isinstance(blocks, (list, tuple)):
        content = freeze(cast("object", list(cast("Sequence[object]", blocks))))
        if all(type(block) is FrozenDict for block in content):
            return cast("FrozenList", content)
    raise NotJsonError("content", "must be a string or a list of content blocks (JSON objects)")


def as_context(message: object) -> FrozenDict:
    """A context, frozen.

    Raises:
        NotJsonError: it is neither a string nor a JSON object.
    """
    if isinstance(message, str):
        return FrozenDict({"role": "user", "content": text_content(str(message))})
    context = freeze(message)
    if type(context) is not FrozenDict:
        raise NotJsonError("context", "must be a string or a JSON object")
    return context


def as_contexts(messages: object) -> tuple[FrozenDict, ...]:
    """Several contexts, frozen, in order; a single one may stand alone.

    Raises:
        NotJsonError: one is neither a string nor a JSON object.
    """
    if messages is None:
        return ()
    if isinstance(messages, (str, Mapping)):
        return (as_context(cast("object", messages)),)
    if not isinstance(messages, Iterable):
        raise NotJsonError("contexts", "must be a sequence of JSON objects")
    return tuple(as_context(message) for message in cast("Iterable[object]", messages))


def text_of(content: Sequence[Mapping[str, Any]], fallback: str) -> str:
    """The text blocks of some content, joined; `[image content]` stands for what is not text."""
    parts = [
        str(block.get("text", "")) if block.get("type") == "text" else f"[{block.get('type', 'unknown')} content]"
        for block in content
    ]
    return "\n".join(parts) or fallback
