"""code-mode.md, "The bridge" and "Events"; decisions.md on order and records."""

# ruff: noqa: E501 - a program is quoted in one line, beside what it must give

from __future__ import annotations

import asyncio
import threading
from typing import Any

import anyio
import pytest

from codemode import (
    Accept,
    Ask,
    Block,
    CancelSignal,
    CodeMode,
    Deny,
    Limits,
    MemoryEventLog,
    Registry,
    ToolContext,
    ToolError,
)

from .programs import of_type, opened, run


async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


async def test_sub_call_ids_count_from_one_in_order_of_submission() -> None:
    async with opened(add) as (cm, _, log):
        await cm.run("import asyncio\nawait asyncio.gather(*[tools.add(n, n) for n in range(4)])", call_id="o")
    starts = of_type(log, "tool/code-dispatch-start")
    assert [start["sub_call_id"] for start in starts] == [f"o:code:{n}" for n in (1, 2, 3, 4)]
    assert [start["arguments"]["a"] for start in starts] == [0, 1, 2, 3]


async def test_the_records_have_the_pinned_data() -> None:
    async with opened(add) as (cm, _, log):
        await cm.run("x = 1\nreturn await tools.add(1, 2)", call_id="o", description="adds")
    assert [event.type for event in log.events] == [
        "tool/call",
        "code/run-start",
        "tool/code-dispatch-start",
        "tool/code-dispatch",
        "code/run-end",
        "tool/result",
    ]
    assert [event.seq for event in log.events] == [1, 2, 3, 4, 5, 6]
    assert all(isinstance(event.time, int) and event.time > 1_600_000_000_000 for event in log.events)
    call, run_start, start, settle, end, result = (dict(event.data) for event in log.events)
    assert call["call_id"] == call["root_call_id"] == "o"
    assert call["name"] == "run_code"
    assert call["arguments"]["description"] == "adds"
    assert set(run_start) == {"call_id", "run_id", "code_sha256", "description", "tools", "limits", "isolation"}
    assert run_start["description"] == "adds"
    assert run_start["tools"] == ["add"]
    assert run_start["isolation"] in {"sealed-process", "process"}
    assert len(run_start["code_sha256"]) == 64
    assert run_start["limits"]["max_calls"] == 1000
    assert start == {
        "root_call_id": "o",
        "parent_call_id": "o",
        "sub_call_id": "o:code:1",
        "name": "add",
        "arguments": {"a": 1, "b": 2},
        "line": 2,
    }
    timing = settle.pop("timing")
    assert set(timing) == {"queued", "before", "body", "after"}
    assert settle == {
        "root_call_id": "o",
        "parent_call_id": "o",
        "sub_call_id": "o:code:1",
        "name": "add",
        "arguments": {"a": 1, "b": 2},
        "start_seq": 3,
        "is_error": False,
        "content": [{"type": "text", "text": "3"}],
    }
    assert end["call_id"] == "o"
    assert end["run_id"] == run_start["run_id"]
    assert end["status"] == "ok"
    assert end["usage"]["calls"] == 1
    assert "error" not in end
    assert result["call_id"] == "o"
    assert result["call_seq"] == 1
    assert result["is_error"] is False
    assert "error" not in result


async def test_run_end_of_a_failure_has_kind_message_and_line() -> None:
    async with opened() as (cm, _, log):
        await cm.run("x = 1\n1 / 0")
    [end] = of_type(log, "code/run-end")
    assert end["status"] == "exception"
    assert end["error"]["kind"] == "exception"
    assert end["error"]["line"] == 2
    assert "division" in end["error"]["message"]
    [result] = of_type(log, "tool/result")
    assert result["is_error"] is True
    assert result["error"]["code"] == "CODE_RUN_FAILED"


