"""One ordered stream: who may overlap whom, in which order calls start, settle and are abandoned."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode_registry import (
    Ask,
    CallAbandoned,
    CallStream,
    CallTicket,
    CallTiming,
    CancelSignal,
    MemoryEventLog,
    NativeAudit,
    Registry,
    ToolCall,
    ToolContext,
    ToolRequest,
    ToolResult,
)

from .build import WAIT, Gate, failed, ok, raw, returning


class Audit:
    """Records starts and settles, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.timings: list[CallTiming] = []

    async def started(self, call: ToolCall) -> None:
        self.lines.append(f"start {call.call_id}")

    async def settled(self, call: ToolCall, result: ToolResult, timing: CallTiming) -> None:
        self.lines.append(f"settle {call.call_id}")
        self.timings.append(timing)

    @contextmanager
    def asking(self, call: ToolCall) -> Any:
        self.lines.append("asking")
        yield
        self.lines.append("asked")


def gated(registry: Registry, *names: str, safe: Any = True) -> dict[str, Gate]:
    gates = {name: Gate() for name in names}
    for name, gate in gates.items():
        registry.register(raw(name, gate.body, concurrency_safe=safe))
    return gates


def stream_of(registry: Registry, audit: Any, **options: Any) -> CallStream:
    options = {"scope": None, "max_parallel": 10, "settle_order": "finish", **options}
    return CallStream(registry, audit=audit, **options)


async def test_parallel_neighbours_overlap_and_an_exclusive_call_is_a_barrier() -> None:
    registry = Registry()
    audit = Audit()
    gates = gated(registry, "r1", "r2", "r3")
    gates |= gated(registry, "w", safe=False)
    with anyio.fail_after(WAIT):
        async with stream_of(registry, audit) as stream:
            tickets = [stream.submit(name, {}, call_id=name) for name in ("r1", "r2", "w", "r3")]
            await gates["r1"].until_entered()
            await gates["r2"].until_entered()
            await anyio.wait_all_tasks_blocked()
            assert [ticket.status for ticket in tickets] == ["running", "running", "queued", "queued"]
            gates["r2"].open.set()
            await tickets[1].wait()
            await anyio.wait_all_tasks_blocked()
            assert tickets[2].status == "queued"
            gates["r1"].open.set()
            await gates["w"].until_entered()
            await anyio.wait_all_tasks_blocked()
            assert [ticket.status for ticket in tickets] == ["settled", "settled", "running", "queued"]
            gates["w"].open.set()
            await gates["r3"].until_entered()
            gates["r3"].open.set()
    assert audit.lines == [
        "start r1",
        "start r2",
        "settle r2",
        "settle r1",
        "start w",
        "settle w",
        "start r3",
        "settle r3",
    ]
    assert [ok(await ticket.wait()) for ticket in tickets] == ["done"] * 4


async def test_the_cap_bounds_the_overlap() -> None:
    registry = Registry()
    gates = gated(registry, "a", "b", "c")
    with anyio.fail_after(WAIT):
        async with stream_of(registry, Audit(), max_parallel=2) as stream:
            tickets = [stream.submit(name, {}, call_id=name) for name in gates]
            await gates["b"].until_entered()
            await anyio.wait_all_tasks_blocked()
            assert tickets[2].status == "queued"
            gates["a"].open.set()
            await gates["c"].until_entered()
            for gate in gates.values():
                gate.open.set()


@pytest.mark.parametrize(
    "safe",
    [False, lambda arguments: 1, lambda arguments: "yes", lambda arguments: None, lambda arguments: 1 / 0],
)
async def test_anything_but_an_exact_true_is_exclusive(safe: Any) -> None:
    registry = Registry()
    gates = gated(registry, "a", "b", safe=safe)
    with anyio.fail_after(WAIT):
        async with stream_of(registry, Audit()) as stream:
            tickets = [stream.submit(name, {}, call_id=name) for name in gates]
            await gates["a"].until_entered()
            await anyio.wait_all_tasks_blocked()
            assert tickets[1].status == "queued"
            for gate in gates.values():
                gate.open.set()


