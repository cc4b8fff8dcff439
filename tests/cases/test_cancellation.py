"""Cancelling reaches everything that was started, and nothing that comes later.

These run on both event loops, in one runtime of their own where processes are counted.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import anyio

from codemode import CancelSignal, Limits, ProcessRuntime, RunResult
from tests.cases.given import Case, given
from tests.cases.upstreams import ONE_LOOP, upstream_config
from tests.cases.world import World, assert_same


async def until(reached: Any, seconds: float = 5) -> None:
    """Wait for a state that must come, with a bound."""
    with anyio.fail_after(seconds):
        while not reached():  # noqa: ASYNC110 - the state is that of another process or of the product
            await anyio.sleep(0.002)


def descendants() -> set[int]:
    """All live processes below this one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry.name)] = int(fields[1])
    found: set[int] = set()
    front = {os.getpid()}
    while front:
        front = {pid for pid, parent in parents.items() if parent in front} - found
        found |= front
    return found


@given("async-wait-for-timeout")
async def test_a_time_out_in_the_program_cancels_the_call_in_the_host(case: Case) -> None:
    world = World(case)
    started = time.monotonic()
    async with world.code_mode() as code_mode:
        result = await world.run_in(code_mode)
    assert_same(result.value, ["timed out", "q"])
    assert time.monotonic() - started < 4.5
    first, second = world.visits
    assert first.cancelled
    assert not second.cancelled
    world.assert_paired()
    settled = {data["arguments"]["id"]: data for data in world.settles()}
    assert settled["z"]["error"]["code"] in {"ABORTED", "ABORTED_BEFORE_DISPATCH"}
    assert settled["q"]["is_error"] is False
    assert {record.arguments["id"]: record.status for record in result.calls} == {"z": "aborted", "q": "done"}


@given("can-cancel-run-during-tool")
async def test_cancelling_a_run_cancels_its_tool_and_ends_its_child(case: Case) -> None:
    world = World(case)
    results: list[RunResult] = []
    signal = CancelSignal()
    before = descendants()
    async with ProcessRuntime(warm=1) as runtime, world.code_mode(runtime=runtime) as code_mode:

        async def run() -> None:
            results.append(await world.run_in(code_mode, cancel=signal))

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await until(lambda: world.visits)
            cancelled = time.monotonic()
            signal.cancel("the user left")
        assert time.monotonic() - cancelled < 10
        assert len(world.visits) == 1
        assert world.visits[0].cancelled
        (result,) = results
        assert not result.ok
        assert result.error.kind == "abort"
        world.assert_paired()
        assert world.settles()[0]["error"]["code"] == "ABORTED"
        assert world.of("code/run-end")[0].data["status"] == "abort"
        assert [record.status for record in result.calls] == ["aborted"]
    await until(lambda: descendants() <= before)


@given("can-program-cannot-swallow")
async def test_a_program_that_catches_everything_is_ended(case: Case) -> None:
    world = World(case)
    results: list[RunResult] = []
    signal = CancelSignal()
    async with world.code_mode() as code_mode:

        async def run() -> None:
            results.append(await world.run_in(code_mode, cancel=signal))

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await until(lambda: world.visits)
            signal.cancel()
        ended = len(world.events.events)
        assert results[0].error.kind == "abort"
        assert len(world.visits) == 1
        await anyio.sleep(0.05)
        assert len(world.events.events) == ended
        world.assert_paired()


@given("can-tool-finishes-after-cancel")
async def test_a_late_result_of_a_cancelled_run_is_dropped(case: Case) -> None:
    world = World(case)
    results: list[RunResult] = []
    signal = CancelSignal()
    async with world.code_mode() as code_mode:

        async def run() -> None:
            results.append(await world.run_in(code_mode, cancel=signal))

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await until(lambda: world.visits)
            signal.cancel()
        assert results[0].error.kind == "abort"
        next_run = await code_mode.run("return 'next'")
        assert next_run.value == "next"
        await until(lambda: world.visits[0].ended)
    settles = world.settles()
    assert len(settles) == 1
    assert settles[0]["is_error"] is True
    assert world.state.get("stubborn", 0) <= 1


@given("can-upstream-is-told")
async def test_an_upstream_hears_of_each_cancelled_call(case: Case, tmp_path: Path) -> None:
    from codemode.mcp import McpUpstreams

    journal = tmp_path / "journal.jsonl"
    config = upstream_config(tmp_path, up=[{**case.tools[0], "does": "slow"}], journal=journal)
    world = World("", [])

    def rows(what: str) -> list[str]:
        lines = journal.read_text().splitlines() if journal.exists() else []
        return [row["id"] for row in map(json.loads, lines) if row["what"] == what]

    def told() -> list[str]:
        return rows("cancelled")

    def started() -> list[str]:
        return rows("started")

    async with McpUpstreams(config) as upstreams:
        upstreams.attach(world.registry)
        async with world.code_mode() as code_mode:
            result = await code_mode.run(case.text.replace("tools.slow", "tools.up.slow"))
            assert result.ok, result.text
            assert result.value == "y"
            assert result.logs == ["gave up"]
            await until(lambda: told() == ["x"])

            # A pipeline time-out and the end of a run are told as well.
            signal = CancelSignal()
            results: list[RunResult] = []

            async def run() -> None:
                results.append(
                    await code_mode.run("await tools.up.slow({'id': 'cancelled', 'ms': 60000})", cancel=signal)
                )

            async with anyio.create_task_group() as group:
                group.start_soon(run)
                await until(lambda: len(world.starts()) == 3)
                await until(lambda: started() == ["x", "y", "cancelled"])
                signal.cancel()
            assert results[0].error.kind == "abort"
            await until(lambda: told() == ["x", "cancelled"])
            late = await _walled(world)
            assert late.error.kind == "timeout"
            await until(lambda: told() == ["x", "cancelled", "wall"])


async def _walled(world: World) -> RunResult:
    async with world.code_mode(limits=Limits(wall_seconds=0.4)) as code_mode:
        return await code_mode.run("await tools.up.slow({'id': 'wall', 'ms': 60000})")


@ONE_LOOP
@given("can-mcp-cancel-gets-terminal-answer")
async def test_an_mcp_client_that_cancels_frees_the_slot(case: Case, tmp_path: Path) -> None:
    from tests.cases.upstreams import serving

    journal = tmp_path / "journal.jsonl"
    config = upstream_config(tmp_path, up=[{**case.tools[0], "does": "slow"}], journal=journal)
    program = case.text.replace("tools.slow", "tools.up.slow")

    def starts() -> int:
        return journal.read_text().count('"started"') if journal.exists() else 0

    async with serving(["--mcp", str(config)]) as client:
        with anyio.move_on_after(30) as scope:
            async with anyio.create_task_group() as group:

                async def call() -> None:
                    await client.call_tool("run_code", {"code": program, "description": "many slow calls"})

                group.start_soon(call)
                await until(lambda: starts() >= 2, 20)
                group.cancel_scope.cancel()
        assert not scope.cancelled_caught
        result = await client.call_tool("run_code", {"code": "return 'free'", "description": "the next"})
        assert not result.is_error
        assert "free" in result.content[0].text
        seen = starts()
        await anyio.sleep(0.5)
        assert starts() == seen
