"""Lines from standard input without a thread: a server that is told to stop can stop while no line comes.

Rules
- The SDK's own reader waits in a worker thread, which no cancellation reaches; this one waits in the event loop.
- While it reads, fd 0 is the null device, so that no tool or child process takes a byte of the protocol.
- Where the loop cannot wait for standard input (Windows, a file, the null device) the SDK's reader does the work.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager

import anyio

_CHUNK_BYTES = 65536


class StdinLines:
    """An async iterator of lines, which is all that the SDK's stdio server asks of its input."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[str]:
        pending = bytearray()
        while True:
            await anyio.wait_readable(self._descriptor)
            chunk = os.read(self._descriptor, _CHUNK_BYTES)
            if not chunk:
                break
            begin = len(pending)
            pending += chunk
            if pending.find(b"\n", begin) < 0:
                continue
            *lines, rest = pending.split(b"\n")
            pending = bytearray(rest)
            for line in lines:
                yield line.decode("utf-8", "replace")
        if pending:
            yield pending.decode("utf-8", "replace")


@contextmanager
def taken_stdin() -> Generator[StdinLines | None]:
    """Takes standard input away from the rest of the process; None where it cannot be waited for."""
    kind = os.fstat(0).st_mode
    if sys.platform == "win32" or stat.S_ISREG(kind) or (stat.S_ISCHR(kind) and not os.isatty(0)):
        yield None
        return
    taken = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        yield StdinLines(taken)
    finally:
        os.dup2(taken, 0)
        os.close(taken)