async def test_an_async_classifier_is_exclusive_without_a_warning() -> None:
    registry = Registry()

    async def safe(arguments: Any) -> bool:
        return True

    gates = gated(registry, "a", "b", safe=safe)
    with anyio.fail_after(WAIT):
        async with stream_of(registry, Audit()) as stream:
            tickets = [stream.submit(name, {}, call_id=name) for name in gates]
            await gates["a"].until_entered()
            await anyio.wait_all_tasks_blocked()
            assert tickets[1].status == "queued"
            for gate in gates.values():
                gate.open.set()


async def test_the_classifier_sees_the_frozen_arguments_of_the_scopes_own_tool_and_only_if_they_fit() -> None:
    registry = Registry()
    asked: list[Any] = []

    def safe(arguments: Any) -> bool:
        asked.append(arguments)
        return bool(arguments["safe"])

    registry.register(returning("t", 1, concurrency_safe=True))
    scope = registry.scope("s")
    scope.register(returning("t", 2, concurrency_safe=safe, parameters={"required": ["safe"]}))
    results = await registry.call_batch(
        [ToolRequest("t", {"safe": True}), ToolRequest("t", {}), ToolRequest("t", {"safe": False})], scope=scope
    )
    assert [result.is_error for result in results] == [False, True, False]
    assert asked == [{"safe": True}, {"safe": False}]
    with pytest.raises(TypeError):
        asked[0]["x"] = 1


async def test_each_call_is_classified_again_right_before_it_starts() -> None:
    registry = Registry()
    gates = gated(registry, "a", "b")
    tool = registry.get("b")
    assert tool is not None
    with anyio.fail_after(WAIT):
        async with stream_of(registry, Audit(), max_parallel=1) as stream:
            tickets = [stream.submit(name, {}, call_id=name) for name in ("a", "b", "a")]
            await gates["a"].until_entered()
            tool.concurrency_safe = False
            gates["a"].open.set()
            await gates["b"].until_entered()
            await anyio.wait_all_tasks_blocked()
            assert tickets[2].status == "queued"
            gates["b"].open.set()


async def test_policies_run_one_call_at_a_time_in_order_of_submission() -> None:
    registry = Registry()
    registry.register(returning("t", 1, concurrency_safe=True))
    inside: list[str] = []
    gate = Gate()

    @registry.pre_execute
    async def policy(call: ToolCall, next: Any) -> Any:
        inside.append(f"in {call.call_id}")
        if call.call_id == "0":
            await gate.body(None, None)
        inside.append(f"out {call.call_id}")
        return await next()

    with anyio.fail_after(WAIT):
        async with stream_of(registry, Audit()) as stream:
            for index in range(3):
                stream.submit("t", {}, call_id=str(index))
            await gate.until_entered()
            await anyio.wait_all_tasks_blocked()
            assert inside == ["in 0"]
            gate.open.set()
    assert inside == [f"{way} {index}" for index in range(3) for way in ("in", "out")]


@pytest.mark.parametrize("order", ["finish", "submission"])
async def test_reviews_and_settles_come_one_at_a_time_in_the_order_asked_for(order: Any) -> None:
    registry = Registry()
    audit = Audit()
    gates = gated(registry, "a", "b", "c")
    reviewing: list[str] = []

    @registry.post_execute
    async def review(call: ToolCall, result: ToolResult, next: Any) -> Any:
        assert len(reviewing) == 0
        reviewing.append(call.call_id)
        await anyio.lowlevel.checkpoint()
        reviewing.clear()
        return await next()

    with anyio.fail_after(WAIT):
        async with stream_of(registry, audit, settle_order=order) as stream:
            tickets = {name: stream.submit(name, {}, call_id=name) for name in gates}
            for name in gates:
                await gates[name].until_entered()
            for name in ("c", "b", "a"):
                gates[name].open.set()
                await anyio.wait_all_tasks_blocked()
                assert tickets[name].status == ("settled" if order == "finish" or name == "a" else "running")
    settles = [line for line in audit.lines if line.startswith("settle")]
    assert settles == [f"settle {name}" for name in (("c", "b", "a") if order == "finish" else ("a", "b", "c"))]


