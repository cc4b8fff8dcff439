"""A toolset: tools that belong together, with one end.

Rules
- A toolset is an iterable of ordinary Tools on the registry's public API; `registry.add(toolset, namespace=...)` is
  all that puts it to use. Nothing here has a second way into a registry.
- What a toolset holds (processes, above all) ends with `close()`, which may be called any number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType

from pydantic import ConfigDict

from codemode_registry import Tool

CLOSED = ConfigDict(extra="forbid")
"""For objects that tools return: they have the keys that they declare, and a stub says so."""


def _nothing() -> None:
    pass


class Toolset:
    """Tools that belong together.

    Args:
        name: the namespace that the tools are usually given.
        tools: the tools.
        close: ends what the tools hold.
    """

    def __init__(self, name: str, tools: Sequence[Tool], *, close: Callable[[], None] = _nothing) -> None:
        self.name = name
        """The usual namespace."""
        self._tools = tuple(tools)
        self._close = close

    def tools(self) -> tuple[Tool, ...]:
        """The tools, without a namespace."""
        return self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __enter__(self) -> Toolset:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End what the tools hold (running jobs, for one)."""
        self._close()

    def __repr__(self) -> str:
        return f"<Toolset {self.name}: {', '.join(tool.name for tool in self._tools)}>"
