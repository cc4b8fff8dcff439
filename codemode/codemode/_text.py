"""The text that the model reads about a run. Pure functions; nothing here knows a registry or a runtime.

- Success: the printed lines, then the value; a string raw, other JSON with two spaces of indent down to five levels and
  compact below; then advice, if there is any. Nothing at all is one fixed line, and what was called is named.
- Failure: what and where, with the program's own lines; then what was printed before; then every call that was made and
  how it ended, because what was done stays done.
- Never more than the limit: head and tail stay, and one line between them says how much is missing. A failure gives
  up printed lines first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from pydantic_core import to_json

from codemode_bridge import CallRecord, RunError
from codemode_registry import JsonValue

__all__ = ["NO_OUTPUT", "failure_text", "fit", "success_text", "value_text"]

NO_OUTPUT = "(the program ended and nothing was returned or printed)"
_EMPTY_TEXT = '(the program returned "" and printed nothing)'

_CONVERTED = "converted "
"""How the guest's notes about conversions begin (`codemode_guest._json.CONVERTED`): for the host, not for the model."""
_INDENTED_LEVELS = 5
"""Levels that are indented: ten characters of indent at most, so that deep values stay linear in size."""
_BESIDE = ("  | ", "  note: ")
"""How the guest's traceback tells the members of a group and the notes of an exception, below its own text."""
_LISTED_CALLS = 30
_ARGUMENT_CHARS = 160
_MESSAGE_CHARS = 300

_ENDINGS = {
    "done": "done",
    "failed": "failed, and may have had an effect",
    "denied": "denied, not run",
    "aborted": "cancelled while it ran; whether it took effect is unknown",
    "abandoned": "never began",
}


def success_text(
    logs: Sequence[str],
    *,
    has_value: bool,
    value: JsonValue,
    calls: Sequence[CallRecord],
    notes: Sequence[str],
    limit: int,
) -> str:
    """The text of a program that ended well; at most `limit` characters."""
    printed = "\n".join(logs)
    returned = value_text(value) if has_value else ""
    parts = [part for part in (printed, returned) if part]
    advice = [f"note: {note}" for note in notes if not note.startswith(_CONVERTED)]
    if not parts:
        parts.append(_EMPTY_TEXT if has_value else NO_OUTPUT)
        parts.extend(_call_names(calls))
    about = f"the value is {len(returned)} characters" if returned else "nothing was returned"
    return fit(clean("\n".join([*parts, *advice])), limit, about)


def failure_text(
    error: RunError, logs: Sequence[str], calls: Sequence[CallRecord], notes: Sequence[str], limit: int
) -> str:
    """The text of a program that failed; at most `limit` characters."""
    head = _failure_head(error)
    tail = "\n".join([*(f"note: {note}" for note in notes if not note.startswith(_CONVERTED)), *_call_lines(calls)])
    printed = clean("\n".join(logs))
    room = limit - len(head) - len(tail) - 40
    if printed:
        printed = (
            f"Printed before the failure:\n{fit(printed, max(room, limit // 4), 'the start and the end are kept')}"
        )
    return fit(
        clean("\n".join(part for part in (head, printed, tail) if part)), limit, "the start and the end are kept"
    )


def value_text(value: JsonValue) -> str:
    """A value as the model reads it: a string raw, other JSON pretty-printed."""
    return value if isinstance(value, str) else "".join(_pretty(value, 0))


