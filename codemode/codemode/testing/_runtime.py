"""A runtime without a child: the program is a function of the test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType

import anyio

from codemode_bridge import CodeRunRequest, CodeRunResult, RunError

__all__ = ["FakeRuntime"]


class FakeRuntime:
    """Runs `await fn(request)` in place of a program. Everything else of code mode is real.

    The function calls tools through `request.bindings[name].call(arguments)`, which raises `BindingError` where a
    program would see a ToolCallError, and returns a `CodeRunResult`. A request that is cancelled ends it as `abort`.
    """

    language = "python"
    isolation = "none"

    def __init__(self, fn: Callable[[CodeRunRequest], Awaitable[CodeRunResult]]) -> None:
        """Make a runtime of a function.

        Args:
            fn: the stand-in for every program.
        """
        self._fn = fn
        self.requests: list[CodeRunRequest] = []
        """What was run, in order."""

    async def run(self, request: CodeRunRequest) -> CodeRunResult:
        """Run the function for one request."""
        self.requests.append(request)
        outcome: CodeRunResult | None = None
        cancel = request.cancel
        if cancel is None:
            return await self._fn(request)

        async def watch() -> None:
            await cancel.wait()
            group.cancel_scope.cancel()

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(watch)
                outcome = await self._fn(request)
                group.cancel_scope.cancel()
        except BaseExceptionGroup as several:
            if len(several.exceptions) == 1:
                raise several.exceptions[0] from None
            raise
        if outcome is None:
            return CodeRunResult(error=RunError("abort", cancel.reason or "cancelled"))
        return outcome

    async def aclose(self) -> None:
        """Nothing to close."""

    async def __aenter__(self) -> FakeRuntime:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