async def test_an_exclusive_call_holds_its_barrier_until_its_review_is_done() -> None:
    registry = Registry()
    registry.register(returning("w", 1))
    registry.register(returning("r", 1, concurrency_safe=True))
    gate = Gate()

    @registry.post_execute
    async def review(call: ToolCall, result: ToolResult, next: Any) -> Any:
        if call.name == "w":
            await gate.body(None, None)
        return await next()

    audit = Audit()
    with anyio.fail_after(WAIT):
        async with stream_of(registry, audit) as stream:
            for name in ("w", "r"):
                stream.submit(name, {}, call_id=name)
            await gate.until_entered()
            await anyio.wait_all_tasks_blocked()
            assert audit.lines == ["start w"]
            gate.open.set()
    assert audit.lines == ["start w", "settle w", "start r", "settle r"]


async def test_while_a_human_is_asked_running_calls_settle_and_nothing_starts() -> None:
    gate = Gate()

    async def approver(request: Any) -> str:
        await gate.body(None, None)
        return "allowed-once"

    registry = Registry(approver=approver)
    audit = Audit()
    gates = gated(registry, "a")
    registry.register(returning("asks", 1, concurrency_safe=True))
    registry.register(returning("c", 1, concurrency_safe=True))

    @registry.pre_execute
    async def policy(call: ToolCall, next: Any) -> Any:
        return Ask() if call.name == "asks" else await next()

    with anyio.fail_after(WAIT):
        async with stream_of(registry, audit) as stream:
            first = stream.submit("a", {}, call_id="a")
            stream.submit("asks", {}, call_id="asks")
            last = stream.submit("c", {}, call_id="c")
            await gate.until_entered()
            gates["a"].open.set()
            ok(await first.wait())
            await anyio.wait_all_tasks_blocked()
            assert last.status == "queued"
            gate.open.set()
    assert audit.lines[:5] == ["start a", "start asks", "asking", "settle a", "asked"]
    assert audit.lines[5:] in (
        ["start c", "settle asks", "settle c"],
        ["settle asks", "start c", "settle c"],
        ["start c", "settle c", "settle asks"],
    )


async def test_closing_abandons_what_is_queued_cancels_what_runs_and_refuses_what_comes() -> None:
    registry = Registry()
    audit = Audit()
    gates = gated(registry, "a", "b", safe=False)
    with anyio.fail_after(WAIT):
        async with stream_of(registry, audit) as stream:
            running = stream.submit("a", {}, call_id="a")
            queued = stream.submit("b", {}, call_id="b")
            await gates["a"].until_entered()
            stream.close("the run is over")
            stream.close("twice")
            with pytest.raises(CallAbandoned, match="the run is over"):
                await queued.wait()
            assert queued.status == "abandoned"
            failed(await running.wait(), "ABORTED")
            with pytest.raises(CallAbandoned, match="the run is over"):
                stream.submit("a", {}, call_id="late")
    assert audit.lines == ["start a", "settle a"]
    assert not gates["b"].entered.is_set()


async def test_leaving_the_stream_waits_for_everything_also_what_nobody_awaits() -> None:
    registry = Registry()
    audit = Audit()
    registry.register(returning("t", 1))
    async with stream_of(registry, audit) as stream:
        tickets = [stream.submit("t", {}, call_id=str(index)) for index in range(6)]
    assert [ticket.status for ticket in tickets] == ["settled"] * 6
    assert audit.lines == [f"{what} {index}" for index in range(6) for what in ("start", "settle")]
    with pytest.raises(CallAbandoned):
        stream.submit("t", {}, call_id="late")


