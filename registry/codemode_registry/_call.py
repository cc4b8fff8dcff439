"""One call, as policies, tools and logs see it.

Rules
- A `ToolCall` is frozen; its arguments are frozen JSON, the same object for every policy, guard, wrapper and body.
- A token says "this very call": compared by identity, made here only, worth nothing once its call is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, final

from ._cancel import CancelSignal
from ._result import ToolResult

if TYPE_CHECKING:
    from ._scope import Scope


@final
class CallToken:
    """An opaque mark of one call in progress. Two calls never share one."""

    __slots__ = ("__weakref__",)

    def __repr__(self) -> str:
        return f"<call token {id(self):x}>"

    def __reduce__(self) -> Any:
        raise TypeError("a call token stays in its process")


@dataclass(frozen=True, slots=True, eq=False)
class ToolCall:
    """One call on its way through the pipeline."""

    token: CallToken
    call_id: str
    root_call_id: str
    """The call of the model that this one descends from; its own id for a top-level call."""
    name: str
    """The full name as it was asked for; there may be no such tool."""
    arguments: Any
    """Frozen JSON. None where what came was not JSON (the call fails as INVALID_ARGS)."""
    scope: Scope | None
    """None: the global scope."""
    parent: CallToken | None
    """Token of the call that made this one; None for a call the model made directly."""
    cancel: CancelSignal


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One entry of a batch."""

    name: str
    arguments: Any
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class CallTiming:
    """Where a call's time went, in milliseconds."""

    queued: float
    """From being asked for to its start."""
    before: float
    """Validation, policies, approval, guards."""
    body: float
    """Wrappers and the tool itself, rendering included."""
    after: float
    """Waiting for its turn, review, finalize."""


class CallAudit(Protocol):
    """Who writes a call's records. The pipeline awaits it; raising fails the call as PIPELINE_ERROR."""

    async def started(self, call: ToolCall) -> None:
        """The call starts: before any policy sees it."""
        ...

    async def settled(self, call: ToolCall, result: ToolResult, timing: CallTiming) -> None:
        """The call has its final result, which nobody has seen yet."""
        ...

    def asking(self, call: ToolCall) -> AbstractContextManager[None]:
        """Held open while a human is asked."""
        ...


@dataclass(frozen=True, slots=True)
class DispatchLog:
    """What a `shape_dispatch_log` hook sees: one settled sub-call of a program."""

    call: ToolCall
    """The OUTER call: the run_code call whose program made the sub-call."""
    scope: Scope | None
    sub_call_id: str
    name: str
    is_error: bool
    content: Any
    """The content that would be logged."""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """What an approver is asked.

    It answers "allowed-once", "rejected", "cancelled" or "unavailable"; anything but "allowed-once" denies.
    """

    tool_name: str
    call_id: str
    arguments: Mapping[str, Any]
    """Frozen JSON."""
    reason: str | None
    scope: Scope | None
    cancel: CancelSignal
    """Set when the call is cancelled while the question is open; a late answer is ignored."""
