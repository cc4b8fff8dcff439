"""Untrusted prose (descriptions) as docstrings and comments that cannot break out.

What lives here: cleaning and escaping. Three dangers, each with its answer:
- the text ends its quotes or its line: backslashes are doubled, a quote before another quote or before the end is
  escaped, and line ends exist in docstrings only, each followed by the indent;
- the text is not what it seems: control characters, bidi marks, invisible format characters and lone surrogates become
  visible `\\x1b`-like text (ZWJ and ZWNJ stay: scripts and emoji need them);
- the text is read as an instruction to a type checker (`# type: ...`): such a comment gets a dash before the word.
"""

from __future__ import annotations

import re
import unicodedata

_KEPT_FORMAT = "\u200c\u200d"
#: Unicode categories without a visible form: control, format, surrogate, private use, line and paragraph separators.
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
_PLAIN = re.compile(r"[ -~\n]*")
_PRAGMA = re.compile(r"(^|#)(\s*)(?=(?:type|ty|pyright|mypy|pyre|pyrefly|noqa|fmt|ruff|pylint|basedpyright)\b)")
_QUOTE = re.compile(r'"(?="|$)')


def _visible(text: str) -> str:
    """`text` with each invisible character, but for line ends, spelled out."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(char if char == "\n" else _spelled(char) for char in text)


def _spelled(char: str) -> str:
    if char in _KEPT_FORMAT or unicodedata.category(char) not in _INVISIBLE:
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: object) -> str:
    """A description as one visible line; '' for anything that is no text."""
    return _visible(" ".join(text.split())) if isinstance(text, str) else ""


def paragraphs(text: object) -> list[str]:
    """A description as lines: ends trimmed, common indent and runs of blank lines removed."""
    if not isinstance(text, str):
        return []
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4).split("\n")]
    indent = min((len(line) - len(line.lstrip(" ")) for line in lines[1:] if line), default=0)
    lines = [lines[0].lstrip()] + [line[indent:] for line in lines[1:]]
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(_visible(line))
    while kept and not kept[-1]:
        kept.pop()
    return kept


def docstring(lines: list[str], indent: str) -> str:
    """A docstring statement, indented, from visible lines; one line of source if there is one line of text."""
    text = "\n".join(lines).replace("\\", "\\\\")
    text = _QUOTE.sub('\\\\"', text)
    if len(lines) == 1:
        return f'{indent}"""{text}"""'
    body = "\n".join(indent + line if line else "" for line in text.split("\n")).lstrip(" ")
    return f'{indent}"""{body}\n{indent}"""'


def comment(text: str) -> str:
    """One visible line as the text after `# `."""
    return _PRAGMA.sub(r"\1\2- ", text)
