"""What a runtime owns and gives back: processes, descriptors, zygotes; across loops, threads and forks of the host."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from codemode_bridge import Binding, CodeRunRequest, Limits, ProcessRuntime, _clock, run_unrestricted
from codemode_bridge._children import become_ready
from codemode_bridge._zygotes import HOUSE, ZygoteHouse, ZygoteProcess


def children_of(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def serving() -> ZygoteProcess:
    zygote = HOUSE._current
    assert zygote is not None
    return zygote


def held() -> set[int]:
    """Children that runtimes of other tests in this process keep: their end is not waited for."""
    return set() if HOUSE._current is None else set(children_of(HOUSE._current.pid))


async def until(condition: Any, what: str) -> None:
    """A bounded wait for what another process does."""
    with anyio.fail_after(10):
        while not condition():  # noqa: ASYNC110 - another process is waited for
            await anyio.sleep(0.002)
    assert condition(), what


async def test_nothing_is_left_after_runs_kills_crashes_and_cancels() -> None:
    others = held()
    async with ProcessRuntime(warm=1) as runtime:
        await runtime.run(CodeRunRequest("return 1"))
    zygote = serving().pid
    await until(lambda: set(children_of(zygote)) <= others, "the first children are buried")
    gc.collect()
    before = descriptors()
    async with ProcessRuntime(warm=2) as runtime:
        for _ in range(5):
            await runtime.run(CodeRunRequest("return 1"))
            await run_unrestricted("import os; os._exit(1)", runtime=runtime)
            await run_unrestricted("import ctypes; ctypes.string_at(0)", runtime=runtime)
            await runtime.run(CodeRunRequest("while True: pass", limits=Limits(compute_seconds=0.01)))
            with anyio.move_on_after(0.01):
                await runtime.run(CodeRunRequest("while True: pass"))
    await until(lambda: set(children_of(zygote)) <= others, "no zombie and no child")
    gc.collect()
    assert descriptors() == before


async def test_the_last_runtime_takes_the_zygote_along() -> None:
    program = """
import os, anyio
from pathlib import Path
from codemode_bridge import CodeRunRequest, ProcessRuntime
async def main():
    async with ProcessRuntime() as runtime:
        print((await runtime.run(CodeRunRequest("return 1"))).value)
    print(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())
    print(len(os.listdir("/proc/self/fd")))
    async with ProcessRuntime() as runtime:
        print((await runtime.run(CodeRunRequest("return 2"))).value)
anyio.run(main)
"""
    done = await anyio.run_process([sys.executable, "-c", program])
    assert done.stdout.decode().split("\n")[:2] == ["1", "[]"]


async def test_a_killed_host_leaves_no_orphan() -> None:
    program = """
import os, anyio
from pathlib import Path
from codemode_bridge import Binding, CodeRunRequest, ProcessRuntime
from codemode_bridge._zygotes import HOUSE
async def die(_):
    zygote = HOUSE._current.pid
    print(zygote, Path(f"/proc/{zygote}/task/{zygote}/children").read_text(), flush=True)
    os.kill(os.getpid(), 9)
async def main():
    async with ProcessRuntime() as runtime:
        program = "import asyncio; t = asyncio.create_task(tools.die()); await asyncio.sleep(0)\\nwhile True: pass"
        await runtime.run(CodeRunRequest(program, {"die": Binding("die", (), die)}))
