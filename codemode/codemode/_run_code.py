"""The tool `run_code`: the body of the outer call, and what the model is shown of it.

The body is the middle of the outer call, so every policy, approval, guard, wrapper and review that stands around tools
stands around programs too. Contexts that sub-calls deferred ride on the outer result even when the program failed.

What a `ToolResult` cannot say (the structured error, the list of calls, notes, usage) is left in `RunSlot`, which
`CodeMode.run` puts into the context before it makes the outer call.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar

import anyio

from codemode._instructions import CODE_PARAMETERS, OUTPUT_SCHEMA, tool_description
from codemode._program_run import Check, ProgramRun, RunOutcome
from codemode._text import failure_text, success_text
from codemode_bridge import CodeRuntime, Limits
from codemode_registry import (
    RUN_CODE,
    Approver,
    EventLog,
    JsonValue,
    Registry,
    RuntimeUnavailableError,
    Tool,
    ToolContext,
    ToolError,
)

__all__ = ["RUN_APPROVER", "RUN_SLOT", "RunCode", "RunSlot"]

_RUN_FAILED = "CODE_RUN_FAILED"
_ERROR_PREFIX = len("Error: ")
"""What the pipeline puts in front of a failure's message; it counts against `text_chars`."""
_REMEMBERED_TEXTS = 256
"""Rendered texts kept for the pipeline's renderer; each lives from the end of a body to the end of its call."""


class RunSlot:
    """Where a body leaves its outcome for the `CodeMode.run` that made the call."""

    __slots__ = ("call_id", "limits", "outcome", "unavailable")

    def __init__(self, call_id: str, limits: Limits) -> None:
        self.call_id = call_id
        self.limits = limits
        self.outcome: RunOutcome | None = None
        self.unavailable: RuntimeUnavailableError | None = None


RUN_SLOT: ContextVar[RunSlot | None] = ContextVar("RUN_SLOT", default=None)

RUN_APPROVER: ContextVar[Approver | None] = ContextVar("RUN_APPROVER", default=None)
"""Who is asked about the calls of a program, where the outer call was made with an approver of its own."""


class _RunCodeTool(Tool):
    """A tool whose description is written when it is read: it lists the dialect's modules, which takes loading them."""

    __slots__ = ("_checking",)

    def ready(self) -> None:
        self._checking = True
        super().ready()
        self._checking = False

    @property
    def description(self) -> str:
        return "" if self._checking else tool_description()

    @description.setter
    def description(self, text: str) -> None:
        self._checking = False


class RunCode:
    """`run_code` of one CodeMode."""

    def __init__(
        self,
        registry: Registry,
        runtime: CodeRuntime,
        limits: Limits,
        events: EventLog | None,
        approver: Approver | None,
        check: Check = "off",
    ) -> None:
        """Make the tool.

        Args:
            registry: whose tools programs call.
            runtime: where programs run.
            limits: of a run that brings none of its own.
            events: a log of its own; None: the registry's.
            approver: an approver of its own; None: the registry's.
            check: whether programs are checked against the stubs before they run.
        """
        self._registry = registry
        self._runtime = runtime
        self._limits = limits
        self._events = events
        self._approver = approver
        self._check: Check = check
        self._texts: OrderedDict[int, tuple[object, Mapping[str, JsonValue], str]] = OrderedDict()
        self.tool = _RunCodeTool(
            RUN_CODE,
            "",
            self._execute,
            parameters=CODE_PARAMETERS,
            output=OUTPUT_SCHEMA,
            render=self._render,
            present_call=_present,
        )
        self.tool.ready()  # its schema is wanted before anything is opened

    async def _execute(self, arguments: Mapping[str, JsonValue], ctx: ToolContext) -> JsonValue:
        slot = RUN_SLOT.get()
        if slot is not None and (slot.call_id != ctx.call.call_id or ctx.call.parent is not None):
            slot = None
        limits = slot.limits if slot is not None else self._limits
        program = ProgramRun(
            self._registry,
            self._runtime,
            call=ctx.call,
            code=str(arguments["code"]),
            description=str(arguments["description"]),
            limits=limits,
            events=self._events if self._events is not None else self._registry.events,
            approver=RUN_APPROVER.get() or self._approver,
            check=self._check,
        )
        cancelled = False
        try:
            await program.execute()
        except anyio.get_cancelled_exc_class():
            cancelled = True
            raise
        finally:
            outcome = program.outcome
            if slot is not None:
                slot.outcome, slot.unavailable = outcome, program.unavailable
            for context in program.contexts:
                ctx.defer_context(context)
            if program.concludes_turn:
                ctx.conclude_turn()
            if cancelled or ctx.call.cancel.cancelled:
                # The pipeline would say only that the call was aborted; this says what was done before. It raises a
                # cancellation that is under way again by itself.
                raise ToolError(_failure(outcome, limits), code="ABORTED", name="AbortError")
        return self._value(arguments, outcome, limits)

    def _value(self, arguments: object, outcome: RunOutcome, limits: Limits) -> JsonValue:
        run = outcome.run
        if run.error is not None:
            raise ToolError(_failure(outcome, limits), code=_RUN_FAILED, name=_RUN_FAILED)
        value: dict[str, JsonValue] = {"logs": list(run.logs)}
        if run.has_value:
            value["result"] = run.value
        text = success_text(
            run.logs,
            has_value=run.has_value,
            value=run.value,
            calls=outcome.calls,
            notes=run.notes,
            limit=limits.text_chars,
        )
        self._texts[id(arguments)] = (arguments, value, text)
        while len(self._texts) > _REMEMBERED_TEXTS:
            self._texts.popitem(last=False)
        return value

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


def _failure(outcome: RunOutcome, limits: Limits) -> str:
    run = outcome.run
    error = run.error
    if error is None:
        return f"the run was cancelled when it had ended: {len(outcome.calls)} calls were made"
    return failure_text(error, run.logs, outcome.calls, run.notes, limits.text_chars - _ERROR_PREFIX)


def _present(arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue] | None:
    """The card of a program that is about to run: its label and its text."""
    code, description = arguments.get("code"), arguments.get("description")
    if not isinstance(code, str) or not isinstance(description, str):
        return None
    return {"kind": "execute", "title": description, "input": code}
