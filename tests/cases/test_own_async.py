"""More of scheduling and cancelling: in-program time-outs, queues, threads, late calls, several uses at once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from codemode import Ask, CancelSignal, Registry, ToolRequest
from tests.cases.test_cancellation import until
from tests.cases.world import World, assert_same, shared_runtime, tool

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
SLOW = tool("slow", {"id": STRING, "ms": INTEGER}, STRING, "read-only")
WRITE = tool("write", {"key": STRING, "value": STRING}, STRING)
HOLD = tool("hold", {"ms": INTEGER}, None, "")


async def hold(world: World, a: Any, ctx: Any) -> int:
    await anyio.sleep(a["ms"] / 1000)
    return int(a["ms"])


def world_of(program: str, **options: Any) -> World:
    return World(program, [SLOW, WRITE, HOLD], bodies={"hold": hold}, **options)


def test_a_time_out_around_a_queued_call_never_starts_it() -> None:
    world = world_of(
        "import asyncio\nlong = asyncio.create_task(tools.hold(ms=300))\nawait asyncio.sleep(0.05)\n"
        "try:\n    await asyncio.wait_for(tools.write(key='k', value='v'), 0.05)\n    r = 'ran'\n"
        "except asyncio.TimeoutError:\n    r = 'timed out'\nreturn [r, await long]"
    )
    assert_same(world.value(), ["timed out", 300])
    assert world.ran("write") == []
    assert [data["name"] for data in world.starts()] == ["hold"]


def test_a_cancelled_task_frees_the_barrier_for_the_next_call() -> None:
    world = world_of(
        "import asyncio\nt = asyncio.create_task(tools.hold(ms=60000))\nawait asyncio.sleep(0.05)\nt.cancel()\n"
        "try:\n    await t\nexcept asyncio.CancelledError:\n    pass\nreturn await tools.write(key='k', value='v')"
    )
    result = world.run()
    assert result.value == "ok:k"
    assert result.usage.wall_seconds < 5
    assert [visit.cancelled for visit in world.visits] == [True, False]


def test_fast_calls_are_not_held_back_by_a_slow_neighbour() -> None:
    world = world_of(
        "import asyncio\nslow = asyncio.create_task(tools.slow(id='slow', ms=500))\n"
        "await asyncio.sleep(0.02)\nseen = []\n"
        "for i in range(3):\n    seen.append(await tools.slow(id=str(i), ms=1))\nseen.append(slow.done())\n"
        "return seen + [await slow]"
    )
    assert_same(world.value(), ["0", "1", "2", False, "slow"])
    assert [data["arguments"]["id"] for data in world.settles()] == ["0", "1", "2", "slow"]


def test_starts_are_in_order_of_submission_and_ids_too() -> None:
    world = world_of(
        "import asyncio\nts = [asyncio.create_task(tools.slow(id=str(i), ms=20 - i)) for i in range(15)]\n"
        "return await asyncio.gather(*ts)"
    )
    assert_same(world.value(), [str(i) for i in range(15)])
    assert [data["arguments"]["id"] for data in world.starts()] == [str(i) for i in range(15)]
    assert [int(data["sub_call_id"].rsplit(":", 1)[1]) for data in world.starts()] == list(range(1, 16))
    assert world.peak <= 10


def test_a_gather_that_fails_early_leaves_no_call_running_after_the_run() -> None:
    world = world_of(
        "import asyncio\nasync def boom():\n    await asyncio.sleep(0.05)\n    raise ValueError('x')\n"
        "await asyncio.gather(tools.slow(id='a', ms=60000), tools.hold(ms=60000), boom())"
    )
    result = world.run()
    assert result.error.type == "ValueError"
    assert result.error.line == 4
    assert result.usage.wall_seconds < 5
    assert all(visit.ended is not None for visit in world.visits)
    world.assert_paired()
    assert {record.status for record in result.calls} <= {"aborted", "abandoned"}


def test_a_sync_tool_does_not_block_the_loop_or_others() -> None:
    registry = Registry()
    together = threading.Barrier(5)

    @registry.tool(concurrency_safe=True)
    def blocking(n: int) -> int:
        """Blocks its thread until all five are there."""
        together.wait(30)
        return n

    world = World("import asyncio\nreturn await asyncio.gather(*(tools.blocking(n=i) for i in range(5)))", [])
    world.registry = registry
    result = world.run()
    assert result.value == [0, 1, 2, 3, 4]


def test_a_thread_that_does_not_stop_is_left_behind_and_named() -> None:
    registry = Registry(drain_seconds=0.1)
    release = threading.Event()

    @registry.tool(timeout=0.1)
    def stuck() -> int:
        """Never comes back by itself."""
        release.wait(20)
        return 1

    world = World("try:\n    await tools.stuck()\nexcept ToolCallError as e:\n    return e.message", [])
    world.registry = registry
    try:
        started = time.monotonic()
        value = world.value()
        assert time.monotonic() - started < 5
    finally:
        release.set()
    assert 'tool "stuck" timed out after 0.1s' in value


@pytest.mark.parametrize("when", ["asked", "body"])
async def test_cancelling_a_run_while_a_human_is_asked(when: str) -> None:
    signal = CancelSignal()
    asked = anyio.Event()
    results: list[Any] = []

    async def never(request: Any) -> str:
        asked.set()
        if when == "body":
            return "allowed-once"
        await request.cancel.wait()
        return "allowed-once"

    world = world_of("await tools.hold(ms=60000)", approver=never)

    @world.registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        return Ask() if call.name == "hold" else await next()

    async with world.code_mode() as code_mode:

        async def run() -> None:
            results.append(await world.run_in(code_mode, cancel=signal))

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            with anyio.fail_after(10):
                await asked.wait()
            if when == "body":
                await until(lambda: world.visits)
            signal.cancel()
    assert results[0].error.kind == "abort"
    assert len(world.visits) == (1 if when == "body" else 0)
    world.assert_paired()
    assert world.settles()[0]["error"]["code"] == ("ABORTED" if when == "body" else "ABORTED_BEFORE_DISPATCH")


async def test_two_code_modes_on_one_registry_and_native_calls_between() -> None:
    world = world_of("")
    async with world.code_mode(mode="both") as first, world.code_mode(mode="code") as second:
        results: dict[str, Any] = {}

        async def run(name: str, code_mode: Any) -> None:
            results[name] = await code_mode.run(f"return await tools.slow(id={name!r}, ms=30)")

        async with anyio.create_task_group() as group:
            group.start_soon(run, "first", first)
            group.start_soon(run, "second", second)
        direct = await world.registry.call("slow", {"id": "direct", "ms": 1})
        batch = await first.call_batch(
            [
                ToolRequest("slow", {"id": "a", "ms": 5}),
                ToolRequest("run_code", {"code": "return await tools.slow(id='in', ms=1)", "description": "inner"}),
                ToolRequest("slow", {"id": "b", "ms": 1}),
            ]
        )
    assert {name: result.value for name, result in results.items()} == {"first": "first", "second": "second"}
    assert direct.value == "direct"
    assert [outcome.value if isinstance(outcome.value, str) else outcome.value["result"] for outcome in batch] == [
        "a",
        "in",
        "b",
    ]


async def test_run_code_is_a_tool_of_the_registry_while_a_code_mode_is_open() -> None:
    registry = Registry()

    @registry.tool
    async def one() -> int:
        """One."""
        return 1

    from codemode import CodeMode

    async with CodeMode(registry, mode="both", runtime=shared_runtime()):
        registry_scope = registry.scope("agent")
        registry_scope.present_as("both")
        inside = await registry.call(
            "run_code", {"code": "return await tools.one()", "description": "d"}, scope=registry_scope
        )
        assert not inside.is_error, inside.error
        assert inside.value["result"] == 1
        blank = await registry.call("run_code", {"code": "return 1", "description": "  "}, scope=registry_scope)
        assert blank.is_error
        assert blank.error.code == "INVALID_ARGS"
    after = await registry.call("run_code", {"code": "return 1", "description": "d"}, scope=registry_scope)
    assert after.is_error
    assert after.error.code == "UNKNOWN_TOOL"


def test_progress_of_a_tool_reaches_the_observers() -> None:
    seen: list[Any] = []

    def working(world: World, a: Any, ctx: Any) -> int:
        ctx.progress(1, 2, "half")
        ctx.progress(2, 2)
        return 1

    world = World("return await tools.working()", [tool("working")], bodies={"working": working})
    world.registry.on_progress(lambda call, done, total, message: seen.append((call.name, done, total, message)))
    assert world.value() == 1
    assert seen == [("working", 1, 2, "half"), ("working", 2, 2, None)]


def test_a_conclude_turn_counts_only_if_the_run_succeeds() -> None:
    def last(world: World, a: Any, ctx: Any) -> int:
        ctx.conclude_turn()
        return 1

    for program, concluded in (
        ("return await tools.last()", True),
        ("await tools.last()\n1 / 0", False),
        ("return 1", False),
    ):
        world = World(program, [tool("last")], bodies={"last": last})
        result = world.run()
        assert bool(getattr(result.result, "concludes_turn", False)) is concluded


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("error", ["cancelled", "stop", "group", "memory", "generator exit"])
async def test_whatever_a_tool_raises_ends_its_call_only(kind: str, error: str) -> None:
    raised: dict[str, Callable[[], BaseException]] = {
        "cancelled": asyncio.CancelledError,
        "stop": StopIteration,
        "group": lambda: ExceptionGroup("many", [ValueError("one")]),
        "memory": MemoryError,
        "generator exit": GeneratorExit,
    }
    registry = Registry()

    def blow() -> None:
        raise raised[error]()

    async def blow_async() -> None:
        blow()

    registry.tool(name="blow", description="Fails.")(blow if kind == "sync" else blow_async)
    world = World(
        "try:\n    await tools.blow()\nexcept ToolCallError as e:\n    return [e.tool_name, len(e.message) > 0]", []
    )
    world.registry = registry
    async with world.code_mode() as code_mode:
        result = await world.run_in(code_mode)
        assert result.ok, result.text
        assert_same(result.value, ["blow", True])
        assert (await code_mode.run("return 1")).value == 1