async def test_the_scope_is_named_in_the_records() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)
    scope = registry.scope("agent-1")
    scope.tool(add)
    async with CodeMode(registry, scope=scope) as cm:
        await cm.run("await tools.add(1, 2)")
    assert of_type(log, "tool/call")[0]["scope"] == "agent-1"
    assert of_type(log, "tool/code-dispatch-start")[0]["scope"] == "agent-1"
    assert of_type(log, "tool/code-dispatch")[0]["scope"] == "agent-1"


async def test_a_sub_call_carries_parent_root_and_scope() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)
    registry.tool(add)
    scope = registry.scope("agent-1")
    seen: list[Any] = []

    @registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        seen.append(call)
        return await next()

    async with CodeMode(registry) as cm:
        await cm.run("await tools.add(1, 2)", scope=scope, call_id="o")
    outer, inner = seen
    assert (outer.name, outer.parent) == ("run_code", None)
    assert inner.parent is outer.token
    assert inner.root_call_id == "o"
    assert inner.call_id == "o:code:1"
    assert inner.scope is scope
    with pytest.raises(TypeError):
        inner.arguments["a"] = 5


async def test_a_denied_call_is_denied_in_the_program_and_on_record() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)
    registry.tool(add)

    @registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        return Deny("over quota") if call.name == "add" else await next()

    result = await run(
        "try:\n    await tools.add(1, 2)\nexcept ToolCallError as e:\n    return e.message", registry=registry
    )
    assert "over quota" in result.value
    assert [call.status for call in result.calls] == ["denied"]
    assert of_type(log, "tool/code-dispatch")[0]["error"]["code"] == "DENIED"
    assert len(of_type(log, "tool/code-dispatch-start")) == 1


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        ("allowed-once", "done", None),
        ("rejected", "denied", "APPROVAL_REJECTED"),
        ("cancelled", "denied", "APPROVAL_CANCELLED"),
        ("unavailable", "denied", "APPROVAL_UNAVAILABLE"),
        ("whatever", "denied", "APPROVAL_UNAVAILABLE"),
    ],
)
async def test_approvals_are_asked_for_each_sub_call(answer: str, status: str, code: str | None) -> None:
    asked: list[Any] = []

    async def approver(request: Any) -> str:
        asked.append(request)
        return answer

    log = MemoryEventLog()
    registry = Registry(events=log, approver=approver)
    registry.tool(add)

    @registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        return Ask("is it fine?") if call.name == "add" else await next()

    result = await run("try:\n    await tools.add(1, 2)\nexcept ToolCallError as e:\n    print(e)", registry=registry)
    assert result.ok
    [request] = asked
    assert (request.tool_name, request.reason, request.arguments) == ("add", "is it fine?", {"a": 1, "b": 2})
    assert request.call_id == result.calls[0].sub_call_id
    assert result.calls[0].status == status
    settle = of_type(log, "tool/code-dispatch")[0]
    assert settle.get("error", {}).get("code") == code
    assert len(of_type(log, "approval/asked")) == len(of_type(log, "approval/decided")) == 1


async def test_code_mode_has_an_approver_of_its_own() -> None:
    async def never(request: Any) -> str:
        return "rejected"

    async def always(request: Any) -> str:
        return "allowed-once"

    registry = Registry(approver=never)
    registry.tool(add)

    @registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        return Ask() if call.name == "add" else await next()

    result = await run("return await tools.add(1, 2)", registry=registry, approver=always)
    assert result.value == 3


async def test_reviews_replace_values_and_block() -> None:
    registry = Registry()
    registry.tool(add)

    @registry.tool
    async def text() -> str:
        """Text."""
        return "text"

    @registry.tool
    async def blocked() -> str:
        """Blocked."""
        return "secret"

    @registry.post_execute
    async def review(call: Any, result: Any, next: Any) -> Any:
        if call.name == "add":
            return Accept(value=42)
        if call.name == "text":
            return Accept(content=[{"type": "text", "text": "shown"}])
        if call.name == "blocked":
            return Block("not for you")
        return await next()

    program = """
try:
    b = await tools.blocked()
except ToolCallError as e:
    b = e.message
return [await tools.add(1, 2), await tools.text(), b]
"""
    result = await run(program, registry=registry)
    assert result.value == [42, "text", "not for you"]
    assert [call.status for call in result.calls] == ["failed", "done", "done"]


