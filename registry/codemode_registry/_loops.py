"""asyncio and trio, asked about without being loaded: which loop runs here, its task, its cancellation.

Rules
- A host runs one of them, and loading the other is a good part of a cold start. Who has not loaded a library can have
  no loop of it, no task, and no cancellation; so everything here looks at what is loaded, and answers "none".
- A module that another thread is in the middle of loading counts as not loaded: its loop cannot be running here yet.
- No other module of the house imports asyncio or trio, but where its loop is known to run or a thread is wanted.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio


def asyncio_loop() -> asyncio.AbstractEventLoop | None:
    """The asyncio loop that runs in this thread."""
    running: Any = getattr(sys.modules.get("asyncio.events"), "_get_running_loop", None)
    loop: asyncio.AbstractEventLoop | None = running() if running is not None else None
    return loop


def asyncio_task() -> asyncio.Task[Any] | None:
    """The asyncio task that runs in this thread."""
    loop = asyncio_loop()
    if loop is None:
        return None
    import asyncio

    return asyncio.current_task(loop)


def asyncio_cancellation() -> tuple[type[BaseException], ...]:
    """asyncio's CancelledError, for `isinstance` and `except`; nothing where it is not loaded."""
    error: Any = getattr(sys.modules.get("asyncio.exceptions"), "CancelledError", None)
    return () if error is None else (error,)


def current_task() -> object:
    """The task of either loop that runs in this thread; None where none runs, as when a coroutine is being closed."""
    task = asyncio_task()
    if task is not None:
        return task
    running: Any = getattr(sys.modules.get("trio.lowlevel"), "current_task", None)
    try:
        return running() if running is not None else None
    except RuntimeError:
        return None


def trio_cancellation() -> tuple[type[BaseException], ...]:
    """trio's Cancelled, for `isinstance` and `except`; nothing where it is not loaded."""
    error: Any = getattr(sys.modules.get("trio"), "Cancelled", None)
    return () if error is None else (error,)


def sync_failures() -> tuple[type[BaseException], ...]:
    """What sync code may fail with and go on: a cancellation that it raises is none, for nobody tells it of one."""
    return (Exception, GeneratorExit, *asyncio_cancellation())
