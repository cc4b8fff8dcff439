"""api.md, "Calls" and the scheduling rules of pipeline.md. Public names only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

from codemode import (
    CancelSignal,
    CodeMode,
    Deny,
    JsonValue,
    MemoryEventLog,
    Registry,
    Tool,
    ToolCall,
    ToolContext,
    ToolFailure,
    ToolRequest,
    ToolSuccess,
)


async def plain(arguments: Any, ctx: ToolContext) -> JsonValue:
    return arguments


def raw(name: str, body: Any, **options: Any) -> Tool:
    return Tool(name, "d", body, parameters={"type": "object"}, **options)


class Overlap:
    """Tools that note what runs beside them. A body yields some times, so that what may overlap does."""

    def __init__(self, **options: Any) -> None:
        self.registry = Registry(**options)
        self.running: list[str] = []
        self.log: list[str] = []
        self.most = 0
        self.registry.register(raw("parallel", self.body, concurrency_safe=True))
        self.registry.register(raw("exclusive", self.body))

    async def body(self, arguments: Mapping[str, Any], ctx: ToolContext) -> JsonValue:
        call = ctx.call
        if call.name == "exclusive":
            assert self.running == []
        else:
            assert "exclusive" not in self.running
        self.running.append(call.name)
        self.log.append(f"start {arguments['n']}")
        self.most = max(self.most, len(self.running))
        for _ in range(arguments.get("yields", 20)):
            await anyio.lowlevel.checkpoint()
        self.running.remove(call.name)
        self.log.append(f"end {arguments['n']}")
        return arguments["n"]


async def test_a_batch_gives_results_in_the_order_of_its_requests() -> None:
    over = Overlap()
    requests = [ToolRequest("parallel", {"n": n, "yields": 30 - n}) for n in range(8)]
    results = await over.registry.call_batch(requests)
    assert isinstance(results, list)
    assert [result.value for result in results if isinstance(result, ToolSuccess)] == list(range(8))
    assert over.most > 1
    assert await over.registry.call_batch([]) == []


async def test_call_ids_of_a_batch_are_the_given_ones_or_fresh() -> None:
    registry = Registry()
    seen: list[str] = []
    registry.register(raw("t", plain))
    registry.on_result(lambda call, result: seen.append(call.call_id))
    await registry.call_batch([ToolRequest("t", {}, call_id="mine"), ToolRequest("t", {}), ToolRequest("t", {})])
    assert seen[0] == "mine"
    assert len(set(seen)) == 3
    assert ToolRequest("t", {}).call_id is None


@pytest.mark.parametrize("most", [1, 3, 10])
async def test_parallel_neighbours_overlap_up_to_the_cap(most: int) -> None:
    over = Overlap(max_parallel=most)
    await over.registry.call_batch([ToolRequest("parallel", {"n": n}) for n in range(15)])
    assert over.most == most


async def test_the_cap_is_ten_where_none_is_given() -> None:
    over = Overlap()
    await over.registry.call_batch([ToolRequest("parallel", {"n": n}) for n in range(25)])
    assert over.most == 10


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "10"])
def test_a_bad_cap_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="max_parallel"):
        Registry(max_parallel=value)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "10"])
def test_bad_seconds_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="default_timeout"):
        Registry(default_timeout=value)
    if value != 0 or value is False:
        with pytest.raises(ValueError, match="drain_seconds"):
            Registry(drain_seconds=value)


async def test_an_exclusive_call_waits_for_an_empty_pool_and_holds_the_barrier() -> None:
    over = Overlap()
    kinds = ["parallel", "parallel", "exclusive", "parallel", "parallel", "exclusive", "exclusive"]
    await over.registry.call_batch([ToolRequest(kind, {"n": n}) for n, kind in enumerate(kinds)])
    place = over.log.index
    assert max(place("end 0"), place("end 1")) < place("start 2")
    assert place("end 2") < min(place("start 3"), place("start 4"))
    assert max(place("end 3"), place("end 4")) < place("start 5")
    assert place("end 5") < place("start 6")


async def test_only_an_exact_true_is_parallel() -> None:
    over = Overlap()

    async def later(arguments: Any) -> bool:
        return True

    def broken(arguments: Any) -> bool:
        raise RuntimeError

    classifiers: dict[str, Any] = {
        "one": lambda arguments: 1,
        "yes": lambda arguments: "yes",
        "none": lambda arguments: None,
        "false": lambda arguments: False,
        "async": later,
        "broken": broken,
    }

    async def alone(arguments: Any, ctx: ToolContext) -> JsonValue:
        assert over.running == []
        over.running.append(ctx.call.name)
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        over.running.remove(ctx.call.name)
        return None

    for name, classifier in classifiers.items():
        over.registry.register(raw(name, alone, concurrency_safe=classifier))
    requests = [ToolRequest(name, {}) for name in classifiers for _ in range(2)]
    assert all(isinstance(result, ToolSuccess) for result in await over.registry.call_batch(requests))


async def test_a_classifier_sees_the_arguments_and_the_scopes_own_tool_is_asked() -> None:
    registry = Registry()
    seen: list[Any] = []
    gate = anyio.Event()

    def classify(arguments: Any) -> bool:
        seen.append(arguments)
        return bool(arguments["safe"])

    async def meet(arguments: Any, ctx: ToolContext) -> JsonValue:
        if arguments["n"] == 0:
            await gate.wait()
        else:
            gate.set()
        return None

    registry.register(raw("t", meet))
    scope = registry.scope("s")
    scope.register(raw("t", meet, concurrency_safe=classify))
    with anyio.fail_after(10):
        await registry.call_batch([ToolRequest("t", {"safe": True, "n": n}) for n in range(2)], scope=scope)
    assert {"safe": True, "n": 0} in seen


async def test_pre_and_post_run_one_call_at_a_time_in_submission_order() -> None:
    over = Overlap()
    trace: list[str] = []
    inside: list[int] = []

    async def slow(place: str, call: ToolCall) -> None:
        assert inside == []
        inside.append(1)
        trace.append(f"{place} {call.arguments['n']}")
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        inside.pop()

    @over.registry.pre_execute
    async def policy(call: ToolCall, next: Any) -> Any:
        await slow("pre", call)
        return await next()

    @over.registry.post_execute
    async def review(call: ToolCall, result: Any, next: Any) -> Any:
        await slow("post", call)
        return await next()

    requests = [ToolRequest("exclusive", {"n": n}) for n in range(3)]
    await over.registry.call_batch(requests)
    assert trace == ["pre 0", "post 0", "pre 1", "post 1", "pre 2", "post 2"]


async def test_parallel_calls_are_reviewed_in_the_batchs_order() -> None:
    over = Overlap()
    order: dict[str, list[int]] = {"pre": [], "post": [], "result": []}

    @over.registry.pre_execute
    async def policy(call: ToolCall, next: Any) -> Any:
        order["pre"].append(call.arguments["n"])
        await anyio.lowlevel.checkpoint()
        return await next()

    @over.registry.post_execute
    async def review(call: ToolCall, result: Any, next: Any) -> Any:
        order["post"].append(call.arguments["n"])
        await anyio.lowlevel.checkpoint()
        return await next()

    over.registry.on_result(lambda call, result: order["result"].append(call.arguments["n"]))
    await over.registry.call_batch([ToolRequest("parallel", {"n": n, "yields": 40 - 5 * n}) for n in range(6)])
    assert order == {stage: list(range(6)) for stage in order}


async def test_each_call_is_classified_again_just_before_it_starts() -> None:
    over = Overlap()
    safe = [True]

    async def first(arguments: Any, ctx: ToolContext) -> JsonValue:
        safe[0] = False
        return None

    async def checked(arguments: Any, ctx: ToolContext) -> JsonValue:
        assert over.running == []
        over.running.append("x")
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        over.running.clear()
        return None

    over.registry.register(raw("first", first))
    over.registry.register(raw("checked", checked, concurrency_safe=lambda arguments: safe[0]))
    results = await over.registry.call_batch(
        [ToolRequest("first", {}), ToolRequest("checked", {}), ToolRequest("checked", {})]
    )
    assert all(isinstance(result, ToolSuccess) for result in results)


async def test_a_cancelled_batch_drains_what_runs_and_pairs_what_never_started() -> None:
    events = MemoryEventLog()
    registry = Registry(events=events)
    cancel = CancelSignal()

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        cancel.cancel("enough")
        await anyio.sleep_forever()
        return None

    registry.register(raw("t", body))
    with anyio.fail_after(10):
        results = await registry.call_batch([ToolRequest("t", {"n": n}) for n in range(3)], cancel=cancel)
    assert [result.error.code for result in results if isinstance(result, ToolFailure)] == [
        "ABORTED",
        "ABORTED_BEFORE_DISPATCH",
        "ABORTED_BEFORE_DISPATCH",
    ]
    calls = [event for event in events.events if event.type == "tool/call"]
    ends = [event for event in events.events if event.type == "tool/result"]
    assert len(calls) == len(ends) == 3
    assert sorted(event.data["call_seq"] for event in ends) == sorted(event.seq for event in calls)


async def test_two_run_codes_of_one_batch_are_serial() -> None:
    registry = Registry()
    inside: list[int] = []

    async def alone(arguments: Any, ctx: ToolContext) -> JsonValue:
        assert inside == []
        inside.append(1)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        inside.pop()
        return None

    registry.register(raw("alone", alone))
    async with CodeMode(registry) as cm:
        request = ToolRequest("run_code", {"code": "await tools.alone()\nreturn 1", "description": "d"})
        results = await cm.call_batch([request, request])
    assert all(isinstance(result, ToolSuccess) for result in results), results


async def test_a_parent_gives_root_and_token_and_a_made_up_one_is_refused() -> None:
    registry = Registry()
    seen: dict[str, ToolCall] = {}
    registry.on_result(lambda call, result: seen.__setitem__(call.name, call))
    order: list[str] = []
    registry.on_result(lambda call, result: order.append(call.name))

    async def outer(arguments: Any, ctx: ToolContext) -> JsonValue:
        result = await registry.call("inner", {}, parent=ctx.call.token, scope=ctx.call.scope)
        assert isinstance(result, ToolSuccess), result
        return None

    registry.register(raw("outer", outer))
    registry.register(raw("inner", plain))
    scope = registry.scope("s")
    result = await registry.call("outer", {}, call_id="o", scope=scope)
    assert isinstance(result, ToolSuccess), result
    assert seen["inner"].parent is seen["outer"].token
    assert seen["inner"].root_call_id == "o"
    assert seen["inner"].scope is scope
    assert order == ["inner", "outer"]
    for token in (object(), seen["outer"].token):
        forged = await registry.call("inner", {}, parent=token)
        assert isinstance(forged, ToolFailure)


async def test_a_signal_says_that_and_why_it_was_cancelled() -> None:
    signal = CancelSignal()
    assert signal.cancelled is False
    assert signal.reason is None
    signal.cancel()
    assert signal.cancelled is True
    assert signal.reason == "cancelled"
    signal.cancel("again")
    assert signal.reason == "cancelled"
    await signal.wait()


@pytest.mark.parametrize("which", [0, 1])
async def test_waiters_wake_and_any_follows_either(which: int) -> None:
    pair = (CancelSignal(), CancelSignal())
    either = CancelSignal.any(*pair)
    assert isinstance(either, CancelSignal)
    woken: list[str | None] = []

    async def wait(signal: CancelSignal) -> None:
        await signal.wait()
        woken.append(signal.reason)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(wait, either)
            group.start_soon(wait, either)
            await anyio.lowlevel.checkpoint()
            pair[which].cancel("why")
    assert woken == ["why", "why"]
    assert either.cancelled
    assert not pair[1 - which].cancelled


async def test_any_of_a_cancelled_signal_is_cancelled() -> None:
    done = CancelSignal()
    done.cancel("before")
    assert CancelSignal.any(done, CancelSignal()).reason == "before"


async def test_a_signal_may_be_cancelled_from_a_thread() -> None:
    signal = CancelSignal()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(signal.wait)
            await anyio.to_thread.run_sync(signal.cancel)


async def test_the_caller_may_leave_the_signal_out_and_the_body_still_has_one() -> None:
    registry = Registry()

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        assert isinstance(ctx.cancel, CancelSignal)
        return ctx.cancel.cancelled

    registry.register(raw("t", body))
    result = await registry.call("t", {})
    assert isinstance(result, ToolSuccess)
    assert result.value is False


async def test_progress_reaches_its_observers() -> None:
    registry = Registry()
    heard: list[Any] = []
    registry.on_progress(lambda *seen: heard.append(seen))

    @registry.tool
    async def work(ctx: ToolContext) -> None:
        """Work."""
        ctx.progress(1)
        ctx.progress(2, total=3, message="two")

    @registry.tool
    def threaded(ctx: ToolContext) -> None:
        """Work in a thread."""
        ctx.progress(5, 10)

    assert isinstance(await registry.call("work", {}), ToolSuccess)
    assert isinstance(await registry.call("threaded", {}), ToolSuccess)
    assert len(heard) == 3
    assert 2 in heard[1]
    assert 3 in heard[1]
    assert "two" in heard[1]

    def bad(*_: Any) -> None:
        raise RuntimeError("observer")

    registry.on_progress(bad)
    assert isinstance(await registry.call("work", {}), ToolSuccess)


async def test_context_functions_work_detached_and_refuse_what_is_no_context() -> None:
    registry = Registry()

    @registry.tool
    async def work(ctx: ToolContext) -> None:
        """Work."""
        defer, conclude = ctx.defer_context, ctx.conclude_turn
        defer({"role": "user"})
        conclude()

    @registry.tool
    async def bad(ctx: ToolContext) -> None:
        """Bad."""
        ctx.defer_context({"x": object()})

    result = await registry.call("work", {})
    assert isinstance(result, ToolSuccess)
    assert list(result.contexts) == [{"role": "user"}]
    assert result.concludes_turn
    assert isinstance(await registry.call("bad", {}), ToolFailure)


async def test_frozen_json_compares_and_serialises_like_plain_json() -> None:
    registry = Registry()
    registry.register(raw("t", plain))
    plain_value = {"a": [1, {"b": None}], "c": 10**30, "d": -0.0}
    result = await registry.call("t", plain_value)
    assert isinstance(result, ToolSuccess)
    assert result.value == plain_value
    assert json.dumps(result.value) == json.dumps(plain_value)
    assert isinstance(result.value, dict)
    assert isinstance(result.value["a"], list)
    again = await registry.call("t", {"again": result.value})
    assert isinstance(again, ToolSuccess)
    assert again.value == {"again": plain_value}


async def test_a_thousand_concurrent_calls() -> None:
    registry = Registry()

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        await anyio.lowlevel.checkpoint()
        return arguments["n"]

    registry.register(raw("t", body, concurrency_safe=True))
    results: dict[int, Any] = {}

    async def one(n: int) -> None:
        results[n] = await registry.call("t", {"n": n})

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for n in range(1000):
                group.start_soon(one, n)
        batch = await registry.call_batch([ToolRequest("t", {"n": n}) for n in range(1000)])
    assert all(results[n].value == n for n in range(1000))
    assert [result.value for result in batch if isinstance(result, ToolSuccess)] == list(range(1000))


async def test_a_ten_megabyte_value_goes_through_both_ways() -> None:
    registry = Registry()
    registry.register(raw("t", plain, output={"type": "object"}))
    big = {"text": "x" * 5_000_000, "rows": [{"n": n, "s": f"row {n}"} for n in range(200_000)]}
    with anyio.fail_after(60):
        result = await registry.call("t", big)
    assert isinstance(result, ToolSuccess)
    assert result.value == big


async def test_a_denied_call_is_a_result_and_never_an_exception() -> None:
    registry = Registry()
    registry.register(raw("t", plain))

    async def deny(call: Any, next: Any) -> Any:
        return Deny("no")

    registry.pre_execute(deny)
    for result in await registry.call_batch(
        [ToolRequest("t", {}), ToolRequest("ghost", {}), ToolRequest("t", {"x": b""})]
    ):
        assert isinstance(result, ToolFailure)


async def test_cancelling_the_task_of_a_batch_leaves_a_pair_of_records_for_every_call() -> None:
    events = MemoryEventLog()
    registry = Registry(events=events)
    started = anyio.Event()
    seen: list[str] = []

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        started.set()
        await anyio.sleep_forever()
        return None

    registry.register(raw("t", body))
    registry.on_result(lambda call, result: seen.append(call.call_id))
    returned: list[Any] = []

    async def batch() -> None:
        returned.append(await registry.call_batch([ToolRequest("t", {}, call_id=name) for name in "abc"]))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(batch)
            await started.wait()
            group.cancel_scope.cancel()
    assert returned == []
    ends = [event.data for event in events.events if event.type == "tool/result"]
    assert [(end["call_id"], end["error"]["code"]) for end in ends] == [
        ("a", "ABORTED"),
        ("b", "ABORTED_BEFORE_DISPATCH"),
        ("c", "ABORTED_BEFORE_DISPATCH"),
    ]
    assert seen == ["a", "b", "c"]


async def test_a_call_in_a_task_that_is_cancelled_already_leaves_no_half_pair() -> None:
    events = MemoryEventLog()
    registry = Registry(events=events)
    registry.register(raw("t", plain, concurrency_safe=True))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await registry.call("t", {})
    with anyio.CancelScope() as scope:
        scope.cancel()
        await registry.call_batch([ToolRequest("t", {}) for _ in range(3)])
    calls = [event.seq for event in events.events if event.type == "tool/call"]
    ends = [event.data["call_seq"] for event in events.events if event.type == "tool/result"]
    assert sorted(calls) == sorted(ends)


async def test_a_retry_has_a_fresh_deadline_for_each_attempt() -> None:
    registry = Registry()
    attempts: list[int] = []

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        attempts.append(1)
        if len(attempts) < 3:
            await anyio.sleep_forever()
        return "third"

    registry.register(raw("t", body, timeout=0.05))

    @registry.around_execute
    async def retry(call: ToolCall, next: Any) -> Any:
        result = await next()
        while result.is_error and result.error.code == "TOOL_TIMEOUT":
            result = await next()
        return result

    result = await registry.call("t", {})
    assert isinstance(result, ToolSuccess)
    assert result.value == "third"


async def test_policies_and_reviews_may_ask_what_is_inside_again() -> None:
    registry = Registry()
    registry.register(raw("t", plain))
    heard: list[str] = []

    async def twice(*given: Any) -> Any:
        await given[-1]()
        return await given[-1]()

    async def inner_policy(call: Any, next: Any) -> Any:
        heard.append("policy")
        return await next()

    async def inner_review(call: Any, result: Any, next: Any) -> Any:
        heard.append("review")
        return await next()

    registry.pre_execute(twice)
    registry.pre_execute(inner_policy)
    registry.post_execute(twice)
    registry.post_execute(inner_review)
    assert isinstance(await registry.call("t", {}), ToolSuccess)
    assert heard == ["policy", "policy", "review", "review"]


async def test_a_result_of_another_call_is_validated_and_rendered_for_this_one() -> None:
    registry = Registry()
    registry.register(raw("t", plain, render=lambda arguments, value: f"{arguments} gave {value}"))
    kept: list[Any] = []

    @registry.around_execute
    async def cache(call: ToolCall, next: Any) -> Any:
        if not kept:
            kept.append(await next())
        return kept[0]

    await registry.call("t", {"n": 1})
    second = await registry.call("t", {"n": 2})
    assert isinstance(second, ToolSuccess)
    assert second.value == {"n": 1}
    assert second.content == [{"type": "text", "text": "{'n': 2} gave {'n': 1}"}]


def test_a_registry_serves_several_loops_and_threads() -> None:
    events = MemoryEventLog()
    registry = Registry(events=events)
    registry.register(raw("t", plain, concurrency_safe=True))

    async def many() -> list[Any]:
        return await registry.call_batch([ToolRequest("t", {"n": n}) for n in range(50)])

    with ThreadPoolExecutor(4) as pool:
        for backend in ("trio", "asyncio"):
            made = [pool.submit(anyio.run, many, backend=backend) for _ in range(2)]
            for one in made:
                assert [result.value["n"] for result in one.result(60)] == list(range(50))
    assert [event.seq for event in events.events] == list(range(1, 401))


async def test_what_is_no_scope_signal_or_parent_fails_the_call_and_nothing_else() -> None:
    registry = Registry()
    registry.register(raw("t", plain))
    scope = registry.scope("s")
    scope.dispose()
    odd: list[dict[str, Any]] = [
        {"scope": "s"},
        {"scope": scope},
        {"scope": Registry().scope("other")},
        {"cancel": 5},
        {"parent": "x"},
    ]
    for options in odd:
        assert isinstance(await registry.call("t", {}, **options), ToolFailure)
    assert isinstance(await registry.call("t", None), ToolFailure)
    assert isinstance(await registry.call("t", [1]), ToolFailure)
