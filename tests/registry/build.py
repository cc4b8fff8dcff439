"""What the registry's tests build with: raw tools in one line, a trace of stages, gates in place of sleeps."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import anyio

from codemode_registry import Registry, Tool, ToolCall, ToolFailure, ToolResult, ToolSuccess

WAIT = 5.0
"""Seconds after which a test that waits for an event gives up."""

OBJECT: dict[str, Any] = {"type": "object"}


def raw(name: str, execute: Callable[..., Any], **options: Any) -> Tool:
    """A raw tool that takes any object."""
    options.setdefault("parameters", OBJECT)
    return Tool(name, f"The tool {name}.", execute, **options)


def returning(name: str, value: Any, **options: Any) -> Tool:
    """A raw tool that always gives this value."""

    async def execute(arguments: Any, ctx: Any) -> Any:
        return value

    return raw(name, execute, **options)


def ok(result: ToolResult) -> Any:
    """The value of a success; fails the test with the error otherwise."""
    assert isinstance(result, ToolSuccess), result
    return result.value


def failed(result: ToolResult, code: str) -> str:
    """The message of a failure with this code."""
    assert isinstance(result, ToolFailure), result
    assert result.error.code == code, result.error
    return result.error.message


def label(item: object) -> str:
    """A test id without addresses: every worker must collect the same names."""
    if callable(item) or isinstance(item, BaseException):
        return type(item).__name__
    return re.sub(r" at 0x[0-9a-f]+", "", str(item))[:40]


class Trace(list[str]):
    """Which stages a call went through, in order."""

    def watch(self, registry: Registry) -> Trace:
        """Put a recording hook on every stage."""

        @registry.pre_execute
        async def policy(call: ToolCall, next: Any) -> Any:
            self.append("pre")
            return await next()

        @registry.guard
        def guard(call: ToolCall) -> None:
            self.append("guard")

        @registry.around_execute
        async def wrapper(call: ToolCall, next: Any) -> Any:
            self.append("in")
            result = await next()
            self.append("out")
            return result

        @registry.post_execute
        async def review(call: ToolCall, result: ToolResult, next: Any) -> Any:
            self.append("post")
            return await next()

        @registry.on_result
        def observer(call: ToolCall, result: ToolResult) -> None:
            self.append("result")

        return self

    def tool(self, name: str = "t", value: Any = "v", **options: Any) -> Tool:
        """A tool that records its body and its finalizer."""

        async def execute(arguments: Any, ctx: Any) -> Any:
            self.append("body")
            return value

        def finalize(call: ToolCall, result: ToolResult) -> None:
            self.append("final")

        return raw(name, execute, finalize_content=finalize, **options)


class Gate:
    """A body that says that it runs and then waits to be let go."""

    def __init__(self) -> None:
        self.entered = anyio.Event()
        self.open = anyio.Event()

    async def body(self, arguments: Any, ctx: Any) -> Any:
        """The tool's body."""
        self.entered.set()
        await self.open.wait()
        return "done"

    async def until_entered(self) -> None:
        """Wait until the body runs."""
        with anyio.fail_after(WAIT):
            await self.entered.wait()
