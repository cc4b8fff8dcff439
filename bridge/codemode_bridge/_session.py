"""One program in one child: the host's loop from the `run` frame to the last word.

Rules of this module: the loop reads the bridge in the caller's task. A call that can be submitted costs no task here;
any other is answered in a task of its own, and all of those are over before `drive` returns. Nothing that a child sends
raises here. The limits are kept by one deadline, the earliest moment at which the child could have used up its CPU time
or the wall clock run out; when it comes, the clocks are read from outside and the run ends or a new deadline is set.
Whatever ends a run, the child is killed first and everything else is settled after.

The first outcome wins: later frames, answers and signals change nothing.
"""

# pyright: reportPrivateUsage=false
# The signal's way into the loop is private to the rooms of this house.

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from codemode_bridge import _clock
from codemode_bridge._awaited import AwaitedCall, foreign
from codemode_bridge._bindings import listing
from codemode_bridge._children import Child, Exit
from codemode_bridge._contract import (
    BindingError,
    CodeRunRequest,
    CodeRunResult,
    RunError,
    Submitted,
    Usage,
)
from codemode_bridge._endings import died, flooded, out_of_memory, oversized, stopped, undone
from codemode_bridge._frames import FrameDecoder, Oversized, encode, encode_body, encode_reply, framed
from codemode_bridge._ledger import Ledger
from codemode_bridge._outbox import Outbox
from codemode_bridge._wire import Call, Cancel, Done, Flood, Log
from codemode_registry import CancelSignal, LoopDoor

_READ = 65536
_LONG_READ = 1024 * 1024
# So many full reads in a row, then other tasks of the loop get their turn.
_READS_A_TURN = 8
# The clocks are never looked at more often than this; a limit is kept to within as much.
_SHORTEST_CHECK = 0.01
# While so many calls are open, their replies go together.
_MANY_CALLS = 8
# How often a child that has not sent a word is looked at: is it stopped? Working ones answer sooner, or compute in
# silence, which it does not disturb.
_SILENCE_SECONDS = 2.0
# How long a child that reported a fault may live on.
_LAST_WORDS_SECONDS = 0.5
_MIB = 1024 * 1024
_SMALLEST_FRAME_LIMIT = 64 * _MIB
_LARGEST_FRAME_LIMIT = 1024 * _MIB
# The JSON text that a Python child writes is never this much shorter than ours (1e15 is 4 bytes, ours takes 18).
_TEXT_GROWTH = 5


