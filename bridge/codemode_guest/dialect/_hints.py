"""One sentence about an uncaught error that saves its author a turn, where there is one to say."""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import builtins
import difflib
import re
from collections.abc import Iterable
from typing import Final

from ._compile import Program
from ._tables import TABLE
from .modules import MODULES


def hint(error: BaseException, program: Program) -> str | None:
    """Say what to change, if the error is of a kind that is known.

    Args:
        error: the uncaught exception, as raised.
        program: the program it came from.

    Returns:
        One sentence without a final full stop, or None.
    """
    if isinstance(error, AttributeError):
        return _attribute(error)
    if isinstance(error, NameError):
        return _name(error, program)
    if isinstance(error, TypeError):
        return _type(error)
    if isinstance(error, SystemExit):
        return "end a program with `return`, not with exit"
    return None


def _attribute(error: AttributeError) -> str | None:
    value, name = error.obj, error.name
    if type(name) is not str:
        return None
    if isinstance(value, dict):
        if type(value) is dict and name in value:
            return f'the value is a dict: use value["{name}"]'
        near = _near(name, (key for key in list(value)[:200] if type(key) is str))
        if near:
            return f'the value is a dict: use value["{near[0]}"]'
        keys = ", ".join(repr(key) for key in list(value)[:10])
        return f"the value is a dict with the keys {keys}" if keys else "the value is an empty dict"
    if isinstance(value, list):
        if name in TABLE[dict]:
            return "the value is a list, not a dict: index it with a number, or loop over it"
        return "the value is a list: index it with a number, or loop over it"
    if value is None and "NoneType" in str(error):
        return "the value is None: look at what the call before it returned"
    if asyncio.iscoroutine(value):
        return "the value is a coroutine that has not run: write `await` before the call"
    near = _near(name, TABLE.get(type(value), ()))
    return f"did you mean .{near[0]}?" if near else None


def _name(error: NameError, program: Program) -> str | None:
    shadowed = _shadowed(str(error))
    if shadowed is not None:
        return shadowed
    name = error.name
    if type(name) is not str:
        return None
    if name.endswith(("Args", "Result")):
        return f"`{name}` is a type of the stubs, for reading only: arguments and results are plain dicts"
    known = set(program.code.co_names) | {"tools", "ToolCallError"}
    known.update(each for each in dir(builtins) if not each.startswith("_"))
    for constant in program.code.co_consts:
        known.update(getattr(constant, "co_varnames", ()))
        known.update(getattr(constant, "co_cellvars", ()))
    known.discard(name)
    if name in MODULES:
        return f"write `import {name}` first"
    near = _near(name, known)
    text = f"did you mean `{near[0]}`? " if near else ""
    return (
        f"{text}tools are called as `await tools.<name>(...)`; besides the program's own names there are `tools`, "
        "`ToolCallError` and the built-ins"
    )


_UNBOUND: Final = re.compile(r"cannot access (?:local|free) variable '(\w+)'")
"""Python's words where a name is a variable that has no value (yet)."""


def _shadowed(text: str) -> str | None:
    """A name that every program has is assigned or deleted somewhere in this one, which makes it a variable of it."""
    found = _UNBOUND.match(text)
    if found is None or not (found[1] in ("tools", "ToolCallError") or hasattr(builtins, found[1])):
        return None
    name = found[1]
    return (
        f"the program assigns or deletes `{name}` somewhere, so it is a variable of its own: take another name for it"
    )


def _type(error: TypeError) -> str | None:
    text = str(error)
    if "coroutine" in text:
        return "a coroutine has not run: write `await` before the call"
    return None


def _near(name: str, names: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(name, list(names), 1, 0.7)
