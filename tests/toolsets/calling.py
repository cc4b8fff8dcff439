"""Calling the tools of a toolset through a registry, as a program's calls do."""

from __future__ import annotations

from typing import Any

from codemode_registry import Registry, Scope


class Tools:
    """A registry with one toolset in the namespace `t`."""

    def __init__(self, toolset: Any) -> None:
        self.registry = Registry()
        self.registry.add(toolset, namespace="t")

    async def __call__(self, name: str, /, scope: Scope | None = None, **arguments: Any) -> Any:
        """Call; -> the value. A failure is an AssertionError with its text."""
        result = await self.registry.call(f"t.{name}", arguments, scope=scope)
        assert not result.is_error, result.error.message
        return result.value

    async def refusal(self, name: str, /, scope: Scope | None = None, **arguments: Any) -> str:
        """Call; -> the message of the failure, which there must be."""
        result = await self.registry.call(f"t.{name}", arguments, scope=scope)
        assert result.is_error, f"it ran: {result.value!r}"
        assert result.error.code in ("TOOL_ERROR", "INVALID_ARGS"), result.error
        return result.error.message
