"""Cancellation and timeouts: two codes, a bounded drain, and no thread or task that is forgotten."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from typing import Any

import anyio
import anyio.to_thread
import pytest
import sniffio

from codemode_registry import (
    Accept,
    Block,
    CancelSignal,
    Deny,
    MemoryEventLog,
    Registry,
    ToolCall,
    ToolContext,
    ToolError,
    ToolFailure,
    ToolResult,
    ToolSuccess,
)

from .build import WAIT, Gate, Trace, failed, ok, raw, returning


def make(**options: Any) -> tuple[Registry, Trace, MemoryEventLog]:
    log = MemoryEventLog()
    registry = Registry(events=log, **options)
    return registry, Trace().watch(registry), log


async def cancelled_in_the_middle(registry: Registry, gate: Gate, name: str = "t", **options: Any) -> ToolResult:
    """Call, wait until the body runs, set the signal; the result."""
    cancel = CancelSignal()
    results: list[ToolResult] = []

    async def call() -> None:
        results.append(await registry.call(name, {}, cancel=cancel, **options))

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await gate.until_entered()
            cancel.cancel("enough")
    return results[0]


async def test_a_body_that_has_begun_is_cancelled_and_awaited_and_the_call_is_aborted() -> None:
    registry, trace, log = make()
    gate = Gate()
    ended: list[str] = []

    async def body(arguments: Any, ctx: ToolContext) -> Any:
        ctx.defer_context({"kept": 1})
        try:
            return await gate.body(arguments, ctx)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            ended.append(str(ctx.cancel.reason))

    registry.register(raw("t", body))
    result = await cancelled_in_the_middle(registry, gate)
    assert failed(result, "ABORTED") == "tool call aborted"
    assert result.contexts == ({"kept": 1},)
    assert ended == ["enough"]
    assert trace == ["pre", "guard", "in", "out", "post", "result"]
    assert [event.type for event in log.events] == ["tool/call", "tool/result"]


async def test_a_late_success_is_aborted_and_a_late_failure_keeps_its_own_code() -> None:
    registry, _, _ = make()
    for ending, code in (("value", "ABORTED"), (ValueError("its own"), "TOOL_ERROR")):
        cancel = CancelSignal()

        async def body(arguments: Any, ctx: ToolContext, ending: Any = ending, cancel: CancelSignal = cancel) -> Any:
            with anyio.CancelScope(shield=True):
                cancel.cancel()
                await anyio.lowlevel.checkpoint()
                if isinstance(ending, Exception):
                    raise ending
                return ending

        with registry.register(raw("t", body)):
            failed(await registry.call("t", {}, cancel=cancel), code)


async def test_without_a_wrapper_or_thread_the_body_gets_the_callers_own_signal() -> None:
    registry, _, _ = make()
    seen: list[CancelSignal] = []

    async def body(arguments: Any, ctx: ToolContext) -> None:
        seen.extend([ctx.cancel, ctx.call.cancel])

    registry.register(raw("t", body))
    cancel = CancelSignal()
    ok(await registry.call("t", {}, cancel=cancel))
    assert seen == [cancel, cancel]


async def test_a_wrapper_replaces_the_signal_and_both_stop_the_body() -> None:
    for source in ("wrapper", "caller"):
        registry, _, _ = make()
        gate = Gate()
        own = CancelSignal()
        caller = CancelSignal()
        seen: list[Any] = []

        async def body(arguments: Any, ctx: ToolContext, gate: Gate = gate, seen: list[Any] = seen) -> Any:
            seen.append(ctx.cancel)
            return await gate.body(arguments, ctx)

        @registry.around_execute
        async def wrapper(call: ToolCall, next: Any, own: CancelSignal = own) -> ToolResult:
            return await next(cancel=own)  # type: ignore[no-any-return]

        @registry.post_execute
        async def review(call: ToolCall, result: ToolResult, next: Any, seen: list[Any] = seen) -> Any:
            seen.append(call.cancel)
            return await next()

        registry.register(raw("t", body))
        results: list[ToolResult] = []

        async def call(
            registry: Registry = registry, caller: CancelSignal = caller, results: list[ToolResult] = results
        ) -> None:
            results.append(await registry.call("t", {}, cancel=caller))

        with anyio.fail_after(WAIT):
            async with anyio.create_task_group() as group:
                group.start_soon(call)
                await gate.until_entered()
                (own if source == "wrapper" else caller).cancel(source)
        failed(results[0], "ABORTED")
        assert seen[0].reason == source
        assert seen[0] not in (own, caller)
        assert seen[1] is caller
        assert own.cancelled is (source == "wrapper")


async def test_a_replacement_that_is_set_already_skips_the_body() -> None:
    registry, trace, _ = make()
    registry.register(trace.tool("t"))
    own = CancelSignal()
    own.cancel()

    @registry.around_execute
    async def wrapper(call: ToolCall, next: Any) -> ToolResult:
        return await next(cancel=own)  # type: ignore[no-any-return]

    failed(await registry.call("t", {}), "ABORTED_BEFORE_DISPATCH")
    assert "body" not in trace
    assert "post" in trace


async def test_the_callers_signal_is_looked_at_again_when_a_wrapper_delegates() -> None:
    registry, trace, _ = make()
    registry.register(trace.tool("t"))
    cancel = CancelSignal()

    @registry.around_execute
    async def wrapper(call: ToolCall, next: Any) -> ToolResult:
        cancel.cancel()
        return await next()  # type: ignore[no-any-return]

    failed(await registry.call("t", {}, cancel=cancel), "ABORTED_BEFORE_DISPATCH")
    assert "body" not in trace


async def test_cancellation_overtakes_a_short_circuit_and_keeps_its_contexts() -> None:
    registry, trace, _ = make()
    registry.register(trace.tool("t"))
    cancel = CancelSignal()

    @registry.around_execute
    async def wrapper(call: ToolCall, next: Any) -> ToolResult:
        cancel.cancel()
        return ToolSuccess("cached", contexts=({"c": 1},))

    result = await registry.call("t", {}, cancel=cancel)
    failed(result, "ABORTED_BEFORE_DISPATCH")
    assert result.contexts == ({"c": 1},)


async def test_during_policies_an_allowed_call_aborts_before_dispatch_after_the_guards_and_a_denial_stays() -> None:
    for decision, code in ((None, "ABORTED_BEFORE_DISPATCH"), (Deny("no"), "DENIED")):
        registry, trace, _ = make()
        registry.register(trace.tool("t"))
        cancel = CancelSignal()

        @registry.pre_execute
        async def policy(call: ToolCall, next: Any, cancel: CancelSignal = cancel, decision: Any = decision) -> Any:
            cancel.cancel()
            return decision or await next()

        failed(await registry.call("t", {}, cancel=cancel), code)
        assert trace == (["pre", "guard"] if decision is None else ["pre"]) + ["post", "final", "result"]
    registry, trace, _ = make()
    registry.register(trace.tool("t"))
    cancel = CancelSignal()
    registry.guard(lambda call: (cancel.cancel(), "guarded")[1])
    assert failed(await registry.call("t", {}, cancel=cancel), "DENIED") == "guarded"


async def test_during_the_review_a_success_is_aborted_and_a_block_stays_a_block() -> None:
    for verdict, code in ((Accept(contexts=({"r": 1},)), "ABORTED"), (Block("blocked"), "BLOCKED")):
        registry, trace, _ = make()
        registry.register(trace.tool("t"))
        cancel = CancelSignal()

        @registry.post_execute
        async def review(
            call: ToolCall, result: ToolResult, next: Any, cancel: CancelSignal = cancel, verdict: Any = verdict
        ) -> Any:
            cancel.cancel()
            return verdict

        result = await registry.call("t", {}, cancel=cancel)
        failed(result, code)
        assert result.contexts == (({"r": 1},) if code == "ABORTED" else ())


# ---- the caller's own task ----


async def test_cancelling_the_callers_task_drains_writes_the_records_and_passes_on() -> None:
    registry, _trace, log = make()
    gate = Gate()
    ended: list[str] = []
    seen: list[ToolResult] = []
    returned: list[ToolResult] = []

    async def body(arguments: Any, ctx: ToolContext) -> Any:
        try:
            return await gate.body(arguments, ctx)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            ended.append("drained")

    async def call() -> None:
        returned.append(await registry.call("t", {}))

    registry.register(raw("t", body))
    registry.on_result(lambda call, result: seen.append(result))
    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await gate.until_entered()
            group.cancel_scope.cancel()
    assert returned == []
    assert ended == ["drained"]
    failed(seen[0], "ABORTED")
    assert [event.type for event in log.events] == ["tool/call", "tool/result"]
    assert log.events[1].data["error"]["code"] == "ABORTED"  # type: ignore[index,call-overload]


@pytest.mark.parametrize("stage", ["pre_execute", "around_execute", "post_execute"])
async def test_a_task_cancelled_in_any_stage_leaves_a_complete_pair_of_records(stage: str) -> None:
    registry, trace, log = make()
    registry.register(trace.tool("t"))
    gate = Gate()

    async def hook(*args: Any) -> Any:
        return await gate.body(None, None)

    getattr(registry, stage)(hook)
    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: registry.call("t", {}))
            await gate.until_entered()
            group.cancel_scope.cancel()
    assert [event.type for event in log.events] == ["tool/call", "tool/result"]
    code = log.events[1].data["error"]["code"]  # type: ignore[index,call-overload]
    assert code == ("ABORTED" if stage == "post_execute" else "ABORTED_BEFORE_DISPATCH")
    assert trace[-1] == "result"
    assert not registry._live


async def test_a_slow_log_still_gets_its_record_when_the_task_is_cancelled() -> None:
    class Slow(MemoryEventLog):
        async def append(self, type: str, data: Any) -> Any:
            await anyio.lowlevel.checkpoint()
            return await super().append(type, data)

    log = Slow()
    registry = Registry(events=log)
    gate = Gate()
    registry.register(raw("t", gate.body))
    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: registry.call("t", {}))
            await gate.until_entered()
            group.cancel_scope.cancel()
    assert [event.type for event in log.events] == ["tool/call", "tool/result"]


async def test_a_timeout_around_the_call_is_the_callers_and_not_the_tools() -> None:
    registry, _, log = make()
    gate = Gate()
    registry.register(raw("t", gate.body, timeout=60))
    with anyio.move_on_after(0.05) as scope:
        await registry.call("t", {})
    assert scope.cancelled_caught
    assert log.events[1].data["error"]["code"] == "ABORTED"  # type: ignore[index,call-overload]


async def test_a_body_that_lets_out_a_cancellation_of_its_own_making_has_merely_failed() -> None:
    if sniffio.current_async_library() != "asyncio":
        return
    registry, _, _ = make()

    async def body(arguments: Any, ctx: ToolContext) -> None:
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    registry.register(raw("t", body))
    failed(await registry.call("t", {}), "TOOL_ERROR")
    failed(await registry.call("t", {}), "TOOL_ERROR")


@pytest.mark.parametrize("error", [asyncio.CancelledError, GeneratorExit, StopIteration, MemoryError, BaseException])
@pytest.mark.parametrize("sync", [True, False])
async def test_whatever_a_body_raises_on_its_own_ends_its_call_only(error: type[BaseException], sync: bool) -> None:
    registry, trace, _ = make()

    def body(arguments: Any, ctx: ToolContext) -> None:
        raise error

    async def abody(arguments: Any, ctx: ToolContext) -> None:
        await anyio.lowlevel.checkpoint()
        raise error

    registry.register(raw("t", body if sync else abody))
    registry.register(returning("next", 1))
    failed(await registry.call("t", {}), "TOOL_ERROR")
    assert "post" in trace
    assert ok(await registry.call("next", {})) == 1


@pytest.mark.parametrize("stage", ["pre_execute", "around_execute", "post_execute", "guard"])
async def test_a_cancellation_that_nobody_asked_for_fails_the_pipeline_closed(stage: str) -> None:
    registry, _, _ = make()
    registry.register(returning("t", 1))

    async def hook(*args: Any) -> Any:
        raise asyncio.CancelledError

    def guard(call: ToolCall) -> None:
        raise asyncio.CancelledError

    getattr(registry, stage)(guard if stage == "guard" else hook)
    failed(await registry.call("t", {}), "PIPELINE_ERROR")

    def observer(call: ToolCall, result: ToolResult) -> None:
        raise asyncio.CancelledError

    registry.on_result(observer)
    failed(await registry.call("t", {}), "PIPELINE_ERROR")


async def test_a_call_that_is_closed_from_outside_is_closed() -> None:
    registry, _, _ = make()
    gate = Gate()
    registry.register(raw("t", gate.body))
    coroutine = registry.call("t", {})
    coroutine.send(None)
    coroutine.close()


async def test_a_body_with_tasks_of_its_own_is_unwound_whole() -> None:
    registry, _, _ = make()
    gate = Gate()
    unwound: list[int] = []

    async def body(arguments: Any, ctx: ToolContext) -> None:
        async def child(n: int) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                unwound.append(n)

        async with anyio.create_task_group() as group:
            for n in range(3):
                group.start_soon(child, n)
            await anyio.wait_all_tasks_blocked()
            await gate.body(arguments, ctx)

    registry.register(raw("t", body))
    failed(await cancelled_in_the_middle(registry, gate), "ABORTED")
    assert sorted(unwound) == [0, 1, 2]


async def test_a_body_that_swallows_its_cancellation_is_aborted_all_the_same() -> None:
    registry, _, _ = make()
    gate = Gate()

    async def body(arguments: Any, ctx: ToolContext) -> str:
        try:
            await gate.body(arguments, ctx)
        except BaseException:
            return "swallowed"
        return "done"

    registry.register(raw("t", body))
    failed(await cancelled_in_the_middle(registry, gate), "ABORTED")
    with registry.register(raw("again", lambda arguments, ctx: 1)):
        assert ok(await registry.call("again", {})) == 1


@pytest.mark.parametrize("how", ["return", "raise"])
@pytest.mark.parametrize("who", ["scope", "task"])
async def test_a_body_cannot_swallow_the_cancellation_of_the_callers_task(how: str, who: str) -> None:
    registry, _, log = make()
    gate = Gate()
    returned: list[Any] = []
    tasks: list[Any] = []

    async def body(arguments: Any, ctx: ToolContext) -> str:
        try:
            await gate.body(arguments, ctx)
        except BaseException:
            if how == "raise":
                raise ValueError("swallowed") from None
            return "swallowed"
        return "done"

    async def call() -> None:
        if sniffio.current_async_library() == "asyncio":
            tasks.append(asyncio.current_task())
        returned.append(await registry.call("t", {}))

    registry.register(raw("t", body))
    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await gate.until_entered()
            if who == "task" and tasks:
                tasks[0].cancel()
            else:
                group.cancel_scope.cancel()
    assert returned == []
    assert [event.type for event in log.events] == ["tool/call", "tool/result"]


# ---- timeouts ----


async def test_a_timeout_names_the_tool_and_the_seconds_and_replaces_any_outcome() -> None:
    registry, trace, _ = make()

    async def body(arguments: Any, ctx: ToolContext) -> Any:
        ctx.defer_context({"kept": 1})
        try:
            await anyio.sleep_forever()
        except BaseException:
            if arguments["how"] == "raise":
                raise ValueError("late") from None
            raise

    registry.register(raw("t", body, timeout=0.02))
    for how in ("cancel", "raise"):
        trace.clear()
        with anyio.fail_after(WAIT):
            result = await registry.call("t", {"how": how})
        assert failed(result, "TOOL_TIMEOUT") == 'tool "t" timed out after 0.02s'
        assert result.contexts == ({"kept": 1},)
        assert trace == ["pre", "guard", "in", "out", "post", "result"]


async def test_the_tools_own_timeout_beats_the_default_and_shadows_use_theirs() -> None:
    registry, _, _ = make(default_timeout=0.02)
    registry.register(raw("t", Gate().body))
    registry.register(raw("long", lambda arguments, ctx: anyio.sleep(0.05), timeout=60))
    scope = registry.scope("s")
    scope.register(raw("t", Gate().body, timeout=0.03))
    with anyio.fail_after(WAIT):
        assert "0.02s" in failed(await registry.call("t", {}), "TOOL_TIMEOUT")
        assert "0.03s" in failed(await registry.call("t", {}, scope=scope), "TOOL_TIMEOUT")
        assert ok(await registry.call("long", {})) is None


async def test_a_body_in_time_is_untouched() -> None:
    registry, _, _ = make()
    registry.register(returning("t", 1, timeout=60))
    registry.register(raw("s", lambda arguments, ctx: 2, timeout=60))
    assert ok(await registry.call("t", {})) == 1
    assert ok(await registry.call("s", {})) == 2


async def test_the_caller_first_is_an_abort_although_the_deadline_passes_meanwhile() -> None:
    registry, _, _ = make()
    gate = Gate()

    async def body(arguments: Any, ctx: ToolContext) -> Any:
        try:
            return await gate.body(arguments, ctx)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.3)

    registry.register(raw("t", body, timeout=0.25))
    failed(await cancelled_in_the_middle(registry, gate), "ABORTED")


async def test_the_deadline_first_is_a_timeout_although_the_caller_cancels_meanwhile() -> None:
    registry, _, _ = make()
    cancel = CancelSignal()

    async def body(arguments: Any, ctx: ToolContext) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            cancel.cancel()

    registry.register(raw("t", body, timeout=0.02))
    with anyio.fail_after(WAIT):
        failed(await registry.call("t", {}, cancel=cancel), "TOOL_TIMEOUT")


async def test_a_retry_after_a_timeout_has_the_full_time_again() -> None:
    registry, _, _ = make()
    tries: list[int] = []

    async def body(arguments: Any, ctx: ToolContext) -> str:
        tries.append(1)
        if len(tries) == 1:
            await anyio.sleep_forever()
        return "second"

    @registry.around_execute
    async def retry(call: ToolCall, next: Any) -> ToolResult:
        result: ToolResult = await next()
        return result if not result.is_error else await next()

    registry.register(raw("t", body, timeout=0.1))
    with anyio.fail_after(WAIT):
        assert ok(await registry.call("t", {})) == "second"


# ---- threads ----


class ThreadGate:
    """A sync body that says that it runs and waits; `obey` makes it watch its signal."""

    def __init__(self, obey: bool) -> None:
        self.obey = obey
        self.entered = threading.Event()
        self.release = threading.Event()
        self.signal: CancelSignal | None = None

    def body(self, arguments: Any, ctx: ToolContext) -> str:
        self.signal = ctx.cancel
        self.entered.set()
        while not self.release.wait(0.005):
            if self.obey and ctx.cancel.cancelled:
                return "stopped"
        return "released"

    async def until_entered(self) -> None:
        with anyio.fail_after(WAIT):
            await anyio.to_thread.run_sync(self.entered.wait, WAIT)


async def test_a_thread_that_watches_its_signal_is_drained() -> None:
    registry, _, _log = make()
    gate = ThreadGate(obey=True)
    registry.register(raw("t", gate.body))
    result = await cancelled_in_the_middle(registry, gate)  # type: ignore[arg-type]
    assert failed(result, "ABORTED") == "tool call aborted"
    assert gate.signal is not None
    assert gate.signal.reason == "enough"


async def test_a_thread_that_does_not_stop_is_left_behind_and_named_in_result_and_event() -> None:
    registry, _, log = make(drain_seconds=0.05)
    gate = ThreadGate(obey=False)
    registry.register(raw("t", gate.body))
    try:
        result = await cancelled_in_the_middle(registry, gate)  # type: ignore[arg-type]
        message = failed(result, "ABORTED")
        assert 'the thread of tool "t" did not stop within 0.05s' in message
        (warning,) = [event.data for event in log.events if event.type == "warning"]
        assert "left behind" in str(warning["message"])
        assert warning["call_id"] == log.events[0].data["call_id"]
    finally:
        gate.release.set()


async def test_a_thread_over_its_time_is_told_and_the_timeout_is_the_result() -> None:
    registry, _, _log = make(drain_seconds=0.05)
    for obey in (True, False):
        gate = ThreadGate(obey=obey)
        try:
            with registry.register(raw("t", gate.body, timeout=0.05)), anyio.fail_after(WAIT):
                message = failed(await registry.call("t", {}), "TOOL_TIMEOUT")
            assert message.startswith('tool "t" timed out after 0.05s')
            assert ("left behind" in message) is not obey
            assert gate.signal is not None
            assert gate.signal.cancelled
        finally:
            gate.release.set()


async def test_cancelling_the_callers_task_tells_the_thread_and_waits_for_it_bounded() -> None:
    for obey in (True, False):
        registry, _, log = make(drain_seconds=0.05)
        gate = ThreadGate(obey=obey)
        registry.register(raw("t", gate.body))
        try:
            with anyio.fail_after(WAIT):
                async with anyio.create_task_group() as group:
                    group.start_soon(lambda registry=registry: registry.call("t", {}))
                    await gate.until_entered()
                    group.cancel_scope.cancel()
            assert gate.signal is not None
            assert gate.signal.cancelled
            assert log.events[-1].type == "tool/result"
        finally:
            gate.release.set()


async def test_fifty_stuck_threads_do_not_starve_the_others() -> None:
    registry, _, _ = make(drain_seconds=0.0)
    gates = [ThreadGate(obey=False) for _ in range(50)]
    for index, gate in enumerate(gates):
        registry.register(raw(f"stuck{index}", gate.body, timeout=0.02))
    registry.register(raw("quick", lambda arguments, ctx: "quick"))
    try:
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                for index in range(50):
                    group.start_soon(lambda index=index: registry.call(f"stuck{index}", {}))
            assert ok(await registry.call("quick", {})) == "quick"
    finally:
        for gate in gates:
            gate.release.set()


async def test_context_variables_reach_the_thread() -> None:
    import contextvars

    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("here")
    registry, _, _ = make()
    registry.register(raw("t", lambda arguments, ctx: variable.get()))
    assert ok(await registry.call("t", {})) == "here"


async def test_a_signal_may_be_set_from_another_thread() -> None:
    registry, _, _ = make()
    gate = Gate()
    registry.register(raw("t", gate.body))
    cancel = CancelSignal()
    results: list[ToolResult] = []

    async def call() -> None:
        results.append(await registry.call("t", {}, cancel=cancel))

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await gate.until_entered()
            thread = threading.Thread(target=cancel.cancel)
            thread.start()
    thread.join()
    failed(results[0], "ABORTED")


async def test_an_aborted_result_of_a_wrapper_is_an_ordinary_failure() -> None:
    registry, _, _ = make()
    registry.register(returning("t", 1))

    @registry.around_execute
    async def wrapper(call: ToolCall, next: Any) -> ToolResult:
        return dataclasses.replace(ToolFailure.of("gone", code="ABORTED"))

    assert failed(await registry.call("t", {}), "ABORTED") == "gone"


@pytest.mark.parametrize("verdict", ["accept", "block"])
async def test_what_a_body_says_while_its_caller_is_cancelled_is_on_record_after_its_review(verdict: str) -> None:
    registry, _, log = make()
    started = anyio.Event()

    async def body(arguments: Any, ctx: ToolContext) -> Any:
        started.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            raise ToolError("half of it is done", code="ABORTED") from None

    @registry.post_execute
    async def review(call: Any, result: Any, next: Any) -> Any:
        return Block("withheld") if verdict == "block" else await next()

    registry.register(raw("t", body))
    async with anyio.create_task_group() as group:
        group.start_soon(registry.call, "t", {})
        await started.wait()
        group.cancel_scope.cancel()
    [settled] = [event.data for event in log.events if event.type == "tool/result"]
    text = str(settled["content"])
    assert ("half of it is done" in text) == (verdict == "accept")
    assert ("withheld" in text) == (verdict == "block")
