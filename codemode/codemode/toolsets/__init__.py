"""Tools that come with codemode: files below a directory, a SQLite database, long work in the background.

Each is an ordinary toolset on the registry's public API: `registry.add(fs_tools("."), namespace="fs")`.
Names are loaded on first use (PEP 562): who uses one toolset does not load the others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_HOMES = {
    "_fs": "fs_tools",
    "_jobs": "job_tools",
    "_sqlite": "sqlite_tools",
    "_toolset": "Toolset",
    "_versions": "Absent Basis IntentPolicy WriteIntent read_first unconditional",
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