async def test_cancelling_the_waiter_cancels_that_call_and_no_other() -> None:
    registry = Registry()
    audit = Audit()
    gates = gated(registry, "a", "b")

    async def wait(ticket: CallTicket, scope: anyio.CancelScope) -> None:
        with scope:
            await ticket.wait()

    with anyio.fail_after(WAIT):
        async with stream_of(registry, audit) as stream, anyio.create_task_group() as group:
            first = stream.submit("a", {}, call_id="a")
            second = stream.submit("b", {}, call_id="b")
            scope = anyio.CancelScope()
            group.start_soon(wait, first, scope)
            await gates["a"].until_entered()
            await gates["b"].until_entered()
            scope.cancel()
            failed(await first.wait(), "ABORTED")
            gates["b"].open.set()
            assert ok(await second.wait()) == "done"
    assert audit.lines[-2:] == ["settle a", "settle b"]


async def test_cancelling_the_waiter_of_a_queued_call_lets_the_others_pass() -> None:
    registry = Registry()
    gates = gated(registry, "a", "b", "c", safe=False)
    scope = anyio.CancelScope()

    async def wait(ticket: CallTicket) -> None:
        with scope:
            await ticket.wait()

    audit = Audit()
    with anyio.fail_after(WAIT):
        async with stream_of(registry, audit) as stream, anyio.create_task_group() as group:
            stream.submit("a", {}, call_id="a")
            second = stream.submit("b", {}, call_id="b")
            third = stream.submit("c", {}, call_id="c")
            group.start_soon(wait, second)
            await gates["a"].until_entered()
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
            await anyio.wait_all_tasks_blocked()
            for gate in gates.values():
                gate.open.set()
            assert ok(await third.wait()) == "done"
            assert second.status == "abandoned"
    assert audit.lines == ["start a", "settle a", "start c", "settle c"]


async def test_cancelling_a_ticket_settles_it_as_aborted_whether_it_runs_or_waits() -> None:
    registry = Registry()
    audit = Audit()
    gates = gated(registry, "a", "b", safe=False)
    with anyio.fail_after(WAIT):
        async with stream_of(registry, audit) as stream:
            first, second = (stream.submit(name, {}, call_id=name) for name in gates)
            await gates["a"].until_entered()
            second.cancel("not wanted")
            first.cancel("not wanted")
            failed(await first.wait(), "ABORTED")
            failed(await second.wait(), "ABORTED_BEFORE_DISPATCH")
            assert first.call_id == "a"
    assert audit.lines == ["start a", "settle a", "start b", "settle b"]


async def test_an_audit_that_fails_fails_its_call_and_the_stream_goes_on() -> None:
    class Failing(Audit):
        async def started(self, call: ToolCall) -> None:
            if call.call_id == "0":
                raise OSError("disk full at start")
            await super().started(call)

        async def settled(self, call: ToolCall, result: ToolResult, timing: CallTiming) -> None:
            if call.call_id == "1":
                raise OSError("disk full at settle")
            await super().settled(call, result, timing)

    registry = Registry()
    audit = Failing()
    registry.register(returning("t", "secret"))
    with anyio.fail_after(WAIT):
        async with stream_of(registry, audit) as stream:
            tickets = [stream.submit("t", {}, call_id=str(index)) for index in range(3)]
            assert "at start" in failed(await tickets[0].wait(), "PIPELINE_ERROR")
            assert "at settle" in failed(await tickets[1].wait(), "PIPELINE_ERROR")
            assert ok(await tickets[2].wait()) == "secret"
    assert audit.lines == ["start 1", "start 2", "settle 2"]


