"""Plain CPython in a sealed child: the way to try the seal as if the dialect were broken.

Rules of this module: no dialect, no proxy, no conversion. Only the host's `run_unrestricted` sets the option that leads
here; no program, registry or tool can. The text is the body of an async function; `print` goes to the run's logs.
"""

from __future__ import annotations

import ast
import builtins
import sys
import textwrap
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

from codemode_guest._channel import GuestChannel

_FILENAME = "<unrestricted>"


class _Logs:
    """`sys.stdout` of such a body."""

    encoding = "utf-8"

    def __init__(self, channel: GuestChannel) -> None:
        self._channel = channel

    def write(self, text: str) -> int:
        if text:
            self._channel.send("log", {"text": text})
        return len(text)

    def flush(self) -> None: ...


async def run_unrestricted(frame: dict[str, object], channel: GuestChannel) -> None:
    """Run the frame's program as it stands and send `done`."""
    sys.stdout = sys.stderr = _Logs(channel)
    try:
        value = await _body(str(frame["program"]))()
        channel.send("done", {"ok": True, "has_value": value is not None, "value": value, "error": None, "notes": []})
    except BaseException as error:
        lines = [entry.lineno for entry in traceback.extract_tb(error.__traceback__) if entry.filename == _FILENAME]
        text = "".join(traceback.format_exception(error))
        fields = {
            "kind": "exception", "type": type(error).__name__, "message": str(error),
            "line": lines[-1] if lines else None, "traceback": text,
        }  # fmt: skip
        channel.send("done", {"ok": False, "has_value": False, "value": None, "error": fields, "notes": []})


def _body(source: str) -> Callable[[], Awaitable[Any]]:
    tree = ast.parse("async def body():\n" + textwrap.indent(source, " ", lambda _: True) + "\n pass", _FILENAME)
    ast.increment_lineno(tree, -1)  # The first line of the text is line 1.
    names: dict[str, Any] = {"__builtins__": builtins, "__name__": "__unrestricted__"}
    exec(compile(tree, _FILENAME, "exec"), names)
    body: Callable[[], Awaitable[Any]] = names["body"]
    return body
