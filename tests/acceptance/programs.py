"""How the acceptance tests run a program: public names only, a real sealed child."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from codemode import CodeMode, MemoryEventLog, Registry, RunResult

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


async def run(code: str, *functions: Callable[..., Any], registry: Registry | None = None, **options: Any) -> RunResult:
    """Run `code` once with `functions` as its tools, and give back the result."""
    registry = registry or Registry()
    for function in functions:
        registry.tool(function)
    async with CodeMode(registry, **options) as mode:
        return await mode.run(code)


async def value(code: str, *functions: Callable[..., Any], **options: Any) -> Any:
    """The value of a run that must succeed."""
    result = await run(code, *functions, **options)
    assert result.ok, result.text
    return result.value


@asynccontextmanager
async def opened(
    *functions: Callable[..., Any], **options: Any
) -> AsyncIterator[tuple[CodeMode, Registry, MemoryEventLog]]:
    """A CodeMode over a fresh registry with a log in memory."""
    log = MemoryEventLog()
    registry = Registry(events=log)
    for function in functions:
        registry.tool(function)
    async with CodeMode(registry, **options) as mode:
        yield mode, registry, log


def of_type(log: MemoryEventLog, kind: str) -> list[dict[str, Any]]:
    """The data of each event of one type, in order."""
    return [dict(event.data) for event in log.events if event.type == kind]
