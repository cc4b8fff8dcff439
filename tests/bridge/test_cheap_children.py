"""What makes a child cheap changes nothing of what a run may rely on; and it is cheap."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from codemode_bridge import Binding, CodeRunRequest, ProcessRuntime, run_unrestricted
from codemode_bridge._children import Child, become_ready
from codemode_bridge._session import Session
from codemode_bridge._zygotes import HOUSE, guest_command, guest_environment

linux = pytest.mark.skipif(sys.platform != "linux", reason="children are forked on Linux")


@pytest.mark.parametrize("warm", [0, 2], ids=["waited for", "prepared ahead"])
async def test_the_interpreters_own_generator_starts_anew_in_each_child(warm: int) -> None:
    async with ProcessRuntime(warm=warm) as runtime:
        drawn = [
            (await run_unrestricted("import random; return random.random()", runtime=runtime)).value for _ in range(4)
        ]
    assert len(set(drawn)) == 4


def stat(child: Child) -> list[str]:
    """What proc(5) tells of a process after its name."""
    return Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()


def faults(child: Child) -> int:
    """Pages that the child has touched first."""
    return int(stat(child)[7])


async def at_rest(child: Child) -> None:
    """Wait until the child waits for its program."""
    with anyio.fail_after(10):
        while stat(child)[0] != "S":  # noqa: ASYNC110 - another process is waited for
            await anyio.sleep(0.002)


@linux
async def test_a_waiting_child_copies_few_pages_and_one_that_is_waited_for_fewer() -> None:
    """1,170 and no difference, before the zygote's memory was put in order; about 720 and 270 since."""
    async with ProcessRuntime(warm=1) as runtime:
        await runtime.run(CodeRunRequest("1"))
        [ahead] = runtime._pool._waiting
        with anyio.fail_after(10):
            await anyio.wait_readable(ahead.bridge)  # `ready` came, and nobody has said that it is wanted
        await become_ready(ahead)
        await at_rest(ahead)
        wanted = runtime._make_child()
        try:
            await become_ready(wanted)
            await at_rest(wanted)
            assert faults(wanted) < faults(ahead) < 850
        finally:
            wanted.end()


@linux
async def test_the_zygote_itself_copies_few_pages_for_a_run() -> None:
    """75, before its loop was made apart from what it shares; about 30 since."""

    def touched() -> int:
        return int(Path(f"/proc/{HOUSE.zygote().pid}/stat").read_text().rpartition(")")[2].split()[7])

    async with ProcessRuntime(warm=1) as runtime:
        for _ in range(5):
            await runtime.run(CodeRunRequest("1"))
        before = touched()
        for _ in range(40):
            await runtime.run(CodeRunRequest("1"))
        assert touched() - before < 40 * 50


async def test_a_child_that_is_told_of_a_run_ahead_runs_one_program_as_any_other() -> None:
    async with ProcessRuntime(warm=1) as runtime:
        await runtime.run(CodeRunRequest("1"))
        for times in (1, 2, 5):
            await anyio.sleep(0.02)
            for _ in range(times):
                runtime.expect_run()
            assert (await runtime.run(CodeRunRequest(f"return {times}"))).value == times
        await anyio.sleep(0.02)
        runtime.expect_run()
        await anyio.sleep(0.02)  # The child has stopped looking: nobody ran anything after all.
        assert (await runtime.run(CodeRunRequest("return 'late'"))).value == "late"


async def test_no_child_is_woken_while_others_run_or_have_just_run(monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[bool] = []
    async with ProcessRuntime(warm=1) as runtime:
        await runtime.run(CodeRunRequest("1"))
        monkeypatch.setattr(runtime._pool, "expect", lambda: woken.append(True))
        runtime.expect_run()
        assert woken == []
        await anyio.sleep(0.02)
        runtime.expect_run()
        assert woken == [True]

        async def during(_: dict[str, Any]) -> None:
            await anyio.sleep(0.02)
            runtime.expect_run()

        await runtime.run(CodeRunRequest("await tools.during()", {"during": Binding("during", (), during)}))
        assert woken == [True]


@linux
def test_a_walk_in_a_copy_of_the_process_finds_what_a_walk_here_finds() -> None:
    program = guest_command("zygote")[-1].partition("from codemode_guest")[0] + (
        "from codemode_guest._rehearsal import load; load(); from codemode_guest.dialect import _direct as d; "
        "assert d._LEARNT and d.host_names() is d._LEARNT[0]; "
        "learnt, walked = d._LEARNT[0], d._walk_host(); "
        "assert learnt == walked, learnt.items() ^ walked.items(); assert len(walked) > 5000; print('same')"
    )
    command = [*guest_command("zygote")[:-1], program]
    done = subprocess.run(command, env=guest_environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "same\n", done.stderr


@linux
def test_a_walk_that_fails_in_the_copy_starts_no_zygote() -> None:
    program = guest_command("zygote")[-1].partition("from codemode_guest")[0] + (
        "from codemode_guest.dialect import _direct as d\n"
        "def broken(): raise RuntimeError('no walk')\n"
        "d._walk_host = broken\n"
        "from codemode_guest._rehearsal import load; load(); print('it goes on')"
    )
    command = [*guest_command("zygote")[:-1], program]
    done = subprocess.run(command, env=guest_environment(), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, ""), done.stdout


async def test_a_call_that_the_program_gave_up_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions: list[Session] = []
    init = Session.__init__

    def noted(session: Session, *given: Any, **options: Any) -> None:
        init(session, *given, **options)
        sessions.append(session)

    monkeypatch.setattr(Session, "__init__", noted)
    kept: list[int] = []

    async def never(_: dict[str, Any]) -> None:
        await anyio.sleep_forever()

    async def count(_: dict[str, Any]) -> None:
        kept.append(len(sessions[-1]._calls))

    bindings = {"never": Binding("never", (), never), "count": Binding("count", (), count)}
    program = """
import asyncio
for _ in range(5):
    try:
        await asyncio.wait_for(tools.never(), 0.005)
    except TimeoutError:
        pass
await tools.count()
await tools.count()
"""
    async with ProcessRuntime(warm=0) as runtime:
        result = await runtime.run(CodeRunRequest(program, bindings))
    assert result.error is None
    assert kept[-1] == 1
