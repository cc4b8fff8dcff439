"""A scope: a layer over the global one (an agent, a session, a tenant), with its own tools, hooks and restrictions."""

# pyright: reportUnnecessaryIsInstance=false
# Callers need not be type-checked: what comes in is looked at.

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ._errors import RegistrationError
from ._layers import Layer, Restriction
from ._registration import Registration
from ._surface import Surface

if TYPE_CHECKING:
    from ._registry import Registry

MODES = ("native", "code", "both")
"""How tools are presented to the model: as they are, only through programs, or both."""


class Scope(Surface):
    """A layer over the global one; made by `registry.scope(name)` and `scope.scope(name)`.

    A context manager: leaving it disposes it.
    """

    def __init__(self, layer: Layer, parent: Scope | None, registry: Registry) -> None:
        self._layer = layer
        self.registry = registry
        """The registry that it belongs to."""
        self._parent = parent

    @property
    def name(self) -> str:
        """Its name among its siblings."""
        return self._layer.name or ""

    @property
    def parent(self) -> Scope | None:
        """The scope that it stands in; None directly under the registry."""
        return self._parent

    @property
    def disposed(self) -> bool:
        """Whether it was disposed. Calls in a disposed scope are refused."""
        return self._layer.disposed

    def scope(self, name: str) -> Scope:
        """A scope inside this one: it sees what this one sees.

        Raises:
            RegistrationError: a live scope here has that name.
        """
        return Scope(open_layer(self._layer, name), self, self.registry)

    def restrict(self, allow: Iterable[str] | None = None, deny: Iterable[str] | None = None) -> Registration:
        """Filter the tools that this scope inherits; its own are never filtered.

        Args:
            allow: Only these stay, and none that comes later. `[]` hides everything inherited.
            deny: These go; what comes later stays.

        Raises:
            RegistrationError: neither is given, or a name is not inherited.
        """
        self._check_alive()
        restriction = self._layer.restriction(allow, deny)
        self._layer.restrictions.append(restriction)
        self._layer.clock.ticks += 1
        try:
            self._changed()
        except BaseException:
            self._lift(restriction)
            raise

        def lift() -> None:
            self._lift(restriction)
            self._changed_quietly()

        return Registration(lift)

    def _lift(self, restriction: Restriction) -> None:
        if restriction in self._layer.restrictions and not self._layer.disposed:
            self._layer.restrictions.remove(restriction)
        self._layer.clock.ticks += 1

    def present_as(self, mode: str) -> Registration:
        """Declare how this scope's tools are presented: `"native"`, `"code"` or `"both"`. The nearest declaration wins.

        Raises:
            RegistrationError: no such mode, or this scope has declared one.
        """
        self._check_alive()
        check_mode(mode)
        layer = self._layer
        if layer.mode is not None:
            raise RegistrationError(f"mode {mode!r} conflicts with {layer.mode!r}, declared by scope {self.name!r}")
        layer.mode = mode
        layer.clock.ticks += 1

        def undo() -> None:
            layer.mode = None
            layer.clock.ticks += 1
            self._changed_quietly()

        try:
            self._changed()
        except BaseException:
            layer.mode = None
            raise
        return Registration(undo)

    def dispose(self) -> None:
        """Drop the scope: its tools, restrictions, hooks, mode, and the scopes inside it. Idempotent."""
        if self._layer.disposed:
            return
        for layer in (*self._layer.descendants(), self._layer):
            layer.disposed = True
        observers = self._change_observers()
        if self._layer.parent is not None:
            self._layer.parent.children.pop(self.name, None)
        self._layer.clock.ticks += 1
        self._notify_quietly(observers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dispose()

    def __repr__(self) -> str:
        return f"<Scope {self.name}{' (disposed)' if self.disposed else ''}>"


def open_layer(parent: Layer, name: str) -> Layer:
    """A new layer under another.

    Raises:
        RegistrationError: the name is no string or empty, a live sibling has it, or the parent was disposed.
    """
    if not isinstance(name, str) or not name:
        raise RegistrationError(f"a scope's name is a string that is not empty, not {name!r:.80}")
    if parent.disposed:
        raise RegistrationError(f"scope {parent.name!r} was disposed")
    if name in parent.children:
        raise RegistrationError(f"a scope {name!r} is live already; dispose it first")
    layer = Layer(name, parent, parent.clock)
    parent.children[name] = layer
    return layer


def check_mode(mode: object) -> None:
    """Refuse what is no presentation mode.

    Raises:
        RegistrationError: it is none.
    """
    if mode not in MODES:
        raise RegistrationError(f"a mode is one of {', '.join(MODES)}, not {mode!r}")