class Session:
    """One run in one child."""

    def __init__(
        self,
        child: Child,
        request: CodeRunRequest,
        *,
        started: float,
        closing: CancelSignal,
        meanwhile: Callable[[], None],
        unrestricted: bool = False,
    ) -> None:
        """`started`: when the run began to count (monotonic); `closing` ends it as `request.cancel` does.

        `meanwhile` is called once, when the program is under way: the moment to prepare the next child.
        """
        self._child = child
        self._request = request
        self._limits = limits = request.limits
        self._started = started
        self._unrestricted = unrestricted
        self._closing = closing
        self._meanwhile = meanwhile
        # Escapes make a text at most three times as long; and no frame is longer than the child's memory.
        longest = min(3 * max(limits.output_bytes, _SMALLEST_FRAME_LIMIT), limits.memory_bytes, _LARGEST_FRAME_LIMIT)
        self._frame_bytes = longest + _MIB
        self._decoder = FrameDecoder(frame_bytes=self._frame_bytes, memory_bytes=limits.memory_bytes)
        self._ledger = Ledger(limits.output_bytes)
        self._outbox = Outbox(
            child.bridge, lambda: self._start(self._outbox.drain), lambda release: LoopDoor().post(release)
        )
        self._scope: anyio.CancelScope | None = None
        """Around the wait for what comes next."""
        self._tasks: TaskGroup | None = None
        self._tasks_due: list[Callable[[], Coroutine[Any, Any, None]]] = []
        """What waits for the group of tasks to be there."""
        self._calls: dict[int, Submitted] = {}
        self._call_count = 0
        self._outcome: Done | RunError | None = None
        self._exit_wanted = False
        self._last_words_until: float | None = None
        self._compute_before = 0.0
        self._usage = Usage()
        self.lost = False
        """Somebody killed the child before it sent a word, as when its zygote died, or stopped it: nothing was done, so
        it may be tried again."""

    # -- the spine ----------------------------------------------------------------------------------------------

    async def drive(self) -> None:
        """Run the program to its end, whatever that is."""
        request, child = self._request, self._child
        stop = self._closing if request.cancel is None else CancelSignal.any(request.cancel, self._closing)
        try:
            self._compute_before = _clock.cpu_seconds(child.pid) or 0.0
            self._outbox.send(self._run_frame())
            child.wire.run_sent()
            self._meanwhile()
            forget = stop._when_set(lambda: self._stopped(stop))
            try:
                await self._listen()
                if self._tasks_due:
                    await self._listen_with_tasks()
            finally:
                forget()
            if self._exit_wanted:
                self._learn(await child.exit())
        finally:
            child.end()
            for submitted in self._calls.values():
                if isinstance(submitted, AwaitedCall):
                    submitted.drop()

    async def _listen_with_tasks(self) -> None:
        async with anyio.create_task_group() as self._tasks:
            for task in self._tasks_due:
                self._tasks.start_soon(task)
            await self._listen()
            self._tasks.cancel_scope.cancel()

    async def _listen(self) -> None:
        """Receive until the run has an outcome, or needs tasks and cannot have them here."""
        while self._outcome is None and (self._tasks is not None or not self._tasks_due):
            with anyio.CancelScope(deadline=anyio.current_time() + self._next_check()) as self._scope:
                await self._receive()
            if self._outcome is None:
                self._look_at_clocks()
        if self._outcome is not None:
            self._outbox.closed = True
            self._measure()
            if not self._exit_wanted:
                self._child.end()

    def _stop_waiting(self) -> None:
        if self._scope is not None:
            self._scope.cancel()

    def _start(self, task: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._tasks is not None:
            self._tasks.start_soon(task)
        else:
            self._tasks_due.append(task)
            self._stop_waiting()

    def _run_frame(self) -> bytes:
        request, limits = self._request, self._limits
        options: dict[str, object] = {
            "check_only": request.check_only,
            "limits": {
                "memory_bytes": limits.memory_bytes,
                "compute_seconds": limits.compute_seconds,
                "output_bytes": limits.output_bytes,
            },
        }
        if self._unrestricted:
            options["unrestricted"] = True
        parts = (encode_body(request.program), encode_body(options), listing(request.bindings))
        return framed(b'{"type":"run","program":%b,"options":%b,"tools":%b}' % parts)

    async def _receive(self) -> None:
        """Take what the child sends, until the run has an outcome."""
        bridge, decoder = self._child.bridge, self._decoder
        turns = 0
        while self._outcome is None:
            if self._outbox.full:
                await self._outbox.room()
                continue
            size = min(max(decoder.wanted(), _READ), _LONG_READ)
            try:
                data = bridge.recv(size)
            except BlockingIOError:
                turns = 0
                await anyio.wait_readable(bridge)
                continue
            except OSError:
                data = b""
            if not data:
                self._exit_wanted = True
                self._outcome = died(decoder.fault())
                return
            for body in decoder.feed(data):
                if self._take(body):
                    return
            turns += 1
            if turns >= _READS_A_TURN:
                turns = 0
                await anyio.lowlevel.checkpoint()
            elif len(data) < size:
                await anyio.wait_readable(bridge)

    def _take(self, body: object) -> bool:
        """Act on one body; whether the run is over."""
        if isinstance(body, Oversized):
            if body.fault is None:
                self._outcome = oversized(body.size, self._frame_bytes)
            elif self._last_words_until is None:
                # A fault's report is followed at once by the end of the stream; a forged one need not be.
                self._last_words_until = time.monotonic() + _LAST_WORDS_SECONDS
                if self._scope is not None:
                    self._scope.deadline = min(self._scope.deadline, anyio.current_time() + _LAST_WORDS_SECONDS)
            return self._outcome is not None
        event = self._child.wire.receive(body)
        match event:
            case Call():
                self._call(event)
            case Log(text):
                kept = self._ledger.add(text)
                if kept and self._request.on_log is not None:
                    self._request.on_log(kept)
                if self._ledger.over:
                    self._outcome = self._ledger.exceeded()
            case Cancel(call_id):
                submitted = self._calls.get(call_id)
                if submitted is not None:
                    submitted.withdraw()
            case Done():
                self._done(event)
            case Flood(why):
                self._outcome = flooded(why)
            case _:
                pass
        return self._outcome is not None

    def _done(self, done: Done) -> None:
        if done.error is not None and done.error.type == "MemoryError" and not done.error.message:
            self._outcome = out_of_memory(done.error, self._limits.memory_bytes)
            return
        if done.has_value:
            # The exact size is only worked out where it could matter.
            room = self._ledger.room()
            size = self._decoder.last_size
            if size * _TEXT_GROWTH > room:
                size = len(encode_body(done.value))
            self._ledger.add_value(size)
            if self._ledger.over:
                self._ledger.add_value(-size)
                self._outcome = self._ledger.exceeded()
                return
        self._outcome = done

    # -- calls --------------------------------------------------------------------------------------------------

    def _call(self, call: Call) -> None:
        """Submit a call, in the order of the frames; it is awaited in a task of its own."""
        binding = self._request.bindings.get(call.name)
        if binding is None:
            self._refuse(call.id, f"unknown tool {call.name!r}")
            return
        self._call_count += 1
        try:
            if binding.submit is not None:
                self._calls[call.id] = binding.submit(call.arguments, call.line, partial(self._reply, call.id))
            else:
                awaited = AwaitedCall(binding.call(call.arguments), partial(self._reply, call.id))
                self._calls[call.id] = awaited
                self._start(partial(self._await, call.id, awaited))
        except BindingError as error:
            self._refuse(call.id, error.message)
        except Exception as error:
            self._refuse(call.id, foreign(error))

    async def _await(self, call_id: int, awaited: AwaitedCall) -> None:
        try:
            await awaited.run()
        finally:
            self._calls.pop(call_id, None)

    def _reply(self, call_id: int, value: Any, refused: str | None) -> None:
        """A call ended."""
        self._calls.pop(call_id, None)
        if refused is not None:
            self._refuse(call_id, refused)
        elif self._outcome is None and self._child.wire.may_reply(call_id):
            try:
                frame = encode_reply(call_id, value)
            except ValueError as error:
                frame = _refusal(call_id, foreign(error))
            if len(self._calls) < _MANY_CALLS:
                self._outbox.send(frame)
            else:
                self._outbox.send_soon(frame)

    def _refuse(self, call_id: int, message: str) -> None:
        if self._outcome is None and self._child.wire.may_reply(call_id):
            self._outbox.send(_refusal(call_id, message))

    # -- limits -------------------------------------------------------------------------------------------------

    def _next_check(self) -> float:
        left = min(self._wall_left(), self._compute_left())
        if self._child.wire.frames == 1:
            left = min(left, _SILENCE_SECONDS)
        return max(left, _SHORTEST_CHECK)

    def _wall_left(self) -> float:
        paused = self._request.pause.paused() if self._request.pause is not None else 0.0
        return self._limits.wall_seconds - (time.monotonic() - self._started - paused)

    def _compute_left(self) -> float:
        return self._limits.compute_seconds - self._compute_used()

    def _compute_used(self) -> float:
        """CPU time since the program was sent; getting ready was not the program's."""
        return max(0.0, (_clock.cpu_seconds(self._child.pid) or 0.0) - self._compute_before)

    def _look_at_clocks(self) -> None:
        if self._last_words_until is not None and time.monotonic() >= self._last_words_until:
            self._exit_wanted = True
            self._outcome = died(self._decoder.fault())
        elif self._compute_left() <= 0:
            self._outcome = undone("compute", self._limits.compute_seconds)
        elif self._wall_left() <= 0:
            self._outcome = undone("wall", self._limits.wall_seconds)
        elif self._child.wire.frames == 1 and _clock.stopped(self._child.pid):
            self._outcome = stopped()
            self.lost = True

    def _stopped(self, stop: CancelSignal) -> None:
        if self._outcome is None:
            self._outcome = RunError("abort", stop.reason or "cancelled")
            self._stop_waiting()

    # -- the end ------------------------------------------------------------------------------------------------

    def _measure(self) -> None:
        pid = self._child.pid
        self._usage = Usage(
            wall_seconds=time.monotonic() - self._started,
            compute_seconds=self._compute_used(),
            peak_memory_bytes=_clock.peak_memory(pid),
            calls=self._call_count,
        )

    def _learn(self, end: Exit) -> None:
        """How the child's process ended decides what a broken bridge means."""
        usage = self._usage
        self._usage = Usage(
            wall_seconds=time.monotonic() - self._started,
            compute_seconds=max(usage.compute_seconds, end.compute_seconds - self._compute_before),
            peak_memory_bytes=max(usage.peak_memory_bytes, end.peak_memory_bytes),
            calls=usage.calls,
        )
        self._outcome = died(self._decoder.fault(), end, self._limits)
        killed = end.status is None or (os.WIFSIGNALED(end.status) and os.WTERMSIG(end.status) == signal.SIGKILL)
        self.lost = killed and self._child.wire.frames == 1 and self._decoder.fault() is None

    def result(self) -> CodeRunResult:
        """What came of it, once `drive` is over."""
        outcome = self._outcome
        assert outcome is not None
        done = outcome if isinstance(outcome, Done) else Done(False, None, outcome, (), ())
        lines, error = (self._ledger.lines(), None) if done.error is None else self._ledger.fit(done.error)
        return CodeRunResult(
            value=done.value,
            has_value=done.has_value,
            logs=tuple(lines),
            error=error,
            notes=done.notes,
            usage=self._usage,
            refusals=done.refusals,
        )


def _refusal(call_id: int, message: str) -> bytes:
    return encode({"type": "reply", "id": call_id, "ok": False, "message": message})
