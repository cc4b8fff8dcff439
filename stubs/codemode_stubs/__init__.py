"""Typed stubs: any set of tools as Python that a model reads, an editor completes and a type checker checks.

What lives here: JSON Schema -> Python types, the stub module's text in its forms, the spelling of calls, one-line
signatures, and the check of a program with ty. What must not: running programs, the network, any JSON Schema
validation.

Names are loaded on first use (PEP 562): a run spells its tools and renders no module, most hosts never check.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_HOMES = {
    "_checker": "TypeChecker shared_checker",
    "_diagnostic": "CheckUnavailableError Diagnostic DiagnosticCode",
    "_render": "Form render_stubs",
    "_signature": "signature",
    "_spelling": "Spelling method_spellings",
    "_tool": "ToolLike",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
