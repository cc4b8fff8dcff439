"""Children prepared ahead: the queue of those that wait for a program.

Rules of this module: a lock around a deque, no task and no loop. Children are ordered without waiting for them; whoever
takes one waits until that one is ready, in a loop of its own choosing. First ordered, first taken.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from codemode_bridge._children import Child, ChildUnavailable, become_ready, tell_wanted
from codemode_bridge._zygotes import ZygoteGone
from codemode_registry import RuntimeUnavailableError

# A child may die waiting, a zygote may have died with all its children: one fresh try each, and one for bad luck.
_TRIES = 3


class ChildPool:
    """The waiting children of one runtime."""

    def __init__(self, make: Callable[[], Child], warm: int) -> None:
        """`make` orders a child; it raises ZygoteGone where none can be had."""
        self._make = make
        self._warm = warm
        self._lock = threading.Lock()
        self._waiting: deque[Child] = deque()
        self._closed = False

    async def take(self) -> Child:
        """A child that waits for its program. The caller ends it.

        Raises:
            RuntimeUnavailableError: no child can be had; the message says why.
        """
        why = ""
        for _ in range(_TRIES):
            # Those that died while they waited cost a look each, no try.
            while (child := self._oldest()) is not None:
                if (found := await self._readied(child)) is None:
                    return child
                why = found
            try:
                child = self._make()
            except ZygoteGone as error:
                why = str(error)
                continue
            if (found := await self._readied(child)) is None:
                return child
            why = found
        raise RuntimeUnavailableError(f"no child process can be started: {why}")

    def expect(self) -> None:
        """A program will come at once: the child that will run it can wake up meanwhile."""
        with self._lock:
            if self._waiting:
                tell_wanted(self._waiting[0])

    @staticmethod
    async def _readied(child: Child) -> str | None:
        """None when the child is ready, else why it is not; then, and if the wait is cancelled, the child is ended."""
        try:
            await become_ready(child)
        except ChildUnavailable as error:
            child.end()
            return str(error)
        except BaseException:
            child.end()
            raise
        return None

    def _oldest(self) -> Child | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def refill(self) -> None:
        """Order as many children as are missing. Never raises: whoever takes one will learn what is wrong."""
        with self._lock:
            missing = 0 if self._closed else self._warm - len(self._waiting)
            for _ in range(missing):
                try:
                    self._waiting.append(self._make())
                except (ZygoteGone, OSError):
                    return

    def clear(self) -> None:
        """End all that wait, and whoever takes one next has it made anew."""
        with self._lock:
            waiting = list(self._waiting)
            self._waiting.clear()
        for child in waiting:
            child.end()

    def close(self) -> None:
        """End all that wait, for good."""
        with self._lock:
            self._closed = True
        self.clear()

    def forget(self) -> None:
        """In a forked copy of the host: the children are the parent's, and only our copies of their bridges close."""
        waiting = list(self._waiting)
        self._lock = threading.Lock()
        self._waiting.clear()
        for child in waiting:
            child.bridge.close()