@pytest.mark.parametrize("stage", ["pre_execute", "guard", "around_execute", "post_execute"])
async def test_a_call_that_fails_in_an_unplanned_way_still_settles_in_its_turn(stage: str) -> None:
    registry = Registry()
    audit = Audit()
    gates = gated(registry, "a", "b", "c")

    async def hook(call: ToolCall, *rest: Any) -> Any:
        if call.name == "b":
            raise asyncio.CancelledError
        return await rest[-1]()

    def guard(call: ToolCall) -> None:
        if call.name == "b":
            raise asyncio.CancelledError

    getattr(registry, stage)(guard if stage == "guard" else hook)
    gates["b"].open.set()
    with anyio.fail_after(WAIT):
        async with stream_of(registry, audit, settle_order="submission") as stream:
            tickets = [stream.submit(name, {}, call_id=name) for name in gates]
            await gates["c"].until_entered()
            gates["c"].open.set()
            await anyio.wait_all_tasks_blocked()
            assert audit.lines == ["start a", "start b", "start c"]
            gates["a"].open.set()
            failed(await tickets[1].wait(), "PIPELINE_ERROR")
    assert audit.lines[3:] == ["settle a", "settle b", "settle c"]


async def test_timing_says_where_the_milliseconds_went() -> None:
    registry = Registry()
    audit = Audit()
    registry.register(raw("t", lambda arguments, ctx: anyio.sleep(0.02)))
    async with stream_of(registry, audit) as stream:
        for index in range(2):
            stream.submit("t", {}, call_id=str(index))
    first, second = audit.timings
    assert first.body >= 15
    assert second.queued >= 15
    assert min(first.before, first.after, first.queued) >= 0


async def test_an_error_in_the_block_of_the_stream_closes_it_and_drains() -> None:
    registry = Registry()
    audit = Audit()
    gates = gated(registry, "a", safe=False)

    async def fail_inside() -> None:
        async with stream_of(registry, audit) as stream:
            stream.submit("a", {}, call_id="a")
            await gates["a"].until_entered()
            raise ValueError("outside")

    with anyio.fail_after(WAIT), pytest.raises(ExceptionGroup) as caught:
        await fail_inside()
    assert caught.group_contains(ValueError, match="outside")
    assert audit.lines == ["start a", "settle a"]


@pytest.mark.parametrize("options", [{"max_parallel": 0}, {"max_parallel": True}, {"settle_order": "random"}])
def test_a_stream_refuses_options_that_make_no_sense(options: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        stream_of(Registry(), Audit(), **options)


# ---- call_batch ----


async def test_a_batch_gives_its_results_in_order_and_logs_balanced_pairs_in_order() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log, max_parallel=3)
    gates = gated(registry, "a", "b")
    registry.register(returning("w", "w"))
    results: list[ToolResult] = []

    async def batch() -> None:
        requests = [
            ToolRequest("a", {}, "1"),
            ToolRequest("b", {}, call_id="2"),
            ToolRequest("w", {}),
            ToolRequest("ghost", {}),
            ToolRequest("w", {1}),
        ]
        results.extend(await registry.call_batch(requests))

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as group:
            group.start_soon(batch)
            await gates["a"].until_entered()
            await gates["b"].until_entered()
            gates["b"].open.set()
            await anyio.wait_all_tasks_blocked()
            gates["a"].open.set()
    assert [ok(result) for result in results[:3]] == ["done", "done", "w"]
    failed(results[3], "UNKNOWN_TOOL")
    failed(results[4], "INVALID_ARGS")
    calls = [event.data["call_id"] for event in log.events if event.type == "tool/call"]
    settled = [event.data["call_id"] for event in log.events if event.type == "tool/result"]
    assert calls == settled
    assert calls[:2] == ["1", "2"]
    assert len(set(calls)) == 5


async def test_an_empty_batch_is_empty_and_one_is_serial_with_a_cap_of_one() -> None:
    registry = Registry(max_parallel=1)
    assert await registry.call_batch([]) == []
    active: list[int] = []

    async def body(arguments: Any, ctx: ToolContext) -> int:
        active.append(1)
        most = len(active)
        await anyio.lowlevel.checkpoint()
        active.pop()
        return most

    registry.register(raw("t", body, concurrency_safe=True))
    assert [ok(result) for result in await registry.call_batch([ToolRequest("t", {})] * 5)] == [1] * 5


