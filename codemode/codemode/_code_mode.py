"""`CodeMode`: the product's front. It opens a runtime over a registry, runs programs, and answers a model's calls.

Rules
- A run is an ordinary call of `run_code` through the registry's pipeline; there is no second road. `run` is the host's
  own wish and works in every mode; `call` is the model's, and the mode applies to it.
- While it is open, `run_code` can be called through the registry too. After it was closed nothing runs: runs in flight
  end as `abort` first.
- It closes a runtime that it made; one that was given stays its owner's.
- `instructions`, `stubs` and `schemas` need no running child.
"""

# The registry's door for run_code, the modes and the streams is private to the rooms of this house.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal

import anyio

from codemode._instructions import instructions
from codemode._program_run import Check
from codemode._result import RunResult
from codemode._run_code import RUN_APPROVER, RUN_SLOT, RunCode, RunSlot
from codemode_bridge import CodeRuntime, ErrorKind, Limits, ProcessRuntime, RunError, Usage
from codemode_registry import (
    ABORTED_CODES,
    RUN_CODE,
    Approver,
    CancelSignal,
    CodeModeError,
    EventLog,
    JsonValue,
    Registration,
    Registry,
    Scope,
    ToolRequest,
    ToolResult,
    ToolSuccess,
    thaw,
)

__all__ = ["CodeMode", "Mode"]

Mode = Literal["native", "code", "both"]

_DEFAULT_LIMITS = Limits()
_KINDS: Mapping[str, ErrorKind] = {"TOOL_TIMEOUT": "timeout", "INVALID_TOOL_OUTPUT": "invalid-output"}


