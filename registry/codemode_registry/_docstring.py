"""Descriptions out of a docstring: its first paragraph, and the parameters of a Google `Args:` section.

Only the text that is there; nothing is guessed from names or code.
"""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"^(Args|Arguments|Parameters):\s*$")
_ANY_SECTION = re.compile(
    r"^(Args|Arguments|Parameters|Returns|Return|Yields|Yield|Raises|Example|Examples|Note|Notes|Warns|Warning|Warnings|"
    r"Attributes|Todo|See Also|References|Source|Cancellation|Keyword Args|Keyword Arguments|Other Parameters):\s*$"
)
_ENTRY = re.compile(r"^\*{0,2}(?P<name>[^\W\d]\w*)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)$")


def parse_docstring(docstring: str | None) -> tuple[str, dict[str, str]]:
    """(description, parameter -> description) of a docstring.

    Args:
        docstring: As `__doc__` gives it; None is an empty one.
    """
    lines = inspect.cleandoc(docstring or "").splitlines()
    return _first_paragraph(lines), _arguments(lines)


def _first_paragraph(lines: list[str]) -> str:
    paragraph: list[str] = []
    for line in lines:
        if not line.strip() or _ANY_SECTION.match(line):
            break
        paragraph.append(line.strip())
    return " ".join(paragraph)


def _arguments(lines: list[str]) -> dict[str, str]:
    start = next((index for index, line in enumerate(lines) if _SECTION.match(line)), None)
    found: dict[str, str] = {}
    if start is None:
        return found
    indent: int | None = None
    name = ""
    for line in lines[start + 1 :]:
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        if depth == 0:
            break
        indent = depth if indent is None else indent
        entry = _ENTRY.match(line.strip()) if depth <= indent else None
        if entry:
            name = entry["name"]
            found[name] = entry["text"].strip()
        elif name:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
