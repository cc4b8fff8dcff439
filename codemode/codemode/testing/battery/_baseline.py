"""What happens to direct calls of the caller's own tools: the measure that programs are held against.

Every visible tool is called directly with sample arguments, its body replaced by a probe, every question answered with
a rejection. What is refused there may not run from a program; what a program gets for the rest is compared.
"""

# pyright: reportPrivateUsage=false
# A battery looks at the registry's layers, which are private on purpose: no policy is to depend on them.

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from codemode.testing._approver import ScriptedApprover
from codemode.testing.battery._ledger import Ledger
from codemode.testing.battery._samples import samples
from codemode_registry import (
    MemoryEventLog,
    Registry,
    Scope,
    Tool,
    ToolCall,
    ToolFailure,
    ToolResult,
    ToolSuccess,
    thaw,
)
from codemode_registry._layers import Hook


@dataclass(frozen=True, slots=True)
class Outcome:
    """One direct call."""

    name: str
    arguments: Any
    call: ToolCall | None
    ran: bool
    asked: bool
    before: ToolResult | None
    """What the same call gives with no review in force; None where no body ran."""
    result: ToolResult

    @property
    def refused(self) -> bool:
        """True where no body ran."""
        return not self.ran

    @property
    def code(self) -> str:
        """The failure's code, or "ok"."""
        return self.result.error.code if isinstance(self.result, ToolFailure) else "ok"


Layers = Sequence[Any]


def layers_of(registry: Registry) -> Layers:
    """Every layer of the registry, the global one first."""
    return [registry._layer, *registry._layer.descendants()]


def chain_of(registry: Registry, scope: Scope | None) -> Layers:
    """The layers that a scope's calls go through, the global one first."""
    return list((registry._layer if scope is None else scope._layer).chain)


def every_tool(registry: Registry) -> list[Tool]:
    """The tools of all layers, seen from anywhere or nowhere."""
    return [tool for layer in layers_of(registry) for tool in layer.tools.values()]


def value_of(tool: Tool) -> Any:
    """What a tool's probe returns: a value that fits its output schema, marked where it may be text."""
    if not isinstance(tool.output, Mapping):
        return f"probe of {tool.full_name}"
    marked = {"type": "string", "const": f"probe of {tool.full_name}"}
    found = samples({"anyOf": [marked, tool.output], "$defs": tool.output.get("$defs", {})}, limit=1)
    fitting = samples(tool.output, limit=1)
    return found[0] if fitting and found and found[0] in fitting else (fitting[0] if fitting else None)


async def baseline(
    registry: Registry, scope: Scope | None, ledger: Ledger, examples: Mapping[str, Sequence[Any]]
) -> list[Outcome]:
    """Call every visible tool directly with its examples and samples.

    Args:
        registry: whose tools; their bodies are probes by now.
        scope: whose view.
        ledger: what the probes write to.
        examples: arguments by full name, tried before the samples.
    """
    outcomes: list[Outcome] = []
    chain = chain_of(registry, scope)
    with _native(chain), _observed(chain) as seen:
        for tool in registry.tools(scope):
            for arguments in (*examples.get(tool.full_name, ()), *samples(tool.parameters)):
                outcomes.append(await _direct(registry, scope, tool.full_name, arguments, ledger, seen))
    return outcomes


async def _direct(
    registry: Registry, scope: Scope | None, name: str, arguments: Any, ledger: Ledger, seen: list[ToolCall]
) -> Outcome:
    mark, approver = len(ledger), ScriptedApprover()
    seen.clear()
    result = await registry._call(name, arguments, scope=scope, events=MemoryEventLog(), approver=approver)
    ran, call = bool(ledger.since(mark)), seen[0] if seen else None
    before: ToolResult | None = None
    if ran:
        with _unreviewed(chain_of(registry, scope)):
            before = await registry._call(name, arguments, scope=scope, events=MemoryEventLog(), approver=approver)
    return Outcome(
        name=name,
        arguments=thaw(arguments),
        call=call,
        ran=ran,
        asked=bool(approver.requests),
        before=before,
        result=result,
    )


@contextmanager
def _native(chain: Layers) -> Generator[None]:
    """No layer collapses direct calls, for as long as they are measured."""
    modes = [(layer, layer.mode) for layer in chain]
    try:
        for layer, _ in modes:
            layer.mode = None
        yield
    finally:
        for layer, mode in modes:
            layer.mode = mode


@contextmanager
def _unreviewed(chain: Layers) -> Generator[None]:
    """No review is in force: what the model would read, and a program get, without any."""
    reviews = [(layer, layer.reviews) for layer in chain]
    try:
        for layer, _ in reviews:
            layer.reviews = []
        yield
    finally:
        for layer, kept in reviews:
            layer.reviews = kept


@contextmanager
def _observed(chain: Layers) -> Generator[list[ToolCall]]:
    """See the frozen call that policies and guards see."""
    seen: list[ToolCall] = []

    def observe(call: ToolCall, result: ToolResult) -> None:
        seen.append(call)

    hook = Hook(observe)
    layer = chain[-1]
    layer.results.append(hook)
    try:
        yield seen
    finally:
        layer.results.remove(hook)


def hides(outcome: Outcome) -> bool:
    """True where the reviews took content away from the model and left the value to programs."""
    before, after = outcome.before, outcome.result
    if not isinstance(before, ToolSuccess) or not isinstance(after, ToolSuccess) or before.value != after.value:
        return False
    shown = "\n".join(str(block.get("text", "")) for block in after.content)
    return any(str(block.get("text", "")) not in shown for block in before.content)
