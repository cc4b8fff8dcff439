"""Children without a zygote: an interpreter for each, started ahead like the forked ones.

Rules of this module: the same interface as a forked child. The host is the parent here, so it reaps: who ends a child
waits for its process, which SIGKILL makes short.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading

import anyio
import anyio.to_thread

from codemode_bridge._children import START_SECONDS, UNKNOWN_EXIT, Exit, bridge_pair
from codemode_bridge._wire import HostWire
from codemode_bridge._zygotes import ZygoteGone, launch

_BRIDGE_FD = 3
_STDERR_BYTES = 8192


class SpawnedChild:
    """An interpreter of its own for one run."""

    __slots__ = ("_ended", "_lock", "_process", "_stderr", "bridge", "pid", "sealed", "wire")

    def __init__(self) -> None:
        """Start it.

        Raises:
            ZygoteGone: the interpreter cannot be started.
        """
        ours, theirs = bridge_pair()
        try:
            self._process, self._stderr = launch("spawn", theirs.fileno(), _BRIDGE_FD)
        except OSError as error:
            ours.close()
            raise ZygoteGone(f"the interpreter cannot be started: {error}") from error
        finally:
            theirs.close()
        self._ended = False
        self._lock = threading.Lock()
        self.bridge = ours
        self.wire = HostWire()
        self.pid = 0
        self.sealed = False

    def patience(self) -> float:
        """Its interpreter has to start."""
        return START_SECONDS

    def came(self) -> None:
        """Nothing is learned from that: the next one starts anew."""

    def keep_apart(self) -> None:
        """Nothing is forked from it."""

    def spread(self) -> None:
        """It has all processors that the host has."""

    def _kill(self) -> bool:
        with self._lock:
            if self._ended:
                return False
            self._ended = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self._process, signal.SIGKILL)
        self.bridge.close()
        os.close(self._stderr)
        return True

    def end(self) -> None:
        """Kill it and wait for it; SIGKILL makes that short."""
        if self._kill():
            _wait(self._process)

    async def exit(self) -> Exit:
        """Kill it and learn how it ended."""
        if not self._kill():
            return UNKNOWN_EXIT
        ends: list[Exit] = []
        with anyio.CancelScope(shield=True):
            ends.append(await anyio.to_thread.run_sync(_wait, self._process))
        return ends[0]

    def blame(self) -> str:
        """What it wrote to standard error."""
        try:
            return os.read(self._stderr, _STDERR_BYTES).decode("utf-8", "replace").strip()
        except OSError:
            return ""


def _wait(pid: int) -> Exit:
    try:
        _, status, usage = os.wait4(pid, 0)
    except ChildProcessError:
        return UNKNOWN_EXIT
    return Exit(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
