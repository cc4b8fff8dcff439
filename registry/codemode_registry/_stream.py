"""One ordered stream of calls; `call_batch` and the calls of a program are both one.

Rules
- Starts happen in the order of `submit`: one call at a time has its start record, policies, approval and guards.
- Only an exact True of the visible tool's classifier makes a call parallel. Parallel neighbours overlap up to
  `max_parallel`; any other call waits until nothing runs and holds everything behind it until it is settled. Each call
  is classified again right before it starts.
- Reviews and settle records happen one at a time too: in the order of submission, or of the bodies' ends. They share
  one lane with the starts and go first; while a human is asked the lane is free for them.
- Calls are driven by the stream's workers. A worker that is done with a call takes the next one itself, so a call costs
  a task only where it overlaps another; another worker is called whenever a call could start, and looks when it comes.
- No call sees what another left in the context variables: a worker whose context was changed takes no further call.

The whole state is three sets and the lane. Settles are granted by `_advance` alone, starts are taken by `_take` alone.
"""

# pyright: reportPrivateUsage=false
# The modules of this package are one unit; what is private is private to it.

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import anyio
import anyio.lowlevel
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


_CALLS_A_TURN = 16
"""So many calls in a row that never waited, then other tasks of the loop get their turn."""
_MOST_RESTING = 4
"""Workers that wait for the next call; to rest and be woken at the end costs as much as a new one."""


class CallStream:
    """An ordered stream of calls through one registry's pipeline; an async context manager.

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
        self._own_group: TaskGroup | None = None
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
        self._workers = 0
        self._resting: list[anyio.Event] = []
        """What wakes each worker that has nothing to do."""
        self._coming = 0
        """Workers that were called and have not looked yet."""
        self._gone: anyio.Event | None = None
        """Set when the last worker is gone."""

    def work_in(self, group: TaskGroup) -> None:
        """Where its workers run, at least until the stream was left; without this, in a group of its own."""
        self._group = group

    async def __aenter__(self) -> Self:
        if self._group is None:
            self._group = self._own_group = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            if kind is None:
                await self._drained()
        except BaseException as stopped:
            await self._left_for_good("the stream was cancelled", stopped)
            raise
        return await self._left_for_good(
            "the stream is over" if kind is None else "the stream ended with an error", error
        )

    async def _drained(self) -> None:
        """Wait until everything is settled."""
        while self._queue or self._active:
            self._idle = anyio.Event()
            await self._idle.wait()

    async def _left_for_good(self, reason: str, error: BaseException | None) -> bool | None:
        self.close(reason)
        if self._workers:
            with anyio.CancelScope(shield=True):
                self._gone = anyio.Event()
                await self._gone.wait()
        group = self._own_group
        if group is None:
            return None
        return await group.__aexit__(type(error) if error else None, error, error.__traceback__ if error else None)

    def submit(
        self,
        name: str,
        arguments: Any,
        *,
        call_id: str | None,
        cancel: CancelSignal | None = None,
        parent: CallToken | None = None,
        on_end: Callable[[CallTicket], None] | None = None,
    ) -> CallTicket:
        """Queue a call. The order of submissions is the order of starts.

        Args:
            name: Full name of the tool.
            arguments: Any JSON; frozen now.
            call_id: Its id; None for a fresh one.
            cancel: Followed by the call's own signal.
            parent: Token of the outer call.
            on_end: Called in the loop when the ticket is settled or abandoned.

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
        ticket = CallTicket(self, run, signal, on_end)
        self._queue.append(ticket)
        self._advance()
        return ticket

    def close(self, reason: str) -> None:
        """Abandon what is queued (no record, no policy, no body), cancel what runs, refuse what comes. Idempotent."""
        if self._closed is None:
            self._closed = reason
        for ticket in list(self._active):
            ticket._stop(reason)
        while self._resting:
            self._resting.pop().set()
            self._coming += 1
        while self._queue:
            self._queue.popleft()._abandon(reason)
        self._advance()

    # ---- the state: settles are granted here ----

    def _advance(self) -> None:
        if self._lane is not None:
            return
        settling = self._next_to_settle()
        if settling is not None:
            del self._ready[settling]
            self._lane = settling
            settling._grant()
        elif self._queue:
            if self._may_take():
                self._call_workers()
        elif self._idle is not None and not self._active:
            self._idle.set()

    def _next_to_settle(self) -> CallTicket | None:
        if not self._ready:
            return None
        if not self._in_order:
            return next(iter(self._ready))
        head = next(iter(self._active))
        return head if head in self._ready else None

    def _may_take(self) -> bool:
        """Whether there is a call that could start, as far as those that run are concerned."""
        if not self._queue or self._lane is not None or self._starting is not None:
            return False  # Starting: a human is asked about it, or has just answered.
        active = self._active
        return not active or (len(active) < self._max_parallel and next(iter(active))._parallel)

    # ---- workers: starts are taken here ----

    def _call_workers(self) -> None:
        """Call as many as could be of use: no more than calls run now, so calls that never wait are left to one."""
        running = len(self._active)
        wanted = min(len(self._queue), self._max_parallel - running, max(running, 1))
        while self._coming < wanted:
            if self._group is None:
                raise RuntimeError("a stream is entered before calls are submitted")
            self._coming += 1
            if self._resting:
                self._resting.pop().set()
            else:
                self._group.start_soon(self._work)

    def _take(self) -> CallTicket | None:
        """The next call, if it may start; it has begun to."""
        if not self._may_take():
            return None
        ticket = self._queue[0]
        ticket._parallel = self._registry._is_parallel(ticket._run)
        if self._active and not ticket._parallel:
            return None
        self._queue.popleft()
        self._active[ticket] = None
        self._starting = self._lane = ticket
        return ticket

    async def _work(self) -> None:
        """Drive calls, one after the other; cancelled by its own scope alone."""
        self._coming -= 1
        with anyio.CancelScope(shield=True) as scope:
            self._workers += 1
            try:
                await self._drive_what_comes(scope)
            finally:
                self._workers -= 1
                if self._gone is not None and not self._workers:
                    self._gone.set()
                self._advance()

    async def _drive_what_comes(self, scope: anyio.CancelScope) -> None:
        context = copy_context()
        in_a_row = 0
        while self._closed is None:
            ticket = self._take()
            if ticket is None:
                if len(self._resting) >= _MOST_RESTING:
                    return
                in_a_row = 0
                await self._rest()
                continue
            await ticket._drive(scope)
            if copy_context() != context:
                return
            in_a_row += 1
            if in_a_row == _CALLS_A_TURN:
                in_a_row = 0
                await anyio.lowlevel.checkpoint()

    async def _rest(self) -> None:
        bell = anyio.Event()
        self._resting.append(bell)
        try:
            await bell.wait()
        finally:
            if bell.is_set():
                self._coming -= 1
            else:
                self._resting.remove(bell)

    # ---- what tickets say ----

    def _left(self, ticket: CallTicket) -> None:
        if self._starting is ticket:
            self._starting = None
        self._release_lane(ticket)

    def _finished(self, ticket: CallTicket) -> None:
        self._ready[ticket] = None
        self._advance()

    def _done(self, ticket: CallTicket) -> None:
        self._active.pop(ticket, None)
        self._ready.pop(ticket, None)
        self._left(ticket)

    def _release_lane(self, ticket: CallTicket) -> None:
        if self._lane is ticket:
            self._lane = None
        self._advance()

    def _forget(self, ticket: CallTicket) -> None:
        """A queued call is not wanted any more."""
        self._queue.remove(ticket)
        self._advance()