async def test_an_exclusive_call_runs_alone_and_is_not_overtaken() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)
    running: set[str] = set()
    overlaps: list[frozenset[str]] = []

    async def body(name: str) -> str:
        running.add(name)
        overlaps.append(frozenset(running))
        await anyio.sleep(0.01)
        overlaps.append(frozenset(running))
        running.discard(name)
        return name

    @registry.tool(concurrency_safe=True)
    async def read(name: str) -> str:
        """Read."""
        return await body(name)

    @registry.tool
    async def write(name: str) -> str:
        """Write."""
        return await body(name)

    program = """
import asyncio
return await asyncio.gather(tools.read("r1"), tools.read("r2"), tools.write("w"), tools.read("r3"))
"""
    result = await run(program, registry=registry)
    assert result.value == ["r1", "r2", "w", "r3"]
    assert frozenset({"r1", "r2"}) in overlaps
    assert all(len(found) == 1 for found in overlaps if "w" in found)
    order = [
        (e.type.removeprefix("tool/code-dispatch"), e.data["arguments"]["name"])
        for e in log.events
        if "dispatch" in e.type
    ]
    assert order.index(("-start", "w")) > max(order.index(("", "r1")), order.index(("", "r2")))
    assert order.index(("-start", "r3")) > order.index(("", "w"))


async def test_results_come_in_the_order_in_which_bodies_finish() -> None:
    registry = Registry()

    @registry.tool(concurrency_safe=True)
    async def wait(ms: int) -> int:
        """Wait."""
        await anyio.sleep(ms / 1000)
        return ms

    program = """
import asyncio
got = []
for next_one in asyncio.as_completed([tools.wait(400), tools.wait(10), tools.wait(200)]):
    got.append(await next_one)
done, pending = await asyncio.wait([asyncio.create_task(tools.wait(500)), asyncio.create_task(tools.wait(20))], return_when=asyncio.FIRST_COMPLETED)
return [got, [t.result() for t in done]]
"""
    result = await run(program, registry=registry)
    assert result.value == [[10, 200, 400], [20]]


async def test_a_time_out_in_the_program_cancels_the_sub_call_in_the_host() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)
    stopped: list[str] = []

    @registry.tool(concurrency_safe=True)
    async def slow(ctx: ToolContext) -> str:
        """Slow."""
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append("stopped")
        return ""

    program = """
import asyncio
try:
    await asyncio.wait_for(tools.slow(), 0.05)
except (TimeoutError, asyncio.TimeoutError):
    print("timed out")
t = asyncio.create_task(tools.slow())
await asyncio.sleep(0.02)
t.cancel()
try:
    await t
except asyncio.CancelledError:
    print("cancelled")
try:
    async with asyncio.timeout(0.05):
        await tools.slow()
except TimeoutError:
    print("timed out")
return "went on"
"""
    result = await run(program, registry=registry)
    assert result.value == "went on", result.text
    assert list(result.logs) == ["timed out", "cancelled", "timed out"]
    assert stopped == ["stopped"] * 3
    assert [call.status for call in result.calls] == ["aborted"] * 3
    assert [settle["error"]["code"] for settle in of_type(log, "tool/code-dispatch")] == ["ABORTED"] * 3