async def test_cancelling_a_batch_drains_what_runs_and_balances_what_never_began() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)
    gates = gated(registry, "a", "b", "c", safe=False)
    cancel = CancelSignal()
    results: list[ToolResult] = []

    async def batch() -> None:
        results.extend(await registry.call_batch([ToolRequest(name, {}, name) for name in gates], cancel=cancel))

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as group:
            group.start_soon(batch)
            await gates["a"].until_entered()
            cancel.cancel()
    failed(results[0], "ABORTED")
    failed(results[1], "ABORTED_BEFORE_DISPATCH")
    failed(results[2], "ABORTED_BEFORE_DISPATCH")
    assert [(event.type, event.data["call_id"]) for event in log.events] == [
        (kind, name) for name in "abc" for kind in ("tool/call", "tool/result")
    ]


async def test_cancelling_the_task_of_a_batch_passes_on_after_the_drain() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)
    gates = gated(registry, "a", "b", safe=False)
    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: registry.call_batch([ToolRequest(name, {}, name) for name in gates]))
            await gates["a"].until_entered()
            group.cancel_scope.cancel()
    ends = [(event.data["call_id"], event.data["error"]["code"]) for event in log.events if event.type == "tool/result"]
    assert ends == [("a", "ABORTED"), ("b", "ABORTED_BEFORE_DISPATCH")]
    assert [event.data["call_id"] for event in log.events if event.type == "tool/call"] == ["a", "b"]


async def test_a_tool_may_call_a_batch_of_its_own() -> None:
    registry = Registry(events=MemoryEventLog())

    async def outer(arguments: Any, ctx: ToolContext) -> Any:
        return [ok(result) for result in await registry.call_batch([ToolRequest("t", {}), ToolRequest("t", {})])]

    registry.register(raw("outer", outer))
    registry.register(returning("t", 1))
    with anyio.fail_after(WAIT):
        assert [ok(result) for result in await registry.call_batch([ToolRequest("outer", {})] * 2)] == [[1, 1]] * 2


# ---- any mix ----


@settings(max_examples=40, deadline=None)
@given(
    mix=st.lists(
        st.tuples(st.booleans(), st.integers(0, 3), st.sampled_from(["ok", "raise", "deny", "unknown", "args"])),
        max_size=12,
    ),
    cap=st.integers(1, 4),
    order=st.sampled_from(["finish", "submission"]),
    backend=st.sampled_from(["trio", "asyncio"]),
)
def test_any_mix_of_calls_keeps_the_rules(mix: list[tuple[bool, int, str]], cap: int, order: Any, backend: str) -> None:
    registry = Registry()
    audit = Audit()
    running: dict[str, bool] = {}
    finished: list[str] = []

    async def body(arguments: Any, ctx: ToolContext) -> str:
        safe = bool(arguments["safe"])
        assert all(running.values()) or not running, "somebody overlaps an exclusive call"
        assert safe or not running, "an exclusive call overlaps somebody"
        running[ctx.call.call_id] = safe
        assert len(running) <= cap
        for _ in range(arguments["steps"]):
            await anyio.lowlevel.checkpoint()
        del running[ctx.call.call_id]
        finished.append(ctx.call.call_id)
        if arguments["how"] == "raise":
            raise ValueError("no")
        return str(ctx.call.call_id)

    registry.register(
        raw("t", body, concurrency_safe=lambda arguments: arguments["safe"], parameters={"required": ["safe"]})
    )
    registry.guard(lambda call: "no" if call.arguments.get("how") == "deny" else None)
    codes = {"raise": "TOOL_ERROR", "deny": "DENIED", "unknown": "UNKNOWN_TOOL", "args": "INVALID_ARGS"}

    async def run() -> list[ToolResult]:
        async with stream_of(registry, audit, max_parallel=cap, settle_order=order) as stream:
            tickets = [
                stream.submit(
                    "nope" if how == "unknown" else "t",
                    {"steps": steps, "how": how} if how == "args" else {"safe": safe, "steps": steps, "how": how},
                    call_id=str(index),
                )
                for index, (safe, steps, how) in enumerate(mix)
            ]
            results: list[ToolResult | None] = [None] * len(tickets)

            async def wait(index: int) -> None:
                results[index] = await tickets[index].wait()

            async with anyio.create_task_group() as group:
                for index in range(len(tickets)):
                    group.start_soon(wait, index)
        return [result for result in results if result is not None]

    results = anyio.run(run, backend=backend)
    assert len(results) == len(mix)
    for index, (result, (_, _, how)) in enumerate(zip(results, mix, strict=True)):
        if how == "ok":
            assert ok(result) == str(index)
        else:
            failed(result, codes[how])
    starts = [line.split()[1] for line in audit.lines if line.startswith("start")]
    settles = [line.split()[1] for line in audit.lines if line.startswith("settle")]
    assert starts == [str(index) for index in range(len(mix))]
    assert sorted(settles, key=int) == starts
    if order == "submission":
        assert settles == starts
    else:
        assert [name for name in settles if name in finished] == finished
    for index, (safe, _, how) in enumerate(mix):
        if not (safe and how in ("ok", "raise", "deny")):
            at = audit.lines.index(f"start {index}")
            assert audit.lines[at + 1] == f"settle {index}", "an exclusive call is settled before anything starts"
            assert all(f"settle {before}" in audit.lines[:at] for before in range(index))


