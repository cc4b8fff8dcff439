"""One run from the command line: the log, the watching, the signals, and its end.

Rules
- The event log is always written: where nobody names a place, in the user's state folder, of which the newest stay.
- The first Ctrl-C (or TERM) cancels the run and lets it end: calls are drained, records written, what was done is
  said. The second one leaves the run where it is, but for the bounded drain of its tools; the third ends the process.
- The loop is trio, but for what needs asyncio.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from codemode_registry import CancelSignal, Event, EventLog, JsonlEventLog, JsonValue

from .._project import Project, ProjectError
from .._thread import run_in_loop as run_in_loop
from ._terminal import note

if TYPE_CHECKING:
    from .._project_registry import Opened

LOGS_KEPT = 100
"""Logs that stay in the state folder."""


class Interrupted(BaseException):
    """A second signal came: the run is over where it stands."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


@contextlib.asynccontextmanager
async def interruptible(cancel: CancelSignal, *, what: str) -> AsyncGenerator[list[int]]:
    """Turn signals into a cancelled run; yields the list of the signals that came.

    Args:
        cancel: set at the first signal.
        what: what is ended, for the message.
    """
    came: list[int] = []
    try:
        async with anyio.create_task_group() as tasks:
            ready = anyio.Event()
            tasks.start_soon(_watch, cancel, what, came, ready)
            await ready.wait()
            yield came
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        if group.subgroup(Interrupted) is not None:
            raise Interrupted(128 + came[-1]) from None
        raise


async def _watch(cancel: CancelSignal, what: str, came: list[int], ready: anyio.Event) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        ready.set()
        async for number in signals:
            came.append(int(number))
            if len(came) == 1:
                note(f"\ninterrupted: ending {what} (again to leave it where it is)")
                cancel.cancel("interrupted at the terminal")
            else:
                break
    _last_resort()  # after the receiver has put back the handlers that were there before
    raise Interrupted(128 + came[-1])


def _last_resort() -> None:
    """From now on a signal ends the process: what does not even let itself be cancelled is not waited for."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda came, _: os._exit(128 + came))


def tell_down(opened: Opened) -> None:
    """Name the MCP servers that are not up; the rest goes on without them."""
    for status in opened.upstreams.status() if opened.upstreams is not None else ():
        if status.state in ("down", "starting"):
            note(f"MCP server {status.name!r} is {status.state}: {status.error or 'it has not answered yet'}")


def log_place(flag: Path | None, project: Project) -> Path:
    """Where the event log of this run goes; its folder is made."""
    if flag is not None:
        place = flag
    elif project.content.log is not None:
        place = project.path(project.content.log.path)
    else:
        return _state_log()
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _state_log() -> Path:
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}.jsonl"
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    for folder in (Path(base).expanduser() / "codemode" / "runs", Path(tempfile.gettempdir()) / "codemode-runs"):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except (OSError, RuntimeError):
            continue
        if os.access(folder, os.W_OK):
            _keep_newest(folder)
            return folder / name
    raise ProjectError("there is no place for the event log: name one with --log FILE")


def _keep_newest(folder: Path) -> None:
    """Names begin with the time, so their order is that of the runs."""
    for old in sorted(folder.glob("????????-??????-*.jsonl"))[: -(LOGS_KEPT - 1)]:
        with contextlib.suppress(OSError):
            old.unlink()


class BothLogs:
    """The log of this run, and the one that the user's registry had already: neither goes without an event."""

    def __init__(self, first: EventLog, second: EventLog) -> None:
        self._first, self._second = first, second

    async def append(self, type: str, data: dict[str, JsonValue]) -> Event:
        """Append to both; the first one's event is the event."""
        await self._second.append(type, data)
        return await self._first.append(type, data)


@contextlib.asynccontextmanager
async def opened_log(place: Path, *, fsync: bool = False) -> AsyncGenerator[EventLog]:
    """The event log in a file.

    Raises:
        ProjectError: the file cannot be written, or is no event log.
    """
    try:
        log = JsonlEventLog(place, fsync=fsync)
    except OSError as error:
        raise ProjectError(f"the event log {str(place)!r} cannot be written: {error.strerror}") from None
    async with log:
        yield log


def read_program(file: Path | None, code: str | None) -> str:
    """The program's text: a file, `-` for stdin, or the text itself.

    Raises:
        ProjectError: none or several were given, or it cannot be read.
    """
    if (file is None) == (code is None):
        raise ProjectError("give one program: a file, - for stdin, or -c CODE")
    if code is not None:
        return code
    assert file is not None
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ProjectError(f"the program {str(file)!r} is not UTF-8 text") from None
    except OSError as error:
        raise ProjectError(f"the program {str(file)!r} cannot be read: {error.strerror}") from None


def result_fields(result: Any) -> dict[str, Any]:
    """A RunResult as JSON, for `--json`."""
    return {
        "ok": result.ok,
        "value": result.value,
        "has_value": result.has_value,
        "logs": list(result.logs),
        "text": result.text,
        "error": None if result.error is None else _fields(result.error),
        "calls": [_fields(call) for call in result.calls],
        "notes": list(result.notes),
        "usage": _fields(result.usage),
        "run_id": result.run_id,
    }


def _fields(value: Any) -> dict[str, Any]:
    from dataclasses import fields

    from codemode_registry import thaw

    return {field.name: thaw(getattr(value, field.name)) for field in fields(value)}
