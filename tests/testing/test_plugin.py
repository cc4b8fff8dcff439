"""The pytest plugin, used as a project that has codemode installed uses it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TEST = '''
import pytest
from codemode import Registry, Ask

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.fixture
def registry():
    registry = Registry()

    @registry.tool
    async def pay(euros: int) -> str:
        return f"paid {euros}"

    @registry.pre_execute
    async def ask(call, next):
        return Ask("money") if call.name == "pay" else await next()

    return registry

@pytest.mark.anyio
async def test_fixtures(code_mode, registry, scripted_approver, recording_log):
    scripted_approver.then("allowed-once")
    async with code_mode(registry) as cm:
        result = await cm.run("""
first = await tools.pay(euros=1)
try:
    await tools.pay(euros=2)
except ToolCallError:
    return [first, "refused"]
""")
    assert result.value == ["paid 1", "refused"]
    assert [request.arguments["euros"] for request in scripted_approver.requests] == [1, 2]
    assert recording_log.types.count("approval/asked") == 2

@pytest.mark.anyio
async def test_battery(bypass_battery, registry):
    (await bypass_battery(registry, pipeline=False)).raise_for_bypass()
'''


def test_the_fixtures_work_in_a_project_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(TEST, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_a_project_that_uses_no_fixture_pays_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(
        "import sys\ndef test_nothing():\n"
        "    ours = {name for name in sys.modules if name.startswith('codemode')}\n"
        "    assert ours == {'codemode', 'codemode._pytest_plugin'}, ours\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