class CodeMode:
    """Programs over the tools of a registry; an async context manager.

    Attributes:
        registry: whose tools programs call.
        scope: the scope of calls that name none; None: the global one.
        mode: what a model is shown where a scope declares nothing.
        limits: of runs that bring none.
        runtime: where programs run.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        scope: Scope | None = None,
        mode: Mode = "code",
        limits: Limits = _DEFAULT_LIMITS,
        events: EventLog | None = None,
        approver: Approver | None = None,
        runtime: CodeRuntime | None = None,
        check: Check = "off",
    ) -> None:
        """Prepare code mode; nothing is started before it is entered.

        Args:
            registry: whose tools programs call.
            scope: the scope of calls that name none.
            mode: `code` (only run_code), `native` (the tools, no run_code) or `both`.
            limits: of each run.
            events: the log of this code mode; the registry's when None.
            approver: who is asked; the registry's when None.
            runtime: where programs run; a sealed child process each when None.
            check: `note` checks each program against the stubs first and tells the findings; `error` does not run one
                that has any. Needs the extra `[check]`.
        """
        if not isinstance(registry, Registry):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"registry must be a Registry, not {type(registry).__name__}")
        if not isinstance(limits, Limits):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"limits must be a Limits, not {type(limits).__name__}")
        if mode not in ("native", "code", "both"):
            raise ValueError(f'mode must be "native", "code" or "both", not {mode!r}')
        if check not in ("off", "note", "error"):
            raise ValueError(f'check must be "off", "note" or "error", not {check!r}')
        self.registry = registry
        self.scope = scope
        self.mode: Mode = mode
        self.limits = limits
        self.runtime: CodeRuntime = runtime if runtime is not None else ProcessRuntime()
        self._owns_runtime = runtime is None
        self._events = events
        self._approver = approver
        self._run_code = RunCode(registry, self.runtime, self.limits, events, approver, check)
        self._state: Literal["new", "open", "closed"] = "new"
        self._closing = CancelSignal()
        self._registration: Registration | None = None
        self._running = 0
        self._idle: anyio.Event | None = None

    async def __aenter__(self) -> CodeMode:
        if self._state != "new":
            raise CodeModeError("a CodeMode is opened once; make another one")
        if self._owns_runtime:
            await self.runtime.__aenter__()
        self._registration = self.registry._install_run_code(self._run_code.tool)
        self._state = "open"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Abort what runs, wait for it, then close."""
        self._state = "closed"
        self._closing.cancel("the CodeMode was closed")
        with anyio.CancelScope(shield=True):
            while self._running:
                self._idle = anyio.Event()
                await self._idle.wait()
            if self._registration is not None:
                self._registration.dispose()
            if self._owns_runtime:
                await self.runtime.aclose()

    async def run(
        self,
        code: str,
        *,
        description: str = "program",
        scope: Scope | None = None,
        call_id: str | None = None,
        cancel: CancelSignal | None = None,
        limits: Limits | None = None,
        approver: Approver | None = None,
    ) -> RunResult:
        """Run one program.

        Args:
            code: the program: the body of an async Python function.
            description: what it does, not blank.
            scope: whose tools it sees; the CodeMode's scope when None.
            call_id: the outer call's id; a fresh one when None.
            cancel: ends the run when it is set.
            limits: of this run; the CodeMode's when None.
            approver: who is asked about this run and its calls; the CodeMode's when None.

        Returns:
            What happened. A program that fails, is denied or runs into a limit is a result.

        Raises:
            CodeModeError: the CodeMode is not open.
            RuntimeUnavailableError: no child can be started, or none that is sealed as required.

        Cancellation:
            The program and every tool that it started are stopped and their records written; then it propagates.
        """
        slot = RunSlot(call_id if call_id is not None else f"call_{uuid.uuid4().hex}", limits or self.limits)
        before = RUN_SLOT.set(slot)
        try:
            result = await self._through(
                RUN_CODE,
                {"code": code, "description": description},
                scope=scope,
                call_id=slot.call_id,
                cancel=cancel,
                mode="host",
                approver=approver,
            )
        finally:
            RUN_SLOT.reset(before)
        if slot.unavailable is not None:
            raise slot.unavailable
        return _run_result(slot, result)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        scope: Scope | None = None,
        call_id: str | None = None,
        cancel: CancelSignal | None = None,
        approver: Approver | None = None,
    ) -> ToolResult:
        """Make a call that a model asks for directly; what the mode does not present is an unknown tool.

        Args:
            name: `run_code` or a tool.
            arguments: as the model gave them.
            scope: whose view applies; the CodeMode's scope when None.
            call_id: the model's id of the call.
            cancel: cancels the call when it is set.
            approver: who is asked; the CodeMode's when None.
        """
        return await self._through(
            name, arguments, scope=scope, call_id=call_id, cancel=cancel, mode=self.mode, approver=approver
        )

    async def call_batch(
        self,
        requests: Sequence[ToolRequest],
        *,
        scope: Scope | None = None,
        cancel: CancelSignal | None = None,
        approver: Approver | None = None,
    ) -> list[ToolResult]:
        """Make the calls of one turn of a model: the scheduler's rules and the mode apply.

        Args:
            requests: in the order in which the model asked.
            scope: whose view applies; the CodeMode's scope when None.
            cancel: cancels all of them when it is set.
            approver: who is asked; the CodeMode's when None.
        """
        self._enter()
        before = RUN_APPROVER.set(approver)
        try:
            return await self.registry._call_batch(
                requests,
                scope=self._scope(scope),
                cancel=self._signal(cancel),
                mode=self.mode,
                run_code=self._run_code.tool,
                events=self._events,
                approver=approver or self._approver,
            )
        finally:
            RUN_APPROVER.reset(before)
            self._leave()

    def schemas(self, scope: Scope | None = None) -> list[dict[str, JsonValue]]:
        """The tools to send to the model under the mode."""
        return self.registry._schemas(self._scope(scope), mode=self.mode, run_code=self._run_code.tool)

    def instructions(self, scope: Scope | None = None) -> str:
        """Prompt text: how to write programs, and the stubs of the tools that the scope sees."""
        from codemode_stubs import render_stubs  # a host that only runs programs renders no stubs

        return instructions(render_stubs(self.registry.tools(self._scope(scope)), form="prompt"))

    def stubs(self, scope: Scope | None = None) -> str:
        """The text of the stub module of the tools that the scope sees."""
        from codemode_stubs import render_stubs

        return render_stubs(self.registry.tools(self._scope(scope)), form="pyi")

    async def _through(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        scope: Scope | None,
        call_id: str | None,
        cancel: CancelSignal | None,
        mode: Mode | Literal["host"],
        approver: Approver | None,
    ) -> ToolResult:
        """One call through the registry's pipeline, with what is this CodeMode's own."""
        self._enter()
        if name == RUN_CODE and isinstance(self.runtime, ProcessRuntime):
            self.runtime.expect_run()
        before = RUN_APPROVER.set(approver)
        try:
            return await self.registry._call(
                name,
                arguments,
                scope=self._scope(scope),
                call_id=call_id,
                cancel=self._signal(cancel),
                mode=mode,
                run_code=self._run_code.tool,
                events=self._events,
                approver=approver or self._approver,
            )
        finally:
            RUN_APPROVER.reset(before)
            self._leave()

    def _scope(self, scope: Scope | None) -> Scope | None:
        return scope if scope is not None else self.scope

    def _signal(self, cancel: CancelSignal | None) -> CancelSignal:
        return self._closing if cancel is None else CancelSignal.any(cancel, self._closing)

    def _enter(self) -> None:
        if self._state == "new":
            raise CodeModeError("the CodeMode is not open: use `async with CodeMode(registry) as cm:`")
        if self._state == "closed":
            raise CodeModeError("the CodeMode was closed")
        self._running += 1

    def _leave(self) -> None:
        self._running -= 1
        if not self._running and self._idle is not None:
            self._idle.set()


