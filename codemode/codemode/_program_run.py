"""One run of one program, inside the body of its outer call.

In order: `code/run-start`; the program in the runtime, its calls through the dispatcher; the drain, so that nothing of
the run lives on; `code/run-end`. Whatever happens on the way, the end is written and an outcome is there.

Cancellation comes in two ways. A signal (the caller's, the CodeMode's closing) reaches the runtime as the request's
`cancel`. A cancelled scope around us (the caller's task, a wrapper's time-out) must not tear the run apart either, or
printed lines and records would be lost: the run is shielded in a task of its own, the cancellation is turned into the
same signal, and the runtime has a bounded time to end by itself.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import anyio

from codemode._spelling import visible_tools
from codemode_bridge import (
    CallRecord,
    CodeRunRequest,
    CodeRunResult,
    CodeRuntime,
    Dispatcher,
    ErrorKind,
    Limits,
    PauseClock,
    RunError,
    Usage,
)
from codemode_registry import (
    Approver,
    CodeModeError,
    EventLog,
    JsonValue,
    Registry,
    RuntimeUnavailableError,
    ToolCall,
    appends_at_once,
)

__all__ = ["Check", "ProgramRun", "RunOutcome"]

Check = Literal["off", "note", "error"]
"""What a finding of the type checker does: nothing is checked; it is a note; the program does not run."""

_MAX_FINDINGS = 10
_MAX_NOTES = 20

_GRACE = 2.0
"""Seconds beyond the registry's `drain_seconds` that a cancelled runtime may take to end; ours takes milliseconds."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What one run left, beside the outer result."""

    run_id: str
    run: CodeRunResult
    calls: tuple[CallRecord, ...]
    usage: Usage


