"""Clocks out of the program's reach: the child's CPU time, read from outside, and a wall clock that can stand still.

What else is read of a process from outside (its memory, whether it is stopped) is here too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def cpu_seconds(pid: int) -> float | None:
    """CPU time of a process, all its threads, to the nanosecond; None if it is gone.

    The clock's number is what clock_getcpuclockid(3) computes: the pid's complement, shifted, and CPUCLOCK_SCHED.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return _proc_cpu_seconds(pid)


def _proc_cpu_seconds(pid: int) -> float | None:
    """The same from /proc, in ticks, where the clock is not there (some container runtimes)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS
    except (OSError, IndexError, ValueError):
        return None


def stopped(pid: int) -> bool:
    """Whether a signal stopped the process; False where the system does not say."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0] == b"T"
    except (OSError, IndexError):
        return False


def peak_memory(pid: int) -> int:
    """The most bytes that a process had resident at once; 0 where the system does not say."""
    try:
        descriptor = os.open(f"/proc/{pid}/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        text = os.read(descriptor, 4096)
    except OSError:
        return 0
    finally:
        os.close(descriptor)
    start = text.find(b"VmHWM:")
    return int(text[start + 6 : text.index(b"kB", start)]) * 1024 if start >= 0 else 0


class PauseClock:
    """How long a run's wall clock has stood still. Holds may overlap, and may come from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holds = 0
        self._since = 0.0
        self._total = 0.0

    @contextmanager
    def hold(self) -> Generator[None]:
        """Stop the clock for the time of the block."""
        with self._lock:
            if self._holds == 0:
                self._since = time.monotonic()
            self._holds += 1
        try:
            yield
        finally:
            with self._lock:
                self._holds -= 1
                if self._holds == 0:
                    self._total += time.monotonic() - self._since

    def paused(self) -> float:
        """Seconds that the clock has stood still so far."""
        with self._lock:
            running = time.monotonic() - self._since if self._holds else 0.0
            return self._total + running
