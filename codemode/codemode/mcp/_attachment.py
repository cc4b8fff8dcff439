"""The tools of all upstreams in one registry or scope, kept as the servers list them.

Rules
- Equal definitions are the same tool and keep their registration; the rest is disposed and registered anew.
- A server that is down keeps its tools, so that a prompt does not flicker; one that never had any is one tool that
  says why.
- What cannot be registered is a warning, never an exception: the server's fault must not cost the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from codemode_registry import Registration, Registry, Scope

from ._listing import ToolDefinition
from ._tools import tool_for, unavailable_tool
from ._upstream import Upstream


class McpAttachment:
    """What `McpUpstreams.attach` did. `dispose()` is idempotent; also a context manager.

    Args:
        target: where the tools go.
        warn: called with the attachment, the source and the words of a warning.
        on_dispose: called once, when it is over.
    """

    def __init__(
        self,
        target: Registry | Scope,
        warn: Callable[[McpAttachment, str, str], None],
        on_dispose: Callable[[McpAttachment], None],
    ) -> None:
        self.registry: Registry = target if isinstance(target, Registry) else target.registry
        self._target = target
        self._warn = warn
        self._on_dispose = on_dispose
        self._registered: dict[str, dict[str, tuple[ToolDefinition | str, Registration]]] = {}
        self._disposed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.dispose()

    def follow(self, upstream: Upstream) -> None:
        """Makes the registry's view of a server that of its last listing."""
        if upstream.state == "disabled" or self._disposed:
            return
        known = self._registered.setdefault(upstream.name, {})
        wanted = _wanted(upstream)
        for name in [name for name, (is_for, _) in known.items() if wanted.get(name) != is_for]:
            known.pop(name)[1].dispose()
        for name, definition in wanted.items():
            if name not in known:
                registration = self._register(upstream, definition)
                if registration is not None:
                    known[name] = (definition, registration)

    def _register(self, upstream: Upstream, definition: ToolDefinition | str) -> Registration | None:
        def problem(message: str) -> None:
            self._warn(self, f"mcp:{upstream.name}", message)

        if isinstance(definition, str):
            tool = unavailable_tool(upstream)
        else:
            made = tool_for(upstream, definition, problem)
            if made is None:
                return None
            tool = made
        try:
            return self._target.register(tool)
        except Exception as error:  # an observer of the registry may raise anything; it must not end the connection
            problem(upstream.redactor.text(f"tool {tool.name!r} was left out: {error}"))
            return None

    def dispose(self) -> None:
        """Takes the tools out of the registry, and follows the servers no longer."""
        if self._disposed:
            return
        self._disposed = True
        for tools in self._registered.values():
            for _, registration in tools.values():
                registration.dispose()
        self._registered.clear()
        self._on_dispose(self)


def _wanted(upstream: Upstream) -> dict[str, ToolDefinition | str]:
    """What a registry should hold for a server: its tools by name, or why it has none."""
    definitions: Sequence[ToolDefinition] = upstream.definitions
    if definitions or upstream.state == "up":
        return {definition.name: definition for definition in definitions}
    return {"": upstream.error or ""}
