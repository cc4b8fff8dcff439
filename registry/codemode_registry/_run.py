"""The state of one call on its way through the pipeline; only the pipeline changes it."""

# pyright: reportPrivateUsage=false
# The modules of this package are one unit; what is private is private to it.

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ._approval import Approver, question
from ._audit import NativeAudit
from ._call import CallAudit, CallTiming, CallToken, ToolCall
from ._callback import answer
from ._cancel import CancelSignal, LoopDoor
from ._events import Event, EventLog, appends_at_once
from ._json import FrozenDict, NotJsonError, freeze
from ._layers import Hook, Layer
from ._logging import LOGGER
from ._result import ToolFailure, ToolResult, as_context
from ._scope import Scope
from ._tool import RUN_CODE, Tool

if TYPE_CHECKING:
    from ._registry import Registry


class Run:
    """One call. Made when it is asked for: its fields are read, and its arguments frozen, exactly once, here."""

    call: ToolCall
    events: EventLog | None
    approver: Approver | None

    __slots__ = (
        "approver",
        "audit",
        "began",
        "call",
        "concludes",
        "core",
        "deferred",
        "door",
        "events",
        "failure",
        "finalize",
        "hard",
        "instant",
        "layer",
        "lossy",
        "marks",
        "mode",
        "own",
        "prepared",
        "refusal",
        "result",
        "run_code",
        "settled",
        "started",
        "stuck",
        "tool",
    )

    def __init__(
        self,
        core: Registry,
        name: object,
        arguments: object,
        *,
        scope: Any,
        call_id: str | None,
        cancel: Any,
        parent: CallToken | None,
        mode: str,
        run_code: Tool | None,
        audit: CallAudit | None,
        events: EventLog | None,
        approver: Approver | None,
    ) -> None:
        self.core = core
        self.mode = mode
        self.run_code = run_code
        self.lossy: NotJsonError | None = None
        self.refusal: str | None = None
        """Why the call cannot even be looked at: a parent or a scope that is none."""
        try:
            frozen = freeze(arguments, loose=True)
        except NotJsonError as error:
            frozen, self.lossy = None, error
        call_id = str(call_id) if call_id is not None else core._next_call_id()
        if cancel is not None and not isinstance(cancel, CancelSignal):
            self.refusal = f"cancel must be a CancelSignal, not {cancel!r:.80}"
            cancel = None
        outer = core._in_progress(parent)
        self.layer: Layer = core._layer
        scope = self._place(scope, parent, outer)
        if outer is not None:  # a nested call's records and questions go where the outer call's went
            events = outer.events if events is None else events
            approver = outer.approver if approver is None else approver
        self.events = core.events if events is None and outer is None else events
        self.approver = core.approver if approver is None and outer is None else approver
        self.audit: CallAudit = audit if audit is not None else NativeAudit(self.events)
        self.call = ToolCall(
            CallToken(),
            call_id,
            call_id if outer is None else outer.call.root_call_id,
            name if type(name) is str else str(name),
            frozen,
            scope,
            parent,
            cancel if cancel is not None else CancelSignal(),
        )
        self._begin_empty()

    def _begin_empty(self) -> None:
        """Nothing has happened yet."""
        self.tool: Tool | None = None
        self.finalize: Callable[..., Any] | None = None
        self.prepared: tuple[Tool, Any] | None = None
        self.deferred: list[FrozenDict] = []
        self.concludes = False
        self.door: LoopDoor | None = None
        """The way back into the loop, for a body in a thread."""
        self.began = False
        self.failure: ToolFailure | None = None
        """How the body ended by itself while the caller's task was being cancelled: for the record."""
        self.hard = False
        """The pipeline itself failed: no review sees the call."""
        self.settled = False
        self.result: ToolResult | None = None
        """The final result, once it is in the log."""
        self.instant = appends_at_once(self.events)
        """Appending has no step at which a cancelled task could be stopped."""
        self.started = False
        """The start record is in the log."""
        self.stuck = False
        self.own: list[ToolResult] = []
        """Results that this very call's inner stages made: the only ones that are trusted as they are."""
        now = time.perf_counter()
        self.marks = [now, now, now, now, now]
        """Seconds: asked for, started, body, body done, settled."""

    def _place(self, scope: Any, parent: CallToken | None, outer: Run | None) -> Scope | None:
        """The scope of the call, which decides its layer. What is no scope or no parent of ours refuses the call."""
        if parent is not None and outer is None:
            self.refusal = "its parent is not a call in progress in this registry"
        if scope is None and outer is not None:
            scope = outer.call.scope
        if scope is None:
            return None
        if not isinstance(scope, Scope):
            self.refusal = f"scope must be a Scope of this registry, not {scope!r:.80}"
            return None
        if scope._layer.chain[0] is not self.layer:
            self.refusal = "its scope belongs to another registry"
            return scope
        self.layer = scope._layer
        if outer is not None and outer.layer not in self.layer.chain:
            self.refusal = "its scope is not inside the scope of the call that made it"
        return scope

    # ---- what is visible ----

    def resolve(self) -> Tool | None:
        """The tool as the call's scope sees it now."""
        if self.call.name == RUN_CODE:
            if self.call.parent is not None:
                return None
            if self.mode == "host":  # the host itself runs a program, whatever its model may see
                return self.run_code
            if self.presentation() == "native":
                return None
            return self.run_code if self.run_code is not None else self.core._newest_run_code()
        return self.layer.view().get(self.call.name)

    def presentation(self) -> str:
        """The mode in force for this call."""
        return self.layer.presentation(self.mode)

    def hooks(self, table: str) -> list[Hook]:
        """The hooks of one kind that see this call: global, ancestors, scope."""
        if len(self.layer.chain) == 1:
            hooks: list[Hook] = getattr(self.layer, table)
            return hooks
        return [hook for layer in self.layer.chain for hook in getattr(layer, table)]

    # ---- what the body may do beside returning ----

    def defer(self, message: object) -> None:
        """Keep a context for the result."""
        try:
            context = as_context(message)
        except NotJsonError as error:
            raise TypeError(f"defer_context: {error}") from None
        if not self.settled:
            self.deferred.append(context)

    def conclude(self) -> None:
        """Remember that the body asked to end the turn."""
        if not self.settled:
            self.concludes = True

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell the observers, on the loop's thread; not once the call is settled."""
        if self.settled:
            return
        if self.door is None:
            self._tell(done, total, message)
        else:
            self.door.call(self._tell, done, total, message)

    def _tell(self, done: float, total: float | None, message: str | None) -> None:
        for hook in list(self.hooks("progress")):
            try:
                answer("an on_progress observer", hook.fn, self.call, done, total, message)
            except Exception:
                LOGGER.warning("an on_progress observer raised", exc_info=True)

    async def ask(self, reason: str, through: Approver | None) -> str:
        """A question about the call while its body runs."""
        if self.settled:
            return "unavailable"
        return await question(
            self, reason, self.approver if through is None else through, [self.audit.asking(self.call)]
        )

    # ---- records ----

    async def log(self, type: str, data: Mapping[str, Any]) -> Event | None:
        """Append an event, where there is a log."""
        if self.events is None:
            return None
        return await self.events.append(type, dict(data))

    async def warn(self, source: str, message: str) -> None:
        """A `warning` event and a log line; a log that fails is not made worse by its own warning."""
        LOGGER.warning("%s: %s", source, message, extra={"tool": self.call.name, "call_id": self.call.call_id})
        try:
            await self.log("warning", {"source": source, "message": message, "call_id": self.call.call_id})
        except Exception:
            LOGGER.warning("the event log refused a warning", exc_info=True)

    def aborted(self) -> ToolFailure:
        """The failure of a cancelled call; contexts survive."""
        if self.began:
            text, code = "tool call aborted", "ABORTED"
            if self.stuck:
                text += f'; the thread of tool "{self.call.name}" {self.left_behind()}'
        else:
            text, code = "tool call aborted before dispatch", "ABORTED_BEFORE_DISPATCH"
        failure = ToolFailure.of(text, code=code)
        return failure if not self.deferred else with_contexts(failure, tuple(self.deferred))

    def left_behind(self) -> str:
        """What happened to a thread that ignored its cancellation."""
        return f"did not stop within {self.core.drain_seconds:g}s and was left behind"

    def timing(self) -> CallTiming:
        """Where the time went."""
        asked, started, body, done, end = self.marks
        return CallTiming((started - asked) * 1e3, (body - started) * 1e3, (done - body) * 1e3, (end - done) * 1e3)


def with_contexts(failure: ToolFailure, contexts: tuple[Any, ...]) -> ToolFailure:
    """The failure with these contexts."""
    return ToolFailure(failure.error, failure.content, failure.meta, contexts)