class ProgramRun:
    """One run: make it, await `execute` once, read `outcome`, whether it returned or was cancelled."""

    def __init__(
        self,
        registry: Registry,
        runtime: CodeRuntime,
        *,
        call: ToolCall,
        code: str,
        description: str,
        limits: Limits,
        events: EventLog | None,
        approver: Approver | None,
        check: Check,
    ) -> None:
        """Prepare a run.

        Args:
            registry: whose tools the program sees.
            runtime: where it runs.
            call: the outer call.
            code: the program.
            description: what it does.
            limits: of this run.
            events: where its events go; None: nowhere.
            approver: who is asked about its calls; None: the registry's.
            check: whether the program is checked against the stubs first, and what findings do.
        """
        self._runtime = runtime
        self._call = call
        self._code = code
        self._description = description
        self._limits = limits
        self._events = events
        self._grace = registry.drain_seconds + _GRACE
        self._at_once = appends_at_once(events)
        self._run_id = uuid.uuid4().hex
        self._check: Check = check
        self._visible = registry.tools(call.scope)
        self._tools = visible_tools(self._visible)
        self._pause = PauseClock()
        self._dispatcher = Dispatcher(
            registry,
            outer=call,
            tools=self._tools,
            max_calls=limits.max_calls,
            max_parallel=limits.max_parallel,
            events=events,
            approver=approver,
            pause=self._pause,
        )
        self._result = CodeRunResult(error=RunError("abort", "the run was cancelled"))
        self.unavailable: RuntimeUnavailableError | None = None
        """Why there was no child for it."""

    @property
    def outcome(self) -> RunOutcome:
        """What the run left; complete once `execute` is over."""
        return RunOutcome(self._run_id, self._result, self._dispatcher.records(), self._usage())

    @property
    def contexts(self) -> list[Mapping[str, JsonValue]]:
        """What its calls deferred to the outer result, in order."""
        return self._dispatcher.contexts

    @property
    def concludes_turn(self) -> bool:
        """Whether a call that succeeded asked to end the turn, and the run succeeded too."""
        return self._dispatcher.concludes_turn and self._result.error is None

    async def execute(self) -> None:
        """Run the program from its first event to its last.

        Cancellation: the program and its tools are stopped and the records written; what is done stays in `outcome`.
        Then the cancellation goes on.
        """
        over = anyio.Event()
        shield = anyio.CancelScope(shield=True)

        async def work() -> None:
            broken: CodeRunResult | None = None
            try:
                with shield:
                    await self._recorded()
            finally:
                if self._at_once:
                    broken = await self._append("code/run-end", self._end())
                else:
                    with anyio.CancelScope(shield=True):
                        broken = await self._append("code/run-end", self._end())
            if broken is not None and self._result.error is None:
                self._result = replace(broken, logs=self._result.logs)
            over.set()

        # A task of its own: asyncio's `task.cancel()` knows no shield, but it ends only the waiting here.
        async with anyio.create_task_group() as working:
            self._dispatcher.work_in(working)
            working.start_soon(work)
            try:
                await over.wait()
            except BaseException:
                self._dispatcher.cancel.cancel("the caller was cancelled")
                shield.deadline = anyio.current_time() + self._grace
                raise

    async def _recorded(self) -> None:
        broken = await self._append("code/run-start", self._start())
        self._result = broken if broken is not None else await self._program()

    async def _program(self) -> CodeRunResult:
        """The program in the runtime, and the drain of its calls."""
        limits, dispatcher = self._limits, self._dispatcher
        size = len(self._code.encode("utf-8", "surrogatepass"))
        if size > limits.source_bytes:
            return _failed(
                "syntax",
                f"the program has {size} bytes and may have {limits.source_bytes}; load data through tools instead of "
                "writing it into the program",
            )
        if dispatcher.cancel.cancelled:
            return _failed("abort", dispatcher.cancel.reason or "cancelled")
        findings = await self._findings() if self._check != "off" else []
        if findings and self._check == "error":
            message = "\n".join(["the program does not fit the tools; nothing was run", *findings[:_MAX_FINDINGS]])
            return _failed("syntax", message)
        request = CodeRunRequest(
            program=self._code,
            bindings=dispatcher.bindings,
            limits=limits,
            cancel=dispatcher.cancel,
            pause=self._pause,
        )
        async with dispatcher:
            try:
                run = await self._runtime.run(request)
            except RuntimeUnavailableError as unavailable:
                self.unavailable = unavailable
                run = _failed("worker-exit", str(unavailable))
            except Exception as failure:
                run = _failed("worker-exit", f"the runtime failed: {type(failure).__name__}: {failure}")
            finally:
                reason = dispatcher.cancel.reason
                dispatcher.close("the run is over")
        if reason is not None:
            # The calls of a cancelled run fail at the same moment; what the program made of that does not count.
            run = CodeRunResult(error=RunError("abort", reason), logs=run.logs, notes=run.notes, usage=run.usage)
        if findings:
            run = replace(run, notes=(*findings[:_MAX_FINDINGS], *run.notes)[:_MAX_NOTES])
        if dispatcher.broken is not None:
            return replace(run, value=None, has_value=False, error=RunError("abort", dispatcher.broken))
        return run

    async def _findings(self) -> list[str]:
        """What the type checker finds in the program, a line each; what the dialect refuses, the run itself says."""
        from codemode._check import check_in  # loads the checker, which most hosts never need

        try:
            found = await check_in(self._runtime, self._code, self._visible)
        except CodeModeError as unavailable:
            return [f"the program was not checked: {unavailable}"] if self._check == "note" else [str(unavailable)]
        return [
            f"line {finding.line}: {finding.message}" for finding in found if finding.code not in ("syntax", "refused")
        ]

    async def _append(self, kind: str, data: dict[str, JsonValue]) -> CodeRunResult | None:
        """Append an event; where that fails, the outcome that the run has because of it."""
        if self._events is None:
            return None
        try:
            await self._events.append(kind, data)
        except Exception as failure:
            return _failed("abort", f"the event log cannot be written ({type(failure).__name__}: {failure})")
        return None

    def _usage(self) -> Usage:
        return replace(self._result.usage or Usage(), calls=self._dispatcher.count)

    def _start(self) -> dict[str, JsonValue]:
        return {
            "call_id": self._call.call_id,
            "run_id": self._run_id,
            "code_sha256": hashlib.sha256(self._code.encode("utf-8", "surrogatepass")).hexdigest(),
            "description": self._description,
            "tools": self._tools.names,
            "limits": _fields(self._limits),
            "isolation": self._runtime.isolation,
        }

    def _end(self) -> dict[str, JsonValue]:
        error = self._result.error
        data: dict[str, JsonValue] = {"call_id": self._call.call_id, "run_id": self._run_id, "status": "ok"}
        if error is not None:
            told: dict[str, JsonValue] = {"kind": error.kind, "message": error.message}
            if error.line is not None:
                told["line"] = error.line
            data["status"] = error.kind
            data["error"] = told
        data["usage"] = _fields(self._usage())
        return data


def _fields(value: Limits | Usage) -> dict[str, JsonValue]:
    """What `dataclasses.asdict` gives of flat numbers, without its deep copies."""
    return {name: getattr(value, name) for name in value.__slots__}


def _failed(kind: ErrorKind, message: str) -> CodeRunResult:
    return CodeRunResult(error=RunError(kind, message))
