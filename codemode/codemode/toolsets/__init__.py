"""Tools that come with codemode: files below a directory, a SQLite database, long work in the background.

Each is an ordinary toolset on the registry's public API: `registry.add(fs_tools("."), namespace="fs")`.
"""

from ._fs import fs_tools
from ._jobs import job_tools
from ._sqlite import sqlite_tools
from ._toolset import Toolset
from ._versions import Absent, Basis, IntentPolicy, WriteIntent, read_first, unconditional

__all__ = [
    "Absent",
    "Basis",
    "IntentPolicy",
    "Toolset",
    "WriteIntent",
    "fs_tools",
    "job_tools",
    "read_first",
    "sqlite_tools",
    "unconditional",
]
