"""Layers: the one tree of what is registered where, and the one view that everything asks.

Rules
- There is a global layer and a layer per scope. What a scope sees is the global entries, overlaid by each ancestor's
  and then its own; an overlay takes the shadowed entry's place in the order.
- A restriction filters what its layer inherits, never what the layer itself registered. Several intersect; deny wins.
- Schemas, lookup, scheduling and dispatch ask `view`; there is no other way to a tool. So a hidden tool is unknown.
- Hooks stand in lists that are read live: a guard added by a guard runs in the same pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ._errors import RegistrationError
from ._explain import did_you_mean
from ._tool import RUN_CODE, Tool


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """One registered function. Compared by identity: the same function twice is two hooks."""

    fn: Callable[..., Any]


@dataclass(frozen=True, slots=True, eq=False)
class Restriction:
    """One filter on what a layer inherits; captured when it is made."""

    allow: frozenset[str] | None
    deny: frozenset[str]

    def admits(self, name: str) -> bool:
        """Whether an inherited tool of this name stays visible."""
        return name not in self.deny and (self.allow is None or name in self.allow)


class Clock:
    """Counts changes of the tool set of one registry, so that views can be kept."""

    __slots__ = ("ticks",)

    def __init__(self) -> None:
        self.ticks = 0


@dataclass(slots=True, eq=False)
class Layer:
    """What was registered in one place."""

    name: str | None
    """The scope's name; None for the global layer."""
    parent: Layer | None
    clock: Clock
    tools: dict[str, Tool] = field(default_factory=dict[str, Tool])
    restrictions: list[Restriction] = field(default_factory=list[Restriction])
    mode: str | None = None
    approval: str | None = None
    policies: list[Hook] = field(default_factory=list[Hook])
    guards: list[Hook] = field(default_factory=list[Hook])
    wrappers: list[Hook] = field(default_factory=list[Hook])
    reviews: list[Hook] = field(default_factory=list[Hook])
    results: list[Hook] = field(default_factory=list[Hook])
    changes: list[Hook] = field(default_factory=list[Hook])
    progress: list[Hook] = field(default_factory=list[Hook])
    shapers: list[Hook] = field(default_factory=list[Hook])
    children: dict[str, Layer] = field(default_factory=dict[str, "Layer"])
    disposed: bool = False
    chain: tuple[Layer, ...] = ()
    """The layers from the global one to this one."""
    _seen: tuple[int, dict[str, Tool]] | None = None

    def __post_init__(self) -> None:
        self.chain = (*(self.parent.chain if self.parent is not None else ()), self)

    def view(self) -> Mapping[str, Tool]:
        """What this layer sees: full name -> tool, in order. Not to be changed."""
        if self.disposed and self.parent is not None:
            return self.parent.view()
        if self._seen is not None and self._seen[0] == self.clock.ticks:
            return self._seen[1]
        seen = {name: tool for name, tool in self.inherited().items() if self._admits(name)}
        seen.update(self.tools)
        self._seen = (self.clock.ticks, seen)
        return seen

    def inherited(self) -> Mapping[str, Tool]:
        """What comes from the layers above, before this layer's restrictions."""
        return self.parent.view() if self.parent is not None else {}

    def _admits(self, name: str) -> bool:
        return all(restriction.admits(name) for restriction in self.restrictions)

    def descendants(self) -> Iterator[Layer]:
        """The layers below this one."""
        for child in self.children.values():
            yield child
            yield from child.descendants()

    def presentation(self, default: str) -> str:
        """The mode in force: the nearest declaration, else the default."""
        for layer in reversed(self.chain):
            if layer.mode is not None:
                return layer.mode
        return default

    def approval_policy(self) -> str:
        """The approval policy in force: the nearest declaration, else `ask`."""
        for layer in reversed(self.chain):
            if layer.approval is not None:
                return layer.approval
        return "ask"

    def check_free(self, tool: Tool) -> None:
        """Refuse a tool whose name is taken, here or (as a namespace) in a layer that shares a view with this one.

        Raises:
            RegistrationError: as said.
        """
        name = tool.full_name
        if RUN_CODE in (name, tool.namespace):
            raise RegistrationError(f"the name {RUN_CODE!r} is reserved for the tool that runs programs")
        if name in self.tools:
            where = "globally; register it through a scope to shadow it" if self.name is None else "in this scope"
            raise RegistrationError(f"tool {name!r} is already registered {where}")
        for layer in (*self.chain, *self.descendants()):
            for other in layer.tools.values():
                if other.namespace == name:
                    raise RegistrationError(f"tool {name!r} would have the name of a namespace")
                if tool.namespace is not None and other.full_name == tool.namespace:
                    raise RegistrationError(f"tool {name!r}: a tool has the name of its namespace")

    def restriction(self, allow: object, deny: object) -> Restriction:
        """A checked restriction for this layer, not yet in force.

        Raises:
            RegistrationError: it restricts nothing, or names what is not inherited.
        """
        if allow is None and deny is None:
            raise RegistrationError("restrict() needs allow or deny; with neither it restricts nothing")
        lists: list[frozenset[str] | None] = []
        for what, given in (("allow", allow), ("deny", deny)):
            if given is None:
                lists.append(None)
                continue
            if isinstance(given, str) or not hasattr(given, "__iter__"):
                raise RegistrationError(f"restrict({what}=...) takes a list of tool names, not {given!r:.80}")
            lists.append(frozenset(cast("Iterable[str]", given)))
        named = (lists[0] or frozenset()) | (lists[1] or frozenset())
        if RUN_CODE in named:
            raise RegistrationError(f"restrict() cannot name the reserved tool {RUN_CODE!r}; use present_as()")
        known = self.inherited()
        unknown = sorted(str(name) for name in named if name not in known)
        if unknown:
            listed = ", ".join(sorted(known)) or "(none)"
            hint = did_you_mean(unknown[0], known) if len(unknown) == 1 else ""
            names = ", ".join(unknown)
            raise RegistrationError(f"restrict() names tools that are not inherited: {names}{hint} (known: {listed})")
        return Restriction(lists[0], lists[1] or frozenset())