anyio.run(main)
"""
    done = await anyio.run_process([sys.executable, "-c", program], check=False)
    assert done.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) >= 2

    def gone() -> bool:
        return not any(
            Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids
        )

    await until(gone, "the zygote and its children ended with the host")


async def test_a_dead_zygote_is_replaced_and_its_runs_end_with_an_error() -> None:
    async with ProcessRuntime() as runtime:

        async def kill(_: dict[str, Any]) -> None:
            os.kill(serving().pid, signal.SIGKILL)
            await anyio.sleep_forever()

        result = await runtime.run(CodeRunRequest("await tools.kill()", {"kill": Binding("kill", (), kill)}))
        assert result.error is not None
        assert result.error.kind == "worker-exit"
        assert (await runtime.run(CodeRunRequest("return 'again'"))).value == "again"


async def test_a_run_survives_a_zygote_whose_children_all_end_unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ProcessRuntime(warm=3) as runtime:
        await runtime.run(CodeRunRequest("return 1"))
        zygote = serving().pid
        waiting = list(runtime._pool._waiting)
        # The kernel ends a zygote's children one after the other: each is there when looked at, and dies then.
        monkeypatch.setattr("codemode_bridge._children._still_there", lambda child: None)
        for child in waiting:
            await become_ready(child)
        os.kill(zygote, signal.SIGKILL)
        for child in waiting:
            with anyio.fail_after(10):
                await anyio.wait_readable(child.bridge)
            with suppress(ConnectionResetError):  # it had not read yet that it is wanted
                assert child.bridge.recv(1, socket.MSG_PEEK) == b"", "it is dead"
        assert (await runtime.run(CodeRunRequest("return 'again'"))).value == "again"


async def stopped_child(runtime: ProcessRuntime) -> int:
    """The process that waits to run the next program, stopped."""
    await runtime.run(CodeRunRequest("return 1"))
    [child] = runtime._pool._waiting
    await become_ready(child)
    os.kill(child.pid, signal.SIGSTOP)
    await until(lambda: _clock.stopped(child.pid), "it is stopped")
    return child.pid


async def test_a_run_goes_on_elsewhere_when_its_waiting_child_was_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codemode_bridge._session._SILENCE_SECONDS", 0.05)
    calls: list[int] = []

    async def note(_: dict[str, Any]) -> None:
        calls.append(1)

    async with ProcessRuntime(warm=1) as runtime:
        pid = await stopped_child(runtime)
        with anyio.fail_after(10):
            result = await runtime.run(
                CodeRunRequest("await tools.note()\nreturn 7", {"note": Binding("note", (), note)})
            )
        assert (result.value, calls) == (7, [1])
        await until(lambda: not _clock.stopped(pid), "it is killed")


async def test_a_run_whose_children_are_all_stopped_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codemode_bridge._session._SILENCE_SECONDS", 0.05)
    monkeypatch.setattr("codemode_bridge._clock.stopped", lambda pid: True)
    async with ProcessRuntime(warm=1) as runtime:
        with anyio.fail_after(10):
            result = await runtime.run(CodeRunRequest("while True: pass"))
    assert result.error is not None
    assert result.error.kind == "worker-exit"
    assert "SIGSTOP" in result.error.message


async def test_a_program_that_works_in_silence_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codemode_bridge._session._SILENCE_SECONDS", 0.01)
    looked: list[bool] = []
    look = _clock.stopped
    monkeypatch.setattr("codemode_bridge._clock.stopped", lambda pid: looked.append(look(pid)))
    program = "import time\nend = time.monotonic() + 0.1\nwhile time.monotonic() < end:\n    pass\nreturn 'done'"
    async with ProcessRuntime(warm=1) as runtime:
        assert (await runtime.run(CodeRunRequest(program))).value == "done"
    assert set(looked) == {False}


async def test_a_child_that_is_stopped_after_it_spoke_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codemode_bridge._session._SILENCE_SECONDS", 0.05)
    monkeypatch.setattr("codemode_bridge._clock.stopped", lambda pid: True)
    logs: list[str] = []
    async with ProcessRuntime(warm=1) as runtime:
        request = CodeRunRequest("print(1)\nwhile True: pass", limits=Limits(wall_seconds=0.5), on_log=logs.append)
        result = await runtime.run(request)
    assert result.error is not None
    assert result.error.kind == "timeout"
    assert logs == ["1\n"]


async def test_a_stuck_zygote_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ProcessRuntime(warm=0) as runtime:
        await runtime.run(CodeRunRequest("return 1"))
        stuck = serving().pid
        os.kill(stuck, signal.SIGSTOP)
        monkeypatch.setattr("codemode_bridge._children.READY_SECONDS", 1.0)
        assert (await runtime.run(CodeRunRequest("return 'again'"))).value == "again"
        assert serving().pid != stuck
    house = HOUSE
    house.lease()
    house.release()


async def test_a_zygote_that_served_its_number_is_followed_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codemode_bridge._zygotes.FORKS_PER_ZYGOTE", 6)
    monkeypatch.setattr("codemode_bridge._zygotes._START_AHEAD", 2)
    # Other tests' runtimes count on theirs until they next look, also on those of a zygote that was killed.
    others = sum(one.children for one in (HOUSE._current, *HOUSE._retired) if one is not None)
    pids: set[int] = set()
    async with ProcessRuntime(warm=1) as runtime:
        for number in range(15):
            assert (await runtime.run(CodeRunRequest(f"return {number}"))).value == number
            pids.add(serving().pid)
    assert len(pids) >= 2
    await until(lambda: sum(one.children for one in HOUSE._retired) <= others, "old zygotes have no children of ours")


async def test_several_threads_and_loops_share_one_runtime(runtime: ProcessRuntime) -> None:
    values: list[object] = []

    def elsewhere(backend: str, number: int) -> None:
        async def main() -> None:
            async def twice(arguments: dict[str, Any]) -> int:
                await anyio.lowlevel.checkpoint()
                return arguments["n"] * 2

            request = CodeRunRequest(
                f"return await tools.twice(n={number})", {"twice": Binding("twice", ("n",), twice)}
            )
            for _ in range(3):
                values.append((await runtime.run(request)).value)

        anyio.run(main, backend=backend)

    async with anyio.create_task_group() as tasks:
        for number, backend in enumerate(["trio", "asyncio", "trio", "asyncio"]):
            tasks.start_soon(anyio.to_thread.run_sync, elsewhere, backend, number)
        assert (await runtime.run(CodeRunRequest("return 'here'"))).value == "here"
    assert sorted(values, key=str) == sorted([0, 2, 4, 6] * 3, key=str)


async def test_several_runtimes_share_one_zygote() -> None:
    async with ProcessRuntime(warm=1) as one, ProcessRuntime(warm=1) as other:
        assert (await one.run(CodeRunRequest("return 1"))).value == 1
        assert (await other.run(CodeRunRequest("return 2"))).value == 2
    async with ProcessRuntime(warm=0) as third:
        assert (await third.run(CodeRunRequest("return 3"))).value == 3


def test_a_forked_host_has_children_of_its_own() -> None:
    program = """
