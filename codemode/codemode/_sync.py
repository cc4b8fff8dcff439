"""`run_sync`: one program from code that has no event loop, for scripts and notebooks."""

from __future__ import annotations

from typing import Any, Literal

import sniffio

from codemode._code_mode import CodeMode
from codemode._result import RunResult
from codemode._thread import in_a_thread, run_in_loop
from codemode_registry import Registry

__all__ = ["run_sync"]

_RUN_OPTIONS = ("description", "call_id", "cancel")


def run_sync(
    registry: Registry, code: str, *, backend: Literal["trio", "asyncio"] = "trio", **options: Any
) -> RunResult:
    """Run one program and wait for it.

    Where an event loop is running already, as in a notebook, the program's own loop runs in a thread beside it.

    Args:
        registry: whose tools the program calls.
        code: the program.
        backend: the event loop in which the tools run; "asyncio" for tools that use asyncio's own functions, or a
            library that needs its loop. Those written on anyio run in either.
        **options: those of `CodeMode` (scope, mode, limits, events, approver, runtime) and of `CodeMode.run`
            (description, call_id, cancel).

    Returns:
        What happened; a program that fails is a result.

    Raises:
        RuntimeUnavailableError: no child can be started, or none that is sealed as required.
        KeyboardInterrupt, SystemExit: a tool raised it, or Ctrl-C came; the run's records are written.
    """
    run_options = {name: options.pop(name) for name in _RUN_OPTIONS if name in options}

    async def main() -> RunResult:
        async with CodeMode(registry, **options) as code_mode:
            return await code_mode.run(code, **run_options)

    if not _inside_a_loop():
        return run_in_loop(main, backend=backend)
    return in_a_thread(lambda: run_in_loop(main, backend=backend), name="codemode-run-sync")


def _inside_a_loop() -> bool:
    try:
        sniffio.current_async_library()
    except sniffio.AsyncLibraryNotFoundError:
        return False
    return True
