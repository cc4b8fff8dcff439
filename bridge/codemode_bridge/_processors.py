"""Which processors children may use: while one run at a time goes on, not the first of the host's.

To prepare the next child takes some two milliseconds of a processor, and afterwards its caches hold nothing of what the
host goes on with. With two processors, a trivial program after a rest took 1.3 ms for that reason, and takes 0.9.

Rules of this module: nothing is kept apart but after a rest of all runs of this process. As soon as two overlap, or
follow each other closely, the zygote and all children that run may use every processor that the host may. Nothing
happens where the host has one processor only, or where the system does not allow it.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Protocol

# After so long a rest the processors are free, and the caches cold.
_REST_SECONDS = 0.002


class Movable(Protocol):
    """A child, as far as its processors go."""

    def keep_apart(self) -> None:
        """Have those that are forked from now on keep off the host's processor."""
        ...

    def spread(self) -> None:
        """Have this one, and those that are forked from now on, use all processors."""
        ...


class Processors:
    """Who runs in this process, all runtimes, loops and threads together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Movable] = set()
        self._rests_since = 0.0

    def rested(self) -> bool:
        """Whether nothing runs, and nothing did a moment ago."""
        return not self._running and time.monotonic() - self._rests_since > _REST_SECONDS

    def begin(self, child: Movable) -> None:
        """A program is about to run in this child."""
        with self._lock:
            rested = self.rested()
            self._running.add(child)
            if rested:
                child.keep_apart()
            else:
                for each in self._running:
                    each.spread()

    def end(self, child: Movable) -> None:
        """It is over."""
        with self._lock:
            self._running.discard(child)
            self._rests_since = time.monotonic()

    def forget(self) -> None:
        """In a forked copy of the host: the children are the parent's."""
        self._lock = threading.Lock()
        self._running.clear()


def place(pid: int, *, apart: bool) -> bool:
    """Let a process use all processors that this one may, or all but the first; whether that was done."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    try:
        ours = os.sched_getaffinity(0)
        if len(ours) < 2:
            return False
        os.sched_setaffinity(pid, ours - {min(ours)} if apart else ours)
    except OSError:
        return False
    return True


PROCESSORS = Processors()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=PROCESSORS.forget)