def clean(text: str) -> str:
    """Text that can be encoded: lone surrogates become escapes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


def fit(text: str, limit: int, about: str) -> str:
    """Cut the middle out of a text that is too long; the line that says so is within the limit too.

    Args:
        text: the whole text.
        limit: characters that may remain.
        about: what else the line says, such as the size of the whole value.
    """
    if len(text) <= limit:
        return text
    most = _marker(len(text), about)
    room = limit - len(most) - 2
    if room < 2:
        return text[: max(limit, 0)]
    head, tail = room - room // 3, room // 3
    marker = _marker(len(text) - head - tail, about)
    return f"{text[:head]}\n{marker}\n{text[len(text) - tail :]}"


def _marker(missing: int, about: str) -> str:
    return f"[... {missing} characters left out; {about}; print or return less ...]"


def _pretty(value: JsonValue, level: int) -> list[str]:
    """Pieces of indented JSON; below the last indented level it is compact."""
    if isinstance(value, (dict, list)) and value and level < _INDENTED_LEVELS:
        inner = "  " * (level + 1)
        pieces: list[str] = []
        if isinstance(value, dict):
            for name, item in value.items():
                pieces += [",\n" if pieces else "{\n", inner, _compact(name), ": ", *_pretty(item, level + 1)]
            return [*pieces, "\n", "  " * level, "}"]
        for item in value:
            pieces += [",\n" if pieces else "[\n", inner, *_pretty(item, level + 1)]
        return [*pieces, "\n", "  " * level, "]"]
    return [_compact(value)]


def _compact(value: JsonValue) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except ValueError:  # an integer of more digits than str() takes
        return to_json(value).decode("utf-8")


def _failure_head(error: RunError) -> str:
    named = f"{error.type}: {error.message}" if error.type and error.message else error.type or error.message
    where = error.traceback or ""
    if error.type:  # the traceback's own last line says what the first line says already
        frames, found, rest = where.rpartition(f"\n{error.type}")
        beside = [line for line in rest.split("\n") if line.startswith(_BESIDE)]
        where = "\n".join([frames, *beside]) if found else "" if where.startswith(error.type) else where
    if error.line is not None and not where:
        where = f"line {error.line}"
    elif error.line is not None and not where.startswith(("line ", "...")):
        where = f"line {error.line}\n{where}"
    return "\n".join(part for part in (f"code run failed ({error.kind}): {named}", where) if part)


def _call_names(calls: Sequence[CallRecord]) -> list[str]:
    """One line that names what was called, for a program that said nothing."""
    if not calls:
        return []
    counts = Counter((call.name, call.status) for call in calls)
    told = [
        f"{name}{f' x{number}' if number > 1 else ''}{'' if status == 'done' else f' ({_ENDINGS[status]})'}"
        for (name, status), number in list(counts.items())[:_LISTED_CALLS]
    ]
    return [f"Calls that were made: {', '.join(told)}. To see a result, return or print it."]


def _call_lines(calls: Sequence[CallRecord]) -> list[str]:
    """Every call and how it ended; the middle of a long list is counted instead."""
    if not calls:
        return []
    counts = Counter(call.status for call in calls)
    summary = ", ".join(f"{number} {status}" for status, number in counts.items())
    lines = [f"Calls made ({summary}); what was done stays done, do not repeat it blindly:"]
    if len(calls) <= _LISTED_CALLS:
        return [*lines, *map(_call_line, calls)]
    half = _LISTED_CALLS // 2
    return [
        *lines,
        *map(_call_line, calls[:half]),
        f"- ... {len(calls) - 2 * half} more ...",
        *map(_call_line, calls[-half:]),
    ]


def _call_line(call: CallRecord) -> str:
    arguments = ", ".join(f"{name}={_compact(value)}" for name, value in call.arguments.items())
    if len(arguments) > _ARGUMENT_CHARS:
        arguments = f"{arguments[:_ARGUMENT_CHARS]} [... {len(arguments) - _ARGUMENT_CHARS} characters left out]"
    message = call.message or ""
    if len(message) > _MESSAGE_CHARS:
        message = f"{message[:_MESSAGE_CHARS]} [... {len(message) - _MESSAGE_CHARS} characters left out]"
    reason = f": {message}" if message and call.status in ("failed", "denied") else ""
    ending = _ENDINGS[call.status] if call.ran or call.status != "failed" else "not run"
    return f"- {call.name}({arguments}): {ending}{reason}"
