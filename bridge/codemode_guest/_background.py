"""Tasks that a program started and nobody awaited: those that failed, and those that the program's end cut off.

Python itself tells of a failure only when such a task is thrown away, and to a log that nobody reads here. A task that
is thrown away while the program runs is told to the loop's exception handler; one that is still held is found at the
end among the tasks that were made. They are kept weakly: a program may make many. A task that the program itself
cancelled has done what was asked of it.
"""

# Values of programs have no types that a checker could know.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import weakref
from collections import Counter
from types import TracebackType
from typing import Any

from codemode_guest._calls import UnawaitedCall, origin
from codemode_guest._forgotten import described
from codemode_guest._frames import program_frames

__all__ = ["Background"]

_MAX_TOLD = 5
_MAX_TEXT = 500
"""Characters of an exception's text that are kept."""


class Background:
    """Watches the tasks of one program; a context manager around its run."""

    __slots__ = ("_loop", "_lost", "_tasks")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        self._lost: list[BaseException] = []

    def __enter__(self) -> Background:
        self._loop.set_task_factory(self._made)
        self._loop.set_exception_handler(self._thrown_away)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.set_task_factory(None)
        self._loop.set_exception_handler(None)

    def told(self) -> list[str]:
        """One sentence for each failure that nobody looked at, then what was cut off; complete at the program's end."""
        made = list(self._tasks)
        held = [task for task in made if task.done() and getattr(task, "_log_traceback", False)]
        lost = [*self._lost, *(error for task in held if (error := task.exception()) is not None)]
        told = [_sentence(error) for error in lost[:_MAX_TOLD]]
        if len(lost) > _MAX_TOLD:
            told.append(f"{len(lost) - _MAX_TOLD} more background tasks failed")
        left = [task for task in made if not task.done() and not task.cancelling()]
        return told + _cut_off(left) if left else told

    def _made(self, loop: asyncio.AbstractEventLoop, coro: Any, **how: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=loop, **how)
        self._tasks.add(task)
        return task

    def _thrown_away(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            self._lost.append(error)


def _cut_off(left: list[asyncio.Task[Any]]) -> list[str]:
    """One sentence for each place that started tasks which are not finished."""
    places = Counter(place for task in left if (place := _origin(task)) is not None)
    listed = sorted(places.items(), key=lambda item: item[0][1] or 0)
    told = [_unfinished(shown, line, count) for (shown, line), count in listed[:_MAX_TOLD]]
    if len(listed) > _MAX_TOLD:
        more = sum(count for _, count in listed[_MAX_TOLD:])
        told.append(f"{more} more background tasks were cancelled unfinished")
    return told


def _origin(task: asyncio.Task[Any]) -> tuple[str, int | None] | None:
    """What the task runs, and the line that called it; None for a call of a tool that never began, which is told."""
    body: Any = task.get_coro()
    return origin(body) if isinstance(body, UnawaitedCall) else described(body)


def _unfinished(shown: str, line: int | None, count: int) -> str:
    where = "" if line is None else f" started on line {line}"
    what = f"the task {shown}(...){where} was" if count == 1 else f"{count} tasks {shown}(...){where} were"
    which = "it was" if count == 1 else "they were"
    return f"{what} not awaited to the end: {which} cancelled unfinished when the program ended"


def _sentence(error: BaseException) -> str:
    frames = program_frames(error.__traceback__)
    where = f" on line {frames[-1][1]}" if frames else ""
    try:
        text = str(error)[:_MAX_TEXT]
    except BaseException:  # the program's own __str__
        text = ""
    return (
        f"a background task failed{where} and nothing awaited it: {type(error).__name__}{f': {text}' if text else ''}"
    )
