"""A program inside the module that is checked, with the program's own lines.

What lives here: the frame around the text. The body of an async function needs an indent, so each line gets one space
in front and its number and columns stay a subtraction away; a space inside a triple-quoted string changes no type.
Nothing is parsed here: the host never reads hostile text as Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

#: The name of the function that the program's text is the body of.
FUNCTION = "__program__"

_WORD = re.compile(r"[^\W\d]\w*")
_GLOBAL = re.compile(r"^[ \t]*(?:global|nonlocal)[ \t]+([^#\n;]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ProgramText:
    """The text to check."""

    text: str
    offset: int
    """How many lines stand before the program's first one."""
    lines: tuple[str, ...]
    """The program's own lines."""
    rebound: frozenset[str]
    """Names in `global` and `nonlocal` statements: the dialect binds them in the program, a module would not."""


def frame(program: str, stub: str, modules: Iterable[str]) -> ProgramText:
    """Puts a program into the module that is checked.

    Args:
        program: the text without a fence.
        stub: the name of the stub module.
        modules: modules that a program may use without importing them.
    """
    program = program.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()
    lines = program.split("\n")
    words = set(_WORD.findall(program))
    head = [
        f"from {stub} import tools, ToolCallError, print, __NotCall",
        *(f"import {module}" for module in sorted(modules) if module in words),
        f"async def {FUNCTION}() -> __NotCall:",
    ]
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    body = [" " + line for line in lines]
    text = "\n".join([*head, *body, f" {indent}pass", ""])
    names = {word for match in _GLOBAL.finditer(program) for word in _WORD.findall(match[1])}
    return ProgramText(text, len(head), tuple(lines), frozenset(names))
