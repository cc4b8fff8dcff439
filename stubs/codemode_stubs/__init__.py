"""Typed stubs: any set of tools as Python that a model reads, an editor completes and a type checker checks.

What lives here: JSON Schema -> Python types, the stub module's text in its forms, the spelling of calls, one-line
signatures, and the check of a program with ty. What must not: running anything, files, the network.
"""

from __future__ import annotations

from ._checker import TypeChecker, shared_checker
from ._diagnostic import CheckUnavailableError, Diagnostic, DiagnosticCode
from ._render import Form, render_stubs
from ._signature import signature
from ._spelling import Spelling, method_spellings
from ._tool import ToolLike

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