async def test_the_native_audit_writes_pairs_for_a_stream_too() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)
    registry.register(returning("t", 1))
    async with stream_of(registry, NativeAudit(log)) as stream:
        assert ok(await stream.submit("t", {}, call_id="a").wait()) == 1
    assert [event.type for event in log.events] == ["tool/call", "tool/result"]


async def test_waiters_that_are_cancelled_together_do_not_keep_the_turn_that_one_of_them_was_given() -> None:
    registry = Registry()
    audit = Audit()
    gates = gated(registry, "a", "b")
    gates |= gated(registry, "c", "d", safe=False)
    with anyio.fail_after(WAIT):
        async with stream_of(registry, audit, max_parallel=2) as stream:
            tickets = [stream.submit(name, {}, call_id=name) for name in gates]
            async with anyio.create_task_group() as group:
                for ticket in tickets[:3]:
                    group.start_soon(ticket.wait)
                await gates["a"].until_entered()
                await gates["b"].until_entered()
                group.cancel_scope.cancel()
            gates["d"].open.set()
            assert ok(await tickets[3].wait()) == "done"
    assert [ticket.status for ticket in tickets] == ["settled", "settled", "abandoned", "settled"]
    assert audit.lines[-2:] == ["start d", "settle d"]


CANCEL_AT = st.sampled_from([None, 0, 1, 2, 3, 5, 8, 12])


