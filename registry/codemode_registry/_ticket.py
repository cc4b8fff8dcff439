"""One call of a stream: what its submitter holds, and its place (`Turn`) while the pipeline runs it.

A ticket asks its stream for everything and decides nothing about order.
"""

# pyright: reportPrivateUsage=false
# The modules of this package are one unit; what is private is private to it.

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import anyio

from ._cancel import CancelSignal
from ._errors import CallAbandoned
from ._pipeline import execute
from ._result import ToolResult
from ._run import Run

if TYPE_CHECKING:
    from ._stream import CallStream

Status = Literal["queued", "running", "settled", "abandoned"]


class CallTicket:
    """One call of a stream."""

    __slots__ = (
        "_ended",
        "_gate",
        "_granted",
        "_on_end",
        "_parallel",
        "_reason",
        "_result",
        "_run",
        "_scope",
        "_signal",
        "_stream",
        "status",
    )

    def __init__(
        self, stream: CallStream, run: Run, signal: CancelSignal, on_end: Callable[[CallTicket], None] | None
    ) -> None:
        self._stream = stream
        self._run = run
        self._signal = signal
        self._on_end = on_end
        self._result: ToolResult | None = None
        self._gate: anyio.Event | None = None
        self._ended: anyio.Event | None = None
        self._scope: anyio.CancelScope | None = None
        """Of the worker that drives it."""
        self._granted = False
        self._parallel = False
        self._reason = ""
        self.status: Status = "queued"
        """Where the call stands."""

    @property
    def call_id(self) -> str:
        """The call's id."""
        return self._run.call.call_id

    @property
    def result(self) -> ToolResult:
        """The result of a call that has ended.

        Raises:
            CallAbandoned: it never started.
        """
        if self._result is None:
            raise CallAbandoned(self._reason or "the call never started")
        return self._result

    def cancel(self, reason: str = "cancelled") -> None:
        """Cancel this call alone: it settles as aborted; one that is queued starts, is refused at once and settles."""
        self._signal.cancel(reason)

    def withdraw(self, reason: str = "the caller stopped waiting") -> None:
        """Nobody wants it any more: one that is queued never starts, one that runs is cancelled wherever it is."""
        if self.status == "queued":
            self._stream._forget(self)
            self._abandon(reason)
        elif self.status == "running":
            self._stop(reason)

    async def wait(self) -> ToolResult:
        """The call's result.

        Raises:
            CallAbandoned: it never started.

        Cancellation: cancelling the waiter withdraws the call, and waits until it is settled.
        """
        if self.status not in ("settled", "abandoned"):
            self._ended = self._ended or anyio.Event()
            try:
                await self._ended.wait()
            except BaseException:
                self.withdraw()
                with anyio.CancelScope(shield=True):
                    await self._ended.wait()
                raise
        return self.result

    async def write_off(self) -> None:
        """Give a call that will never start its records and its notification: it was aborted before dispatch."""
        if self.status == "abandoned" and not self._run.started:
            self._signal.cancel("the call never started")
            self._result = await execute(self._run)

    # ---- what the stream does ----

    async def _drive(self, scope: anyio.CancelScope) -> None:
        """Take the call down the pipeline, in a worker with this scope; its start was granted."""
        self.status = "running"
        self._scope = scope
        try:
            self._result = await execute(self._run, self)
        except BaseException:
            self._result = self._run.result
            raise
        finally:
            self._scope = None
            self._close("settled" if self._result is not None else "abandoned")

    def _stop(self, reason: str) -> None:
        self._signal.cancel(reason)
        if self._scope is not None:
            self._scope.cancel()

    def _abandon(self, reason: str) -> None:
        self._reason = reason
        self._close("abandoned")

    def _close(self, status: Status) -> None:
        self.status = status
        if self._ended is not None:
            self._ended.set()
        if self._on_end is not None:
            self._on_end(self)

    def _grant(self) -> None:
        self._granted = True
        if self._gate is not None:
            self._gate.set()

    # ---- Turn: what the pipeline tells the stream ----

    def leave(self) -> None:
        """The call has left its start phase."""
        self._stream._left(self)

    async def settle(self) -> None:
        """Wait for the turn to settle."""
        self._granted = False
        self._gate = None
        self._stream._finished(self)
        if not self._granted:
            with anyio.CancelScope(shield=True):
                self._gate = anyio.Event()
                await self._gate.wait()

    def done(self) -> None:
        """The call is settled."""
        self._stream._done(self)

    @contextmanager
    def asking(self) -> Generator[None]:
        """The lane is free for settles while a human thinks; of the start, only the guards are left after that."""
        self._stream._release_lane(self)
        yield
