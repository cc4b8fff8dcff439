"""Test doubles and conformance checks, as API: for hosts that test their own tools, policies and runtimes.

Those that start child processes are loaded when they are asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from codemode.testing._approver import ScriptedApprover
from codemode.testing._log import RecordingLog
from codemode.testing._runtime import FakeRuntime

if TYPE_CHECKING:
    from codemode.testing.battery import BatteryReport, Finding, bypass_battery
    from codemode_bridge import run_unrestricted, runtime_self_check

__all__ = [
    "BatteryReport",
    "FakeRuntime",
    "Finding",
    "RecordingLog",
    "ScriptedApprover",
    "bypass_battery",
    "run_unrestricted",
    "runtime_self_check",
]

_HOMES = {
    "BatteryReport": "codemode.testing.battery",
    "Finding": "codemode.testing.battery",
    "bypass_battery": "codemode.testing.battery",
    "run_unrestricted": "codemode_bridge",
    "runtime_self_check": "codemode_bridge",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
