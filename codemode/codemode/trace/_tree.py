"""A trace as a tree of plain text, for a terminal or a file.

A log's content is untrusted here too: a terminal obeys escape sequences, so every character that is not printable is
written as its number. One call is one line, whatever its arguments are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from codemode.trace._model import Run, SubCall, SubCallStatus, Trace

GLYPHS: dict[SubCallStatus, str] = {"done": "✓", "failed": "✕", "denied": "⊘", "aborted": "◼", "unknown": "?"}
ARGUMENT_CHARS = 60
MESSAGE_CHARS = 100
OUTPUT_LINES = 8


def render_tree(trace: Trace, *, max_calls: int = 200) -> str:
    """Render a trace as text, one line for each call.

    Args:
        trace: what `read_trace` returned.
        max_calls: how many calls of a run are written before the rest is only counted.

    Returns:
        Lines joined by newlines, without control characters, bidi marks or escape sequences.
    """
    lines = [line for run in trace.runs for line in _run(run, max_calls)]
    lines += [f"warning: {printable(text)}" for text in trace.warnings]
    if trace.unread:
        lines.append(f"{trace.unread} records could not be read")
    return "\n".join(lines) if lines else "The log holds no run of a program."


def printable(text: str, limit: int | None = None) -> str:
    """The text on one line, each character that does not print as its number, cut to `limit` characters."""
    shown = "".join(c if c.isprintable() else _number(c) for c in (text if limit is None else text[: limit + 1]))
    return shown if limit is None or len(text) <= limit else shown[: limit - 1] + "…"


def _number(char: str) -> str:
    return {"\n": "\\n", "\t": "\\t"}.get(char, f"\\u{ord(char):04x}")


def _run(run: Run, max_calls: int) -> Iterator[str]:
    counts = Counter(call.status for call in run.calls)
    outcome = ", ".join(f"{count} {status}" for status, count in counts.items())
    calls = f"{len(run.calls)} {'call' if len(run.calls) == 1 else 'calls'}" + (f" ({outcome})" if outcome else "")
    took = "?" if run.ended is None else _duration(run.ended - run.started)
    name, status, run_id = (printable(text) for text in (run.description, run.status, run.run_id))
    yield f"{name or run_id}: {status}, {calls}, {took}  [{run_id}]"
    if run.error is not None:
        where = f"line {run.error['line']}: " if run.error.get("line") else ""
        yield f"│  {where}{printable(str(run.error.get('message', '')), MESSAGE_CHARS)}"
    for call in run.calls[:max_calls]:
        yield from _call(call)
    if len(run.calls) > max_calls:
        yield f"├─ … {len(run.calls) - max_calls} more calls"
    yield from (f"├─ warning: {printable(text)}" for text in run.warnings)
    output = run.text.splitlines() or ["(nothing)"]
    yield f"└─ {printable(output[0])}"
    yield from (f"   {printable(line)}" for line in output[1:OUTPUT_LINES])
    if len(output) > OUTPUT_LINES:
        yield f"   … {len(output) - OUTPUT_LINES} more lines"


def _call(call: SubCall) -> Iterator[str]:
    arguments = printable(json.dumps(call.arguments, ensure_ascii=False), ARGUMENT_CHARS)
    took = "?" if call.ended is None else _duration(call.ended - call.started)
    line = "" if call.line is None else f"  line {call.line}"
    message = "" if call.error is None else f"  {printable(call.error, MESSAGE_CHARS)}"
    yield f"├─ {GLYPHS[call.status]} {printable(call.name)} {arguments}  {took}{line}{message}"
    for approval in call.approvals:
        reason = f": {printable(approval.reason)}" if approval.reason else ""
        yield f"│    asked{reason} → {printable(approval.outcome)}"


def _duration(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.2f} s" if milliseconds >= 1000 else f"{milliseconds:g} ms"
