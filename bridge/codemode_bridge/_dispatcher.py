"""The dispatcher: every frame `call` of a program becomes one call of the registry's pipeline, and nothing else.

Rules
- One `CallStream` a run: starts and pre-execute in the order of submission, bodies overlap as their tools allow,
  reviews and settle records in the order in which bodies finish.
- A sub-call is `<outer call id>:code:<n>`, n from 1 in the order of submission; its parent is the outer call's token,
  its cancel signal is private to the run: it follows the outer one and is set when the run settles, whatever happened.
- The records are written from inside the pipeline (`CallAudit`): the start before any policy sees the call, the end
  before the program sees the value. A log that cannot be written fails that call and ends the run.
- What the program gets: the canonical value, or a message. No code, no content, no metadata crosses.
- Whatever the outcome, `records()` says what was done, what failed, what never began.
"""

# The registry's door for run_code, the modes and the streams is private to the rooms of this house.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, cast

from anyio.abc import TaskGroup

from codemode_bridge._bindings import Bindings, VisibleTool, VisibleTools
from codemode_bridge._contract import Binding, BindingError, Reply, WallPause
from codemode_registry import (
    ABORTED_CODES,
    DENIED_CODES,
    NEVER_RAN_CODES,
    Approver,
    CallAbandoned,
    CallStream,
    CallTicket,
    CallTiming,
    CancelSignal,
    DispatchLog,
    EventLog,
    FrozenDict,
    JsonValue,
    Registry,
    ToolCall,
    ToolFailure,
    ToolResult,
    ToolSuccess,
    appends_at_once,
)

__all__ = ["CallRecord", "CallStatus", "Dispatcher"]

CallStatus = Literal["done", "failed", "denied", "abandoned", "aborted"]


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call that a program made, and how it ended."""

    sub_call_id: str
    name: str
    """The tool's full name."""
    arguments: Mapping[str, JsonValue]
    status: CallStatus
    """`done`; `failed`; `denied` (a policy, a guard or a human said no, the body did not run); `aborted` (cancelled);
    `abandoned` (the run ended before it began)."""
    duration: float
    """Seconds from the start of its policies to the end of its review; 0 when it never began."""
    message: str | None
    """Why it did not end well; None when it did."""
    line: int | None = None
    """The program's line of the call, 1-based."""
    ran: bool = True
    """False where the tool's body cannot have begun: invalid arguments, an unknown tool, a refusal, a queued call."""


class _Entry:
    """One submitted call, while its run lives."""

    __slots__ = (
        "arguments",
        "duration",
        "line",
        "lossy",
        "message",
        "name",
        "ran",
        "start_seq",
        "status",
        "sub_call_id",
    )

    def __init__(self, sub_call_id: str, name: str, arguments: Mapping[str, JsonValue], line: int | None) -> None:
        self.sub_call_id = sub_call_id
        self.name = name
        self.arguments = arguments
        self.line = line
        self.start_seq: int | None = None
        self.status: CallStatus = "abandoned"
        self.ran = False
        self.lossy = False
        self.duration = 0.0
        self.message: str | None = None


