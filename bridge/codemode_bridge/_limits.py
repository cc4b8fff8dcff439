"""What a run may use. Checked when it is made, so that a bad figure names itself before anything starts."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

_MIB = 1024 * 1024
_WHOLE = frozenset({"memory_bytes", "output_bytes", "max_calls", "max_parallel", "source_bytes", "text_chars"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one run; each positive and finite.

    Raises:
        ValueError: a figure is not; the message names it.
    """

    compute_seconds: float = 60.0
    """CPU time of the child, by its own clock; waiting costs nothing."""
    wall_seconds: float = 600.0
    """Time on the wall; it stands still only while a human is asked."""
    memory_bytes: int = 512 * _MIB
    """What the program may map besides the interpreter."""
    output_bytes: int = 64 * _MIB
    """One ledger over logs and value, or logs and error text, in bytes of JSON."""
    max_calls: int = 1000
    """Tool calls; one more is a ToolCallError in the program."""
    max_parallel: int = 10
    """Tool calls of a program that run at the same time."""
    source_bytes: int = 256 * 1024
    """The program's text, in UTF-8."""
    text_chars: int = 100_000
    """Length of `RunResult.text`, the line about what was left out included."""

    def __post_init__(self) -> None:
        for one in fields(self):
            value: object = getattr(self, one.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value <= 0:  # type: ignore[arg-type, operator]
                raise ValueError(f"{one.name} must be a positive, finite number, not {value!r}")
            if one.name in _WHOLE and not isinstance(value, int):
                raise ValueError(f"{one.name} must be a whole number, not {value!r}")