def _run_result(slot: RunSlot, result: ToolResult) -> RunResult:
    """Put together what the run left and what the pipeline made of it; the pipeline has the last word."""
    text = "\n".join(str(block.get("text", "")) for block in result.content if block.get("type") == "text")
    outcome = slot.outcome
    if outcome is None:
        return RunResult(
            ok=False,
            value=None,
            has_value=False,
            logs=[],
            text=text,
            error=_without_run(result),
            usage=Usage(),
            run_id=uuid.uuid4().hex,
            result=result,
        )
    run = outcome.run
    logs, notes, value, has_value, error = list(run.logs), list(run.notes), run.value, run.has_value, run.error
    if isinstance(result, ToolSuccess):
        fields: Mapping[str, JsonValue] = result.value if isinstance(result.value, dict) else {}
        error = None
        if run.error is not None or fields.get("logs") != logs or fields.get("result") != value:
            # A review or a wrapper put another value in place of the program's.
            final: dict[str, Any] = thaw(fields)
            logs = [str(line) for line in final.get("logs", [])]
            value, has_value = final.get("result"), "result" in final
    elif result.error.code != "CODE_RUN_FAILED":
        # It ran, and then it was cancelled, timed out or withheld: nothing of it may get past that.
        code = result.error.code
        withheld = code not in ABORTED_CODES and code not in _KINDS
        logs, notes = ([], []) if withheld else (logs, notes)
        error = run.error if run.error is not None and not withheld else RunError(_kind_of(code), result.error.message)
    if error is not None:
        value, has_value = None, False
    return RunResult(
        ok=error is None,
        value=value,
        has_value=has_value,
        logs=logs,
        text=text,
        error=error,
        calls=list(outcome.calls),
        notes=notes,
        usage=outcome.usage,
        run_id=outcome.run_id,
        result=result,
    )


def _kind_of(code: str) -> ErrorKind:
    """What a run is called whose outer call ended with this code: a pipeline or an event log that fails aborts it."""
    return "abort" if code in ABORTED_CODES or code == "PIPELINE_ERROR" else _KINDS.get(code, "denied")


def _without_run(result: ToolResult) -> RunError:
    """Why the program did not run at all."""
    if isinstance(result, ToolSuccess):
        return RunError("denied", "a wrapper answered in place of the program")
    code, message = result.error.code, result.error.message
    return RunError("abort" if _kind_of(code) == "abort" else "denied", message)
