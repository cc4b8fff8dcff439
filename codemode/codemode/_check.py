"""Checking a program before it runs: what the dialect refuses, and what the types of its tools show.

What lives here: `check_program` for callers without an event loop, and `check_in`, which does the same in a given
runtime. Rules:
- The host never compiles program text. The dialect's part happens in a sealed child (`check_only`), the types' part in
  a `ty` process; both are asked at once.
- Syntax is the dialect's to judge: where it finds an error of syntax, the types are not told.
- Without tools there is nothing to check types against: the dialect alone answers, and ty need not be installed.
- Both processes are kept for the next check and end with this one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial

import anyio
import anyio.to_thread

from codemode._thread import in_a_thread, run_in_loop
from codemode_bridge import CodeRunRequest, CodeRunResult, CodeRuntime, Limits, ProcessRuntime
from codemode_registry import CodeModeError, Registry, Scope, Tool
from codemode_stubs import CheckUnavailableError, Diagnostic, shared_checker

__all__ = ["Diagnostic", "check_in", "check_program"]

#: Compiling is all that the child does; a text that takes longer is refused, not waited for.
_LIMITS = Limits(compute_seconds=10.0, wall_seconds=20.0)

_runtime: ProcessRuntime | None = None
_lock = threading.Lock()


def check_program(code: str, registry: Registry, scope: Scope | None = None) -> list[Diagnostic]:
    """Checks a program against the tools that a scope sees, without running it.

    Blocks: a few milliseconds, once the two processes that answer have started. Works in a running event loop too.

    Args:
        code: the program's text, with or without a markdown fence.
        registry: where its tools are.
        scope: whose view counts; None for the global one.

    Returns:
        What was found, in the order of the text; lines and columns are 1-based and the program's own.

    Raises:
        RuntimeUnavailableError: no sealed child can be had.
        CodeModeError: ty is not installed (the extra `check`) or does not answer.
    """
    ask = partial(check_in, _kept_runtime(), code, registry.tools(scope))
    # A thread of its own, because the caller's may have an event loop that is running.
    return in_a_thread(lambda: run_in_loop(ask), name="codemode-check")


async def check_in(runtime: CodeRuntime, code: str, tools: Sequence[Tool]) -> list[Diagnostic]:
    """Checks a program with a given runtime, which has to know `check_only`: see `check_program`.

    Cancellation: the child is killed; an answer of ty that is under way is waited for.
    """
    typed: list[Diagnostic] = []
    refused: list[Diagnostic] = []

    async def ask_dialect() -> None:
        refused.extend(_refusals(await runtime.run(CodeRunRequest(program=code, limits=_LIMITS, check_only=True))))

    async def ask_types() -> None:
        typed.extend(await anyio.to_thread.run_sync(_check_types, code, tools))

    if not tools:
        await ask_dialect()
        return refused
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(ask_dialect)
            group.start_soon(ask_types)
    except BaseExceptionGroup as group_error:
        if len(group_error.exceptions) == 1:
            raise group_error.exceptions[0] from None
        raise
    if any(diagnostic.code == "syntax" for diagnostic in refused):
        return refused
    places = {(diagnostic.line, diagnostic.column) for diagnostic in refused}
    return sorted([*refused, *(one for one in typed if (one.line, one.column) not in places)])


def _check_types(code: str, tools: Sequence[Tool]) -> list[Diagnostic]:
    # Imported here: the dialect's compiler is a heavy import that a host without checks does not need.
    from codemode_guest.dialect import MODULES, read_source

    text = read_source(code).text
    try:
        return shared_checker().check(text, tools, modules=MODULES)
    except CheckUnavailableError as error:
        raise CodeModeError(str(error)) from error


def _refusals(result: CodeRunResult) -> list[Diagnostic]:
    error = result.error
    syntax = error is not None and error.type == "SyntaxError"
    found = [
        Diagnostic(max(1, line), max(1, column), message, "syntax" if syntax else "refused")
        for line, column, message in result.refusals
    ]
    if not found and error is not None:
        found.append(Diagnostic(error.line or 1, 1, error.message, "syntax" if syntax else "refused"))
    return sorted(found)


def _kept_runtime() -> ProcessRuntime:
    global _runtime
    with _lock:
        if _runtime is None:
            _runtime = ProcessRuntime(warm=1)
        return _runtime
