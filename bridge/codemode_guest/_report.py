"""What went wrong in a program, told with the program's own lines.

- Only frames of the program appear; its text is quoted, the innermost line with carets where Python knows them.
- The message is the exception's own text, with what saves a turn appended on a line of its own: a close name, the
  keys that a dict has, `value["title"]` for `value.title`, the call that was never awaited.
- Everything is bounded here, so that a giant message never crosses the channel; a cut says how much is missing.
- Any exception is reported, SystemExit and KeyboardInterrupt included, and nothing that a program's `__str__` does
  can stop the report.
"""

from __future__ import annotations

import builtins
import difflib
import re
import traceback
from collections.abc import Iterable, Mapping, Sequence
from types import CodeType, FrameType, TracebackType

from codemode_guest import dialect

__all__ = ["Unawaited", "error_of", "refusal_error", "unawaited_notes"]

Unawaited = Iterable[tuple[str, int | None]]

_MAX_MESSAGE = 20_000
"""Characters of an exception's own text that are kept."""
_MAX_LINE = 400
"""Characters of one quoted line."""
_MAX_FRAMES = 20
_MAX_CAUSES = 5
_MAX_UNAWAITED = 10


def error_of(error: BaseException, program: dialect.Program, unawaited: Unawaited) -> dict[str, object]:
    """Describe an exception that a program let escape.

    Args:
        error: the exception.
        program: the compiled program, for its lines.
        unawaited: calls that were made but never awaited.

    Returns:
        The `error` object of the `done` frame, kind `exception`.
    """
    frames = _program_frames(error.__traceback__)
    message = _message(error)
    hints = [hint for hint in (_hint(error, frames), *unawaited_notes(unawaited)) if hint and hint not in message]
    return {
        "kind": "exception",
        "type": _type_name(error),
        "message": "\n".join([message, *hints]),
        "line": frames[-1][1] if frames else None,
        "traceback": _traceback(error, program.lines),
    }


def refusal_error(refused: dialect.ProgramRefused, lines: Sequence[str]) -> dict[str, object]:
    """Describe a program that does not compile or that the dialect refuses: all reasons at once."""
    refusals = refused.refusals
    told = [_cut(f"line {refusal.line}: {refusal.message}" if refusal.line else refusal.message, 2_000)
            for refusal in refusals]  # fmt: skip
    message = told[0].partition(": ")[2] if len(told) == 1 and refusals[0].line else "\n".join(told)
    first = refusals[0] if refusals else None
    syntax = any(refusal.kind == "syntax" for refusal in refusals)
    quoted = ["\n".join(_quote(lines, refusal.line, refusal.column, None)) for refusal in refusals if refusal.line]
    return {
        "kind": "syntax",
        "type": "SyntaxError" if syntax else None,
        "message": _cut(message, _MAX_MESSAGE),
        "line": first.line if first and first.line else None,
        "traceback": "\n".join(quoted),
    }


def unawaited_notes(unawaited: Unawaited) -> list[str]:
    """One line for each call that was made but never awaited."""
    listed = list(unawaited)
    notes = [
        f"{shown}(...){'' if line is None else f' on line {line}'} was never awaited, so it did not run: "
        f"write `await {shown}(...)`"
        for shown, line in listed[:_MAX_UNAWAITED]
    ]
    if len(listed) > _MAX_UNAWAITED:
        notes.append(f"{len(listed) - _MAX_UNAWAITED} more calls were never awaited")
    return notes


_Frame = tuple[FrameType, int, int]
"""A frame of the program, its line, and the index of its instruction."""


def _program_frames(trace: TracebackType | None) -> list[_Frame]:
    frames: list[_Frame] = []
    while trace is not None:
        if dialect.is_program_frame(trace.tb_frame.f_code.co_filename):
            frames.append((trace.tb_frame, trace.tb_lineno, trace.tb_lasti))
        trace = trace.tb_next
    return frames


def _type_name(error: BaseException) -> str:
    return str(type.__dict__["__name__"].__get__(type(error)))


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException as failed:
        return f"(its text cannot be made: __str__ raised {_type_name(failed)})"
    if isinstance(error, SystemExit):
        text = f"{text}\nto end a program, use `return`".lstrip("\n")
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


def _one(error: BaseException, lines: Sequence[str]) -> list[str]:
    frames = _program_frames(error.__traceback__)
    told: list[str] = []
    for position, (frame, line, instruction) in enumerate(frames):
        if position >= _MAX_FRAMES // 2 and len(frames) - position > _MAX_FRAMES // 2:
            if position == _MAX_FRAMES // 2:
                told.append(f"  ... {len(frames) - _MAX_FRAMES} more frames")
            continue
        name = frame.f_code.co_name
        told.append(f"line {line}" + ("" if name == dialect.BODY_NAME else f", in {name}"))
        start, end = _columns(frame.f_code, instruction, line, lines)
        told.extend(_quote(lines, line, start, end))
    message = _cut(_message(error), 2_000)
    told.append(f"{_type_name(error)}: {message}" if message else _type_name(error))
    told.extend(f"  note: {_cut(str(note), 500)}" for note in getattr(error, "__notes__", ())[:5])
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions[:5]:
            told.extend("  | " + text for part in _one(inner, lines) for text in part.split("\n"))
    return told


