"""Writing to a person: colour or not, bounded, and never with what a program or a server slipped into a text.

Rules
- stdout is for results, stderr for everything around them.
- Colour only on a terminal; NO_COLOR and TERM=dumb turn it off, FORCE_COLOR on (rich's own rules).
- Text from outside is printed as text: control characters are made visible and nothing in it is markup.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from .._project import ProjectError

if TYPE_CHECKING:
    from rich.console import Console

MAX_SHOWN = 110
"""Characters of a call's arguments in a line of progress."""


@cache
def console(*, stderr: bool = True) -> Console:
    """The console of stderr, or of stdout."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True, no_color=_no_color() or None)


def _no_color() -> bool:
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def on_terminal() -> bool:
    """Whether stderr is a terminal to rich. Where nothing speaks for one, rich is not loaded to be asked."""
    asked_for = any(os.environ.get(name) for name in ("FORCE_COLOR", "TTY_COMPATIBLE"))
    return (asked_for or sys.stderr.isatty()) and console().is_terminal


def complain(message: str) -> None:
    """Say what is wrong, on stderr, with the command's name before it."""
    lines = message.strip().splitlines() or ["failed"]
    with contextlib.suppress(OSError):
        if sys.stderr.isatty() and not _no_color():
            print(f"\x1b[1;31mcodemode:\x1b[0m {plain(lines[0])}", file=sys.stderr)
        else:
            print(f"codemode: {plain(lines[0])}", file=sys.stderr)
        for line in lines[1:]:
            print(f"  {plain(line)}", file=sys.stderr)


def note(message: str) -> None:
    """Something by the way, on stderr."""
    with contextlib.suppress(OSError):
        if sys.stderr.isatty() and not _no_color():
            print(f"\x1b[2m{plain(message)}\x1b[0m", file=sys.stderr)
        else:
            print(plain(message), file=sys.stderr)


def plain(text: str) -> str:
    """A text with nothing in it that a terminal obeys (control characters, and marks that turn the reading order)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def shown_call(name: str, arguments: Any, limit: int = MAX_SHOWN) -> str:
    """A call as one line of Python, cut to fit."""
    inner = "" if arguments is None else _value(arguments)
    if isinstance(arguments, Mapping):
        named = cast("Mapping[str, Any]", arguments)
        if all(key.isidentifier() for key in named):
            inner = ", ".join(f"{key}={_value(value)}" for key, value in named.items())
    inner = plain(inner).replace("\n", "\\n").replace("\t", "\\t")
    return f"{plain(name)}({inner if len(inner) <= limit else inner[: limit - 3] + '...'})"


def _value(value: Any) -> str:
    if isinstance(value, str) and len(value) > 2 * MAX_SHOWN:
        value = value[: 2 * MAX_SHOWN]  # the line is cut further on; do not encode a whole file for it
    return json.dumps(value, ensure_ascii=False, default=str) if not isinstance(value, bool) else str(value)


def duration(seconds: float) -> str:
    """A time in the unit that people read."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {seconds % 60:.0f} s"


def counted(number: int, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def write_stdout(text: str) -> None:
    """A result, on stdout, as it is where that is no terminal, made safe where it is one.

    Raises:
        ProjectError: it cannot be written, as on a full disk.
    """
    out = plain(text) if sys.stdout.isatty() else text
    data = (out if out.endswith("\n") else out + "\n").encode("utf-8", "backslashreplace")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # What Python still holds it would try to write again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise ProjectError(f"the result cannot be written: {error.strerror}") from None


def write_json(value: Any) -> None:
    """A result for machines, on stdout."""
    write_stdout(json.dumps(value, ensure_ascii=False, indent=2))
