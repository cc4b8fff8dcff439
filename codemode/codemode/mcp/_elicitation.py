"""A server asks a human in the middle of a call: who is asked, and what a bare yes can answer.

Rules
- Never a silent yes. Nobody there, an error, an answer that is none, a form that a yes cannot fill in: declined.
- An approver answers yes or no, so it can accept a form only where nothing has to be filled in, or everything that has
  to be has a default; then the defaults are what is sent.
- A question belongs to a call. Where several callers have calls open on one connection and the protocol does not say
  whose question it is, nobody is asked: a wrong person must not see it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from codemode_registry import ApprovalRequest, Approver, ToolCall

Action = Literal["accept", "decline", "cancel"]


@dataclass(frozen=True, slots=True)
class Elicitation:
    """A question of a server about one call."""

    server: str
    tool_name: str
    """Full name of the tool whose call is open."""
    message: str
    call: ToolCall
    schema: Mapping[str, Any] | None = None
    """The form to fill in (flat JSON Schema), None for a question with a URL."""
    url: str | None = None


@dataclass(frozen=True, slots=True)
class ElicitationAnswer:
    """What the human said."""

    action: Action
    content: Mapping[str, Any] | None = None
    """The filled-in form; with `accept` only."""


DECLINED = ElicitationAnswer("decline")

Elicitor: TypeAlias = Callable[[Elicitation], Awaitable[ElicitationAnswer | None]]
"""Puts a question to somebody; None if there is nobody, so that the next one may be asked."""


def whose(open_calls: list[ToolCall]) -> ToolCall | None:
    """The call that a question without an address belongs to, None if that cannot be told.

    Calls of one root have one caller; the newest of them is named.
    """
    if len({call.root_call_id for call in open_calls}) != 1:
        return None
    return open_calls[-1]


def approver_elicitor(approver: Approver) -> Elicitor:
    """Puts the question to an approver as an `ApprovalRequest`."""

    async def ask(question: Elicitation) -> ElicitationAnswer | None:
        content: Mapping[str, Any] | None = None
        if question.url is None:
            content = defaults(question.schema or {})
            if content is None:
                return DECLINED
        place = f" (open {question.url})" if question.url is not None else ""
        answer = await approver(
            ApprovalRequest(
                tool_name=question.tool_name,
                call_id=question.call.call_id,
                arguments=question.call.arguments,
                reason=f"MCP server {question.server!r} asks: {question.message}{place}",
                scope=question.call.scope,
                cancel=question.call.cancel,
            )
        )
        if answer == "allowed-once":
            return ElicitationAnswer("accept", content)
        return ElicitationAnswer("cancel") if answer == "cancelled" else DECLINED

    return ask


def defaults(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The answer that a plain yes gives to a form; None if something must be filled in that has no default."""
    properties = schema.get("properties")
    fields = cast("dict[str, Any]", properties) if isinstance(properties, dict) else {}
    required = schema.get("required")
    content: dict[str, Any] = {}
    for name, field in fields.items():
        if isinstance(field, dict) and "default" in field:
            content[name] = field["default"]
        elif isinstance(required, list | tuple) and name in required:
            return None
    return content
