"""More ends: limits that meet each other, crashes, and what is told of what was done."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

from codemode import CancelSignal, CodeMode, CodeModeError, Limits, Registry, run_sync
from tests.cases.test_cancellation import until
from tests.cases.test_limits import stopped
from tests.cases.world import World, tool

INTEGER = {"type": "integer"}
ACT = tool("act", {"n": INTEGER}, None, "read-only")
SLOW = tool("slow", {"id": {"type": "string"}, "ms": INTEGER}, None, "read-only")


def acting(program: str) -> World:
    return World(program, [ACT, SLOW], bodies={"act": lambda w, a, c: a["n"]})


MEMORY = Limits(compute_seconds=10, wall_seconds=15, memory_bytes=256 * 2**20)

BOMBS = {
    "memory by a list": ("x = []\nwhile True: x.append('y' * 1_000_000 + str(len(x)))", {"worker-exit", "exception"}),
    "memory by a bytearray": ("return len(bytearray(10**10))", {"worker-exit", "exception"}),
    "memory by a string": ("x = 'a'\nwhile True: x = x + x", {"worker-exit", "exception"}),
    "a big power": ("return len(str(10 ** 10 ** 9))", {"timeout", "worker-exit", "exception"}),
    "a hot loop in a comprehension": ("return [0 for _ in range(10**12)]", {"timeout", "worker-exit", "exception"}),
    "a hot loop in C": ("return sum(range(10**13))", {"timeout"}),
    "a hot loop in a finally": ("try:\n    1 / 0\nfinally:\n    while True: pass", {"timeout"}),
    "a hot loop in a callback": (
        (
            "import asyncio\nt = asyncio.create_task(asyncio.sleep(0))\n"
            "def spin(f):\n    while True: pass\nt.add_done_callback(spin)\nawait t\nawait asyncio.sleep(1)"
        ),
        {"timeout"},
    ),
    "a loop of sleeps": ("import time\nwhile True: time.sleep(0.01)", {"timeout"}),
    "an endless await": ("import asyncio\nawait asyncio.Event().wait()", {"timeout", "exception"}),
    "a lock that is never released": (
        "import asyncio\nlock = asyncio.Lock()\nawait lock.acquire()\nasync with lock: pass",
        {"timeout", "exception"},
    ),
    "an endless generator": ("def g():\n    while True: yield 1\nreturn sum(g())", {"timeout"}),
    "a sort that compares forever": (
        "class A:\n    def __lt__(self, o):\n        while True: pass\nsorted([A(), A()])",
        {"timeout"},
    ),
    "a deep recursion of calls": ("def f(n): return f(n + 1)\nf(0)", {"exception"}),
    "a deep recursion through repr": (
        "x = []\nfor _ in range(100000): x = [x]\nprint(x)",
        {"exception", "worker-exit"},
    ),
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_bomb_ends_and_the_next_run_works(what: str) -> None:
    program, kinds = BOMBS[what]
    world = acting(program)
    result = world.run(
        "print('before')\n" + program,
        limits=MEMORY if what.startswith("memory") else Limits(compute_seconds=0.4, wall_seconds=0.8),
    )
    assert not result.ok
    assert result.error.kind in kinds, result.text[:400]
    assert result.logs[:1] == ["before"]
    assert world.value("return await tools.act(n=7)") == 7


def test_logs_and_calls_survive_a_kill() -> None:
    world = acting("print('one')\nawait tools.act(n=1)\nprint('two')\nawait tools.act(n=2)\nwhile True: pass")
    result = world.run(limits=Limits(compute_seconds=0.3))
    text = stopped(result, "timeout", "compute")
    assert result.logs == ["one", "two"]
    assert [(record.arguments["n"], record.status) for record in result.calls] == [(1, "done"), (2, "done")]
    assert "one\ntwo" in text
    assert "act" in text
    end = world.of("code/run-end")[0].data
    assert end["status"] == "timeout"
    assert end["error"]["kind"] == "timeout"
    world.assert_paired()


def test_a_call_in_flight_at_the_wall_limit_is_cancelled_and_told() -> None:
    world = acting("import asyncio\nawait asyncio.gather(tools.act(n=1), tools.slow(id='x', ms=60000))")
    result = world.run(limits=Limits(wall_seconds=0.4))
    stopped(result, "timeout", "wall")
    assert {record.name: record.status for record in result.calls} == {"act": "done", "slow": "aborted"}
    assert [visit.cancelled for visit in world.visits if visit.name == "slow"] == [True]
    world.assert_paired()
    assert "slow" in result.text


def test_queued_calls_that_never_started_are_abandoned_and_not_logged() -> None:
    world = acting(
        "import asyncio\nawait asyncio.gather(tools.slow(id='a', ms=60000), tools.slow(id='b', ms=60000),"
        " tools.slow(id='c', ms=1))"
    )
    result = world.run(limits=Limits(wall_seconds=0.4, max_parallel=2))
    stopped(result, "timeout", "wall")
    assert [record.status for record in result.calls] == ["aborted", "aborted", "abandoned"]
    assert len(world.starts()) == len(world.settles()) == 2
    assert [visit.arguments["id"] for visit in world.visits] == ["a", "b"]


def test_a_run_that_returns_early_cancels_what_it_left_running() -> None:
    world = acting(
        "import asyncio\nt = asyncio.create_task(tools.slow(id='left', ms=60000))\n"
        "await asyncio.sleep(0)\nawait tools.act(n=1)\nreturn 'early'"
    )
    result = world.run()
    assert result.ok
    assert result.value == "early"
    assert result.usage.wall_seconds < 5
    left = next(visit for visit in world.visits if visit.name == "slow")
    assert left.cancelled
    world.assert_paired()
    assert {record.name: record.status for record in result.calls}["slow"] == "aborted"


def test_source_bytes_are_counted_in_utf8() -> None:
    world = acting("")
    text = "# " + "é" * 100 + "\nreturn 1"
    assert world.run(text, limits=Limits(source_bytes=len(text.encode()))).ok
    refused = world.run(text, limits=Limits(source_bytes=len(text.encode()) - 1))
    stopped(refused, "syntax")
    assert str(len(text.encode()) - 1) in refused.error.message


def test_output_is_kept_to_the_byte() -> None:
    world = acting("")
    # The JSON texts of the logs and of the value: `["a"]` is 5 bytes, `"b"` is 3.
    assert world.run("print('a')\nreturn 'b'", limits=Limits(output_bytes=8)).value == "b"
    over = world.run("print('a')\nreturn 'b'", limits=Limits(output_bytes=7))
    stopped(over, "output-limit")
    assert not over.has_value
    # What is consumed inside the program costs nothing.
    inside = world.run("x = await tools.act(n=10**900)\nreturn 1", limits=Limits(output_bytes=50))
    assert inside.value == 1
    cut = world.run("for i in range(100): print(f'{i:09d}')", limits=Limits(output_bytes=105))
    stopped(cut, "output-limit")
    kept = "\n".join(cut.logs)
    assert kept.startswith("000000000\n000000001\n")
    assert 80 <= len(kept) + len(cut.error.message) <= 105


def test_max_calls_can_be_caught_and_the_work_goes_on() -> None:
    world = acting(
        "done = []\nfor n in range(5):\n    try:\n        done.append(await tools.act(n=n))\n"
        "    except ToolCallError as e:\n        done.append(e.tool_name)\nreturn done"
    )
    result = world.run(limits=Limits(max_calls=2))
    assert result.ok
    assert result.value == [0, 1, "act", "act", "act"]
    assert len(world.visits) == 2


def test_cancel_before_start_runs_nothing() -> None:
    signal = CancelSignal()
    signal.cancel("never mind")
    world = acting("print('x')\nawait tools.act(n=1)")
    result = world.run_with_cancel(signal)
    assert result.error.kind == "abort"
    assert world.visits == []
    assert result.logs == []


@pytest.mark.parametrize("ending", ["scope", "task"])
async def test_cancelling_the_callers_task_propagates_after_the_records(ending: str, anyio_backend_name: str) -> None:
    world = acting("await tools.slow(id='x', ms=60000)")
    async with world.code_mode() as code_mode:
        with anyio.move_on_after(30) as outer:
            async with anyio.create_task_group() as group:

                async def run() -> None:
                    await world.run_in(code_mode)
                    pytest.fail("the run came back")

                if ending == "scope" or anyio_backend_name == "trio":
                    group.start_soon(run)
                    await until(lambda: world.visits)
                    group.cancel_scope.cancel()
                else:
                    task = asyncio.ensure_future(run())
                    await until(lambda: world.visits)
                    task.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await task
        assert not outer.cancelled_caught
        assert world.visits[0].cancelled
        world.assert_paired()
        assert len(world.of("code/run-end")) == 1
        assert world.of("code/run-end")[0].data["status"] == "abort"


async def test_leaving_code_mode_ends_the_runs_in_flight() -> None:
    world = acting("await tools.slow(id='x', ms=60000)")
    results: list[Any] = []
    async with anyio.create_task_group() as group:
        code_mode = world.code_mode()
        async with code_mode:

            async def run() -> None:
                results.append(await world.run_in(code_mode))

            group.start_soon(run)
            await until(lambda: world.visits)
    assert results[0].error.kind == "abort"
    with pytest.raises(CodeModeError):
        await code_mode.run("return 1")


async def test_a_hundred_runs_at_once_are_isolated() -> None:
    world = acting("")
    results: dict[int, Any] = {}
    async with world.code_mode(limits=Limits(compute_seconds=30, wall_seconds=60)) as code_mode:

        async def one(number: int) -> None:
            results[number] = await code_mode.run(
                f"import asyncio\nmine = {number}\n"
                "return [mine, await asyncio.gather(*(tools.act(n=mine + i) for i in range(5)))]"
            )

        async with anyio.create_task_group() as group:
            for number in range(40):
                group.start_soon(one, number)
    for number, result in results.items():
        assert result.value == [number, [number + i for i in range(5)]]


def test_run_sync_runs_over_a_registry_of_plain_functions() -> None:
    registry = Registry()

    @registry.tool
    def double(n: int) -> int:
        """Twice as much.

        Args:
            n: how much
        """
        return 2 * n

    result = run_sync(registry, "return [await tools.double(n=4), await tools.double(5)]")
    assert result.ok, result.text
    assert result.value == [8, 10]
    limited = run_sync(registry, "while True: pass", limits=Limits(compute_seconds=0.2))
    assert limited.error.kind == "timeout"
    assert isinstance(CodeMode, type)


def test_randomness_and_uuids_are_fresh_in_each_run() -> None:
    world = acting("")
    program = "import random, uuid, secrets\nreturn [random.random(), str(uuid.uuid4()), secrets.token_hex(8)]"
    seen = [world.value(program) for _ in range(4)]
    for position in range(3):
        assert len({row[position] for row in seen}) == 4
