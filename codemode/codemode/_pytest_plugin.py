"""The pytest plugin `codemode`: fixtures for hosts that test their own tools and rules.

pytest loads this module in every project that has codemode installed, so it imports nothing but pytest: what a fixture
needs is imported when a test asks for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from codemode import CodeMode, Registry
    from codemode.testing import BatteryReport, RecordingLog, ScriptedApprover


@pytest.fixture
def recording_log() -> RecordingLog:
    """An event log that remembers: `.types`, `.of(type)`."""
    from codemode.testing import RecordingLog

    return RecordingLog()


@pytest.fixture
def scripted_approver() -> ScriptedApprover:
    """An approver that rejects until `.then("allowed-once")` gives it another answer; `.requests` is what it heard."""
    from codemode.testing import ScriptedApprover

    return ScriptedApprover()


@pytest.fixture
def code_mode(recording_log: RecordingLog, scripted_approver: ScriptedApprover) -> Callable[..., CodeMode]:
    """`async with code_mode(registry) as cm: ...`, with this test's log and approver unless it is given others."""
    from codemode import CodeMode

    def make(registry: Registry, **options: Any) -> CodeMode:
        given: dict[str, Any] = {"events": recording_log, "approver": scripted_approver, **options}
        return CodeMode(registry, **given)

    return make


@pytest.fixture
def bypass_battery() -> Callable[..., Awaitable[BatteryReport]]:
    """`report = await bypass_battery(registry, scope)`; `report.raise_for_bypass()` fails the test on a way around."""
    from codemode.testing import bypass_battery

    return bypass_battery