@settings(max_examples=150, deadline=None)
@given(
    mix=st.lists(
        st.tuples(
            st.booleans(),
            st.booleans(),
            st.integers(0, 4),
            st.sampled_from([None, 0, 1, 2, 3, 5, 8, 12]),
        ),
        max_size=8,
    ),
    cap=st.integers(1, 3),
    order=st.sampled_from(["finish", "submission"]),
    close_at=st.sampled_from([None, None, 0, 2, 4, 7]),
    backend=st.sampled_from(["trio", "asyncio"]),
)
def test_any_mix_of_cancelled_waiters_ends_with_every_start_settled(
    mix: list[tuple[bool, bool, int, int | None]], cap: int, order: Any, close_at: int | None, backend: str
) -> None:
    registry = Registry()
    audit = Audit()

    async def body(arguments: Any, ctx: ToolContext) -> None:
        for _ in range(arguments["steps"]):
            await anyio.lowlevel.checkpoint()

    async def slowly(call: ToolCall, *rest: Any) -> Any:
        for _ in range(call.arguments["steps"] % 3):
            await anyio.lowlevel.checkpoint()
        if call.arguments["asks"] and len(rest) == 1:
            return Ask()
        return await rest[-1]()

    async def approver(request: Any) -> str:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        return "allowed-once"

    registry.approver = approver
    registry.pre_execute(slowly)
    registry.post_execute(slowly)
    registry.register(raw("t", body, concurrency_safe=lambda arguments: arguments["safe"]))

    async def wait(ticket: CallTicket, cancel_at: int | None) -> None:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:

                async def bomb(steps: int) -> None:
                    for _ in range(steps):
                        await anyio.lowlevel.checkpoint()
                    scope.cancel()

                if cancel_at is not None:
                    group.start_soon(bomb, cancel_at)
                with suppress(CallAbandoned):
                    await ticket.wait()
                group.cancel_scope.cancel()

    async def run() -> list[str]:
        with anyio.fail_after(WAIT):
            async with stream_of(registry, audit, max_parallel=cap, settle_order=order) as stream:
                tickets = [
                    stream.submit("t", {"safe": safe, "steps": steps, "asks": asks}, call_id=str(index))
                    for index, (safe, asks, steps, _) in enumerate(mix)
                ]
                async with anyio.create_task_group() as group:
                    for ticket, (_, _, _, cancel_at) in zip(tickets, mix, strict=True):
                        group.start_soon(wait, ticket, cancel_at)
                    if close_at is not None:
                        for _ in range(close_at):
                            await anyio.lowlevel.checkpoint()
                        stream.close("over")
        return [ticket.status for ticket in tickets]

    statuses = anyio.run(run, backend=backend)
    starts = [line.split()[1] for line in audit.lines if line.startswith("start")]
    settles = [line.split()[1] for line in audit.lines if line.startswith("settle")]
    assert sorted(starts) == sorted(settles)
    assert starts == sorted(starts, key=int)
    assert [str(index) for index, status in enumerate(statuses) if status == "settled"] == starts
    assert set(statuses) <= {"settled", "abandoned"}
    assert not registry._live


async def test_no_call_sees_the_context_variables_that_another_left() -> None:
    registry = Registry()
    seen: list[str] = []

    async def body(arguments: Any, ctx: ToolContext) -> None:
        seen.append(_LEFT.get("nothing"))
        _LEFT.set(ctx.call.call_id)

    registry.register(raw("t", body, concurrency_safe=True))
    async with stream_of(registry, Audit()) as stream:
        for index in range(5):
            await stream.submit("t", {}, call_id=str(index)).wait()
        for index in range(5):
            stream.submit("t", {}, call_id=f"at once {index}")
    assert seen == ["nothing"] * 10


_LEFT: ContextVar[str] = ContextVar("left")


async def test_calls_that_never_wait_are_all_driven_by_few_tasks() -> None:
    registry = Registry()
    drivers: set[object] = set()

    async def body(arguments: Any, ctx: ToolContext) -> None:
        drivers.add(anyio.get_current_task().id)

    registry.register(raw("t", body, concurrency_safe=True))
    async with stream_of(registry, Audit()) as stream:
        for index in range(200):
            stream.submit("t", {}, call_id=str(index))
    assert len(drivers) <= 10


async def test_what_a_worker_was_driving_when_it_was_withdrawn_ends_and_the_others_go_on() -> None:
    registry = Registry()
    gates = gated(registry, "a", "b")
    ended: list[str] = []
    with anyio.fail_after(WAIT):
        async with stream_of(registry, Audit()) as stream:
            tickets = [
                stream.submit(name, {}, call_id=name, on_end=lambda ticket: ended.append(ticket.call_id))
                for name in ("a", "b", "b")
            ]
            await gates["a"].until_entered()
            tickets[0].withdraw()
            failed(await tickets[0].wait(), "ABORTED")
            gates["b"].open.set()
            for ticket in tickets[1:]:
                assert ok(await ticket.wait()) == "done"
    assert ended == ["a", "b", "b"]
