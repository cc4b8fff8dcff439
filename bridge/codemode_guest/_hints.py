"""What saves a turn: one line beside an error that says what to write instead.

What an error says of its own kind is the dialect's to say (`dialect.hint`); what needs the frame, the tools or the
values in sight is said here.
"""

# Values of programs have no types that a checker could know.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from codemode_guest import dialect
from codemode_guest._frames import ProgramFrame, columns

__all__ = ["hint"]

_SUBSCRIPT = re.compile(r"([^\W\d]\w*)\[")
_MAX_NAMES = 12


def hint(error: BaseException, frames: Sequence[ProgramFrame], program: dialect.Program) -> str | None:
    """One line about an uncaught error, or None.

    Args:
        error: the error.
        frames: the program's frames in its traceback.
        program: for its lines.
    """
    own: str | None = None
    if isinstance(error, AttributeError):
        own = _list_hint(error)
    elif isinstance(error, KeyError):
        own = _key_hint(error, frames, program.lines)
    elif isinstance(error, NameError):
        own = _tool_hint(error, frames)
    elif isinstance(error, TypeError) and "JSON object must be str" in str(error):
        own = "results of tools are values already, as their schema says; json.loads is not needed"
    return own or dialect.hint(error, program)


def _list_hint(error: AttributeError) -> str | None:
    owner = error.obj
    if type(owner) is not list or error.name not in dir(dict):
        return None
    first = f" of objects with the keys {_names(owner[0])}" if owner and type(owner[0]) is dict else ""
    return f"it is a list of {len(owner)}{first}, not a dict"


def _key_hint(error: KeyError, frames: Sequence[ProgramFrame], lines: Sequence[str]) -> str | None:
    """The keys that the dict has, where it can be found."""
    if not frames or not error.args:
        return None
    key = error.args[0]
    mapping = _asked(frames[-1], lines)
    if mapping is None or key in mapping:
        return None
    near = difflib.get_close_matches(str(key), [str(name) for name in mapping], n=1)
    did = f"did you mean {near[0]!r}? " if near else ""
    return f"{did}the keys are {_names(mapping)}" if mapping else "the dict is empty"


def _asked(at: ProgramFrame, lines: Sequence[str]) -> Mapping[object, object] | None:
    """The dict that the failing subscript names; else the only dict among the frame's own names."""
    frame, line, instruction = at
    start, end = columns(frame.f_code, instruction, line, lines)
    if start is not None and end is not None:
        found = _SUBSCRIPT.match(lines[line - 1][start - 1 : end - 1])
        if found is not None:
            named: object = frame.f_locals.get(found[1], frame.f_globals.get(found[1]))
            return named if type(named) is dict else None
    near = {id(value): value for value in frame.f_locals.values() if type(value) is dict}
    return next(iter(near.values())) if len(near) == 1 else None


def _tool_hint(error: NameError, frames: Sequence[ProgramFrame]) -> str | None:
    name = error.name
    if type(name) is not str or not frames:
        return None
    tools = frames[-1][0].f_globals.get("tools")
    if hasattr(type(tools), "__contains__") and name in tools:  # type: ignore[operator]
        return f"tools are called as `await tools.{name}(...)`"
    return None


def _names(mapping: Mapping[object, object]) -> str:
    names = [repr(name) for name in list(mapping)[:_MAX_NAMES]]
    return ", ".join(names) + (f" and {len(mapping) - _MAX_NAMES} more" if len(mapping) > _MAX_NAMES else "")