import os, anyio
from codemode_bridge import CodeRunRequest, ProcessRuntime
runtime = ProcessRuntime(warm=1)
async def one(value):
    return (await runtime.run(CodeRunRequest(f"return {value}"))).value
async def main(value):
    async with runtime:
        return await one(value)
assert anyio.run(one, 1) == 1
pid = os.fork()
if pid == 0:
    os._exit(0 if anyio.run(main, 2) == 2 else 1)
assert os.waitpid(pid, 0)[1] == 0
assert anyio.run(main, 3) == 3
print("both")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("both\n", 0), done.stderr


def test_a_zygote_that_was_begun_and_never_used_ends_with_the_host() -> None:
    program = "from codemode_bridge import _zygotes; _zygotes.begin(); print(_zygotes.HOUSE._current.pid)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert not Path(f"/proc/{int(done.stdout)}").exists()


def test_beginning_needs_only_the_standard_library() -> None:
    program = """
import sys
from codemode_bridge import _zygotes
print(sorted({"pydantic_core", "anyio", "trio", "codemode_registry", "asyncio"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


async def test_a_host_without_standard_descriptors_runs_programs() -> None:
    program = """
import os, sys
result = os.dup(1)
for number in (0, 1, 2):
    os.close(number)
import anyio
from codemode_bridge import CodeRunRequest, ProcessRuntime
async def main():
    async with ProcessRuntime(warm=1) as runtime:
        os.write(result, str((await runtime.run(CodeRunRequest("return 5"))).value).encode())
anyio.run(main)
"""
    done = await anyio.run_process([sys.executable, "-c", program], check=False)
    assert done.stdout == b"5", done.stderr


def test_a_house_without_leases_ends_everything_it_started() -> None:
    house = ZygoteHouse()
    house.lease()
    zygote = house.zygote()
    assert Path(f"/proc/{zygote.pid}").exists()
    house.release()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{zygote.pid}").exists() and time.monotonic() < deadline:
        threading.Event().wait(0.005)
    assert not Path(f"/proc/{zygote.pid}").exists()
