"""What policies and reviews may decide. Anything else that they return is a PIPELINE_ERROR: it fails closed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias


class Unset(Enum):
    """`UNSET` is "not given": None is a value that a review may put in place of another."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may go on. Guards can still refuse it."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The call is refused."""

    reason: str
    """What the model is told."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A human decides."""

    reason: str | None = None
    """Why, for the human and, on a refusal, for the model."""


@dataclass(frozen=True, slots=True)
class Accept:
    """The result stands, with a new value OR new content where given, and with contexts added."""

    value: Any = UNSET
    """A new canonical value: validated and rendered again. A program gets this one."""
    content: Any = UNSET
    """New content (a string or blocks): what the model reads. A program still gets the value."""
    contexts: Iterable[Any] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """The result is withheld; the model reads the feedback instead."""

    feedback: Any
    """A string or content blocks."""
    contexts: Iterable[Any] = ()


Decision: TypeAlias = Allow | Deny | Ask
Verdict: TypeAlias = Accept | Block
