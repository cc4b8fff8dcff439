"""One ordered stream of calls; `call_batch` and the calls of a program are both one.

Rules
- Starts happen in the order of `submit`: one call at a time has its start record, policies, approval and guards.
- Only an exact True of the visible tool's classifier makes a call parallel. Parallel neighbours overlap up to
  `max_parallel`; any other call waits until nothing runs and holds everything behind it until it is settled. Each call
  is classified again right before it starts.
- Reviews and settle records happen one at a time too: in the order of submission, or of the bodies' ends. They share
  one lane with the starts and go first; while a human is asked the lane is free for them.
- A ticket is driven by whoever awaits it before its turn comes, else by a task of the stream, started with its turn.
  A lazy one is never given a task: its turn waits for whoever awaits it, which costs no task and no switch.

The whole state is three sets and the lane; every change of it ends in `_advance`, which is the only place that grants.
"""

# pyright: reportPrivateUsage=false
# The modules of this package are one unit; what is private is private to it.

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import anyio
from anyio.abc import TaskGroup

from ._call import CallAudit, CallToken
from ._cancel import CancelSignal
from ._errors import CallAbandoned
from ._run import Run
from ._ticket import CallTicket

if TYPE_CHECKING:
    from ._approval import Approver
    from ._events import EventLog
    from ._registry import Registry
    from ._scope import Scope
    from ._tool import Tool


