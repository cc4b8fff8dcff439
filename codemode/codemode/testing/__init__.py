"""Test doubles and conformance checks, as API: for hosts that test their own tools, policies and runtimes.

The two that start child processes are loaded when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemode.testing._approver import ScriptedApprover
from codemode.testing._log import RecordingLog
from codemode.testing._runtime import FakeRuntime

if TYPE_CHECKING:
    from codemode_bridge import run_unrestricted, runtime_self_check

__all__ = ["FakeRuntime", "RecordingLog", "ScriptedApprover", "run_unrestricted", "runtime_self_check"]


def __getattr__(name: str) -> object:
    if name in ("run_unrestricted", "runtime_self_check"):
        import codemode_bridge

        value: object = getattr(codemode_bridge, name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
