"""The globals that one run of a program starts with: built-ins, hooks, `tools`, `ToolCallError`.

Made anew for each run and cheap: everything immutable is shared, and a module with state of its own is made when the
program first imports it (`modules.Imports`). A zygote lays in what its children start with (`lay_in`): copying the
built-ins counts a reference to each of them, and in a child each count would copy a page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import FunctionType
from typing import Any, Final, NamedTuple, Protocol

from ._builtins import SHARED_BUILTINS, run_builtins
from ._classes import CLASS_MAKER, allow_base
from ._compile import Program
from ._exceptions import catch, catch_star
from ._guards import guarded_getattr
from ._magic import guarded_super
from ._match_tests import match_class, match_mapping, match_sequence
from ._names import MAIN_NAME, words
from ._policy import EXCEPTION_POLICY
from ._types_seen import type_of
from ._typing import type_stand_in
from ._writes import write_guard
from .modules import Imports


class Stdout(Protocol):
    """Where a run's text goes."""

    def write(self, text: str, /) -> object:
        """Take some text."""


class Completion(NamedTuple):
    """How a program ended."""

    has_value: bool
    """False when it fell off its end, or returned nothing."""
    value: object
    """What it returned; without a value None, or the tasks that its last expression left."""


def _last(value: object) -> tuple[bool, object]:
    """The value of a last expression: None is none, and tasks are none (`<last>`).

    `asyncio.create_task(x)` and `await asyncio.wait(tasks)` are statements to their author. A pending `gather` is not:
    its author means the values, and an await is missing.
    """
    return (value is not None and not _only_tasks(value, _TASK_LEVELS), value)


_TASK_LEVELS: Final = 2
"""Collections around tasks: `asyncio.wait` gives a tuple of two sets."""


def _only_tasks(value: Any, levels: int) -> bool:
    if type(value) in (tuple, list, set, frozenset) and levels:
        # An empty set beside one of tasks (nothing is pending) holds no other data.
        held = [each for each in value if type(each) not in (set, frozenset) or each]
        return bool(held) and all(_only_tasks(each, levels - 1) for each in held)
    return type(value) is asyncio.Task


def _async_run(awaitable: Any) -> Any:
    """`asyncio.run(x)` in a running loop awaits `x` (`<async-run>`)."""
    return awaitable


_HOOKS: Final[dict[str, Any]] = {
    "<getattr>": guarded_getattr,
    "<write>": write_guard,
    "<super>": guarded_super,
    "<class>": CLASS_MAKER,
    "<type-of>": type_of,
    "<last>": _last,
    "<catch>": catch,
    "<catch-star>": catch_star,
    "<match-sequence>": match_sequence,
    "<match-mapping>": match_mapping,
    "<match-class>": match_class,
    "<isinstance>": isinstance,
    "<type-stand-in>": type_stand_in,
    "<async-run>": _async_run,
}
_TOOL_ERROR_NAMES: Final = words("name tool_name message")


_LAID_IN: Final[list[tuple[dict[str, object], dict[str, Any]]]] = []


def lay_in(count: int) -> None:
    """Make what the globals of `count` runs start with, ahead of them."""
    _LAID_IN.extend(_fresh() for _ in range(count - len(_LAID_IN)))


def _fresh() -> tuple[dict[str, object], dict[str, Any]]:
    """Globals that know nothing of their run yet, and the built-ins among them."""
    builtins = dict(SHARED_BUILTINS)
    return {"__builtins__": builtins, "__name__": "__main__", **_HOOKS}, builtins


def make_globals(
    program: Program, *, tools: object, tool_call_error: type[Exception], stdout: Stdout
) -> dict[str, object]:
    """Make the globals of one run.

    Args:
        program: the program that will run in them.
        tools: what the name `tools` is; its class is known to the guard through `allow_type`.
        tool_call_error: the exception class of failed tool calls.
        stdout: where printed text goes.

    Returns:
        A fresh dict, to be given to `start`.
    """
    if tool_call_error not in EXCEPTION_POLICY:
        EXCEPTION_POLICY[tool_call_error] = _TOOL_ERROR_NAMES
        allow_base(tool_call_error)
    imports = Imports(stdout, tools=tools, tool_call_error=tool_call_error)
    names, builtins = _LAID_IN.pop() if _LAID_IN else _fresh()
    builtins.update(run_builtins(imports))
    names.update(
        {
            "<import>": imports.module,
            "<from>": imports.member,
            "tools": tools,
            "ToolCallError": tool_call_error,
        }
    )
    for module in program.implicit_modules:
        names[module] = imports.module(module)
    return names


async def start(program: Program, names: dict[str, object]) -> Completion:
    """Run a program to its end.

    Args:
        program: the compiled program.
        names: its globals, from `make_globals`.

    Returns:
        Whether it returned a value, and the value.
    """
    code = next(each for each in program.code.co_consts if hasattr(each, "co_name") and each.co_name == MAIN_NAME)
    main: Callable[[], Coroutine[Any, Any, Any]] = FunctionType(code, names)
    running: Any = main()
    # Whoever holds the globals holds the program's variables: nothing of it is finalised before its answer is out.
    names["<frame>"] = running.cr_frame
    outcome = await running
    return Completion(False, None) if outcome is None else Completion(*outcome)