async def test_when_the_run_settles_running_calls_are_settled_in_the_log_and_queued_ones_never_start() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)
    seen: list[str] = []

    @registry.tool
    async def writer(name: str, ctx: ToolContext) -> str:
        """Write."""
        seen.append(name)
        await ctx.cancel.wait()
        return "late"

    program = """
import asyncio
a = asyncio.create_task(tools.writer("w1"))
b = asyncio.create_task(tools.writer("w2"))
await asyncio.sleep(0.1)
return "done"
"""
    async with CodeMode(registry) as cm:
        with anyio.fail_after(5):
            result = await cm.run(program, call_id="o")
    assert result.value == "done"
    assert seen == ["w1"]
    assert [start["sub_call_id"] for start in of_type(log, "tool/code-dispatch-start")] == ["o:code:1"]
    assert [settle["sub_call_id"] for settle in of_type(log, "tool/code-dispatch")] == ["o:code:1"]
    assert [(call.sub_call_id, call.status) for call in result.calls] == [
        ("o:code:1", "aborted"),
        ("o:code:2", "abandoned"),
    ]
    types = [event.type for event in log.events]
    assert types.index("tool/code-dispatch") < types.index("code/run-end") < types.index("tool/result")


async def test_outer_cancel_reaches_the_running_sub_call() -> None:
    cancel = CancelSignal()
    reasons: list[str | None] = []

    async def slow(ctx: ToolContext) -> str:
        """Slow."""
        cancel.cancel("enough")
        await ctx.cancel.wait()
        reasons.append(ctx.cancel.reason)
        return "stopped"

    async with opened(slow) as (cm, _, log):
        with anyio.fail_after(5):
            result = await cm.run("print('x')\nawait tools.slow()", cancel=cancel)
    assert result.error is not None
    assert result.error.kind == "abort"
    assert "enough" in result.error.message
    assert reasons == ["enough"]
    assert [call.status for call in result.calls] == ["aborted"]
    assert len(of_type(log, "tool/code-dispatch")) == 1


async def test_contexts_ride_on_the_outer_result_also_when_the_program_fails() -> None:
    async def note(text: str, ctx: ToolContext) -> str:
        """Note."""
        ctx.defer_context(text)
        ctx.defer_context({"role": "user", "content": [{"type": "text", "text": text + "!"}]})
        return text

    ok = await run("await tools.note('a')\nawait tools.note('b')", note)
    failed = await run("await tools.note('a')\n1/0", note)
    texts = [context["content"][0]["text"] for context in ok.result.contexts]
    assert texts == ["a", "a!", "b", "b!"]
    assert [context["content"][0]["text"] for context in failed.result.contexts] == ["a", "a!"]


async def test_images_of_a_final_content_are_deferred() -> None:
    registry = Registry()
    image = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}

    @registry.tool(render=lambda arguments, value: [{"type": "text", "text": "a chart"}, image])
    async def chart() -> str:
        """Chart."""
        return "chart"

    result = await run("return await tools.chart()", registry=registry)
    assert result.value == "chart"
    [context] = result.result.contexts
    assert image in context["content"]


async def test_a_conclude_turn_counts_only_if_call_and_run_succeed() -> None:
    async def last(ctx: ToolContext, fail: bool = False) -> str:
        """Last."""
        ctx.conclude_turn()
        if fail:
            raise ToolError("no")
        return "last"

    concluded = await run("await tools.last()", last)
    failed_call = await run("try:\n    await tools.last(fail=True)\nexcept ToolCallError:\n    pass", last)
    failed_run = await run("await tools.last()\n1/0", last)
    assert concluded.result.concludes_turn is True
    assert failed_call.result.concludes_turn is False
    assert getattr(failed_run.result, "concludes_turn", False) is False


class FailingLog:
    """A log whose append fails for one type of event."""

    def __init__(self, fails: str) -> None:
        self.inner, self.fails = MemoryEventLog(), fails

    async def append(self, type: str, data: dict[str, Any]) -> Any:
        if type == self.fails:
            raise OSError("disk full")
        return await self.inner.append(type, data)


@pytest.mark.parametrize("fails", ["tool/code-dispatch-start", "tool/code-dispatch", "code/run-start", "code/run-end"])
async def test_an_append_that_fails_fails_the_call_and_the_run_and_never_hangs(fails: str) -> None:
    registry = Registry(events=FailingLog(fails))
    ran: list[int] = []

    @registry.tool
    async def once() -> int:
        """Once."""
        ran.append(1)
        return 1

    async with CodeMode(registry) as cm:
        with anyio.fail_after(10):
            result = await cm.run(
                "try:\n    await tools.once()\nexcept ToolCallError as e:\n    print('caught')\nreturn 1"
            )
    assert not result.ok
    assert result.error is not None
    assert result.error.kind == "abort"
    assert result.text
    assert len(ran) == (1 if fails in {"tool/code-dispatch", "code/run-end"} else 0)
    if fails == "tool/code-dispatch":
        assert [call.name for call in result.calls] == ["once"]


