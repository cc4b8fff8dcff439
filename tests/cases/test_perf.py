"""Enough speed that a program is worth writing; the bounds are loose, benchmarks measure."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path

import anyio

from codemode import CancelSignal, CodeMode, Limits, ProcessRuntime
from codemode_bridge._zygotes import HOUSE
from tests.cases.given import Case, given
from tests.cases.test_cancellation import until
from tests.cases.world import World, assert_same


@given("perf-compute-heavy-pure-python")
def test_plain_cpu_work_is_near_native(case: Case) -> None:
    result = World(case).run()
    assert_same(result.value, 17984)
    assert result.usage.compute_seconds < 2.0


@given("perf-large-intermediate-data")
def test_ten_thousand_records_cross_and_are_reduced(case: Case) -> None:
    world = World(case)
    result = world.run()
    assert_same(result.value, {"groups": 10, "top": [[9, 9000], [8, 8000]]})
    assert result.usage.wall_seconds < 10


@given("perf-many-small-calls")
def test_five_hundred_calls_in_order(case: Case) -> None:
    world = World(case)
    result = world.run()
    assert_same(result.value, 125250)
    assert result.usage.calls == 500
    assert result.usage.wall_seconds < 15
    world.assert_paired()
    outer = world.of("code/run-start")[0].data["call_id"]
    assert [data["sub_call_id"] for data in world.starts()] == [f"{outer}:code:{n}" for n in range(1, 501)]
    assert [data["sub_call_id"] for data in world.settles()] == [f"{outer}:code:{n}" for n in range(1, 501)]


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _zygotes() -> set[int]:
    return {zygote.pid for zygote in (HOUSE._current, HOUSE._next) if zygote is not None}


def _children() -> set[int]:
    """The live and the dead children of this process, whoever reaps them."""
    return {
        int(child)
        for thread in Path("/proc/self/task").iterdir()
        for child in (thread / "children").read_text().split()
    }


@given("perf-no-process-leak")
def test_runs_of_every_outcome_leave_nothing_behind(case: Case) -> None:
    world = World(case)
    limits = Limits(compute_seconds=0.05, wall_seconds=10)
    outcomes: list[str] = []

    async def one(code_mode: CodeMode, number: int) -> None:
        match number % 4:
            case 0:
                result = await code_mode.run(case.text)
                assert result.value == 2
            case 1:
                result = await code_mode.run("1 / 0")
            case 2:
                result = await code_mode.run("while True: pass")
            case _:
                signal = CancelSignal()
                async with anyio.create_task_group() as group:
                    group.start_soon(_cancel_soon, signal)
                    result = await code_mode.run("import asyncio\nawait asyncio.sleep(60)", cancel=signal)
        outcomes.append("ok" if result.error is None else result.error.kind)

    async def _cancel_soon(signal: CancelSignal) -> None:
        await anyio.sleep(0.005)
        signal.cancel()

    async def main() -> None:
        runtime = ProcessRuntime(warm=2)
        async with world.code_mode(runtime=runtime, limits=limits) as code_mode:
            for number in range(8):
                await one(code_mode, number)
            gc.collect()
            open_before = _descriptors()
            for number in range(200):
                await one(code_mode, number)
            gc.collect()
            # A warm child may be on its way at either moment.
            await until(lambda: _descriptors() <= open_before + 3)
        await runtime.aclose()

    before, fds = _children(), _descriptors()
    world.drive(main)
    assert set(outcomes) == {"ok", "exception", "timeout", "abort"}
    assert outcomes.count("timeout") == 52
    gc.collect()
    deadline = time.monotonic() + 5
    # The session's own zygote may have been relieved by the next one meanwhile: it serves a number of forks.
    while (_children() - before - _zygotes() or _descriptors() > fds) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _children() - before - _zygotes() == set()
    assert _descriptors() <= fds
