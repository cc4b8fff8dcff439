"""What really ran: the bodies that a battery puts in the place of tools, and what they write down.

A battery must not run anybody's tools: it would send the mail whose guard it tests. So each body is replaced, for as
long as the battery lasts, by one that writes down that it ran and returns a value that fits the tool's output schema.
The tool object stays the same one, so a policy that recognises tools by identity still does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from codemode_registry import Tool, ToolCall, ToolContext, thaw


@dataclass(frozen=True, slots=True)
class Ran:
    """One body that ran."""

    tool: Tool
    name: str
    arguments: Any
    """Plain JSON, as the body got it."""
    call: ToolCall


class Ledger:
    """Every body that ran, in order."""

    def __init__(self) -> None:
        self.entries: list[Ran] = []

    def write(self, tool: Tool, arguments: Mapping[str, Any], ctx: ToolContext) -> None:
        """Note that this body is running now."""
        self.entries.append(Ran(tool, tool.full_name, thaw(arguments), ctx.call))

    def since(self, mark: int) -> list[Ran]:
        """What ran after there were `mark` entries."""
        return self.entries[mark:]

    def __len__(self) -> int:
        return len(self.entries)


@contextmanager
def probed(tools: Iterable[Tool], ledger: Ledger, value_of: Callable[[Tool], Any]) -> Generator[None]:
    """Put probes in the place of the tools' bodies, and the bodies back afterwards.

    Args:
        tools: whose bodies must not run.
        ledger: where each probe writes that it ran.
        value_of: what a tool's probe returns.
    """
    bodies = {id(tool): (tool, tool.execute) for tool in tools}

    def probe(tool: Tool) -> Callable[[Mapping[str, Any], ToolContext], Any]:
        async def body(arguments: Mapping[str, Any], ctx: ToolContext) -> Any:
            ledger.write(tool, arguments, ctx)
            return value_of(tool)

        return body

    try:
        for tool, _ in bodies.values():
            tool.execute = probe(tool)
        yield
    finally:
        for tool, execute in bodies.values():
            tool.execute = execute
