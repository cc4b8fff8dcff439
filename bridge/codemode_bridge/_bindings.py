"""The tools of a run as bindings: what is the same for every run over the same tools is made once.

Rules of this module: `VisibleTools` is shared by all runs that see these tools, `Bindings` is one run's. A run over a
thousand tools that calls three costs three bindings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from codemode_bridge._contract import Binding
from codemode_bridge._frames import encode_body
from codemode_registry import FrozenList, freeze


@dataclass(frozen=True, slots=True)
class VisibleTool:
    """A tool that a program is given, with the spelling that its stub has."""

    name: str
    """The full name."""
    namespace: str | None
    method: str
    """What the program writes after the dot; empty where only brackets reach it."""
    parameters: tuple[str, ...]
    """In the order of the stub."""
    signature: str
    """One line, for messages."""


class VisibleTools:
    """What programs may call, in order."""

    def __init__(self, tools: Iterable[VisibleTool]) -> None:
        self.by_name = {tool.name: tool for tool in tools}
        self.names: FrozenList = freeze(list(self.by_name))
        self.listing = encode_body([_listed(tool) for tool in self.by_name.values()])
        """JSON, as the `run` frame carries it."""


class Bindings(Mapping[str, Binding]):
    """The bindings of one run, each made when it is first asked for."""

    def __init__(self, tools: VisibleTools, make: Callable[[VisibleTool], Binding]) -> None:
        self.tools = tools
        self._make = make
        self._made: dict[str, Binding] = {}

    def __getitem__(self, name: str) -> Binding:
        binding = self._made.get(name)
        if binding is None:
            binding = self._made[name] = self._make(self.tools.by_name[name])
        return binding

    def __iter__(self) -> Iterator[str]:
        return iter(self.tools.by_name)

    def __len__(self) -> int:
        return len(self.tools.by_name)


def listing(bindings: Mapping[str, Binding]) -> bytes:
    """The JSON of a run's bindings, as the `run` frame carries it."""
    if isinstance(bindings, Bindings):
        return bindings.tools.listing
    return encode_body([_listed(binding) for binding in bindings.values()])


def _listed(tool: VisibleTool | Binding) -> dict[str, object]:
    return {
        "name": tool.name,
        "namespace": tool.namespace,
        "method": tool.method or tool.name,
        "parameters": tool.parameters,
        "signature": tool.signature,
    }
