"""The dialect: Python as programs may write it, compiled under RestrictedPython and guarded by type.

Programs are hostile; this layer stops mistakes and ordinary attacks with clear messages, the sealed process holds what
breaks it.  Runs in the child only.  See README.md.
"""

from __future__ import annotations

from ._compile import Program, compile_program
from ._globals import Completion, Stdout, make_globals, start
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
from ._names import MAIN_NAME as BODY_NAME
from ._refusal import ProgramRefused, Refusal
from ._source import SourceText, read_source
from .modules import MODULES, preload

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
    "make_globals",
    "named_tuple_fields",
    "preload",
    "read_source",
    "start",
    "user_base",
]
