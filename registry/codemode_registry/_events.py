"""Event logs: what happened, in order, before its effect was visible.

Rules
- `append` gives the event its number (from 1, no gaps) and is done when the event is in the log; who appends waits.
- Data is frozen JSON: what was logged cannot change afterwards. A value that is not JSON is refused, never mangled.
- An append that fails takes no number and leaves no half line behind. If even that cannot be had, the log is broken and
  says so at every further append: a log with a hole is worse than none.
- A JSONL log belongs to one writer. Appends from several tasks, threads and event loops of it are ordered.
"""

from __future__ import annotations

import decimal
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, cast, runtime_checkable

import anyio.to_thread
from pydantic_core import PydanticSerializationError, to_json

from ._errors import LogError
from ._json import JsonValue, freeze

_TAIL_BLOCK = 64 * 1024
"""Bytes read at a time, from the end, to find the last line of a log that is opened again."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a log."""

    seq: int
    """Number in its log, from 1, without gaps."""
    time: int
    """Epoch milliseconds."""
    type: str
    data: dict[str, JsonValue]


@runtime_checkable
class EventLog(Protocol):
    """Where events go. Any object with this one method will do."""

    async def append(self, type: str, data: dict[str, JsonValue]) -> Event:
        """Append one event; it is in the log when this returns."""
        ...


def appends_at_once(log: EventLog | None) -> bool:
    """Whether appending to it has no step at which a cancelled task could be stopped; of a log of another make: no."""
    if log is None:
        return True
    append = type(log).append
    return append is MemoryEventLog.append or (append is JsonlEventLog.append and not cast("JsonlEventLog", log).fsync)


def _now() -> int:
    return time.time_ns() // 1_000_000


class MemoryEventLog:
    """A log in memory: `.events` is the list of what was appended."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        """Every event so far, in order."""
        self._lock = threading.Lock()

    async def append(self, type: str, data: dict[str, JsonValue]) -> Event:
        """Append one event."""
        frozen = freeze(data)
        with self._lock:
            event = Event(len(self.events) + 1, _now(), type, frozen)
            self.events.append(event)
        return event


class JsonlEventLog:
    """A log in a file, one JSON object a line, append-only.

    Opening a file that exists goes on with its numbers. A torn last line (the writer died in it) is cut off; a complete
    one that only lacks its line end gets it.

    Args:
        path: The file; made if missing, readable by its owner only. Its folder must exist.
        fsync: Wait until each event is on the disk.

    Raises:
        LogError: the file's last whole line is not an event.
        OSError: the file cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str], *, fsync: bool = False) -> None:
        self.path = Path(path)
        self.fsync = fsync
        """Whether each append waits for the disk."""
        self._lock = threading.Lock()
        self._broken: str | None = None
        self._fd: int | None = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            self._seq = _repair(self._fd, self.path)
        except BaseException:
            fd, self._fd = self._fd, None  # its number may be somebody else's soon: close it once
            os.close(fd)
            raise

    async def append(self, type: str, data: dict[str, JsonValue]) -> Event:
        """Append one event.

        Raises:
            LogError: the log is closed or broken.
            OSError: the system refused the write; the line was taken back.
        """
        frozen = freeze(data)
        if not self.fsync:
            return self._write(type, frozen)
        event = self._write(type, frozen)
        await anyio.to_thread.run_sync(self._sync)
        return event

    def _write(self, type: str, data: dict[str, JsonValue]) -> Event:
        with self._lock:
            if self._fd is None:
                raise LogError(f"{self.path}: the log is closed")
            if self._broken is not None:
                raise LogError(f"{self.path}: the log is broken since a write failed: {self._broken}")
            event = Event(self._seq + 1, _now(), type, data)
            line = _encode(event)
            rest = memoryview(line)
            try:
                while rest:
                    rest = rest[os.write(self._fd, rest) :]
            except BaseException as error:
                self._take_back(len(line) - len(rest), error)
                raise
            self._seq = event.seq
            return event

    def _take_back(self, written: int, error: BaseException) -> None:
        fd = cast("int", self._fd)
        try:
            os.ftruncate(fd, os.fstat(fd).st_size - written)
        except OSError:
            self._broken = f"{type(error).__name__}: {error}"

    def _sync(self) -> None:
        with self._lock:
            if self._fd is not None:
                os.fsync(self._fd)

    async def aclose(self) -> None:
        """Close the file. Closing twice is fine; appending afterwards raises `LogError`."""
        with self._lock:
            fd, self._fd = self._fd, None
        if fd is not None:
            if self.fsync:
                os.fsync(fd)
            os.close(fd)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        fd, self._fd = getattr(self, "_fd", None), None
        if fd is not None:
            os.close(fd)


def _encode(event: Event) -> bytes:
    fields = {"seq": event.seq, "time": event.time, "type": event.type, "data": event.data}
    try:
        return to_json(fields) + b"\n"
    except (PydanticSerializationError, ValueError):  # deeper than its limit, or a lone surrogate: the slow, exact way
        return json.dumps(fields, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


def _repair(fd: int, path: Path) -> int:
    """Cut a torn last line, finish a whole one; -> the number of the last event."""
    size = os.fstat(fd).st_size
    start, last = _last_line(fd, size)
    if start == size and size:  # the file ends with a line end: the line before it is the last
        start, last = _last_line(fd, size - 1)
        return _seq_of(last, path)
    if not last:
        return 0
    try:
        seq = _seq_of(last, path)
    except LogError:
        os.ftruncate(fd, start)
        return _repair(fd, path) if start else 0
    os.write(fd, b"\n")
    return seq


def _last_line(fd: int, end: int) -> tuple[int, bytes]:
    """(where it starts, its bytes) of what follows the last line end before `end`."""
    data = b""
    start = end
    while start > 0:
        step = min(_TAIL_BLOCK, start)
        start -= step
        data = os.pread(fd, step, start) + data
        cut = data.rfind(b"\n")
        if cut >= 0:
            return start + cut + 1, data[cut + 1 :]
    return 0, data


def _seq_of(line: bytes, path: Path) -> int:
    return _decode(line, f"{path}: its last line").seq


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer of more digits than Python's own text conversion takes; Decimal has no such limit
        return json.loads(line, parse_int=lambda digits: int(decimal.Decimal(digits)))


def _decode(line: bytes, where: str) -> Event:
    try:
        fields: Any = _parse(line)
        event = Event(fields["seq"], fields["time"], fields["type"], fields["data"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise LogError(f"{where} is not an event ({describe_line(line)})") from error
    if type(event.seq) is not int or type(event.type) is not str or type(event.data) is not dict:
        raise LogError(f"{where} is not an event ({describe_line(line)})")
    return event


def describe_line(line: bytes) -> str:
    """The start of a line that could not be read, for the error's text."""
    return repr(line[:60]) + ("…" if len(line) > 60 else "")


def read_events(path: str | os.PathLike[str]) -> Iterator[Event]:
    """The events of a JSONL log, in order. A torn last line is left out.

    Raises:
        LogError: a line before the last is not an event; it names the line.
    """
    with open(path, "rb") as file:
        torn: LogError | None = None
        for number, line in enumerate(file, 1):
            if torn is not None:
                raise torn
            try:
                event = _decode(line, f"{os.fspath(path)}:{number}")
            except LogError as error:
                if line.endswith(b"\n"):
                    raise
                torn = error
                continue
            yield event
