"""From what a model sent to the text that is compiled, without ever touching a character of the program.

A surrounding markdown fence, a byte order mark and the form of line ends are taken off; nothing else.  Line numbers
are those of the text after that, so a fence's own line does not count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_FENCE: Final = re.compile(
    r"\A[ \t\n]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<language>[\w+.-]*)[^\n`]*\n(?P<body>.*)\Z", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class SourceText:
    """The program's text and its lines."""

    text: str
    """The program without fence, byte order mark and carriage returns."""
    lines: tuple[str, ...]
    """`text` by lines, without line ends; line n of a message is `lines[n - 1]`."""


def read_source(source: str) -> SourceText:
    """Take off what is not the program: a byte order mark, carriage returns, one surrounding fence."""
    text = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = _without_fence(text)
    return SourceText(text, tuple(text.split("\n")))


def _without_fence(text: str) -> str:
    found = _FENCE.match(text)
    if found is None:
        return text
    mark: str = found["mark"]
    body: str = found["body"].rstrip(" \t\n")
    head, newline, last = body.rpartition("\n")
    if last.strip().startswith(mark) and not last.strip().strip(mark[0]):
        return head + newline
    return found["body"]


def is_indented(source: SourceText) -> bool:
    """Whether the first line that says anything starts with white space."""
    first = next((line for line in source.lines if line.strip() and not line.lstrip().startswith("#")), "")
    return first[:1] in (" ", "\t")
