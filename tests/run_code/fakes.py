"""What the host-side tests share: a registry with a few tools, and one run of a stand-in program."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from codemode import CodeMode, CodeRunRequest, CodeRunResult, Registry, RunResult, Tool
from codemode.testing import FakeRuntime

Program = Callable[[CodeRunRequest], Awaitable[CodeRunResult]]


async def run(registry: Registry, program: Program, *, call_id: str = "outer", **options: Any) -> RunResult:
    """Run a stand-in program through everything but a child.

    Options of `CodeMode.run` (cancel, limits, approver, description) go there, others to `CodeMode`.
    """
    of_run = {
        name: options.pop(name) for name in ("cancel", "limits", "approver", "description", "scope") if name in options
    }
    async with CodeMode(registry, runtime=FakeRuntime(program), **options) as code_mode:
        return await code_mode.run("stand-in", call_id=call_id, **of_run)


def returns(value: Any, *, logs: tuple[str, ...] = ()) -> CodeRunResult:
    return CodeRunResult(value=value, has_value=True, logs=logs)


class Gate:
    """A tool body that tells when it was entered and stays until it is let go."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.left: list[str] = []
        self.active = 0
        self.most = 0
        self._changed = anyio.Event()
        self._open: dict[str, anyio.Event] = {}

    async def body(self, arguments: Any, ctx: Any) -> Any:
        name = str(arguments.get("id", ctx.call.call_id))
        self.entered.append(name)
        self.active += 1
        self.most = max(self.most, self.active)
        self._tell()
        try:
            await self._event(name).wait()
        finally:
            self.active -= 1
            self.left.append(name)
            self._tell()
        return name

    def let(self, *names: str) -> None:
        for name in names:
            self._event(name).set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on this gate holds; at most five seconds."""
        with anyio.fail_after(5):
            while not condition():
                self._changed = anyio.Event()
                await self._changed.wait()

    def _event(self, name: str) -> anyio.Event:
        return self._open.setdefault(name, anyio.Event())

    def _tell(self) -> None:
        self._changed.set()


ID = {"type": "object", "properties": {"id": {"type": "string"}}}


def gated(registry: Registry, *, name: str = "slow", safe: bool = True, **options: Any) -> Gate:
    """Register a tool that waits at a gate."""
    gate = Gate()
    registry.register(
        Tool(name, "Waits.", gate.body, parameters=ID, output={"type": "string"}, concurrency_safe=safe, **options)
    )
    return gate


def echo(registry: Registry, *, safe: bool = True) -> None:
    """Register a tool that returns its argument."""

    async def body(arguments: Any, ctx: Any) -> Any:
        return arguments.get("value")

    registry.register(
        Tool(
            "echo",
            "Says it back.",
            body,
            parameters={"type": "object", "properties": {"value": {}}},
            concurrency_safe=safe,
        )
    )
