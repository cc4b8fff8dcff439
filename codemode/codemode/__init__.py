"""codemode: a model writes one async Python program that calls many guarded tools.

Every public name of the product is importable from here. The names are loaded on first use (PEP 562), from the one
table below: `import codemode` alone must cost next to nothing, because the first thing a run needs is a child process,
and that can start while the host is still importing its libraries. So the first use of a name that leads to a run
starts the zygote (`_STARTERS`), and only then is the name loaded: the two take about as long, side by side. A process
that never runs a program ends it with itself; `CODEMODE_START=late` leaves it to the first run.
"""

from __future__ import annotations

import gc
import importlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemode._check import Diagnostic, check_program
    from codemode._code_mode import CodeMode
    from codemode._result import CallRecord, RunResult
    from codemode._sync import run_sync
    from codemode_bridge import (
        Binding,
        BindingError,
        CodeRunRequest,
        CodeRunResult,
        CodeRuntime,
        Limits,
        ProcessRuntime,
        RunError,
        Usage,
    )
    from codemode_registry import (
        Accept,
        Allow,
        ApprovalPolicy,
        ApprovalRequest,
        Approver,
        Ask,
        Block,
        CancelSignal,
        CodeModeError,
        Decision,
        Deny,
        Event,
        EventLog,
        JsonlEventLog,
        JsonValue,
        MemoryEventLog,
        Registration,
        RegistrationError,
        Registry,
        RuntimeUnavailableError,
        Scope,
        Tool,
        ToolAnnotations,
        ToolCall,
        ToolContext,
        ToolError,
        ToolFailure,
        ToolRequest,
        ToolResult,
        ToolSuccess,
        read_events,
    )

__version__ = "0.1.0"

_HOMES = {
    "codemode_bridge": (
        "Binding BindingError CodeRunRequest CodeRunResult CodeRuntime Limits ProcessRuntime RunError Usage"
    ),
    "codemode_registry": (
        "Accept Allow ApprovalPolicy ApprovalRequest Approver Ask Block CancelSignal CodeModeError Decision Deny "
        "Event EventLog JsonValue JsonlEventLog MemoryEventLog Registration RegistrationError Registry "
        "RuntimeUnavailableError Scope Tool ToolAnnotations ToolCall ToolContext ToolError ToolFailure "
        "ToolRequest ToolResult ToolSuccess read_events"
    ),
    "codemode._check": "Diagnostic check_program",
    "codemode._code_mode": "CodeMode",
    "codemode._result": "CallRecord RunResult",
    "codemode._sync": "run_sync",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
_STARTERS = frozenset(("CodeMode", "ProcessRuntime", "Registry", "run_sync"))

__all__ = [
    "Accept",
    "Allow",
    "ApprovalPolicy",
    "ApprovalRequest",
    "Approver",
    "Ask",
    "Binding",
    "BindingError",
    "Block",
    "CallRecord",
    "CancelSignal",
    "CodeMode",
    "CodeModeError",
    "CodeRunRequest",
    "CodeRunResult",
    "CodeRuntime",
    "Decision",
    "Deny",
    "Diagnostic",
    "Event",
    "EventLog",
    "JsonValue",
    "JsonlEventLog",
    "Limits",
    "MemoryEventLog",
    "ProcessRuntime",
    "Registration",
    "RegistrationError",
    "Registry",
    "RunError",
    "RunResult",
    "RuntimeUnavailableError",
    "Scope",
    "Tool",
    "ToolAnnotations",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolFailure",
    "ToolRequest",
    "ToolResult",
    "ToolSuccess",
    "Usage",
    "check_program",
    "read_events",
    "run_sync",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _STARTERS and os.environ.get("CODEMODE_START") != "late":
        from codemode_bridge._zygotes import begin

        begin()
    value = _loaded(home, name)
    globals()[name] = value
    return value


def _loaded(home: str, name: str) -> object:
    """The name from its home. What libraries make while they load stays, so looking for garbage in it only takes time:
    an eighth of a cold start. Nobody looks while it is loaded, nor afterwards: what is there by then counts as old."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        value: object = getattr(importlib.import_module(home), name)
    finally:
        if collecting:
            if not gc.get_freeze_count():  # what the host itself has frozen stays so
                gc.freeze()
                gc.unfreeze()  # into the oldest generation, without a look at any object
            gc.enable()
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
