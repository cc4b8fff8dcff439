"""The registry: the global layer, its scopes, and the ways into the pipeline.

Rules
- `call`, `call_batch` and a program's `CallStream` make a `Run` and hand it to `_pipeline.execute`. Nothing else does.
- A parent token counts only while its call is in progress here: `_live` is the proof; a made-up token is in no table.
- `run_code` has one door, `_install_run_code`; no register, shadow, restriction or removal reaches it.
"""

# pyright: reportUnnecessaryIsInstance=false
# Callers need not be type-checked: what comes in is looked at.

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterable
from typing import Any

import anyio

from ._approval import Approver
from ._audit import NativeAudit
from ._call import CallToken, DispatchLog, ToolRequest
from ._callback import answer
from ._cancel import CancelSignal
from ._errors import RegistrationError, describe
from ._events import EventLog
from ._json import FrozenDict, FrozenList
from ._layers import Clock, Layer
from ._logging import LOGGER
from ._loops import sync_failures
from ._pipeline import execute
from ._registration import Registration
from ._result import ToolResult, as_content
from ._run import Run
from ._scope import Scope, open_layer
from ._stream import CallStream
from ._surface import Surface
from ._ticket import CallTicket
from ._tool import MAX_TIMEOUT, RUN_CODE, Tool, check_timeout

_NO_ARGUMENTS = FrozenDict()


