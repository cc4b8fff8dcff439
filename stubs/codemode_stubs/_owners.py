"""What a class of a check stub stands for in a program: for the words of a diagnostic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Owner:
    """What a program writes for an object of one class."""

    path: str
    """`tools`, `tools.github` or `tools["2fa"]`; for a record the class's own name, for a tool's
    arguments the tool's."""
    members: tuple[str, ...]
    """What can be written after it: methods after a dot, or keys of a record."""
    record: bool = False
    open: bool = False
    """Of a record: its schema invites keys that it does not declare."""
