"""asyncio and contextlib: waiting, tasks and context managers, without a loop, without constructors of tasks."""

from __future__ import annotations

import asyncio
import asyncio.coroutines
import asyncio.format_helpers
import contextlib
import inspect
import math
import time
from collections.abc import Callable
from typing import Any, Final, NoReturn

from .._tables import register_type
from .._types_seen import opaque_type
from .._typing import TypeStandIn
from ._pick import Members, only, pick


def create_task(coro: Any, *, name: str | None = None) -> asyncio.Task[Any]:
    """`asyncio.create_task`, without `context=` and the loop's options."""
    return asyncio.create_task(coro, name=name)


def ensure_future(awaitable: Any) -> asyncio.Future[Any]:
    """`asyncio.ensure_future`, without `loop=`."""
    made: asyncio.Future[Any] = asyncio.ensure_future(genuine(awaitable))
    return made


_FUTURES: Final[frozenset[Any]] = frozenset(
    [asyncio.Future, asyncio.Task, asyncio.tasks._GatheringFuture]  # type: ignore[attr-defined]
)


def genuine(awaitable: Any) -> Any:
    """Refuse what only looks like a future.

    asyncio takes whatever has the attributes of one, asks it for its loop, and hands its own callbacks, and a context,
    to that.
    """
    if asyncio.isfuture(awaitable) and type(awaitable) not in _FUTURES:
        raise TypeError(f"a task, or the call of an async function, is required, not {type(awaitable).__name__!r}")
    return awaitable


def _all_genuine(awaitables: Any) -> Any:
    """The same for several, taken once; what is no collection is for asyncio to refuse."""
    if asyncio.isfuture(awaitables) or asyncio.iscoroutine(awaitables):
        return genuine(awaitables)
    return [genuine(each) for each in awaitables]


def gather(*awaitables: Any, return_exceptions: bool = False) -> Any:
    """`asyncio.gather`."""
    return asyncio.gather(*_all_genuine(awaitables), return_exceptions=return_exceptions)


def as_completed(awaitables: Any, *, timeout: float | None = None) -> Any:
    """`asyncio.as_completed`."""
    return asyncio.as_completed(_all_genuine(awaitables), timeout=timeout)


def wait(awaitables: Any, **options: Any) -> Any:
    """`asyncio.wait`."""
    only("wait", options, frozenset(["timeout", "return_when"]))
    return asyncio.wait(_all_genuine(awaitables), **options)


def wait_for(awaitable: Any, timeout: float | None) -> Any:
    """`asyncio.wait_for`."""
    return asyncio.wait_for(genuine(awaitable), timeout)


def shield(awaitable: Any) -> Any:
    """`asyncio.shield`."""
    return asyncio.shield(genuine(awaitable))


async def to_thread(function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Any:
    """`asyncio.to_thread`: there are no threads, so the function runs here."""
    return function(*arguments, **keywords)


async def sleep(delay: float, result: Any = None) -> Any:
    """`asyncio.sleep`; a NaN, which would disorder the loop's timers, is refused as Python 3.13 does."""
    if math.isnan(delay):
        raise ValueError("Invalid delay: NaN (not a number)")
    return await asyncio.sleep(min(delay, _LONGEST), result)


_LONGEST: Final = 10**8
"""Seconds; about three years.  Longer delays (infinity among them) are the same to a run."""


def _run(main: Any, *, debug: bool | None = None) -> NoReturn:
    close = getattr(main, "close", None)
    if inspect.iscoroutine(main) and close is not None:
        close()
    raise RuntimeError(
        "asyncio.run() cannot be called from a running event loop: make the function `async def` and `await` it"
    )


def condition(lock: asyncio.Lock | None = None) -> asyncio.Condition:
    """`asyncio.Condition`, over a Lock or one of its own."""
    if lock is not None and type(lock) is not asyncio.Lock:
        raise TypeError("Condition() needs an asyncio.Lock")
    return asyncio.Condition(lock)


class Loop:
    """What `asyncio.get_running_loop()` is to a program: the clock, and tasks."""

    __slots__ = ()

    def time(self) -> float:
        """The loop's clock."""
        return time.monotonic()

    def create_task(self, coro: Any, *, name: str | None = None) -> asyncio.Task[Any]:
        """The same as asyncio.create_task."""
        return create_task(coro, name=name)


_LOOP: Final = Loop()
register_type(Loop, ("time", "create_task"))


def get_loop() -> Loop:
    """`asyncio.get_running_loop`."""
    return _LOOP


def _suppress(*kinds: Any) -> Any:
    """`contextlib.suppress`; BaseException does not swallow cancellation, as in an `except`."""
    return contextlib.suppress(
        *(each for kind in kinds for each in (_BUT_CANCELLATION if kind is BaseException else (kind,)))
    )


_BUT_CANCELLATION: Final = (Exception, SystemExit, KeyboardInterrupt, GeneratorExit)


def hide_paths() -> None:
    """Leave files out of the reprs of tasks and futures: they name that of a coroutine, which is a path of the machine.

    For the process of programs only; asyncio looks both functions up in their modules.
    """
    setattr(asyncio.coroutines, "_format_coroutine", _named_coroutine)  # noqa: B010
    setattr(asyncio.format_helpers, "_get_function_source", _no_source)  # noqa: B010


def _no_source(function: object) -> None:
    return None


def _named_coroutine(coro: Any) -> str:
    return f"{getattr(coro, '__qualname__', None) or type(coro).__name__}()"


def _register_iterators() -> None:
    """`as_completed` gives an object of its own since Python 3.13."""
    cls = getattr(asyncio.tasks, "_AsCompletedIterator", None)
    if cls is not None:
        register_type(cls, ())


_register_iterators()

CONTEXTLIB: Final = pick(
    contextlib,
    "AsyncExitStack ExitStack aclosing asynccontextmanager closing contextmanager nullcontext",
    suppress=_suppress,
    AbstractContextManager=TypeStandIn("AbstractContextManager", contextlib.AbstractContextManager),
    AbstractAsyncContextManager=TypeStandIn("AbstractAsyncContextManager", contextlib.AbstractAsyncContextManager),
)


def modules() -> dict[str, Members]:
    """The shared facades of this family."""
    return {
        "asyncio": pick(
            asyncio,
            """ALL_COMPLETED Barrier BoundedSemaphore BrokenBarrierError CancelledError Event FIRST_COMPLETED
            FIRST_EXCEPTION IncompleteReadError InvalidStateError LifoQueue LimitOverrunError Lock PriorityQueue Queue
            QueueEmpty QueueFull QueueShutDown Semaphore TaskGroup TimeoutError iscoroutine iscoroutinefunction
            isfuture timeout timeout_at""",
            Condition=condition,
            Future=opaque_type(asyncio.Future),
            Task=opaque_type(asyncio.Task),
            as_completed=as_completed,
            create_task=create_task,
            ensure_future=ensure_future,
            gather=gather,
            get_event_loop=get_loop,
            get_running_loop=get_loop,
            run=_run,
            shield=shield,
            sleep=sleep,
            to_thread=to_thread,
            wait=wait,
            wait_for=wait_for,
        ),
    }
