"""What went wrong in a program, told with the program's own lines.

- Only frames of the program appear; its text is quoted, the innermost line with carets where Python knows them.
- The message is the exception's own text, with what saves a turn appended on a line of its own: a close name, the
  keys that a dict has, `value["title"]` for `value.title`, the call that was never awaited.
- Everything is bounded here, so that a giant message never crosses the channel; a cut says how much is missing.
- Any exception is reported, SystemExit and KeyboardInterrupt included, and nothing that a program's `__str__` does
  can stop the report.
"""

# Values of programs have no types that a checker could know.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from codemode_guest import dialect
from codemode_guest._frames import columns, program_frames
from codemode_guest._hints import hint

__all__ = ["error_of", "refusal_error"]

_MAX_MESSAGE = 20_000
"""Characters of an exception's own text that are kept."""
_MAX_LINE = 400
"""Characters of one quoted line."""
_MAX_FRAMES = 20
_LISTING = " Available modules: "
"""Where the list of modules begins in a refusal; several refusals need it once."""
_MAX_CAUSES = 5
_MAX_GROUPS = 3
"""Groups in one another; each tells up to five errors."""
_T = TypeVar("_T")


def error_of(error: BaseException, program: dialect.Program, forgotten: Sequence[str]) -> dict[str, object]:
    """Describe an exception that a program let escape.

    Args:
        error: the exception.
        program: the compiled program, for its lines.
        forgotten: what was called but never awaited, a sentence each.

    Returns:
        The `error` object of the `done` frame, kind `exception`.
    """
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration):
        error = error.__cause__  # a coroutine cannot raise StopIteration, so Python wrapped what the program raised
    frames = program_frames(error.__traceback__)
    message = _message(error)
    advice = _quietly(lambda: hint(error, frames, program), None)
    if forgotten and advice is not None and "await" in advice:
        advice = None  # the forgotten call is named below, with its line
    hints = [found for found in (advice, *forgotten) if found and found.rpartition(": ")[2] not in message]
    return {
        "kind": "exception",
        "type": _type_name(error),
        "message": "\n".join([message, *hints]),
        "line": frames[-1][1] if frames else None,
        "traceback": _quietly(lambda: _traceback(error, program.lines), ""),
    }


def _quietly(tell: Callable[[], _T], otherwise: _T) -> _T:
    """What is told beside the message, if it can be: keys, notes and texts of a program may run its code, and raise."""
    try:
        return tell()
    except BaseException:
        return otherwise


def refusal_error(refused: dialect.ProgramRefused, lines: Sequence[str]) -> dict[str, object]:
    """Describe a program that does not compile or that the dialect refuses: all reasons at once."""
    refusals = refused.refusals
    told = [f"line {refusal.line}: {refusal.message}" if refusal.line else refusal.message for refusal in refusals]
    told = [_cut(each, 2_000) for each in told]
    told = [told[0], *(each.partition(_LISTING)[0] for each in told[1:])] if told else told
    message = told[0].partition(": ")[2] if len(told) == 1 and refusals[0].line else "\n".join(told)
    first = refusals[0] if refusals else None
    syntax = any(refusal.kind == "syntax" for refusal in refusals)
    quoted = [
        "\n".join([f"line {refusal.line}", *_quote(lines, refusal.line, refusal.column, None)])
        for refusal in refusals
        if refusal.line
    ]
    return {
        "kind": "syntax",
        "type": "SyntaxError" if syntax else None,
        "message": _cut(message, _MAX_MESSAGE),
        "line": first.line if first and first.line else None,
        "traceback": "\n".join(quoted),
    }


def _type_name(error: BaseException) -> str:
    return str(type.__dict__["__name__"].__get__(type(error)))


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException as failed:
        return f"(its text cannot be made: __str__ raised {_type_name(failed)})"
    return _cut(text, _MAX_MESSAGE)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head = most * 2 // 3
    tail = most - head
    return f"{text[:head]}\n[... {len(text) - most} characters left out ...]\n{text[-tail:]}"


def _traceback(error: BaseException, lines: Sequence[str]) -> str:
    """The chain of causes, oldest first, each with its frames; then the exception itself."""
    parts: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    joint = ""
    while current is not None and id(current) not in seen and len(parts) < _MAX_CAUSES:
        seen.add(id(current))
        told = "\n".join(_one(current, lines))
        parts.append(told + joint)
        if current.__cause__ is not None:
            current, joint = current.__cause__, "\n\nwhich caused:\n"
        elif current.__suppress_context__:
            break
        else:
            current, joint = current.__context__, "\n\nand while that was handled:\n"
    return "\n".join(reversed(parts))


def _one(error: BaseException, lines: Sequence[str], level: int = 0) -> list[str]:
    frames = program_frames(error.__traceback__)
    told: list[str] = []
    for position, (frame, line, instruction) in enumerate(frames):
        if position >= _MAX_FRAMES // 2 and len(frames) - position > _MAX_FRAMES // 2:
            if position == _MAX_FRAMES // 2:
                told.append(f"  ... {len(frames) - _MAX_FRAMES} more frames")
            continue
        name = frame.f_code.co_name
        told.append(f"line {line}" + ("" if name == dialect.BODY_NAME else f", in {name}"))
        start, end = columns(frame.f_code, instruction, line, lines)
        told.extend(_quote(lines, line, start, end))
    message = _cut(_message(error), 2_000)
    told.append(f"{_type_name(error)}: {message}" if message else _type_name(error))
    notes = getattr(error, "__notes__", None)
    if type(notes) is list:
        told.extend(f"  note: {_cut(note, 500)}" for note in notes[:5] if type(note) is str)
    if isinstance(error, BaseExceptionGroup) and level < _MAX_GROUPS:
        for inner in error.exceptions[:5]:
            told.extend("  | " + text for part in _one(inner, lines, level + 1) for text in part.split("\n"))
    return told


def _quote(lines: Sequence[str], line: int, start: int | None, end: int | None) -> list[str]:
    """The program's line, and carets under the part that is meant."""
    if not 1 <= line <= len(lines):
        return []
    text = lines[line - 1].rstrip("\r\n").replace("\t", " ")
    indent = len(text) - len(text.lstrip())
    shown = text[indent : indent + _MAX_LINE]
    told = [f"    {shown}" + ("..." if len(text) - indent > _MAX_LINE else "")]
    if start is not None and 0 <= start - 1 - indent < _MAX_LINE:
        width = max(1, min((end or start + 1) - start, _MAX_LINE))
        if (start - 1 - indent, width) != (0, len(shown)):
            told.append("    " + " " * (start - 1 - indent) + "^" * width)
    return told
