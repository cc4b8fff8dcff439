"""Work that needs an event loop of its own: run in one, or in a thread beside one that may be running already.

What a loop ends with is a group wherever task groups were open around it; from here it leaves as what it is.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Awaitable, Callable
from typing import Literal, TypeVar, cast

import anyio
import sniffio

__all__ = ["in_a_thread", "run_in_loop"]

_T = TypeVar("_T")
_EXITS = (KeyboardInterrupt, SystemExit)


def run_in_loop(body: Callable[[], Awaitable[_T]], *, backend: Literal["trio", "asyncio"] = "trio") -> _T:
    """Run an async function in an event loop of its own. Blocks.

    A single failure is raised as it is, out of the groups around it; so is an exit of the interpreter that several
    tasks asked for at once.
    """
    try:
        return anyio.run(body, backend=backend)
    except BaseExceptionGroup as group:
        single = _single(_leaves(group))
        if single is None:
            raise
        raise single from single.__cause__


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for inner in group.exceptions:
        nested = isinstance(inner, BaseExceptionGroup)
        found += _leaves(cast("BaseExceptionGroup[BaseException]", inner)) if nested else [inner]
    return found


def _single(failures: list[BaseException]) -> BaseException | None:
    """The one that speaks for all of them: the only one, or an interrupt before other exits."""
    if len(failures) > 1 and not all(isinstance(failure, _EXITS) for failure in failures):
        return None
    return min(failures, key=lambda failure: not isinstance(failure, KeyboardInterrupt))


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