class CallStream:
    """An ordered stream of calls through one registry's pipeline.

    Args:
        registry: Whose tools.
        scope: Whose view.
        max_parallel: How many calls may run at once.
        settle_order: `"submission"`, or `"finish"`: in the order in which bodies end.
        audit: Writes the records.
        mode: The presentation mode where the scope declares none; native by default.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        scope: Scope | None,
        max_parallel: int,
        settle_order: Literal["submission", "finish"],
        audit: CallAudit,
        mode: str | None = None,
        run_code: Tool | None = None,
        events: EventLog | None = None,
        approver: Approver | None = None,
    ) -> None:
        if type(max_parallel) is not int or max_parallel < 1:
            raise ValueError(f"max_parallel must be a positive integer, not {max_parallel!r}")
        if settle_order not in ("submission", "finish"):
            raise ValueError(f"settle_order must be 'submission' or 'finish', not {settle_order!r}")
        self._registry = registry
        self._scope = scope
        self._max_parallel = max_parallel
        self._in_order = settle_order == "submission"
        self._audit = audit
        self._mode = mode or "native"
        self._run_code = run_code
        self._events = events
        self._approver = approver
        self._group: TaskGroup | None = None
        self._closed: str | None = None
        self._queue: deque[CallTicket] = deque()
        """Not started, in order."""
        self._active: dict[CallTicket, None] = {}
        """Started and not settled, in order of their starts."""
        self._starting: CallTicket | None = None
        """Between its start and its body; keeps others from starting."""
        self._ready: dict[CallTicket, None] = {}
        """Their bodies ended, in that order; they wait to settle."""
        self._lane: CallTicket | None = None
        """Whose ordered work is being done."""
        self._idle: anyio.Event | None = None
        """Set when nothing is queued and nothing runs; the stream's end waits for it."""

    async def __aenter__(self) -> Self:
        self._group = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        group = self._group
        assert group is not None
        try:
            if kind is None:
                await self._drained()
            else:
                self.close("the stream ended with an error")
        except BaseException as stopped:
            self.close("the stream was cancelled")
            await group.__aexit__(type(stopped), stopped, stopped.__traceback__)
            raise
        else:
            return await group.__aexit__(kind, error, trace)
        finally:
            self.close("the stream is over")

    async def _drained(self) -> None:
        """Wait until everything is settled; lazy tickets that nobody awaits get their tasks now."""
        for ticket in self._queue:
            ticket._lazy = False
        self._advance()
        while self._queue or self._active:
            self._idle = anyio.Event()
            await self._idle.wait()

    def submit(
        self,
        name: str,
        arguments: Any,
        *,
        call_id: str | None,
        cancel: CancelSignal | None = None,
        parent: CallToken | None = None,
        lazy: bool = False,
    ) -> CallTicket:
        """Queue a call. The order of submissions is the order of starts.

        Args:
            name: Full name of the tool.
            arguments: Any JSON; frozen now.
            call_id: Its id; None for a fresh one.
            cancel: Followed by the call's own signal.
            parent: Token of the outer call.
            lazy: The caller awaits `ticket.wait()` without fail, and the call runs in the task that does.

        Raises:
            CallAbandoned: the stream is closed.
        """
        if self._closed is not None:
            raise CallAbandoned(self._closed)
        signal = CancelSignal.any(cancel) if cancel is not None else CancelSignal()
        run = Run(
            self._registry,
            name,
            arguments,
            scope=self._scope,
            call_id=call_id,
            cancel=signal,
            parent=parent,
            mode=self._mode,
            run_code=self._run_code,
            audit=self._audit,
            events=self._events,
            approver=self._approver,
        )
        ticket = CallTicket(self, run, signal, lazy)
        self._queue.append(ticket)
        if not lazy:
            self._advance()
        return ticket

    def close(self, reason: str) -> None:
        """Abandon what is queued (no record, no policy, no body), cancel what runs, refuse what comes. Idempotent."""
        if self._closed is None:
            self._closed = reason
        for ticket in list(self._active):
            ticket._signal.cancel(reason)
        while self._queue:
            ticket = self._queue.popleft()
            ticket._reason = reason
            if ticket._driven:
                ticket.status = "abandoned"
                if ticket._gate is not None:
                    ticket._gate.set()
            else:
                ticket._driven = True
                ticket._close("abandoned")

    # ---- the state; `_advance` is the only place that grants ----

    def _advance(self) -> None:
        if self._lane is not None:
            return
        settling = self._next_to_settle()
        if settling is not None:
            del self._ready[settling]
            self._lane = settling
            settling._grant()
            return
        if self._starting is not None:  # a human is asked about it, or has just answered
            return
        if not self._queue:
            if self._idle is not None and not self._active:
                self._idle.set()
            return
        ticket = self._queue[0]
        if (ticket._driven or not ticket._lazy) and self._may_start(ticket):
            self._queue.popleft()
            self._active[ticket] = None
            self._starting = self._lane = ticket
            ticket.status = "running"
            ticket._grant()
            if not ticket._driven:
                self._drive_by_task(ticket)

    def _drive_by_task(self, ticket: CallTicket) -> None:
        if self._group is None:
            raise RuntimeError("a stream is entered before calls are submitted")
        ticket._driven = True
        self._group.start_soon(ticket._drive_in_task)

    def _next_to_settle(self) -> CallTicket | None:
        if not self._ready:
            return None
        if not self._in_order:
            return next(iter(self._ready))
        head = next(iter(self._active))
        return head if head in self._ready else None

    def _may_start(self, ticket: CallTicket) -> bool:
        if not self._active:
            ticket._parallel = self._registry._is_parallel(ticket._run)
            return True
        if len(self._active) >= self._max_parallel or not all(other._parallel for other in self._active):
            return False
        ticket._parallel = self._registry._is_parallel(ticket._run)
        return ticket._parallel

    def _left(self, ticket: CallTicket) -> None:
        if self._starting is ticket:
            self._starting = None
        self._release_lane(ticket)

    def _finished(self, ticket: CallTicket) -> None:
        if ticket in self._active:
            self._ready[ticket] = None
        self._advance()

    def _done(self, ticket: CallTicket) -> None:
        self._active.pop(ticket, None)
        self._ready.pop(ticket, None)
        if self._starting is ticket:
            self._starting = None
        self._release_lane(ticket)

    def _release_lane(self, ticket: CallTicket) -> None:
        if self._lane is ticket:
            self._lane = None
        self._advance()

    def _forget(self, ticket: CallTicket) -> None:
        """A call's driver is gone before its start, which may have been granted already: it never starts."""
        if ticket in self._queue:
            self._queue.remove(ticket)
        self._active.pop(ticket, None)
        if self._starting is ticket:
            self._starting = None
        ticket.status = "abandoned"
        self._release_lane(ticket)
