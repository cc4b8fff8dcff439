"""The dialect: Python as programs may write it, compiled under RestrictedPython and guarded by type.

Programs are hostile; this layer stops mistakes and ordinary attacks with clear messages, the sealed process holds what
breaks it.  Compiling and running belong to the child only; the host reads `MODULES` and `read_source` from here, so
names are loaded when they are first asked for.  See README.md.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from ._listing import LISTED as MODULES
from ._names import MAIN_NAME as BODY_NAME
from ._refusal import ProgramRefused, Refusal
from ._source import SourceText, read_source

if TYPE_CHECKING:
    from ._compile import Program, compile_program
    from ._globals import Completion, Stdout, lay_in, make_globals, start
    from ._guards import allow_type
    from ._hints import hint
    from ._introspection import (
        dataclass_fields,
        describe_type,
        enum_value,
        is_module,
        is_namedtuple,
        is_program_frame,
        is_user_class,
        is_user_instance,
        named_tuple_fields,
        user_base,
    )
    from .modules import preload

_HOMES: Final = {
    "_compile": ("Program", "compile_program"),
    "_globals": ("Completion", "Stdout", "lay_in", "make_globals", "start"),
    "_guards": ("allow_type",),
    "_hints": ("hint",),
    "_introspection": (
        "dataclass_fields",
        "describe_type",
        "enum_value",
        "is_module",
        "is_namedtuple",
        "is_program_frame",
        "is_user_class",
        "is_user_instance",
        "named_tuple_fields",
        "user_base",
    ),
    "modules": ("preload",),
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if any(name in names for names in _HOMES.values()):
        # Whatever asks for one of them gets them all: a sealed child can load nothing later.
        for home, exported in _HOMES.items():
            loaded = importlib.import_module(f".{home}", __name__)
            globals().update({each: getattr(loaded, each) for each in exported})
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BODY_NAME",
    "MODULES",
    "Completion",
    "Program",
    "ProgramRefused",
    "Refusal",
    "SourceText",
    "Stdout",
    "allow_type",
    "compile_program",
    "dataclass_fields",
    "describe_type",
    "enum_value",
    "hint",
    "is_module",
    "is_namedtuple",
    "is_program_frame",
    "is_user_class",
    "is_user_instance",
    "lay_in",
    "make_globals",
    "named_tuple_fields",
    "preload",
    "read_source",
    "start",
    "user_base",
]
