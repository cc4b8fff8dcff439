"""What a check finds: one place in the program's own text and what is wrong there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

DiagnosticCode: TypeAlias = Literal[
    "syntax",
    "refused",
    "unknown-tool",
    "unknown-name",
    "missing-argument",
    "surplus-argument",
    "wrong-argument",
    "missing-await",
    "wrong-use",
]


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """One finding in a program."""

    line: int
    """1-based, in the program's text (the lines of a surrounding fence are not counted)."""
    column: int
    """1-based, in characters."""
    message: str
    """What is wrong, in the program's own words."""
    code: DiagnosticCode
    """Which kind of finding: stable, while the words of a message are not."""


class CheckUnavailableError(Exception):
    """Programs cannot be checked here: ty is not installed, does not start or does not answer."""
