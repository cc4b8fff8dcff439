"""The frames of a program in a traceback, and where in its lines they stood."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType, FrameType, TracebackType

from codemode_guest import dialect

__all__ = ["ProgramFrame", "columns", "program_frames"]

ProgramFrame = tuple[FrameType, int, int]
"""A frame of the program, its line, and the index of its instruction."""


def program_frames(trace: TracebackType | None) -> list[ProgramFrame]:
    """The program's own frames, outermost first; ours and the library's are left out."""
    frames: list[ProgramFrame] = []
    while trace is not None:
        if dialect.is_program_frame(trace.tb_frame.f_code.co_filename):
            frames.append((trace.tb_frame, trace.tb_lineno, trace.tb_lasti))
        trace = trace.tb_next
    return frames


def columns(code: CodeType, instruction: int, line: int, lines: Sequence[str]) -> tuple[int | None, int | None]:
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
