"""Tools of another framework, registered here: the tools, and the questions that their framework would ask.

Shared by every `from_<framework>`. The tools and the policy that asks about them are one registration, so that one
cannot be had without the other. The policy looks at the very tool that the call resolves to, not at its name: a tool of
the same name in another scope is not asked about on its behalf.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from codemode_registry import Ask, Decision, Deny, JsonValue, Registration, Registry, Scope, Tool, ToolCall, freeze

Asks = bool | Callable[[Mapping[str, Any], str], Awaitable[bool]]
"""Whether a call is asked about: always, never, or by its arguments and call id."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A foreign tool as one of ours, with its framework's mark."""

    tool: Tool
    asks: Asks = False


def take(
    layer: Registry | Scope, foreign: Iterable[Taken], *, namespace: str | None, ask: Collection[str]
) -> Registration:
    """Register foreign tools on a registry or a scope.

    Args:
        layer: where they are seen.
        foreign: the tools with their marks.
        namespace: put them under it; None leaves their names as they are.
        ask: names (as the framework says them) that are asked about whatever their mark says.

    Returns:
        One registration for the tools and the policy that asks.

    Raises:
        RegistrationError: a tool cannot be registered; then none is.
        ValueError: `ask` names a tool that is not among them.
    """
    given = list(foreign)
    unknown = set(ask) - {item.tool.name for item in given}
    if unknown:
        raise ValueError(f"ask names no tool of these: {', '.join(sorted(unknown))}")
    marks: dict[str, tuple[Tool, Asks]] = {}
    tools: list[Tool] = []
    for item in given:
        tool = item.tool if namespace is None else item.tool.in_namespace(namespace)
        tools.append(tool)
        marks[tool.full_name] = (tool, True if item.tool.name in ask else item.asks)
    registry = layer if isinstance(layer, Registry) else layer.registry

    async def ask_where_marked(call: ToolCall, next: Callable[[], Awaitable[Decision]]) -> Decision:
        tool, asks = marks.get(call.name, (None, False))
        if tool is None or registry.get(call.name, call.scope) is not tool:
            return await next()
        if asks is True or (callable(asks) and await asks(call.arguments, call.call_id)):
            inner = await next()
            return inner if isinstance(inner, Deny) else Ask(f"{call.name} is marked as needing approval")
        return await next()

    # The policy first: there is no moment at which a marked tool can be called without being asked about.
    policy = layer.pre_execute(ask_where_marked)
    try:
        added = layer.add(tools)
    except BaseException:
        policy.dispose()
        raise

    def undo() -> None:
        added.dispose()
        policy.dispose()

    return Registration(undo)


def canonical(value: Any) -> JsonValue:
    """What a foreign tool returned, as JSON, by pydantic's rules; what those do not know is its text."""
    frozen: JsonValue = freeze(to_jsonable_python(value, fallback=str))
    return frozen
