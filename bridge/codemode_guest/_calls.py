"""The calls of one program: from `tools.x(...)` to a `call` frame and back.

- A call is lazy, like any coroutine: `tools.x(...)` binds and converts its arguments (so it is a snapshot, and a bad
  one raises where it stands), and nothing is sent before the first await or the task's first step.
- `UnawaitedCall` is what stands for it until then. It is a coroutine to asyncio (await, create_task, gather,
  wait_for ...) and a loud error to everything else: index it, loop over it, test its truth, and the message says
  `await`. What was never awaited is remembered with its line, for the report.
- Ids count up from 1 in the order of sending. A reply for an id that nobody waits for is ignored.
- A cancelled wait (a time-out in the program, `task.cancel()`) sends `cancel`, so that the tool stops too.
"""

# The objects of a program keep their fields private to this room, and its functions read them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Generator
from types import TracebackType
from typing import Any, NoReturn, Protocol

from codemode_guest.dialect import is_program_frame

__all__ = ["Calls", "ToolCallError", "UnawaitedCall", "origin", "program_line"]


class CallChannel(Protocol):
    """The part of the channel that calls need."""

    def send(self, kind: str, fields: dict[str, object]) -> None:
        """Write one frame."""

    def send_raw(self, json_text: bytes) -> None:
        """Write one frame that is encoded already."""


class ToolCallError(Exception):
    """A tool call that failed, as the program sees it: the tool's name and a message, nothing else.

    Attributes:
        name: always `"ToolCallError"`.
        tool_name: the full name of the tool.
        message: what went wrong, in words.
    """

    def __init__(self, *args: object) -> None:
        """`ToolCallError(tool_name, message)`, or `ToolCallError(message)` where a program raises one itself."""
        tool_name, message = ("", *args)[-2:] if args else ("", "")
        super().__init__(message)
        self.name = "ToolCallError"
        self.tool_name = str(tool_name)
        self.message = str(message)


class UnawaitedCall(Coroutine[Any, Any, object]):
    """One call of a tool that has not been awaited yet."""

    __slots__ = ("__weakref__", "_args", "_body", "_calls", "_line", "_name", "_serial", "_shown")

    _calls: Calls
    _shown: str
    _name: tuple[str, bytes]
    _args: bytes
    _line: int | None
    _serial: int
    _body: Coroutine[Any, Any, object] | None

    def __new__(cls, *_args: object, **_kwargs: object) -> UnawaitedCall:
        raise TypeError("a call is made by calling a tool: await tools.<name>(...)")

    def _start(self) -> Coroutine[Any, Any, object]:
        if self._body is not None:
            raise RuntimeError(
                f"{self._shown}(...) was awaited already; keep its result in a variable, or call it again"
            )
        self._body = body = self._calls.ask(self)
        return body

    def __await__(self) -> Generator[Any, Any, object]:
        return self._start().__await__()

    def send(self, value: Any, /) -> Any:
        """Step it, as a task does."""
        return (self._start() if self._body is None else self._body).send(value)

    def throw(
        self, typ: Any, val: Any = None, tb: TracebackType | None = None, /
    ) -> Any:  # the signature of Coroutine.throw
        """Throw into it, as a task does that is cancelled."""
        body = self._body
        if body is None:
            self._calls.unawaited.pop(self._serial, None)
            body = self._start()
        if val is None and tb is None:
            return body.throw(typ)
        return body.throw(typ, val, tb)

    def close(self) -> None:
        """End it; a call that never began is no longer a forgotten one."""
        self._calls.unawaited.pop(self._serial, None)
        if self._body is None:
            self._body = self._calls.ask(self)
        self._body.close()

    def __repr__(self) -> str:
        state = "a call that was not awaited; write" if self._body is None else "a call; use"
        return f"<{self._shown}(...): {state} await {self._shown}(...)>"

    def _refuse(self, what: str) -> NoReturn:
        where = "" if self._line is None else f" (line {self._line})"
        raise TypeError(
            f"{self._shown}(...){where} was not awaited, so it has no result that can {what}: "
            f"write `await {self._shown}(...)`"
        )

    def __getitem__(self, _key: object) -> NoReturn:
        self._refuse("be indexed")

    def __iter__(self) -> NoReturn:
        self._refuse("be looped over")

    def __len__(self) -> NoReturn:
        self._refuse("have a length")

    def __bool__(self) -> NoReturn:
        self._refuse("be tested")

    def __contains__(self, _item: object) -> NoReturn:
        self._refuse("be searched")


class Calls:
    """The calls of one run that are forgotten, waiting, or answered."""

    __slots__ = ("_channel", "_last_id", "_serial", "_waiting", "unawaited")

    def __init__(self, channel: CallChannel) -> None:
        self._channel = channel
        self._last_id = 0
        self._serial = 0
        self._waiting: dict[int, tuple[str, asyncio.Future[object]]] = {}
        self.unawaited: dict[int, tuple[str, int | None]] = {}
        """What was called but never awaited: the tool as the program writes it, and the line."""

    def prepare(self, shown: str, name: tuple[str, bytes], args: bytes, line: int | None) -> UnawaitedCall:
        """Make the call object. `name` is the tool's full name and the same as JSON; `args` is JSON text."""
        call: UnawaitedCall = object.__new__(UnawaitedCall)
        self._serial = serial = self._serial + 1
        self.unawaited[serial] = (shown, line)
        call._calls = self
        call._shown = shown
        call._name = name
        call._args = args
        call._line = line
        call._serial = serial
        call._body = None
        return call

    async def ask(self, call: UnawaitedCall) -> object:
        """Send one call and wait for its reply."""
        self.unawaited.pop(call._serial, None)
        self._last_id = number = self._last_id + 1
        line = b"null" if call._line is None else b"%d" % call._line
        self._channel.send_raw(
            b'{"type":"call","id":%d,"name":%b,"args":%b,"line":%b}' % (number, call._name[1], call._args, line)
        )
        call._args = b""
        reply: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._waiting[number] = (call._name[0], reply)
        try:
            return await reply
        finally:
            # Still waiting means that the wait was cancelled, or the call was closed: the host must hear of it.
            if self._waiting.pop(number, None) is not None:
                self._channel.send("cancel", {"id": number})

    def on_frame(self, frame: dict[str, object]) -> None:
        """Take one frame from the host; only replies mean anything here."""
        if frame.get("type") != "reply":
            return
        number = frame.get("id")
        waiting = self._waiting.pop(number, None) if type(number) is int else None
        if waiting is None:
            return
        name, reply = waiting
        if reply.done():
            return
        if frame.get("ok") is True:
            reply.set_result(frame.get("value"))
        else:
            reply.set_exception(ToolCallError(name, str(frame.get("message", ""))))


def origin(call: UnawaitedCall) -> tuple[str, int | None] | None:
    """The tool as the program writes it and the line of the call; None where it never began (`Calls.unawaited`)."""
    return None if call._body is None else (call._shown, call._line)


def program_line() -> int | None:
    """The line of the program that is running now, in the innermost of its frames."""
    frame = sys._getframe(1)
    while True:
        if is_program_frame(frame.f_code.co_filename):
            return frame.f_lineno
        if frame.f_back is None:
            return None
        frame = frame.f_back
