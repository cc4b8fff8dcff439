"""The output ledger of one run: logs and value, or logs and error text, in exact bytes of JSON.

Rules of this module: what is charged is the JSON text in UTF-8 of the list of printed lines, plus that of the value or
of the error's message: brackets, commas, quotes and escapes included. Text is charged as it comes, and what no longer
fits is not kept. `fit` makes a failed run fit as well: whole leading lines, then as much of the next as fits, cut
between characters; and if the message alone is too long, the message is cut.
"""

from __future__ import annotations

from dataclasses import replace

from codemode_bridge._contract import RunError
from codemode_bridge._frames import encode_body

_BRACKETS, _QUOTES, _COMMA = 2, 2, 1
_TRACEBACK_CHARS = 50_000


def json_bytes(text: str) -> int:
    """Bytes of a string's JSON text, quotes included."""
    return len(encode_body(text))


class Ledger:
    """What a run has put out so far."""

    __slots__ = ("_limit", "_line_open", "_lines_begun", "_pieces", "over", "used")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[str] = []
        self._line_open = False
        self._lines_begun = 0
        self.used = _BRACKETS
        self.over = False
        """Something did not fit; the run must end."""

    def add(self, text: str) -> str:
        """Charge printed text; what is kept of it."""
        if self.over:
            return ""
        cost, lines = self._cost(text)
        if self.used + cost > self._limit:
            self.over = True
            text = self._prefix(text)
            if not text:
                return ""
            cost, lines = self._cost(text)
        self.used += cost
        self._lines_begun += lines
        self._line_open = not text.endswith("\n")
        self._pieces.append(text)
        return text

    def add_value(self, size: int) -> None:
        """Charge the value's JSON text."""
        self.used += size
        self.over = self.over or self.used > self._limit

    def room(self) -> int:
        """Bytes left."""
        return self._limit - self.used

    def lines(self) -> list[str]:
        """The printed lines, without their ends."""
        lines = "".join(self._pieces).split("\n")
        if not lines[-1]:
            lines.pop()
        return lines

    def fit(self, error: RunError) -> tuple[list[str], RunError]:
        """The lines and the error that are reported together."""
        if self.over and error.kind != "output-limit":
            error = self.exceeded()
        if json_bytes(error.message) + self.used > self._limit and error.kind != "output-limit":
            error = replace(self.exceeded(), type=error.type, line=error.line)
        message = error.message
        if json_bytes(message) + _BRACKETS > self._limit:
            message = cut(message, self._limit - _BRACKETS)
        if error.traceback is not None and len(error.traceback) > _TRACEBACK_CHARS:
            half = _TRACEBACK_CHARS // 2
            error = replace(error, traceback=f"{error.traceback[:half]}\n...\n{error.traceback[-half:]}")
        return _leading(self.lines(), self._limit - json_bytes(message)), replace(error, message=message)

    def exceeded(self) -> RunError:
        """The error of a run that put out too much."""
        return RunError("output-limit", f"the output exceeded {self._limit} bytes (output_bytes)")

    def _cost(self, text: str) -> tuple[int, int]:
        """Bytes that `text` adds, and the lines that it begins."""
        ends = text.count("\n")
        begun = ends + (0 if text.endswith("\n") else 1) - (1 if self._line_open else 0)
        characters = json_bytes(text) - _QUOTES - 2 * ends  # A line end would be written as two characters.
        first = 1 if begun and not self._lines_begun else 0
        return characters + begun * (_QUOTES + _COMMA) - first * _COMMA, begun

    def _prefix(self, text: str) -> str:
        """The longest beginning of `text` that fits."""
        low, high = 0, min(len(text), max(0, self.room()))
        while low < high:
            middle = (low + high + 1) // 2
            if self.used + self._cost(text[:middle])[0] <= self._limit:
                low = middle
            else:
                high = middle - 1
        return text[:low]


def cut(text: str, limit: int) -> str:
    """The longest beginning of `text` whose JSON text has at most `limit` bytes."""
    low, high = 0, min(len(text), max(0, limit - _QUOTES))
    while low < high:
        middle = (low + high + 1) // 2
        if json_bytes(text[:middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def _leading(lines: list[str], limit: int) -> list[str]:
    """As many whole lines as fit as a JSON list of `limit` bytes, and a beginning of the next."""
    used = _BRACKETS
    for index, line in enumerate(lines):
        size = json_bytes(line) + (_COMMA if index else 0)
        if used + size > limit:
            rest = cut(line, limit - used - (_COMMA if index else 0))
            return [*lines[:index], rest] if rest else lines[:index]
        used += size
    return lines
