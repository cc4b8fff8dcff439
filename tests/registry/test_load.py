"""Much at once and much in one: a thousand calls, ten megabytes, and no growth."""

from __future__ import annotations

import gc
import threading
from typing import Any

import anyio

from codemode_registry import CancelSignal, MemoryEventLog, Registry, ToolContext, ToolRequest, ToolResult

from .build import ok, raw


async def test_a_thousand_concurrent_calls_of_both_kinds_keep_to_themselves() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)
    everybody = anyio.Event()
    entered: list[int] = []

    async def body(arguments: Any, ctx: ToolContext) -> int:
        entered.append(1)
        if len(entered) == 800:
            everybody.set()
        await everybody.wait()
        return int(arguments["n"]) * 2

    registry.register(raw("loop", body))
    registry.register(raw("thread", lambda arguments, ctx: arguments["n"] * 2))
    results: dict[int, ToolResult] = {}

    async def call(n: int) -> None:
        results[n] = await registry.call("thread" if n % 5 == 0 else "loop", {"n": n}, call_id=str(n))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for n in range(1000):
                group.start_soon(call, n)
    assert all(ok(results[n]) == 2 * n for n in range(1000))
    assert [event.seq for event in log.events] == list(range(1, 2001))
    started = {event.data["call_id"]: event.seq for event in log.events if event.type == "tool/call"}
    for event in log.events:
        if event.type == "tool/result":
            assert event.data["call_seq"] == started[event.data["call_id"]]
    assert not registry._live


async def test_a_batch_of_a_thousand_settles_in_order() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)
    registry.register(raw("t", lambda arguments, ctx: arguments["n"], concurrency_safe=True))
    with anyio.fail_after(60):
        results = await registry.call_batch([ToolRequest("t", {"n": n}) for n in range(1000)])
    assert [ok(result) for result in results] == list(range(1000))


async def test_ten_megabytes_go_in_and_come_out() -> None:
    registry = Registry(events=MemoryEventLog())
    rows = [{"id": n, "name": f"row {n}", "tags": ["a", "b"], "score": n / 7} for n in range(150_000)]

    @registry.tool
    async def echo(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return rows

    with anyio.fail_after(60):
        result = await registry.call("echo", {"rows": rows})
    assert ok(result) == rows
    assert len(result.content[0]["text"]) > 10_000_000
    text = "x" * 10_000_000
    registry.register(raw("raw", lambda arguments, ctx: arguments["text"]))
    assert ok(await registry.call("raw", {"text": text})) == text


async def test_calls_leave_nothing_behind() -> None:
    registry = Registry()
    scope = registry.scope("s")
    cancel = CancelSignal()

    async def body(arguments: Any, ctx: ToolContext) -> None:
        ctx.defer_context("x")

    registry.register(raw("t", body))
    registry.register(raw("thread", lambda arguments, ctx: None, timeout=60))

    async def some(count: int) -> int:
        for _ in range(count):
            await registry.call("t", {}, scope=scope, cancel=cancel)
            await registry.call("thread", {}, cancel=cancel)
        gc.collect()
        return len(gc.get_objects())

    await some(20)
    before = await some(20)
    after = await some(300)
    assert after - before < 200
    assert not cancel._followers
    assert not cancel._listeners


def test_one_registry_serves_several_event_loops_at_once() -> None:
    registry = Registry(events=MemoryEventLog())
    registry.register(raw("t", lambda arguments, ctx: arguments["n"]))
    wrong: list[Any] = []

    async def work() -> None:
        for n in range(50):
            result = await registry.call("t", {"n": n})
            if result.is_error or ok(result) != n:
                wrong.append(result)

    threads = [
        threading.Thread(target=anyio.run, args=(work,), kwargs={"backend": backend})
        for backend in ("trio", "asyncio") * 2
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    assert not registry._live
