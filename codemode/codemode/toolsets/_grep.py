"""Lines of files that match a pattern.

Rules
- A line ends at a newline; a carriage return before it is no part of it. Bytes that are no UTF-8 stand as U+FFFD.
- A file with a NUL byte near its start is binary and has no lines.
- What fits in memory is first asked as a whole whether there is anything to find, which is six times faster than line
  by line; only patterns for which that is the same question are asked so.
- A longer line than a piece is matched in pieces that overlap; it is found once, under its own number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from codemode_registry import CancelSignal

from ._root import FsError
from ._search import Pattern, stop_if_cancelled

SNIFFED_BYTES = 8_192
"""How much of a file is looked at for a NUL byte, the mark of binary data (git's own rule)."""

WHOLE_BYTES = 4 << 20
"""Files up to this size are read whole."""

PIECE_BYTES = 1 << 20
"""A longer line is matched in pieces of this size."""

OVERLAP_CHARS = 1_000
"""What two neighbouring pieces share: a match that long is found wherever the line was cut."""

_LOOP_STEP = 1_000
"""Lines between two looks at the cancel signal."""

_LINE_BOUND = re.compile(r"\\[Az]|\(\?[^:]")
"""Anchors of the text, and flags: a whole text and its lines give them another meaning."""


class LinePattern:
    """The pattern of a `grep`.

    Args:
        pattern: a regular expression.
        literal: take it as plain text.
        ignore_case: take upper and lower case as the same.

    Raises:
        FsError: it is empty, or does not compile.
    """

    def __init__(self, pattern: str, *, literal: bool = False, ignore_case: bool = False) -> None:
        if not pattern:
            raise FsError("the pattern is empty")
        expression = re.escape(pattern) if literal else pattern
        self._line = Pattern(f"(?i){expression}" if ignore_case else expression, shown=pattern)
        same = not _LINE_BOUND.search(expression)
        flags = "(?im)" if ignore_case else "(?m)"
        self._text = Pattern(flags + expression, shown=pattern) if same else None

    def in_line(self, line: str) -> bool:
        """Whether a line matches."""
        return self._line.matches(line)

    def may_be_in(self, text: str) -> bool:
        """Whether a text of many lines may have a line that matches; False is certain."""
        return self._text is None or "\r" in text or self._text.matches(text)


def grep_file(
    descriptor: int,
    status: os.stat_result,
    pattern: LinePattern,
    *,
    cancel: CancelSignal,
    spent: Callable[[int], None],
) -> Iterator[tuple[int, str]]:
    """The lines of an open file that match: number and text. Nothing for a binary file.

    Args:
        descriptor: the file, at its start.
        status: its status.
        pattern: what to find.
        cancel: looked at as it goes.
        spent: told how many bytes were read; raises when they are too many.
    """
    if status.st_size > WHOLE_BYTES:
        yield from _streamed(descriptor, pattern, cancel, spent)
        return
    data = bytearray()
    while piece := os.read(descriptor, PIECE_BYTES):  # what grows while it is read ends with the budget
        spent(len(piece))
        data += piece
    if b"\0" in data[:SNIFFED_BYTES]:
        return
    text = data.decode("utf-8", "replace")
    if not pattern.may_be_in(text):
        return
    lines = text.split("\n")
    if not lines[-1]:  # after the last line end there is no line
        lines.pop()
    for number, line in enumerate(lines, 1):
        if number % _LOOP_STEP == 0:
            stop_if_cancelled(cancel)
        line = line.removesuffix("\r")
        if pattern.in_line(line):
            yield number, line


def _streamed(
    descriptor: int, pattern: LinePattern, cancel: CancelSignal, spent: Callable[[int], None]
) -> Iterator[tuple[int, str]]:
    with open(descriptor, "rb", closefd=False) as stream:
        if b"\0" in stream.peek(SNIFFED_BYTES)[:SNIFFED_BYTES]:
            return
        number, fresh, told, before = 1, True, False, ""
        while piece := stream.readline(PIECE_BYTES):
            spent(len(piece))
            if fresh and number % _LOOP_STEP == 0:
                stop_if_cancelled(cancel)
            text = piece.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
            if fresh:
                told = False
            elif not told:
                text = before + text
            if not told and pattern.in_line(text):
                told = True
                yield number, text
            before = text[-OVERLAP_CHARS:]
            fresh = piece.endswith(b"\n")
            number += fresh
