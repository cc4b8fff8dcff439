"""The tool `run_code`: one program, from the outer call's body to its result.

The body is the middle of the outer call, so every policy, approval, guard, wrapper and review that stands around tools
stands around programs too. In order: `code/run-start`; the program in the runtime, its calls through the dispatcher;
the drain, so that nothing of the run lives on; `code/run-end`; only then the result. Contexts that sub-calls deferred
ride on the outer result even when the program failed.

What a `ToolResult` cannot say (the structured error, the list of calls, notes, usage) is left in `RunSlot`, which
`CodeMode.run` puts into the context before it makes the outer call.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace

import anyio
from codemode_bridge._contract import ErrorKind

from codemode._instructions import CODE_PARAMETERS, OUTPUT_SCHEMA, tool_description
from codemode._spelling import visible_tools
from codemode._text import failure_text, success_text
from codemode_bridge import CodeRunRequest, CodeRunResult, CodeRuntime, Limits, RunError, Usage
from codemode_bridge._clock import PauseClock
from codemode_bridge._dispatcher import CallRecord, Dispatcher
from codemode_registry import (
    EventLog,
    JsonValue,
    Registry,
    RuntimeUnavailableError,
    Tool,
    ToolContext,
    ToolError,
)

__all__ = ["RUN_CODE", "RUN_SLOT", "RunCode", "RunOutcome", "RunSlot"]

RUN_CODE = "run_code"
"""The reserved name."""

_RUN_FAILED = "CODE_RUN_FAILED"
_ERROR_PREFIX = len("Error: ")
"""What the pipeline puts in front of a failure's message; it counts against `text_chars`."""
_REMEMBERED_TEXTS = 256
"""Rendered texts kept for the pipeline's renderer; each lives from the end of a body to the end of its call."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What one run left, beside the outer result."""

    run_id: str
    run: CodeRunResult
    calls: tuple[CallRecord, ...]
    usage: Usage


class RunSlot:
    """Where a body leaves its outcome for the `CodeMode.run` that made the call."""

    __slots__ = ("call_id", "limits", "outcome", "unavailable")

    def __init__(self, call_id: str, limits: Limits) -> None:
        self.call_id = call_id
        self.limits = limits
        self.outcome: RunOutcome | None = None
        self.unavailable: RuntimeUnavailableError | None = None


RUN_SLOT: ContextVar[RunSlot | None] = ContextVar("RUN_SLOT", default=None)


