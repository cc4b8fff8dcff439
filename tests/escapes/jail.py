"""Runs one attack in a forked process with small limits."""

from __future__ import annotations

import os
import resource
import select
import signal
import time
from collections.abc import Callable

from tests.escapes.judge import in_dialect, in_guest

MEMORY = 1 << 30
"""Bytes of address space that an attack may add to what the test process has mapped; then it gets MemoryError."""


def attack(source: str, seconds: float = 4.0, *, guest: bool = False) -> str:
    """Run an attack; returns what happened: refused, error, value, killed, crashed, or breach.

    Args:
        source: the program.
        seconds: when it is killed.
        guest: run it by the child's own runner, with the real `tools`, and judge the frames that come of it.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _run(source, writer, in_guest if guest else in_dialect)
    os.close(writer)
    told = b""
    deadline = time.monotonic() + seconds
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            break
        part = os.read(reader, 65536)
        if not part:
            break
        told += part
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    if told:
        return told.decode(errors="replace")
    return "killed: time" if os.WTERMSIG(status) == signal.SIGKILL else f"crashed: {status}"


def _run(source: str, writer: int, run: Callable[[str], str]) -> None:
    """In the child: limits, the program, one line about it; never returns."""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # A worker of the test suite that has loaded much before must leave an attack as much room as a fresh one.
        with open("/proc/self/statm", "rb") as statm:
            most = int(statm.read().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (4, 4))
        text = run(source)
        os.write(writer, text[:4000].encode(errors="replace"))
    except MemoryError:
        os.write(writer, b"killed: memory")
    except BaseException as error:
        os.write(writer, f"internal: {type(error).__name__}: {error}"[:4000].encode(errors="replace"))
    finally:
        os._exit(0)
