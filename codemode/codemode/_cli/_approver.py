"""Asking the person at the terminal whether a call may run.

Rules
- The terminal is asked, not stdin: a program that comes through a pipe does not answer its own questions. Where there
  is no terminal nobody can be asked, and the answer is "unavailable", which denies.
- One question at a time. The answer is for this call; "always" is remembered here for this tool, for this run.
- Reading the answer waits in the event loop, so Ctrl-C and a cancelled call end the question at once.
- What is asked about is untrusted: names and arguments are shown as text, whole up to a bound, and what is left out
  is said to be.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

import anyio

from codemode_registry import ApprovalRequest

from ._progress import Progress
from ._terminal import plain

MAX_QUESTION_CHARS = 4_000
"""Characters of the arguments that are shown."""

MAX_ANSWER_BYTES = 1024

END_OF_INPUT = "\x04"
"""What Ctrl-D reads as."""


class TerminalApprover:
    """An approver that asks at the controlling terminal.

    Args:
        progress: stops drawing while a question is open.
        path: the terminal.
    """

    def __init__(self, progress: Progress | None, *, path: str = "/dev/tty") -> None:
        self._progress = progress
        self._path = path
        self._always: set[str] = set()
        self._turn = anyio.Lock()

    async def __call__(self, request: ApprovalRequest) -> str:
        """Ask; -> one of the four answers."""
        async with self._turn:
            if request.tool_name in self._always:
                return "allowed-once"
            if request.cancel.cancelled:
                return "cancelled"
            try:
                terminal = os.open(self._path, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
            except OSError:
                return "unavailable"
            try:
                with contextlib.nullcontext() if self._progress is None else self._progress.paused():
                    return await self._ask(terminal, request)
            except OSError:
                return "unavailable"
            finally:
                os.close(terminal)

    async def _ask(self, terminal: int, request: ApprovalRequest) -> str:
        _drain(terminal)
        _write(terminal, question(request))
        while True:
            _write(terminal, "  run it? [y]es, [n]o, [a]lways for this tool, [c]ancel the question: ")
            answer = (await _line(terminal)).lower()
            if answer in ("y", "yes"):
                return "allowed-once"
            if answer in ("a", "always"):
                self._always.add(request.tool_name)
                return "allowed-once"
            if answer in ("n", "no"):
                return "rejected"
            if answer in ("c", "cancel", END_OF_INPUT):
                return "cancelled"


def question(request: ApprovalRequest) -> str:
    """The question as it stands on the terminal."""
    arguments: Any = request.arguments
    shown = plain(json.dumps(arguments, ensure_ascii=False, indent=2, default=str))
    if len(shown) > MAX_QUESTION_CHARS:
        shown = f"{shown[:MAX_QUESTION_CHARS]}\n... ({len(shown) - MAX_QUESTION_CHARS:,} characters more)"
    indented = "\n".join(f"    {line}" for line in shown.splitlines())
    reason = f"  because: {plain(request.reason)}\n" if request.reason else ""
    return f"\n? {plain(request.tool_name)} wants to run with\n{indented}\n{reason}"


def _write(terminal: int, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(terminal, data) :]


def _drain(terminal: int) -> None:
    """What was typed before the question is no answer to it."""
    with contextlib.suppress(ImportError, OSError):
        import termios

        termios.tcflush(terminal, termios.TCIFLUSH)


async def _line(terminal: int) -> str:
    """One line; end of input reads as Ctrl-D."""
    await anyio.wait_readable(terminal)
    data = os.read(terminal, MAX_ANSWER_BYTES)
    return data.decode("utf-8", "replace").strip() if data else END_OF_INPUT


async def approve_everything(request: ApprovalRequest) -> str:
    """The approver of `--yes`."""
    return "allowed-once"
