"""A server asks a human in the middle of a call: who is asked, and what a bare yes can answer.

Rules
- Never a silent yes. Nobody there, an error, an answer that is none, a form that a yes cannot fill in: declined.
- An approver answers yes or no, so it can accept a form only where nothing has to be filled in, or everything that has
  to be has a default; then the defaults are what is sent.
- A question belongs to a call. Where several callers have calls open on one connection and the protocol does not say
  whose question it is, nobody is asked: a wrong person must not see it.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from codemode_registry import ApprovalRequest, ToolCall, ToolContext

from ._json import is_object, list_or_empty, object_or_empty

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

Elicitor: TypeAlias = Callable[[Elicitation], Awaitable[ElicitationAnswer] | None]
"""Puts a question to somebody: an async function, or a plain one that returns None at once if there is nobody."""


def whose(open_calls: list[ToolContext]) -> ToolContext | None:
    """The call that a question without an address belongs to, None if that cannot be told.

    Calls of one root have one caller; the newest of them is named.
    """
    if len({open_call.call.root_call_id for open_call in open_calls}) != 1:
        return None
    return open_calls[-1]


async def put(question: Elicitation, ctx: ToolContext, elicitor: Elicitor | None) -> ElicitationAnswer:
    """Puts a question to the elicitor, or where that has nobody to the approver in force for the call.

    Either way it is an approval of the pipeline: logged as asked and decided, and the run's clock stands still.
    """
    place = f" (open {question.url})" if question.url is not None else ""
    reason = f"MCP server {question.server!r} asks: {question.message}{place}"
    pending = elicitor(question) if elicitor is not None else None
    if pending is not None:
        given: list[ElicitationAnswer] = []

        async def through(request: ApprovalRequest) -> str:
            given.append(await pending)
            return _OUTCOMES[given[0].action]

        try:
            outcome = await ctx.ask(reason, through=through)
        finally:
            if inspect.iscoroutine(pending):
                pending.close()  # a policy, or a call that is over, may have left it unasked
        said = given[0] if given else DECLINED
        return said if said.action != "accept" or outcome == "allowed-once" else DECLINED
    content = {} if question.url is not None else defaults(question.schema or {})
    if content is None:
        return DECLINED
    outcome = await ctx.ask(reason)
    if outcome == "allowed-once":
        return ElicitationAnswer("accept", content)
    return ElicitationAnswer("cancel") if outcome == "cancelled" else DECLINED


_OUTCOMES: Mapping[Action, str] = {"accept": "allowed-once", "decline": "rejected", "cancel": "cancelled"}


def defaults(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The answer that a plain yes gives to a form; None if something must be filled in that has no default."""
    required = list_or_empty(schema.get("required"))
    content: dict[str, Any] = {}
    for name, field in object_or_empty(schema.get("properties")).items():
        if is_object(field) and "default" in field:
            content[name] = field["default"]
        elif name in required:
            return None
    return content
