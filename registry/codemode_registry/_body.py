"""Running a tool's body: async bodies in a cancel scope, sync ones in a thread; both with a deadline.

Rules
- A started body is awaited. An async one is cancelled through its scope; a sync one sees `ctx.cancel` and gets
  `drain_seconds` to stop, after which its thread is left behind and said to be. Never a hang.
- Threads come from trio's thread cache, which works under asyncio too: daemon threads without an upper bound, so that
  bodies which are stuck cannot starve the others, nor keep the process alive.
- Cancellation of the CALLER'S task passes through, after the body has been awaited. A body that raises the event loop's
  cancellation by itself has merely failed.
"""

# pyright: reportPrivateUsage=false
# The modules of this package are one unit; what is private is private to it.

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import sniffio

from ._cancel import CancelSignal, LoopDoor
from ._errors import leaves
from ._loops import asyncio_cancellation, asyncio_task, current_task, trio_cancellation

if TYPE_CHECKING:
    import outcome as outcomes


@dataclass(slots=True)
class BodyOutcome:
    """How a body ended."""

    value: Any = None
    error: BaseException | None = None
    timed_out: bool = False
    cancelled: bool = False
    """It was stopped because its signal was set."""
    stuck: bool = False
    """Its thread did not stop and was left behind."""


def leaves_the_call(error: BaseException) -> bool:
    """Whether an exception is none of the call's business: the interpreter's end, or the caller's task being cancelled.

    A cancellation that belongs to another loop, or that nobody asked of this task, is a failure of whoever raised it.
    """
    for leaf in leaves(error):
        if isinstance(leaf, (KeyboardInterrupt, SystemExit, GeneratorExit, *trio_cancellation())):
            return True
        if isinstance(leaf, asyncio_cancellation()):
            task = asyncio_task()
            if task is not None and task.cancelling():
                return True
    return False


def _cancellations(task: object) -> int:
    """How often an asyncio task was asked to stop; trio's are cancelled by their scopes, which are asked elsewhere."""
    cancelling: Callable[[], int] | None = getattr(task, "cancelling", None)
    return 0 if cancelling is None else cancelling()


class _Stop:
    """Cancels a scope when a signal is set, and remembers whether that came before the deadline."""

    __slots__ = ("_cancelling", "_door", "_task", "at", "forget", "scope")

    def __init__(self, scope: anyio.CancelScope, signal: CancelSignal) -> None:
        self.scope = scope
        self.at: float | None = None
        self._door = LoopDoor()
        self._task = current_task()
        self._cancelling = _cancellations(self._task)
        self.forget = signal._listen(self._fired)

    def _fired(self) -> None:
        self._door.call(self._cancel)

    def _cancel(self) -> None:
        self.at = self._door.time()
        self.scope.cancel()

    def caller_is_cancelled(self) -> bool:
        """Whether asyncio's cancellation of the caller's task, which asyncio delivers once, has come since we began."""
        return _cancellations(self._task) > self._cancelling

    def is_the_bodys(self, error: BaseException) -> bool:
        """Whether the body raised it for reasons of its own: then it has merely failed."""
        for leaf in leaves(error):
            if isinstance(leaf, (KeyboardInterrupt, SystemExit, *trio_cancellation())):
                return False
            if isinstance(leaf, asyncio_cancellation()) and self.caller_is_cancelled():
                return False
            if isinstance(leaf, GeneratorExit) and current_task() is not self._task:
                return False  # our coroutine is being closed from outside
        return True

    async def pass_on(self) -> None:
        """Raise the cancellation of the caller's task that the body has swallowed."""
        await anyio.lowlevel.checkpoint_if_cancelled()
        if self.caller_is_cancelled():
            import asyncio

            raise asyncio.CancelledError

    def timed_out(self, deadline: float | None) -> bool:
        """Whether the deadline passed, and first."""
        if deadline is None or self._door.time() < deadline:
            return False
        return self.at is None or self.at > deadline


async def run_async(
    body: Callable[[], Awaitable[Any]], cancel: CancelSignal, seconds: float | None, ended: BodyOutcome
) -> None:
    """Run an async body to its end.

    Args:
        body: Starts it.
        cancel: Stops it.
        seconds: Until it times out; None for never.
        ended: How it ended is put here, also when the caller's cancellation is raised.
    """
    deadline = None if seconds is None else anyio.current_time() + seconds
    scope = anyio.CancelScope() if deadline is None else anyio.CancelScope(deadline=deadline)
    stop = _Stop(scope, cancel)
    try:
        with scope:
            ended.value = await body()
    except Exception as error:
        ended.error = error
    except BaseException as error:
        if not stop.is_the_bodys(error):
            raise
        ended.error = error
    finally:
        stop.forget()
    await stop.pass_on()
    ended.timed_out = stop.timed_out(deadline)
    ended.cancelled = scope.cancelled_caught


async def run_thread(
    body: Callable[[], Any], cancel: CancelSignal, seconds: float | None, drain: float, name: str, ended: BodyOutcome
) -> None:
    """Run a sync body in a thread of its own.

    Args:
        body: The work.
        cancel: The body's own signal: set here when the time is over or the caller is gone.
        seconds: Until it times out; None for never.
        drain: Seconds that a cancelled body may take to stop.
        name: The thread's name.
        ended: How it ended is put here.
    """
    import trio.lowlevel  # under asyncio the first sync body pays for loading it, and no other host does

    result: list[outcomes.Outcome[Any]] = []
    done = anyio.Event()
    door = LoopDoor()

    def deliver(value: outcomes.Outcome[Any]) -> None:
        result.append(value)
        door.post(done.set)

    context = contextvars.copy_context()
    context.run(sniffio.current_async_library_cvar.set, None)  # no loop runs in that thread: the body may start one
    trio.lowlevel.start_thread_soon(lambda: context.run(body), deliver, name)
    deadline = None if seconds is None else anyio.current_time() + seconds
    scope = anyio.CancelScope() if deadline is None else anyio.CancelScope(deadline=deadline)
    stop = _Stop(scope, cancel)
    try:
        with scope:
            await done.wait()
    except BaseException:
        cancel.cancel("the caller was cancelled")
        await _drain(done, drain)
        raise
    finally:
        stop.forget()
    ended.timed_out = stop.timed_out(deadline) and not (result and stop.at is None and not scope.cancel_called)
    ended.cancelled = stop.at is not None
    if not done.is_set():
        cancel.cancel("timed out" if ended.timed_out else "cancelled")
        await _drain(done, drain)
    if not result:
        ended.stuck = True
        return
    try:
        ended.value = result[0].unwrap()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # whatever it is, a thread cannot bring the loop's cancellation
        ended.error = error
    else:
        if inspect.isawaitable(ended.value) and not ended.timed_out:
            rest = None if deadline is None else deadline - anyio.current_time()
            await run_async(lambda: ended.value, cancel, rest, ended)


async def _drain(done: anyio.Event, seconds: float) -> None:
    with anyio.CancelScope(shield=True), anyio.move_on_after(seconds):
        await done.wait()