class Dispatcher:
    """The calls of one run. An async context manager: leaving it waits until everything that began has settled."""

    def __init__(
        self,
        registry: Registry,
        *,
        outer: ToolCall,
        tools: VisibleTools,
        max_calls: int,
        max_parallel: int,
        events: EventLog | None,
        approver: Approver | None,
        pause: WallPause,
    ) -> None:
        """Prepare the calls of one run.

        Args:
            registry: whose pipeline the calls go through.
            outer: the call of run_code; the sub-calls are its children.
            tools: what the program may call, as it is when the run starts.
            max_calls: calls that a program may submit.
            max_parallel: overlapping bodies of concurrency-safe calls.
            events: where the records go; None: nowhere.
            approver: who is asked about these calls; None: the registry's.
            pause: held while a human is asked.
        """
        self._registry = registry
        self._outer = outer
        self._events = events
        self._at_once = appends_at_once(events)
        self._pause = pause
        self._max_calls = max_calls
        self._settled_signal = CancelSignal()
        self.cancel = CancelSignal.any(outer.cancel, self._settled_signal)
        """Set when the outer call is cancelled, the log breaks, or the run is over."""
        self._stream = CallStream(
            registry,
            scope=outer.scope,
            max_parallel=max_parallel,
            settle_order="finish",
            audit=self,
            events=events,
            approver=approver,
        )
        self._entries: dict[str, _Entry] = {}
        self._over: str | None = None
        self.broken: str | None = None
        """Why the event log failed; None while it works."""
        self.contexts: list[Mapping[str, JsonValue]] = []
        """What sub-calls deferred to the outer result, in the order in which they settled."""
        self.concludes_turn = False
        """Whether a successful sub-call asked to end the model's turn."""
        self.bindings: Mapping[str, Binding] = Bindings(tools, self._binding)

    def work_in(self, group: TaskGroup) -> None:
        """Where calls run, at least until the dispatcher was left; without this, in a group of its own."""
        self._stream.work_in(group)

    async def __aenter__(self) -> Dispatcher:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self.close("the run is over")
        return await self._stream.__aexit__(kind, error, trace)

    def close(self, reason: str) -> None:
        """End the run's calls: queued ones are abandoned, running ones cancelled, later ones refused. Idempotent."""
        if self._over is None:
            self._over = reason
            self._settled_signal.cancel(reason)
            self._stream.close(reason)

    @property
    def count(self) -> int:
        """Calls submitted so far."""
        return len(self._entries)

    def records(self) -> tuple[CallRecord, ...]:
        """All submitted calls in their order; complete once the dispatcher was left."""
        return tuple(
            CallRecord(
                sub_call_id=entry.sub_call_id,
                name=entry.name,
                arguments=entry.arguments,
                status=entry.status,
                duration=entry.duration,
                message=entry.message or ("the run ended before it began" if entry.status == "abandoned" else None),
                line=entry.line,
                ran=entry.ran,
            )
            for entry in self._entries.values()
        )

    def _binding(self, tool: VisibleTool) -> Binding:
        name = tool.name

        def call(arguments: Mapping[str, JsonValue]) -> Awaitable[JsonValue]:
            return _outcome(name, self._submit(name, arguments, None, None))

        def submit(arguments: Mapping[str, JsonValue], line: int | None, reply: Reply) -> CallTicket:
            return self._submit(name, arguments, line, lambda ticket: reply(*_told(name, ticket)))

        return Binding(
            name=name,
            parameters=tool.parameters,
            call=call,
            namespace=tool.namespace,
            method=tool.method,
            signature=tool.signature,
            submit=submit,
        )

    def _submit(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        line: int | None,
        on_end: Callable[[CallTicket], None] | None,
    ) -> CallTicket:
        """Take a number and a place in the stream.

        Raises:
            BindingError: no further call is taken.
        """
        if self._over is not None:
            raise BindingError(f"{self._over}; {name} was not called")
        if self.broken is not None:
            raise BindingError(f"{self.broken}; {name} was not called")
        if len(self._entries) >= self._max_calls:
            raise BindingError(
                f"call limit reached: a program may make {self._max_calls} tool calls; {name} was not called"
            )
        entry = _Entry(f"{self._outer.call_id}:code:{len(self._entries) + 1}", name, arguments, line)
        self._entries[entry.sub_call_id] = entry
        return self._stream.submit(
            name,
            arguments,
            call_id=entry.sub_call_id,
            cancel=self.cancel,
            parent=self._outer.token,
            on_end=on_end,
        )

    # CallAudit: called by the pipeline

    async def started(self, call: ToolCall) -> None:
        """Write the start record; nothing of the pipeline has seen the call yet."""
        entry = self._entries[call.call_id]
        entry.status = "aborted"  # until it settles: the run may end in the middle
        entry.ran = True
        entry.lossy = call.arguments is None
        if not entry.lossy:
            entry.arguments = call.arguments
        if self._events is not None:
            record = self._record(entry)
            if entry.line is not None:
                record["line"] = entry.line
            entry.start_seq = await self._append("tool/code-dispatch-start", record)

    async def settled(self, call: ToolCall, result: ToolResult, timing: CallTiming) -> None:
        """Write the settle record and keep what the outer result needs; the program sees nothing before this ends."""
        entry = self._entries[call.call_id]
        entry.duration = (timing.before + timing.body + timing.after) / 1000
        if isinstance(result, ToolFailure):
            code = result.error.code
            entry.status = "denied" if code in DENIED_CODES else "aborted" if code in ABORTED_CODES else "failed"
            entry.ran = code not in NEVER_RAN_CODES
            entry.message = result.error.message
        else:
            entry.status = "done"
        if self._events is not None:
            failures: list[str] = []
            await self._append("tool/code-dispatch", self._settle_record(entry, result, timing, failures))
            for message in failures:
                warning: dict[str, JsonValue] = {"source": "shape_dispatch_log", "message": message}
                await self._append("warning", {**warning, "call_id": entry.sub_call_id})
        if isinstance(result, ToolSuccess):
            images = [block for block in result.content if block.get("type") == "image"]
            if images:
                self.contexts.append({"role": "user", "content": list(images)})
            self.concludes_turn = self.concludes_turn or result.concludes_turn
        self.contexts.extend(result.contexts)

    def asking(self, call: ToolCall) -> AbstractContextManager[None]:
        """A human is asked about this call: the wall clock of the run stands still."""
        return self._pause.hold()

    def _record(self, entry: _Entry) -> dict[str, JsonValue]:
        outer = self._outer
        record: dict[str, JsonValue] = {
            "root_call_id": outer.root_call_id,
            "parent_call_id": outer.call_id,
            "sub_call_id": entry.sub_call_id,
            "name": entry.name,
        }
        if not entry.lossy:
            record["arguments"] = cast("dict[str, JsonValue]", entry.arguments)  # frozen: the log need not copy it
        if outer.scope is not None:
            record["scope"] = outer.scope.name
        return record

    def _settle_record(
        self, entry: _Entry, result: ToolResult, timing: CallTiming, failures: list[str]
    ) -> dict[str, JsonValue]:
        record = self._record(entry)
        if entry.start_seq is not None:
            record["start_seq"] = entry.start_seq
        record["is_error"] = result.is_error
        record["content"] = self._registry._shape_dispatch_log(
            DispatchLog(self._outer, self._outer.scope, entry.sub_call_id, entry.name, result.is_error, result.content),
            failures,
        )
        if isinstance(result, ToolFailure):
            error = result.error
            record["error"] = FrozenDict({"message": error.message, "code": error.code, "name": error.name})
        spans = {"queued": timing.queued, "before": timing.before, "body": timing.body, "after": timing.after}
        record["timing"] = FrozenDict(spans)
        return record

    async def _append(self, kind: str, record: dict[str, JsonValue]) -> int:
        assert self._events is not None
        # All that is in it is frozen, so a log of ours need not look through it; one of another make gets its own.
        data = FrozenDict(record) if self._at_once else record
        try:
            return (await self._events.append(kind, data)).seq
        except Exception as failure:
            self.broken = f"the event log cannot be written ({type(failure).__name__}: {failure})"
            self._settled_signal.cancel(self.broken)
            raise


async def _outcome(name: str, ticket: CallTicket) -> JsonValue:
    with suppress(CallAbandoned):
        await ticket.wait()
    value, message = _told(name, ticket)
    if message is not None:
        raise BindingError(message)
    return value


def _told(name: str, ticket: CallTicket) -> tuple[JsonValue, str | None]:
    """What the program learns of a call that has ended: its value, or why there is none."""
    try:
        result = ticket.result
    except CallAbandoned as abandoned:
        return None, f"{abandoned}; {name} was not called"
    return (None, result.error.message) if isinstance(result, ToolFailure) else (result.value, None)
