"""Work that needs an event loop of its own, done in a thread beside one that may be running already."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

import sniffio

__all__ = ["in_a_thread"]

_T = TypeVar("_T")


def in_a_thread(work: Callable[[], _T], *, name: str) -> _T:
    """Run `work` in a thread of its own, with this context, and hand on what it returns or raises. Blocks.

    Args:
        work: starts whatever event loop it wants.
        name: the thread's.
    """
    results: list[_T] = []
    failures: list[BaseException] = []
    context = contextvars.copy_context()

    def body() -> None:
        # The context says that an async library is running here; in the new thread none is.
        sniffio.current_async_library_cvar.set(None)
        try:
            results.append(work())
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=context.run, args=(body,), name=name)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]
