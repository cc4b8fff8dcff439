"""Test doubles and conformance checks, as API: for hosts that test their own tools, policies and runtimes."""

from __future__ import annotations

from codemode.testing._approver import ScriptedApprover
from codemode.testing._log import RecordingLog
from codemode.testing._runtime import FakeRuntime
from codemode_bridge import run_unrestricted, runtime_self_check

__all__ = ["FakeRuntime", "RecordingLog", "ScriptedApprover", "run_unrestricted", "runtime_self_check"]