async def test_the_settle_record_stands_before_the_program_gets_the_value() -> None:
    log = MemoryEventLog()
    order: list[str] = []

    class Slow:
        async def append(self, type: str, data: dict[str, Any]) -> Any:
            await anyio.sleep(0.02)
            event = await log.append(type, data)
            order.append(type if "sub_call_id" not in data else f"{type} {data['name']}")
            return event

    registry = Registry(events=Slow())

    @registry.tool
    async def first() -> int:
        """First."""
        return 1

    @registry.tool
    async def second() -> int:
        """Second."""
        order.append("second body")
        return 2

    await run("await tools.first()\nawait tools.second()", registry=registry)
    assert (
        order.index("tool/code-dispatch first")
        < order.index("tool/code-dispatch-start second")
        < order.index("second body")
    )


async def test_the_logs_copy_can_be_shaped() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)
    registry.tool(add)
    seen: list[Any] = []

    @registry.shape_dispatch_log
    def shape(dispatch: Any) -> Any:
        seen.append(
            (
                dispatch.call.name,
                dispatch.scope,
                dispatch.sub_call_id,
                dispatch.name,
                dispatch.is_error,
                dispatch.content,
            )
        )
        return [{"type": "text", "text": "shaped"}]

    async with CodeMode(registry) as cm:
        result = await cm.run("return await tools.add(1, 2)", call_id="o")
    assert result.value == 3
    assert seen == [("run_code", None, "o:code:1", "add", False, [{"type": "text", "text": "3"}])]
    assert of_type(log, "tool/code-dispatch")[0]["content"] == [{"type": "text", "text": "shaped"}]


async def test_a_shaper_that_raises_is_contained_with_a_warning() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)
    registry.tool(add)

    @registry.shape_dispatch_log
    def shape(dispatch: Any) -> Any:
        raise ValueError("broken")

    result = await run("return await tools.add(1, 2)", registry=registry)
    assert result.ok
    assert of_type(log, "tool/code-dispatch")[0]["content"] == [{"type": "text", "text": "3"}]
    assert of_type(log, "warning")


async def test_a_tool_that_ignores_its_cancel_does_not_hold_the_run_for_ever() -> None:
    release = threading.Event()
    registry = Registry(drain_seconds=0.2)

    @registry.tool
    def stubborn() -> str:
        """Stubborn."""
        release.wait(20)
        return "x"

    async with CodeMode(registry) as cm:
        with anyio.fail_after(8):
            result = await cm.run(
                "import asyncio\nt = asyncio.create_task(tools.stubborn())\nawait asyncio.sleep(0.05)\nreturn 1"
            )
        assert result.value == 1
        assert [call.status for call in result.calls] == ["aborted"]
        release.set()


async def test_cancelling_the_callers_scope_propagates_with_the_records_written() -> None:
    started = anyio.Event()

    async def slow() -> str:
        """Slow."""
        started.set()
        await anyio.sleep_forever()
        return ""

    returned: list[Any] = []
    async with opened(slow) as (cm, _, log), anyio.create_task_group() as group:

        async def go() -> None:
            returned.append(await cm.run("print('printed')\nawait tools.slow()"))

        group.start_soon(go)
        with anyio.fail_after(10):
            await started.wait()
        group.cancel_scope.cancel()
    assert returned == []
    assert [event.type for event in log.events] == [
        "tool/call",
        "code/run-start",
        "tool/code-dispatch-start",
        "tool/code-dispatch",
        "code/run-end",
        "tool/result",
    ]
    assert of_type(log, "code/run-end")[0]["status"] == "abort"
    assert of_type(log, "tool/result")[0]["is_error"] is True
    assert "printed" in of_type(log, "tool/result")[0]["content"][0]["text"]


