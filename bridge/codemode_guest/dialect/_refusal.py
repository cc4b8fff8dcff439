"""Why a program does not run: one `Refusal` per place, all of them in one `ProgramRefused`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason, at one place of the program's text."""

    line: int
    """Line in the program, from 1."""
    column: int
    """Column in that line, from 1, in characters."""
    message: str
    """What is wrong and what to do instead, in one sentence or two."""
    kind: Literal["syntax", "refused"]
    """`syntax`: no Python compiles it.  `refused`: the dialect does not offer it."""


class ProgramRefused(Exception):
    """The program does not compile.  The runner turns it into a result of kind `syntax`; no program ever sees it."""

    def __init__(self, refusals: tuple[Refusal, ...]) -> None:
        """Keep the refusals, in the order of the text."""
        self.refusals: tuple[Refusal, ...] = tuple(sorted(refusals, key=lambda each: (each.line, each.column)))
        super().__init__("\n".join(f"line {each.line}: {each.message}" for each in self.refusals))