class RunCode:
    """`run_code` of one CodeMode."""

    def __init__(self, registry: Registry, runtime: CodeRuntime, limits: Limits, events: EventLog | None) -> None:
        """Make the tool.

        Args:
            registry: whose tools programs call.
            runtime: where programs run.
            limits: of a run that brings none of its own.
            events: a log of its own; None: the registry's.
        """
        self._registry = registry
        self._runtime = runtime
        self._limits = limits
        self._events = events
        self._texts: OrderedDict[int, tuple[object, Mapping[str, JsonValue], str]] = OrderedDict()
        self.tool = Tool(
            RUN_CODE,
            tool_description(),
            self._execute,
            parameters=CODE_PARAMETERS,
            output=OUTPUT_SCHEMA,
            render=self._render,
            present_call=_present,
        )

    async def _execute(self, arguments: Mapping[str, JsonValue], ctx: ToolContext) -> JsonValue:
        code, description = str(arguments["code"]), str(arguments["description"])
        slot = RUN_SLOT.get()
        if slot is not None and (slot.call_id != ctx.call.call_id or ctx.call.parent is not None):
            slot = None
        limits = slot.limits if slot is not None else self._limits
        outcome = await self._run(code, description, limits, ctx, slot)
        run, calls = outcome.run, outcome.calls
        if slot is not None:
            slot.outcome = outcome
        if run.error is not None:
            text = failure_text(run.error, run.logs, calls, run.notes, limits.text_chars - _ERROR_PREFIX)
            raise ToolError(text, code=_RUN_FAILED, name=_RUN_FAILED)
        value: dict[str, JsonValue] = {"logs": list(run.logs)}
        if run.has_value:
            value["result"] = run.value
        text = success_text(
            run.logs,
            has_value=run.has_value,
            value=run.value,
            calls=calls,
            notes=run.notes,
            limit=limits.text_chars,
        )
        self._remember(arguments, value, text)
        return value

    def _remember(self, arguments: object, value: Mapping[str, JsonValue], text: str) -> None:
        self._texts[id(arguments)] = (arguments, value, text)
        while len(self._texts) > _REMEMBERED_TEXTS:
            self._texts.popitem(last=False)

    def _render(self, arguments: object, value: JsonValue) -> str:
        """The text of a value: that of its run, unless a review put another value in its place."""
        known = self._texts.pop(id(arguments), None)
        if known is not None and known[0] is arguments and known[1] == value:
            return known[2]
        fields = value if isinstance(value, dict) else {}
        logs = fields.get("logs")
        return success_text(
            [str(line) for line in logs] if isinstance(logs, list) else [],
            has_value="result" in fields,
            value=fields.get("result"),
            calls=(),
            notes=(),
            limit=self._limits.text_chars,
        )

    async def _run(
        self, code: str, description: str, limits: Limits, ctx: ToolContext, slot: RunSlot | None
    ) -> RunOutcome:
        """The run between its two events; whatever happens, `code/run-end` is written after the drain."""
        call = ctx.call
        run_id = uuid.uuid4().hex
        events = self._events if self._events is not None else self._registry.events
        tools = visible_tools([tool for tool in self._registry.tools(call.scope) if tool.full_name != RUN_CODE])
        pause = PauseClock()
        dispatcher = Dispatcher(
            self._registry,
            outer=call,
            tools=tools,
            max_calls=limits.max_calls,
            max_parallel=limits.max_parallel,
            events=events,
            pause=pause,
        )
        start: dict[str, JsonValue] = {
            "call_id": call.call_id,
            "run_id": run_id,
            "code_sha256": hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest(),
            "description": description,
            "tools": [tool.name for tool in tools],
            "limits": asdict(limits),
            "isolation": self._runtime.isolation,
        }
        run = CodeRunResult(error=RunError("abort", "the caller was cancelled"))
        try:
            run = await _append(events, "code/run-start", start) or await self._execute_program(
                code, limits, dispatcher, pause, slot
            )
        finally:
            # The caller may be cancelled: the record is written all the same, and nothing after it is awaited.
            with anyio.CancelScope(shield=True):
                usage = replace(run.usage or Usage(), calls=dispatcher.count)
                broken = await _append(events, "code/run-end", _end(call.call_id, run_id, run, usage))
        if broken is not None and run.error is None:
            run = replace(broken, logs=run.logs)
        for context in dispatcher.contexts:
            ctx.defer_context(context)
        if dispatcher.concludes_turn and run.error is None:
            ctx.conclude_turn()
        return RunOutcome(run_id=run_id, run=run, calls=dispatcher.records(), usage=usage)

    async def _execute_program(
        self, code: str, limits: Limits, dispatcher: Dispatcher, pause: PauseClock, slot: RunSlot | None
    ) -> CodeRunResult:
        """The program in the runtime, and the drain of its calls."""
        size = len(code.encode("utf-8", "surrogatepass"))
        if size > limits.source_bytes:
            return _failed(
                "syntax",
                f"the program has {size} bytes and may have {limits.source_bytes}; load data through tools instead of "
                "writing it into the program",
            )
        if dispatcher.cancel.cancelled:
            return _failed("abort", dispatcher.cancel.reason or "cancelled")
        request = CodeRunRequest(
            program=code, bindings=dispatcher.bindings, limits=limits, cancel=dispatcher.cancel, pause=pause
        )
        async with dispatcher:
            try:
                run = await self._runtime.run(request)
            except RuntimeUnavailableError as unavailable:
                if slot is not None:
                    slot.unavailable = unavailable
                run = _failed("worker-exit", str(unavailable))
            except Exception as failure:
                run = _failed("worker-exit", f"the runtime failed: {type(failure).__name__}: {failure}")
            finally:
                dispatcher.close("the run is over")
        if dispatcher.broken is not None:
            return replace(run, value=None, has_value=False, error=RunError("abort", dispatcher.broken))
        return run


def _failed(kind: ErrorKind, message: str) -> CodeRunResult:
    return CodeRunResult(error=RunError(kind, message))


async def _append(events: EventLog | None, kind: str, data: dict[str, JsonValue]) -> CodeRunResult | None:
    """Append an event; where that fails, the outcome that the run has because of it."""
    if events is None:
        return None
    try:
        await events.append(kind, data)
    except Exception as failure:
        return _failed("abort", f"the event log cannot be written ({type(failure).__name__}: {failure})")
    return None


def _end(call_id: str, run_id: str, run: CodeRunResult, usage: Usage) -> dict[str, JsonValue]:
    data: dict[str, JsonValue] = {"call_id": call_id, "run_id": run_id, "status": "ok"}
    if run.error is not None:
        data["status"] = run.error.kind
        error: dict[str, JsonValue] = {"kind": run.error.kind, "message": run.error.message}
        if run.error.line is not None:
            error["line"] = run.error.line
        data["error"] = error
    data["usage"] = asdict(usage)
    return data


def _present(arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue] | None:
    """The card of a program that is about to run: its label and its text."""
    code, description = arguments.get("code"), arguments.get("description")
    if not isinstance(code, str) or not isinstance(description, str):
        return None
    return {"kind": "execute", "title": description, "input": code}
