"""Typed stubs: any set of tools as Python that a model reads, an editor completes and a type checker checks.

What lives here: JSON Schema -> Python types, the stub module's text in its forms, the spelling of calls, one-line
signatures, and the check of a program with ty. What must not: running programs, the network, any JSON Schema
validation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._diagnostic import CheckUnavailableError, Diagnostic, DiagnosticCode
from ._render import Form, render_stubs
from ._signature import signature
from ._spelling import Spelling, method_spellings
from ._tool import ToolLike

if TYPE_CHECKING:
    from ._checker import TypeChecker, shared_checker

__all__ = [
    "CheckUnavailableError",
    "Diagnostic",
    "DiagnosticCode",
    "Form",
    "Spelling",
    "ToolLike",
    "TypeChecker",
    "method_spellings",
    "render_stubs",
    "shared_checker",
    "signature",
]


def __getattr__(name: str) -> Any:
    # Most hosts render and never check: they do not pay for the imports of a process and its protocol (PEP 562).
    if name in ("TypeChecker", "shared_checker"):
        from . import _checker

        return getattr(_checker, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