class Registry(Surface):
    """Tools, their policies, and the pipeline that every call of them passes.

    Args:
        events: Where everything that happens is logged; None logs nothing.
        approver: Asks a human where a policy says so; without one such calls are denied.
        default_timeout: Seconds, for tools that declare none; None for no limit.
        max_parallel: How many concurrency-safe calls of a batch may overlap.
        drain_seconds: How long a cancelled sync tool may take to stop before its thread is left behind.

    Raises:
        RegistrationError: a number is out of range.
    """

    def __init__(
        self,
        *,
        events: EventLog | None = None,
        approver: Approver | None = None,
        default_timeout: float | None = None,
        max_parallel: int = 10,
        drain_seconds: float = 5.0,
    ) -> None:
        check_timeout(default_timeout, "default_timeout")
        if type(max_parallel) is not int or max_parallel < 1:
            raise RegistrationError(f"max_parallel must be a positive integer, not {max_parallel!r}")
        fits = isinstance(drain_seconds, (int, float)) and not isinstance(drain_seconds, bool)
        if not fits or not 0 <= drain_seconds <= MAX_TIMEOUT:
            raise RegistrationError(f"drain_seconds must be a finite number of seconds, not {drain_seconds!r}")
        self.events = events
        """The event log."""
        self.approver = approver
        """Who is asked."""
        self.default_timeout = default_timeout
        """Seconds; None for no limit."""
        self.max_parallel = max_parallel
        """Overlapping calls of one batch."""
        self.drain_seconds = drain_seconds
        """Seconds."""
        self._layer = Layer(None, None, Clock())
        self._live: dict[CallToken, Run] = {}
        self._run_codes: list[Tool] = []
        self._prefix = f"call-{uuid.uuid4().hex[:12]}-"
        self._numbers = itertools.count(1)

    # ---- what there is ----

    def scope(self, name: str) -> Scope:
        """A scope: a layer over the global one.

        Raises:
            RegistrationError: a live scope here has that name.
        """
        return Scope(open_layer(self._layer, name), None, self)

    def get(self, name: str, scope: Scope | None = None) -> Tool | None:
        """The tool of that full name as the scope sees it, or None."""
        layer = self._layer_of(scope)
        if name == RUN_CODE:
            return self._newest_run_code() if layer.presentation("native") != "native" else None
        return layer.view().get(name)

    def tools(self, scope: Scope | None = None) -> list[Tool]:
        """What the scope sees, in order, without the tool that runs programs."""
        return list(self._layer_of(scope).view().values())

    def schemas(self, scope: Scope | None = None) -> list[dict[str, Any]]:
        """`{"name", "description", "input_schema"}` of every tool that the scope sees; detached copies.

        Where the scope presents its tools to programs, `run_code` is last.
        """
        layer = self._layer_of(scope)
        tools = list(layer.view().values())
        newest = self._newest_run_code()
        if newest is not None and layer.presentation("native") != "native":
            tools.append(newest)
        return [tool.schema_entry() for tool in tools]

    def _schemas(
        self, scope: Scope | None = None, *, mode: str = "native", run_code: Tool | None = None
    ) -> list[dict[str, Any]]:
        """What is sent to the model under the mode in force."""
        layer = self._layer_of(scope)
        in_force = layer.presentation(mode)
        tools = [] if in_force == "code" else list(layer.view().values())
        transport = run_code if run_code is not None else self._newest_run_code()
        if in_force != "native" and transport is not None:
            tools.append(transport)
        return [tool.schema_entry() for tool in tools]

    def _layer_of(self, scope: Scope | None) -> Layer:
        if scope is None:
            return self._layer
        if scope._layer.chain[0] is not self._layer:
            raise RegistrationError(f"scope {scope.name!r} belongs to another registry")
        return scope._layer

    # ---- calls ----

    async def call(
        self,
        name: str,
        arguments: Any = _NO_ARGUMENTS,
        *,
        scope: Scope | None = None,
        call_id: str | None = None,
        cancel: CancelSignal | None = None,
        parent: CallToken | None = None,
    ) -> ToolResult:
        """Call a tool. Whatever happens is the result; nothing of the tool or of a policy is raised.

        Args:
            name: Full name of the tool.
            arguments: A JSON object; tuples and mappings are taken as lists and objects.
            scope: Whose view and whose policies; the global ones by default.
            call_id: A fresh one by default.
            cancel: Cancels the call.
            parent: `ctx.call.token` of the call whose body makes this one.

        Cancellation: the caller's is passed on after the body was awaited and the records were written.
        """
        return await self._call(name, arguments, scope=scope, call_id=call_id, cancel=cancel, parent=parent)

    async def _call(
        self,
        name: str,
        arguments: Any = _NO_ARGUMENTS,
        *,
        scope: Scope | None = None,
        call_id: str | None = None,
        cancel: CancelSignal | None = None,
        parent: CallToken | None = None,
        mode: str = "native",
        run_code: Tool | None = None,
        events: EventLog | None = None,
        approver: Approver | None = None,
    ) -> ToolResult:
        run = Run(
            self,
            name,
            arguments,
            scope=scope,
            call_id=call_id,
            cancel=cancel,
            parent=parent,
            mode=mode,
            run_code=run_code,
            audit=None,
            events=events,
            approver=approver,
        )
        return await execute(run)

    async def call_batch(
        self, requests: Iterable[ToolRequest], scope: Scope | None = None, cancel: CancelSignal | None = None
    ) -> list[ToolResult]:
        """Call several tools as one model message asks for them; the results are in the order of the requests.

        Neighbours that are concurrency-safe overlap; everything else runs alone, in order.

        Cancellation: as for `call`; calls that had not started get their pair of records too.
        """
        return await self._call_batch(requests, scope=scope, cancel=cancel)

    async def _call_batch(
        self,
        requests: Iterable[ToolRequest],
        *,
        scope: Scope | None = None,
        cancel: CancelSignal | None = None,
        mode: str = "native",
        run_code: Tool | None = None,
        events: EventLog | None = None,
        approver: Approver | None = None,
    ) -> list[ToolResult]:
        events = events if events is not None else self.events
        stream = CallStream(
            self,
            scope=scope,
            max_parallel=self.max_parallel,
            settle_order="submission",
            audit=NativeAudit(events),
            mode=mode,
            run_code=run_code,
            events=events,
            approver=approver,
        )
        tickets: list[CallTicket] = []
        try:
            async with stream:
                for request in requests:
                    ticket = stream.submit(request.name, request.arguments, call_id=request.call_id, cancel=cancel)
                    tickets.append(ticket)
        except GeneratorExit:
            raise
        except BaseException:  # the caller's task is being cancelled; what the model asked for stands in the log
            with anyio.CancelScope(shield=True):
                for ticket in tickets:
                    await ticket.write_off()
            raise
        return [await ticket.wait() for ticket in tickets]

    # ---- run_code ----

    def _install_run_code(self, tool: Tool) -> Registration:
        """Make `run_code` known while a CodeMode is open. The newest serves `call`."""
        if tool.full_name != RUN_CODE:
            raise RegistrationError(f"the tool that runs programs is named {RUN_CODE!r}, not {tool.full_name!r}")
        tool.ready()
        self._run_codes.append(tool)
        self._layer.clock.ticks += 1

        def undo() -> None:
            self._run_codes[:] = [known for known in self._run_codes if known is not tool]
            self._layer.clock.ticks += 1
            self._changed_quietly()

        self._changed_quietly()
        return Registration(undo)

    def _newest_run_code(self) -> Tool | None:
        return self._run_codes[-1] if self._run_codes else None

    # ---- what the pipeline asks ----

    def _next_call_id(self) -> str:
        return f"{self._prefix}{next(self._numbers)}"

    def _started(self, run: Run) -> None:
        self._live[run.call.token] = run

    def _ended(self, run: Run) -> None:
        self._live.pop(run.call.token, None)

    def _in_progress(self, token: object) -> Run | None:
        """The call in progress here that a token stands for; the one proof that a parent is real."""
        return self._live.get(token) if type(token) is CallToken else None

    def _refusal(self, run: Run) -> str | None:
        """Why a call may not start although it could be asked for: its parent or its scope is gone meanwhile."""
        if run.call.parent is not None and self._in_progress(run.call.parent) is None:
            return "the call that made it is over"
        if run.layer.disposed:
            return f"scope {run.layer.name!r} was disposed"
        return None

    def _is_parallel(self, run: Run) -> bool:
        """Only an exact True of the visible tool's classifier, for arguments that fit, is parallel."""
        call = run.call
        tool = run.resolve()
        if tool is None or call.name == RUN_CODE or run.lossy is not None or run.refusal is not None:
            return False
        if call.parent is None and run.presentation() == "code":
            return False
        safe = tool.concurrency_safe
        if safe is False or not tool.input_schema.is_valid(call.arguments):
            return False
        if safe is True:
            return True
        try:
            return answer("a classifier", safe, call.arguments) is True
        except sync_failures():
            LOGGER.warning("the classifier of %s raised; the call runs alone", call.name, exc_info=True)
            return False

    def _shape_dispatch_log(self, dispatch: DispatchLog, failures: list[str]) -> FrozenList:
        """The content for the log's copy of a sub-call, as the scope's shapers want it; the first that answers wins.

        A shaper that raises or answers what is no content is contained: the original is logged, and `failures` gets a
        sentence for a warning.
        """
        layer = dispatch.scope._layer if dispatch.scope is not None else self._layer
        for above in layer.chain:
            for hook in list(above.shapers):
                try:
                    shaped = answer("a shaper", hook.fn, dispatch)
                    if shaped is not None:
                        return as_content(shaped)
                except Exception as error:
                    extra = {"sub_call_id": dispatch.sub_call_id, "tool": dispatch.name}
                    LOGGER.warning("a shape_dispatch_log hook failed", exc_info=True, extra=extra)
                    failures.append(f'a shaper of tool "{dispatch.name}" failed: {describe(error)}')
        return as_content(dispatch.content)

    def __repr__(self) -> str:
        return f"<Registry of {len(self._layer.tools)} tools>"