def test_asyncios_own_cancel_loses_nothing_from_the_records() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)

    async def main() -> None:
        started = asyncio.Event()

        @registry.tool
        async def slow() -> str:
            """Slow."""
            started.set()
            await asyncio.sleep(1000)
            return ""

        async with CodeMode(registry) as cm:
            task = asyncio.create_task(cm.run("print('printed')\nawait tools.slow()"))
            await asyncio.wait_for(started.wait(), 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # The next run is served as if nothing had been.
            assert (await cm.run("return 1")).value == 1

    asyncio.run(main())
    types = [event.type for event in log.events][:6]
    assert types == [
        "tool/call",
        "code/run-start",
        "tool/code-dispatch-start",
        "tool/code-dispatch",
        "code/run-end",
        "tool/result",
    ]
    assert of_type(log, "code/run-end")[0]["status"] == "abort"
    assert "printed" in of_type(log, "tool/result")[0]["content"][0]["text"]


def test_asyncios_own_cancel_while_the_program_computes_keeps_what_was_printed() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)

    async def main() -> None:
        started = asyncio.Event()

        @registry.tool
        async def here() -> None:
            """Here."""
            started.set()

        async with CodeMode(registry) as cm:
            task = asyncio.create_task(cm.run("print('one')\nawait tools.here()\nprint('two')\nwhile True: pass"))
            await asyncio.wait_for(started.wait(), 10)
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert of_type(log, "code/run-end")[0]["status"] == "abort"
    assert "one\ntwo" in of_type(log, "tool/result")[0]["content"][0]["text"]


async def test_a_tool_that_is_unregistered_meanwhile_fails_as_unknown_and_the_run_goes_on() -> None:
    registry = Registry()
    registration = registry.register(_ephemeral())

    @registry.tool
    async def drop() -> None:
        """Drop."""
        registration.dispose()

    result = await run(
        "await tools.drop()\ntry:\n    await tools.ephemeral()\nexcept ToolCallError as e:\n    return e.message",
        registry=registry,
    )
    assert result.ok, result.text
    assert "ephemeral" in result.value
    assert "unknown" in result.value


def _ephemeral() -> Any:
    from codemode import Tool

    async def execute(arguments: Any, ctx: Any) -> Any:
        return 1

    return Tool("ephemeral", "Short-lived.", execute, parameters={"type": "object"})


async def test_side_effects_are_not_rolled_back_and_are_listed() -> None:
    result = await run("await tools.add(1, 2)\nraise ValueError('x')", add)
    assert [call.status for call in result.calls] == ["done"]
    assert "add" in result.text


async def test_a_call_after_the_run_is_over_is_refused_with_a_clear_message() -> None:
    """A runtime that calls late: the dispatcher must refuse, and log nothing."""
    from codemode import BindingError, CodeRunResult
    from codemode.testing import FakeRuntime

    kept: list[Any] = []

    async def fake(request: Any) -> CodeRunResult:
        kept.append(request.bindings["add"])
        return CodeRunResult()

    async with opened(add, runtime=FakeRuntime(fake)) as (cm, _, log):
        await cm.run("x")
        with pytest.raises(BindingError, match="over"):
            await kept[0].call({"a": 1, "b": 2})
    assert of_type(log, "tool/code-dispatch-start") == []


async def test_limits_of_a_run_are_in_its_record() -> None:
    async with opened(limits=Limits(max_calls=7)) as (cm, _, log):
        await cm.run("return 1")
    limits = of_type(log, "code/run-start")[0]["limits"]
    assert limits["max_calls"] == 7
    assert set(limits) == {
        "compute_seconds",
        "wall_seconds",
        "memory_bytes",
        "output_bytes",
        "max_calls",
        "max_parallel",
        "source_bytes",
        "text_chars",
    }
