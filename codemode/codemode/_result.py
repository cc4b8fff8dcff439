"""What a run leaves behind, for the host: `RunResult`."""

from __future__ import annotations

from dataclasses import dataclass, field

from codemode_bridge import CallRecord, RunError, Usage
from codemode_registry import JsonValue, ToolResult

__all__ = ["CallRecord", "RunResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The outcome of one program. A program that fails is a result too, never an exception."""

    ok: bool
    """Whether the program ended well and its result was not withheld by a review."""
    value: JsonValue
    """What it returned, as plain JSON; None when it returned nothing (see `has_value`)."""
    has_value: bool
    """False for a program that returned nothing; an explicit `return None` has a value."""
    logs: list[str]
    """The printed lines, without line ends."""
    text: str
    """What the model sees."""
    error: RunError | None
    """What went wrong; None when `ok`."""
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    """Every call that the program submitted, in order, whatever the outcome of the run."""
    notes: list[str] = field(default_factory=list[str])
    """At most 20: conversions of the result, calls that were never awaited, and the like."""
    usage: Usage
    """Seconds of wall clock and of CPU, bytes of memory, number of calls."""
    run_id: str
    result: ToolResult
    """The outer call's result: what a host hands to its model."""
