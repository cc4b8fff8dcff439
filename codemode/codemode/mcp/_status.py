"""The states of an upstream's connection, which follows which, and the report of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

State: TypeAlias = Literal["starting", "up", "down", "disabled"]

NEXT: Mapping[State, frozenset[State]] = {
    "starting": frozenset({"up", "down"}),
    "up": frozenset({"down"}),
    "down": frozenset({"starting"}),
    "disabled": frozenset(),
}
"""The legal changes."""


@dataclass(frozen=True, slots=True)
class UpstreamStatus:
    """What is known of an upstream now; safe to show."""

    name: str
    state: State
    transport: str
    """`stdio` or `http`."""
    endpoint: str
    """The program's name, or the URL without user info and query."""
    tools: tuple[str, ...]
    """Names of the tools, as last listed."""
    error: str | None
    """Why it is down, or was last."""
    protocol: str | None
    """The negotiated revision."""
    server: str | None
    """Name and version, as the server gives them."""
    attempts: int
    """Failed tries since the last good connection."""
