"""The host's end of code mode: child processes, the wire to them, and the runtime that runs programs in them.

Names are loaded on first use (PEP 562): `codemode_bridge._zygotes` can start a child's zygote before pydantic and anyio
are imported.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemode_bridge._bindings import VisibleTool, VisibleTools
    from codemode_bridge._clock import PauseClock
    from codemode_bridge._contract import (
        Binding,
        BindingError,
        CodeRunRequest,
        CodeRunResult,
        CodeRuntime,
        ErrorKind,
        LayerReport,
        RunError,
        Usage,
        WallPause,
    )
    from codemode_bridge._dispatcher import CallRecord, Dispatcher
    from codemode_bridge._limits import Limits
    from codemode_bridge._process_runtime import ProcessRuntime
    from codemode_bridge._self_check import SelfCheckFailed, runtime_self_check
    from codemode_bridge._unrestricted import run_unrestricted

__all__ = [
    "Binding",
    "BindingError",
    "CallRecord",
    "CodeRunRequest",
    "CodeRunResult",
    "CodeRuntime",
    "Dispatcher",
    "ErrorKind",
    "LayerReport",
    "Limits",
    "PauseClock",
    "ProcessRuntime",
    "RunError",
    "SelfCheckFailed",
    "Usage",
    "VisibleTool",
    "VisibleTools",
    "WallPause",
    "run_unrestricted",
    "runtime_self_check",
]

_HOMES = {
    "_clock": "PauseClock",
    "_bindings": "VisibleTool VisibleTools",
    "_dispatcher": "CallRecord Dispatcher",
    "_limits": "Limits",
    "_process_runtime": "ProcessRuntime",
    "_self_check": "SelfCheckFailed runtime_self_check",
    "_contract": (
        "Binding BindingError CodeRunRequest CodeRunResult CodeRuntime ErrorKind LayerReport RunError Usage WallPause"
    ),
    "_unrestricted": "run_unrestricted",
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
