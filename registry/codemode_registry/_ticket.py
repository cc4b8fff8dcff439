"""One call of a stream: what its submitter holds, and its place (`Turn`) while the pipeline runs it.

Rules
- A ticket asks its stream for everything and decides nothing about order; `CallStream._advance` does.
- It is driven once: by whoever awaits it first, or by a task of the stream.
"""

# pyright: reportPrivateUsage=false
# The modules of this package are one unit; what is private is private to it.

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal

import anyio
import anyio.lowlevel

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
        "_driven",
        "_ended",
        "_finished",
        "_gate",
        "_granted",
        "_lazy",
        "_parallel",
        "_reason",
        "_result",
        "_run",
        "_scope",
        "_signal",
        "_stream",
        "status",
    )

    def __init__(self, stream: CallStream, run: Run, signal: CancelSignal, lazy: bool) -> None:
        self._stream = stream
        self._run = run
        self._signal = signal
        self._result: ToolResult | None = None
        self._gate: anyio.Event | None = None
        self._ended: anyio.Event | None = None
        self._scope: anyio.CancelScope | None = None
        self._driven = False
        self._lazy = lazy
        self._granted = False
        self._finished = False
        self._parallel = False
        self._reason = ""
        self.status: Status = "queued"
        """Where the call stands."""

    @property
    def call_id(self) -> str:
        """The call's id."""
        return self._run.call.call_id

    def cancel(self, reason: str = "cancelled") -> None:
        """Cancel this call alone: it settles as aborted; one that is queued starts, is refused at once and settles."""
        self._signal.cancel(reason)

    async def wait(self) -> ToolResult:
        """The call's result.

        Raises:
            CallAbandoned: it never started.

        Cancellation: cancelling the waiter cancels the call, and waits until it is settled.
        """
        if not self._driven:
            self._driven = True
            return await self._drive()
        if self.status not in ("settled", "abandoned"):
            self._ended = self._ended or anyio.Event()
            try:
                await self._ended.wait()
            except BaseException:
                self._stop()
                with anyio.CancelScope(shield=True):
                    await self._ended.wait()
                raise
        if self._result is None:
            raise CallAbandoned(self._reason or "the call never started")
        return self._result

    async def write_off(self) -> None:
        """Give a call that will never start its records and its notification: it was aborted before dispatch."""
        if self.status == "abandoned" and not self._run.started:
            self._signal.cancel("the call never started")
            self._result = await execute(self._run)

    def _stop(self) -> None:
        self._signal.cancel("the caller stopped waiting")
        if self._scope is not None:
            self._scope.cancel()

    async def _drive(self) -> ToolResult:
        try:
            result = self._result = await execute(self._run, self)
        except BaseException:
            self._result = self._run.result
            raise
        finally:
            self._close("settled" if self._result is not None else "abandoned")
        return result

    async def _drive_in_task(self) -> None:
        with anyio.CancelScope() as self._scope, suppress(CallAbandoned):
            try:  # the turn may come while the whole stream is being cancelled: then the call does not start
                await anyio.lowlevel.checkpoint_if_cancelled()
            except BaseException:
                self._stream._forget(self)
                self._close("abandoned")
                raise
            await self._drive()

    def _close(self, status: Status) -> None:
        self.status = status
        if self._ended is not None:
            self._ended.set()

    # ---- Turn: what the pipeline tells the stream ----

    async def start(self) -> None:
        """Wait for the turn to start."""
        if not self._granted:
            self._stream._advance()
            try:
                await self._granted_by_stream()
            except BaseException:
                self._stream._forget(self)
                raise
        if self.status == "abandoned":
            raise CallAbandoned(self._reason)

    def leave(self) -> None:
        """The call has left its start phase."""
        self._stream._left(self)

    async def settle(self) -> None:
        """Wait for the turn to settle."""
        self._finished = True
        self._granted = False
        self._stream._finished(self)
        if not self._granted:
            with anyio.CancelScope(shield=True):
                await self._granted_by_stream()

    def done(self) -> None:
        """The call is settled."""
        self._stream._done(self)

    @contextmanager
    def asking(self) -> Generator[None]:
        """The lane is free for settles while a human thinks; of the start, only the guards are left after that."""
        self._stream._release_lane(self)
        yield

    async def _granted_by_stream(self) -> None:
        while not self._granted and self.status != "abandoned":
            self._gate = anyio.Event()
            await self._gate.wait()

    def _grant(self) -> None:
        self._granted = True
        if self._gate is not None:
            self._gate.set()
