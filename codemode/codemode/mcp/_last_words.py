"""The end of what a server process wrote to its standard error: the reason it died, usually.

Rules
- Bounded: the last few kilobytes are kept, the rest is read and dropped, so a chatty server never blocks on the pipe.
- Nobody sees it unredacted; the caller passes the text on through its redactor.
- Where a pipe cannot be waited for (Windows) nothing is kept.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import TextIO

import anyio
from anyio.abc import TaskGroup

_KEPT_BYTES = 4096
"""Enough for the last lines of a traceback."""

_SHOWN_LINES = 3


class LastWords:
    """A stderr for one child process. Use as an async context manager around the process's life."""

    def __init__(self) -> None:
        self._tail = bytearray()
        self._read: int | None = None
        self._tasks: TaskGroup | None = None
        self._file: TextIO | None = None

    async def __aenter__(self) -> LastWords:
        if sys.platform == "win32":
            self._file = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
            return self
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        self._file = os.fdopen(write, "w", encoding="utf-8")
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._collect)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self.release()
        self._take()
        try:
            if self._tasks is not None:
                self._tasks.cancel_scope.cancel()
                return await self._tasks.__aexit__(kind, error, trace)
            return None
        finally:
            if self._read is not None:
                os.close(self._read)
                self._read = None

    @property
    def file(self) -> TextIO:
        """What to start the process with."""
        assert self._file is not None
        return self._file

    def release(self) -> None:
        """The process has its own copy now; ours would keep the pipe open after its death."""
        if self._file is not None and not self._file.closed:
            self._file.close()

    @property
    def text(self) -> str:
        """The last lines, on one line."""
        self._take()
        lines = [line.strip() for line in self._tail.decode("utf-8", "replace").splitlines() if line.strip()]
        return " | ".join(lines[-_SHOWN_LINES:])

    async def _collect(self) -> None:
        assert self._read is not None
        while True:
            await anyio.wait_readable(self._read)
            if not self._take():
                return

    def _take(self) -> bool:
        """Reads what is there; False at the end of the stream."""
        while self._read is not None:
            try:
                chunk = os.read(self._read, 65536)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self._tail += chunk
            del self._tail[:-_KEPT_BYTES]
        return False