def _columns(code: CodeType, instruction: int, line: int, lines: Sequence[str]) -> tuple[int | None, int | None]:
    """First and last column (1-based, end exclusive) of what ran, or None where Python does not know."""
    positions = list(code.co_positions())
    index = instruction // 2
    if not 0 <= index < len(positions) or not 1 <= line <= len(lines):
        return None, None
    first, last, start, end = positions[index]
    if first != line or start is None:
        return None, None
    text = lines[line - 1].encode("utf-8", "surrogatepass")
    begin = len(text[:start].decode("utf-8", "replace")) + 1
    if last != line or end is None:
        return begin, None
    return begin, len(text[:end].decode("utf-8", "replace")) + 1


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


_SUBSCRIPT = re.compile(r"([^\W\d]\w*)\[")


def _hint(error: BaseException, frames: Sequence[_Frame]) -> str | None:
    """One line that saves a turn, or None."""
    if isinstance(error, AttributeError):
        return _attribute_hint(error)
    if isinstance(error, KeyError):
        return _key_hint(error, frames)
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError):
        return _name_hint(error, frames)
    if isinstance(error, TypeError) and "JSON object must be str" in str(error):
        return "results of tools are values already, as their schema says; json.loads is not needed"
    return None


def _attribute_hint(error: AttributeError) -> str | None:
    name = getattr(error, "name", None)
    owner = getattr(error, "obj", None)
    if not isinstance(name, str):
        found = re.search(r"no attribute '(\w+)'", str(error))
        name = found[1] if found else None
    if name is None:
        return None
    if type(owner) is dict:
        if name in owner:
            return f'use value["{name}"]: objects in results are dicts'
        return f"it is a dict with the keys {_names(owner)}" if owner else None
    if type(owner) is list and (name in dir(dict)):
        first = f" of objects with the keys {_names(owner[0])}" if owner and type(owner[0]) is dict else ""
        return f"it is a list of {len(owner)}{first}, not a dict"
    return None


def _key_hint(error: KeyError, frames: Sequence[_Frame]) -> str | None:
    """The keys of the dict, where the failing line names one that lacks this key."""
    if not frames or not error.args:
        return None
    frame = frames[-1][0]
    key = error.args[0]
    places: dict[str, object] = {**frame.f_globals, **frame.f_locals}
    mapping = _lacking(places, key)
    if mapping is None:
        return None
    near = difflib.get_close_matches(str(key), [str(name) for name in mapping], n=1)
    did = f"did you mean {near[0]!r}? " if near else ""
    return f"{did}the keys are {_names(mapping)}"


def _lacking(places: Mapping[str, object], key: object) -> Mapping[object, object] | None:
    """The one dict in sight that could have been asked for `key`; None when there are several."""
    found = [value for value in places.values() if type(value) is dict and value and key not in value]
    found = [value for value in found if "__builtins__" not in value]
    return found[0] if len({id(value) for value in found}) == 1 else None


def _name_hint(error: NameError, frames: Sequence[_Frame]) -> str | None:
    name = getattr(error, "name", None)
    if not isinstance(name, str):
        found = re.search(r"name '(\w+)'", str(error))
        name = found[1] if found else None
    if name is None or not frames:
        return None
    frame = frames[-1][0]
    tools = frame.f_globals.get("tools")
    if tools is not None and hasattr(type(tools), "__contains__") and name in tools:  # type: ignore[operator]
        return f"tools are called as `await tools.{name}(...)`"
    own = [known for known in (*frame.f_locals, *frame.f_globals) if known.isidentifier()]
    near = difflib.get_close_matches(name, {*own, *dir(builtins)} - {name}, n=1, cutoff=0.75)
    if near and f"{near[0]!r}" not in str(error):
        return f"did you mean {near[0]!r}?"
    if name[:1].isupper():
        return "the types of the stubs are for reading only; pass plain dicts and lists"
    return "a program has `tools`, `ToolCallError`, the built-ins and what it imports; tools are `tools.<name>(...)`"


def _names(mapping: Mapping[object, object]) -> str:
    names = [repr(name) for name in list(mapping)[:12]]
    return ", ".join(names) + (f" and {len(mapping) - 12} more" if len(mapping) > 12 else "")


def internal_error(error: BaseException) -> str:
    """The last line of an error that is ours, without paths."""
    return _cut("".join(traceback.format_exception_only(error)).strip(), 500)
