"""Calls that were made but never awaited, told with their lines.

Two kinds. A call of a tool is an `UnawaitedCall`, and `Calls` knows which of them never began. A call of the program's
own `async def` is a plain coroutine: Python says that one was never awaited when it throws it away, and those that are
still held when the program ends are looked for in its names. Tracking the line costs each coroutine its caller's
position, nothing else.
"""

# Values of programs have no types that a checker could know.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import inspect
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

from codemode_guest import dialect
from codemode_guest._calls import Calls
from codemode_guest._frames import program_frames

__all__ = ["Forgotten", "described"]

_MAX_TOLD = 10


class Forgotten:
    """Watches one program for awaits that are missing; a context manager around its run."""

    __slots__ = ("_before", "_calls", "_depth", "_seen")

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._seen: list[tuple[str, int | None]] = []
        self._depth = 0
        self._before: Callable[[Any], None] | None = None

    def __enter__(self) -> Forgotten:
        self._depth = sys.get_coroutine_origin_tracking_depth()
        sys.set_coroutine_origin_tracking_depth(1)
        # The interpreter calls this function by its name in `warnings` when a coroutine dies that never began.
        self._before = warnings.__dict__.get("_warn_unawaited_coroutine")
        warnings.__dict__["_warn_unawaited_coroutine"] = self._thrown_away
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        warnings.__dict__["_warn_unawaited_coroutine"] = self._before
        sys.set_coroutine_origin_tracking_depth(self._depth)

    def told(self, names: Mapping[str, object], error: BaseException | None = None) -> list[str]:
        """One sentence for each call that never ran; complete when the program is over.

        Args:
            names: the program's globals.
            error: what it raised, if it did; the names of its frames are looked at too.
        """
        places: list[Iterable[object]] = [names.values()]
        if error is not None:
            places += [frame.f_locals.values() for frame, _, _ in program_frames(error.__traceback__)]
        held = {id(value): value for place in places for value in place if type(value) is types.CoroutineType}
        found = [*self._calls.unawaited.values(), *self._seen]
        found += [described(coroutine) for coroutine in held.values() if _never_began(coroutine)]
        told = [
            f"{shown}(...){'' if line is None else f' on line {line}'} was never awaited, so it did not run: "
            f"write `await {shown}(...)`"
            for shown, line in dict.fromkeys(found[:_MAX_TOLD])
        ]
        if len(found) > _MAX_TOLD:
            told.append(f"{len(found) - _MAX_TOLD} more calls were never awaited")
        return told

    def _thrown_away(self, coroutine: Any) -> None:
        if dialect.is_program_frame(coroutine.cr_code.co_filename):
            self._seen.append(described(coroutine))


def _never_began(coroutine: types.CoroutineType[Any, Any, Any]) -> bool:
    own = dialect.is_program_frame(coroutine.cr_code.co_filename)
    return own and inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED


def described(coroutine: Any) -> tuple[str, int | None]:
    """The function's name, and the line of its call, while a `Forgotten` watches."""
    origin = getattr(coroutine, "cr_origin", None)
    line = origin[0][1] if origin and dialect.is_program_frame(origin[0][0]) else None
    return str(coroutine.__qualname__).rpartition("<locals>.")[2], line
