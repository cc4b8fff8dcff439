"""What each owner has seen of which file, and what a write may therefore do: read before you change.

Rules
- A version is the hash of a file's whole content: the same content is the same version, whatever the clock says.
- Seen means: read whole, written or edited by the same owner, or found missing. The owner is the scope of the call;
  calls without a scope share one owner. A part of a file too big to be read whole is no sight of it.
- A policy turns what was seen into what the write may assume (its basis); the write is then held to the basis at
  the moment of the change, not at the moment of the question. There is one policy at a time.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from codemode_registry import Scope, ToolCall

from ._root import FsError, quoted

MAX_SEEN = 10_000
"""Files remembered for one owner; the longest unseen is forgotten first, and then has to be read again."""


class Absent(Enum):
    """The file was looked for and was not there."""

    ABSENT = "absent"


Version = str | Absent
"""The hash of a content, or that there is none."""


@dataclass(frozen=True, slots=True)
class WriteIntent:
    """What is about to be done to a file, before anything is."""

    operation: Literal["write", "edit"]
    path: str
    """Below the root, links resolved."""
    seen: Version | None
    """The version that the owner has seen last; None: never seen."""
    call: ToolCall


@dataclass(frozen=True, slots=True)
class Basis:
    """What the file must be at the moment of the change."""

    version: Version | None
    """That version; None: anything (an unconditional change)."""


IntentPolicy = Callable[[WriteIntent], Basis]
"""Decides on a write; to refuse, it raises ToolError with the reason."""


def version_of(content: bytes) -> str:
    """The version of a content."""
    return hashlib.sha256(content).hexdigest()


def read_first(intent: WriteIntent) -> Basis:
    """The default policy: a new file may be created, an existing one changed only as it was last seen."""
    if intent.operation == "edit":
        if intent.seen is None:
            raise FsError(f"edit requires reading {quoted(intent.path)} first (whole, with read)")
        if intent.seen is Absent.ABSENT:
            raise FsError(f"{quoted(intent.path)}: not found when it was last read; create it with write")
        return Basis(intent.seen)
    return Basis(Absent.ABSENT if intent.seen is None else intent.seen)


def unconditional(intent: WriteIntent) -> Basis:
    """A policy that lets every write through as it is."""
    return Basis(None)


class Sightings:
    """Who has seen which version of what. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scopes: weakref.WeakKeyDictionary[Scope, OrderedDict[str, Version]] = weakref.WeakKeyDictionary()
        self._nobody: OrderedDict[str, Version] = OrderedDict()

    def note(self, owner: Scope | None, path: str, version: Version) -> None:
        with self._lock:
            seen = self._nobody if owner is None else self._scopes.setdefault(owner, OrderedDict())
            seen[path] = version
            seen.move_to_end(path)
            if len(seen) > MAX_SEEN:
                seen.popitem(last=False)

    def get(self, owner: Scope | None, path: str) -> Version | None:
        with self._lock:
            seen = self._nobody if owner is None else self._scopes.get(owner)
            return None if seen is None else seen.get(path)
