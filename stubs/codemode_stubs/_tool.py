"""What a stub needs to know of a tool: a structural view, so that any object with these attributes can be rendered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Annotations(Protocol):
    """The effects a tool declares; None is "not said"."""

    @property
    def read_only(self) -> bool | None: ...
    @property
    def destructive(self) -> bool | None: ...


class ToolLike(Protocol):
    """A tool as the renderer sees it (`codemode_registry.Tool` is one)."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str | None: ...
    @property
    def full_name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def output(self) -> Mapping[str, Any] | bool | None: ...
    @property
    def annotations(self) -> Annotations: ...


def tool_key(tool: ToolLike) -> tuple[str, str, str]:
    """The order of tools in every text: by namespace, then name, so that the order of registration does not show."""
    return (tool.namespace or "", tool.name, tool.full_name)
