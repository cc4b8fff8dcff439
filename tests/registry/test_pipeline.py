"""The road of one call: each stage, what it lets through and how it fails. Whole traces, not single flags."""

from __future__ import annotations

import dataclasses
import logging
import math
from collections.abc import Callable
from datetime import datetime
from types import MappingProxyType
from typing import Any

import anyio
import pytest

from codemode_registry import (
    UNSET,
    Accept,
    Allow,
    Ask,
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

from .build import Trace, failed, label, ok, raw, returning

FULL = ["pre", "guard", "in", "body", "out", "post", "final", "result"]


def traced(value: Any = "v", **options: Any) -> tuple[Registry, Trace]:
    registry = Registry(events=MemoryEventLog())
    trace = Trace().watch(registry)
    registry.register(trace.tool("t", value, **options))
    return registry, trace


def text(result: ToolResult) -> str:
    return str(result.content[0]["text"])


# ---- the whole road ----


async def test_an_allowed_call_passes_every_stage_in_order() -> None:
    registry, trace = traced()
    result = await registry.call("t", {})
    assert ok(result) == "v"
    assert trace == FULL


async def test_a_result_has_exactly_what_it_should() -> None:
    registry, _ = traced({"n": 1})
    result = await registry.call("t", {})
    assert isinstance(result, ToolSuccess)
    assert result == ToolSuccess({"n": 1}, [{"type": "text", "text": '{"n":1}'}])
    assert (result.is_error, result.meta, result.contexts, result.concludes_turn) == (False, None, (), False)
    failure = await registry.call("nope", {})
    assert isinstance(failure, ToolFailure)
    assert failure.is_error is True
    assert not hasattr(failure, "value")
    assert not hasattr(result, "error")
    assert ToolFailure.of("m").error.code == "TOOL_ERROR"
    assert ToolFailure.of("m", code="DENIED").error.name == "DENIED"
    assert ToolFailure.of("m", name="ValueError").content == [{"type": "text", "text": "Error: m"}]


async def test_the_result_is_frozen_to_the_bottom() -> None:
    registry, _ = traced({"n": [1]})
    result: Any = await registry.call("t", {})
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.value = 1
    for change in (
        lambda: result.value["n"].append(2),
        lambda: result.content.append(1),
        lambda: result.content[0].clear(),
    ):
        with pytest.raises(TypeError, match="frozen"):
            change()


# ---- stage 0: begin ----


async def test_arguments_are_frozen_once_and_everybody_sees_the_same_object() -> None:
    registry = Registry()
    seen: list[Any] = []

    async def execute(arguments: Any, ctx: ToolContext) -> None:
        seen.extend([arguments, ctx.call.arguments])

    def render(arguments: Any, value: Any) -> str:
        seen.append(arguments)
        return ""

    @registry.pre_execute
    async def policy(call: ToolCall, next: Any) -> Any:
        seen.append(call.arguments)
        with pytest.raises(TypeError):
            call.arguments["rows"].append(1)
        with pytest.raises(dataclasses.FrozenInstanceError):
            call.name = "other"  # type: ignore[misc]
        return await next()

    registry.guard(lambda call: seen.append(call.arguments))
    registry.register(raw("t", execute, render=render))
    source = {"rows": [1]}
    ok(await registry.call("t", source))
    assert len(seen) == 5
    assert all(arguments is seen[0] for arguments in seen)
    assert type(source) is dict
    source["rows"].append(2)
    assert seen[0] == {"rows": [1]}


async def test_tuples_and_mappings_are_taken_as_lists_and_objects_and_frozen_json_can_be_passed_on() -> None:
    registry = Registry()
    inner: list[Any] = []

    async def outer(arguments: Any, ctx: ToolContext) -> Any:
        inner.append(await registry.call("inner", {"again": arguments, "rows": (1, 2)}, parent=ctx.call.token))
        return arguments

    async def echo(arguments: Any, ctx: ToolContext) -> Any:
        return arguments

    registry.register(raw("outer", outer))
    registry.register(raw("inner", echo))
    assert ok(await registry.call("outer", MappingProxyType({"a": (1, {"b": ()})}))) == {"a": [1, {"b": []}]}
    assert ok(inner[0]) == {"again": {"a": [1, {"b": []}]}, "rows": [1, 2]}


LOSSY = [math.nan, {1}, b"x", object(), datetime(2020, 1, 1), {1: 2}, len]


@pytest.mark.parametrize("lossy", LOSSY, ids=label)
async def test_lossy_arguments_fail_before_any_policy_and_are_left_out_of_the_log(lossy: Any) -> None:
    registry, trace = traced()
    cancel = CancelSignal()
    cancel.cancel()
    message = failed(await registry.call("t", {"rows": [lossy]}, cancel=cancel), "INVALID_ARGS")
    assert 'tool "t"' in message
    assert "rows[0]" in message
    assert trace == ["final", "result"]
    events = registry.events.events  # type: ignore[union-attr]
    assert [event.type for event in events] == ["tool/call", "tool/result"]
    assert "arguments" not in events[0].data


async def test_a_call_that_is_cancelled_already_goes_nowhere() -> None:
    registry, trace = traced()
    cancel = CancelSignal()
    cancel.cancel()
    assert (
        failed(await registry.call("t", {}, cancel=cancel), "ABORTED_BEFORE_DISPATCH")
        == "tool call aborted before dispatch"
    )
    assert trace == ["final", "result"]


async def test_tokens_and_ids_are_fresh_and_default_sensibly() -> None:
    registry = Registry()
    calls: list[ToolCall] = []

    async def execute(arguments: Any, ctx: ToolContext) -> None:
        calls.append(ctx.call)

    registry.register(raw("t", execute))
    for call_id in (None, None, "mine"):
        ok(await registry.call("t", {}, call_id=call_id))
    assert len({call.token for call in calls}) == 3
    assert len({call.call_id for call in calls}) == 3
    assert all(isinstance(call.call_id, str) and call.root_call_id == call.call_id for call in calls)
    assert calls[2].call_id == "mine"
    assert calls[0].parent is None
    assert calls[0].scope is None
    assert not calls[0].cancel.cancelled


async def test_a_nested_call_carries_its_parent_root_and_scope() -> None:
    registry = Registry()
    scope = registry.scope("s")
    calls: dict[str, ToolCall] = {}

    def calling(name: str, inner: str | None) -> Callable[..., Any]:
        async def execute(arguments: Any, ctx: ToolContext) -> None:
            calls[name] = ctx.call
            if inner is not None:
                ok(await registry.call(inner, {}, parent=ctx.call.token))

        return execute

    registry.register(raw("a", calling("a", "b")))
    registry.register(raw("b", calling("b", "c")))
    scope.register(raw("c", calling("c", None)))
    ok(await registry.call("a", {}, scope=scope, call_id="root"))
    assert calls["b"].parent is calls["a"].token
    assert calls["c"].parent is calls["b"].token
    assert {call.root_call_id for call in calls.values()} == {"root"}
    assert all(call.scope is scope for call in calls.values())


async def test_a_parent_token_that_is_none_is_refused_in_every_form() -> None:
    registry, trace = traced()
    other = Registry()
    tokens: list[Any] = []

    async def execute(arguments: Any, ctx: ToolContext) -> None:
        tokens.append(ctx.call.token)
        if arguments.get("cross"):
            failed(await other.call("t", {}, parent=ctx.call.token), "PIPELINE_ERROR")

    registry.register(raw("maker", execute))
    other.register(returning("t", 1))
    ok(await registry.call("maker", {"cross": True}))
    trace.clear()

    class Liar:
        def __hash__(self) -> int:
            return hash(tokens[0])

        def __eq__(self, other: object) -> bool:
            return True

    import codemode_registry

    for forged in (object(), "token", Liar(), codemode_registry.CallToken(), tokens[0]):
        message = failed(await registry.call("t", {}, parent=forged), "PIPELINE_ERROR")  # type: ignore[arg-type]
        assert "not a call in progress" in message
    assert trace == ["final", "result"] * 5


async def test_a_nested_call_stays_inside_the_scope_of_its_outer_call() -> None:
    registry = Registry()
    scope, other = registry.scope("s"), registry.scope("o")
    child = scope.scope("c")
    results: list[ToolResult] = []

    async def execute(arguments: Any, ctx: ToolContext) -> None:
        for where in (scope, child, other):
            results.append(await registry.call("t", {}, parent=ctx.call.token, scope=where))

    registry.register(returning("t", 1))
    registry.register(raw("outer", execute))
    ok(await registry.call("outer", {}, scope=scope))
    assert ok(results[0]) == ok(results[1]) == 1
    failed(results[2], "PIPELINE_ERROR")


# ---- stage 1: validate ----


async def test_arguments_that_do_not_fit_skip_policy_and_body_and_are_reviewed() -> None:
    registry, trace = traced(parameters={"type": "object", "required": ["q"]})
    assert "q: missing" in failed(await registry.call("t", {}), "INVALID_ARGS")
    assert trace == ["post", "final", "result"]


@pytest.mark.parametrize("root", [[1], "x", 5, None, True])
async def test_a_root_that_is_no_object_is_refused_also_by_the_empty_schema(root: Any) -> None:
    registry, _ = traced(parameters={})
    assert "expected an object" in failed(await registry.call("t", root), "INVALID_ARGS")


# ---- stage 2: policies ----


async def test_a_denial_reaches_no_guard_and_no_body_but_the_review() -> None:
    registry, trace = traced()

    @registry.pre_execute
    async def policy(call: ToolCall, next: Any) -> Any:
        trace.append("deny")
        return Deny("not today")

    result = await registry.call("t", {})
    assert failed(result, "DENIED") == "not today"
    assert text(result) == "Error: not today"
    assert trace == ["pre", "deny", "post", "final", "result"]


async def test_the_first_policy_is_outermost_and_prepended_ones_come_before_it() -> None:
    registry, _ = traced()
    order: list[str] = []

    def policy(name: str) -> Any:
        async def fn(call: ToolCall, next: Any) -> Any:
            order.append(f"{name} in")
            decision = await next()
            order.append(f"{name} out")
            return decision

        return fn

    registry.pre_execute(policy("a"))
    registry.pre_execute(policy("b"))
    registry.pre_execute(policy("c"), prepend=True)
    ok(await registry.call("t", {}))
    assert order == ["c in", "a in", "b in", "b out", "a out", "c out"]


async def test_an_outer_policy_may_override_an_inner_one_and_next_may_be_called_again() -> None:
    registry, _trace = traced()
    heard: list[Any] = []

    @registry.pre_execute
    async def outer(call: ToolCall, next: Any) -> Any:
        heard.extend([await next(), await next()])
        return Allow()

    @registry.pre_execute
    async def inner(call: ToolCall, next: Any) -> Any:
        return Deny("no")

    ok(await registry.call("t", {}))
    assert heard == [Deny("no")] * 2


@pytest.mark.parametrize(
    "answer", [None, True, "allow", "deny", Accept(), Allow, Deny, Deny(None), Deny(5), Ask(3), (), object()]
)  # type: ignore[arg-type]
async def test_a_policy_that_answers_anything_else_fails_the_call_closed(answer: Any) -> None:
    registry, trace = traced()

    @registry.pre_execute
    async def policy(call: ToolCall, next: Any) -> Any:
        return answer

    failed(await registry.call("t", {}), "PIPELINE_ERROR")
    assert trace == ["pre", "final", "result"]


async def test_a_raising_policy_fails_the_call_and_skips_the_review() -> None:
    registry, trace = traced()

    @registry.pre_execute
    async def policy(call: ToolCall, next: Any) -> Any:
        raise LookupError("the policy server is gone")

    result = await registry.call("t", {})
    assert failed(result, "PIPELINE_ERROR") == "the policy server is gone"
    assert result.error.name == "LookupError"  # type: ignore[union-attr]
    assert trace == ["pre", "final", "result"]


@pytest.mark.parametrize("hook", ["pre_execute", "around_execute", "post_execute"])
def test_a_sync_policy_wrapper_or_review_is_refused_at_registration(hook: str) -> None:
    with pytest.raises(ValueError, match="async"):
        getattr(Registry(), hook)(lambda *args: Allow())
    for nonsense in (5, "x"):
        with pytest.raises(ValueError, match="function"):
            getattr(Registry(), hook)(nonsense)


async def test_hooks_may_be_methods_objects_and_decorators_with_options_and_end_when_disposed() -> None:
    registry, _ = traced()

    class Policy:
        async def __call__(self, call: ToolCall, next: Any) -> Any:
            return Deny("object")

        async def method(self, call: ToolCall, next: Any) -> Any:
            return Deny("method")

    first = registry.pre_execute(Policy())
    second = registry.pre_execute(Policy().method, prepend=True)
    assert failed(await registry.call("t", {}), "DENIED") == "method"
    second.dispose()
    assert failed(await registry.call("t", {}), "DENIED") == "object"
    first.dispose()

    @registry.pre_execute(prepend=True)
    async def third(call: ToolCall, next: Any) -> Any:
        return Deny("third")

    assert failed(await registry.call("t", {}), "DENIED") == "third"
    third.dispose()
    ok(await registry.call("t", {}))


async def test_an_unknown_name_passes_policies_guards_and_wrappers_and_is_reviewed() -> None:
    registry, trace = traced()
    result = await registry.call("tt", {"any": "thing"})
    assert failed(result, "UNKNOWN_TOOL") == 'unknown tool "tt"; did you mean "t"?'
    assert trace == ["pre", "guard", "in", "out", "post", "result"]


# ---- stage 4: guards ----


async def test_a_guard_denies_for_good_whatever_policies_say() -> None:
    registry, trace = traced()

    @registry.pre_execute(prepend=True)
    async def allow(call: ToolCall, next: Any) -> Any:
        return Allow()

    registry.guard(lambda call: "frozen")
    registry.guard(lambda call: trace.append("later"))
    result = await registry.call("t", {})
    assert failed(result, "DENIED") == "frozen"
    assert text(result) == "Error: frozen"
    assert trace == ["guard", "post", "final", "result"]


async def test_an_empty_string_of_a_guard_denies_too() -> None:
    registry, _ = traced()
    registry.guard(lambda call: "")
    assert '"t"' in failed(await registry.call("t", {}), "DENIED")


@pytest.mark.parametrize("answer", [1, True, False, 0, ["no"], [], object(), Deny("x")])
async def test_a_guard_that_answers_something_else_fails_closed(answer: Any) -> None:
    registry, trace = traced()
    registry.guard(lambda call: answer)
    failed(await registry.call("t", {}), "PIPELINE_ERROR")
    assert trace == ["pre", "guard", "final", "result"]


async def test_an_async_guard_fails_closed_without_a_warning() -> None:
    registry, trace = traced()

    async def guard(call: ToolCall) -> None:
        return None

    registry.guard(guard)
    assert "sync" in failed(await registry.call("t", {}), "PIPELINE_ERROR")
    assert trace == ["pre", "guard", "final", "result"]


async def test_a_raising_guard_fails_closed() -> None:
    registry, trace = traced()
    registry.guard(lambda call: 1 / 0)  # type: ignore[arg-type,return-value]
    failed(await registry.call("t", {}), "PIPELINE_ERROR")
    assert trace == ["pre", "guard", "final", "result"]


async def test_the_same_guard_twice_is_two_registrations() -> None:
    registry, _ = traced()

    def guard(call: ToolCall) -> str:
        return "no"

    first, second = registry.guard(guard), registry.guard(guard)
    first.dispose()
    first.dispose()
    failed(await registry.call("t", {}), "DENIED")
    second.dispose()
    ok(await registry.call("t", {}))


async def test_a_guard_that_a_guard_adds_is_heard_in_the_same_pass() -> None:
    registry, _ = traced()
    registry.guard(lambda call: (registry.guard(lambda call: "added"), None)[1])
    assert failed(await registry.call("t", {}), "DENIED") == "added"


# ---- stage 5: wrappers ----


async def test_a_wrapper_sees_a_normalised_failure_and_not_an_exception() -> None:
    registry = Registry()
    seen: list[ToolResult] = []

    async def execute(arguments: Any, ctx: ToolContext) -> None:
        raise ValueError("boom")

    @registry.around_execute
    async def wrapper(call: ToolCall, next: Any) -> ToolResult:
        result: ToolResult = await next()
        seen.append(result)
        return result

    registry.register(raw("t", execute))
    result = await registry.call("t", {})
    assert failed(result, "TOOL_ERROR") == "boom"
    assert seen == [result]


async def test_a_retry_runs_the_whole_inner_chain_again_each_time() -> None:
    registry = Registry()
    trace: list[str] = []

    async def execute(arguments: Any, ctx: ToolContext) -> str:
        trace.append("body")
        if trace.count("body") < 3:
            raise ConnectionError("again")
        return "third time"

    @registry.around_execute
    async def retry(call: ToolCall, next: Any) -> ToolResult:
        for _ in range(5):
            result: ToolResult = await next()
            if not result.is_error:
                return result
        return result

    @registry.around_execute
    async def inner(call: ToolCall, next: Any) -> ToolResult:
        trace.append("inner")
        return await next()  # type: ignore[no-any-return]

    registry.register(raw("t", execute))
    assert ok(await registry.call("t", {})) == "third time"
    assert trace == ["inner", "body"] * 3


async def test_a_wrappers_own_success_is_validated_and_rendered_again() -> None:
    registry, trace = traced(output={"type": "string"}, render=lambda arguments, value: f"<{value}>")

    @registry.around_execute(prepend=True)
    async def cached(call: ToolCall, next: Any) -> ToolResult:
        return ToolSuccess("cached", [{"type": "text", "text": "FAKE"}], meta={"fake": 1}, contexts=({"c": 1},))

    result = await registry.call("t", {})
    assert ok(result) == "cached"
    assert text(result) == "<cached>"
    assert result.meta is None
    assert result.contexts == ({"c": 1},)
    assert trace == ["pre", "guard", "post", "final", "result"]


async def test_a_wrappers_success_that_breaks_the_schema_is_a_pipeline_failure() -> None:
    registry, trace = traced(output={"type": "string"})

    @registry.around_execute
    async def cached(call: ToolCall, next: Any) -> ToolResult:
        return ToolSuccess(5, contexts=({"lost": 1},))

    result = await registry.call("t", {})
    assert "expected a string" in failed(result, "INVALID_TOOL_OUTPUT")
    assert result.contexts == ()
    assert "post" not in trace


async def test_a_changed_copy_of_the_inner_result_is_no_longer_trusted_but_its_contexts_stay() -> None:
    rendered: list[Any] = []

    def render(arguments: Any, value: Any) -> str:
        rendered.append(value)
        return str(value)

    async def execute(arguments: Any, ctx: ToolContext) -> int:
        ctx.defer_context("from the body")
        return 7

    registry = Registry()
    registry.register(raw("t", execute, render=render))

    @registry.around_execute
    async def edit(call: ToolCall, next: Any) -> ToolResult:
        result = await next()
        return dataclasses.replace(
            result, content=[{"type": "text", "text": "edited"}], contexts=(*result.contexts, {"w": 1})
        )

    result = await registry.call("t", {})
    assert text(result) == "7"
    assert rendered == [7, 7]
    assert result.contexts == ({"role": "user", "content": [{"type": "text", "text": "from the body"}]}, {"w": 1})


async def test_a_result_of_another_call_is_not_trusted() -> None:
    kept: list[ToolResult] = []
    registry = Registry()
    registry.register(returning("t", 1, presentation_meta=lambda arguments, value: {"n": arguments["n"]}))

    @registry.around_execute
    async def cache(call: ToolCall, next: Any) -> ToolResult:
        if not kept:
            kept.append(await next())
        return kept[0]

    assert (await registry.call("t", {"n": 1})).meta == {"n": 1}
    assert (await registry.call("t", {"n": 2})).meta == {"n": 2}


async def test_a_wrappers_own_failure_keeps_what_a_failure_has() -> None:
    registry, trace = traced()

    @registry.around_execute
    async def refuse(call: ToolCall, next: Any) -> ToolResult:
        await next()
        return dataclasses.replace(ToolFailure.of("too hot", name="Heat"), contexts=({"c": 1},), meta={"m": 1})

    result = await registry.call("t", {})
    assert failed(result, "TOOL_ERROR") == "too hot"
    assert result.error.name == "Heat"  # type: ignore[union-attr]
    assert (text(result), result.meta, result.contexts) == ("Error: too hot", {"m": 1}, ({"c": 1},))
    assert "post" in trace


@pytest.mark.parametrize("answer", [None, "v", {"value": 1}, ToolSuccess, ToolFailure(None), Accept()])  # type: ignore[arg-type]
async def test_a_wrapper_that_returns_something_else_fails_closed(answer: Any) -> None:
    registry, trace = traced()

    @registry.around_execute
    async def wrapper(call: ToolCall, next: Any) -> Any:
        return answer

    failed(await registry.call("t", {}), "PIPELINE_ERROR")
    assert "post" not in trace


async def test_a_raising_wrapper_fails_the_call_and_skips_the_review() -> None:
    registry, trace = traced()

    @registry.around_execute
    async def wrapper(call: ToolCall, next: Any) -> Any:
        await next()
        raise RuntimeError("metrics are down")

    assert failed(await registry.call("t", {}), "PIPELINE_ERROR") == "metrics are down"
    assert trace == ["pre", "guard", "in", "body", "final", "result"]


async def test_a_tool_that_vanishes_is_unknown_at_dispatch_and_reviewed() -> None:
    registry = Registry()
    trace = Trace().watch(registry)
    registration = registry.register(trace.tool("t"))

    @registry.pre_execute
    async def policy(call: ToolCall, next: Any) -> Any:
        registration.dispose()
        return await next()

    failed(await registry.call("t", {}), "UNKNOWN_TOOL")
    assert trace == ["pre", "guard", "in", "out", "post", "final", "result"]


async def test_a_wrappers_success_for_a_vanished_tool_is_unknown_too() -> None:
    registry, trace = traced()
    tool = registry.get("t")
    assert tool is not None

    @registry.around_execute
    async def wrapper(call: ToolCall, next: Any) -> Any:
        registry._layer.tools.clear()
        registry._layer.clock.ticks += 1
        return ToolSuccess("v")

    failed(await registry.call("t", {}), "UNKNOWN_TOOL")
    assert "post" not in trace


async def test_a_tool_that_is_replaced_under_the_call_is_checked_again() -> None:
    registry = Registry()
    first = registry.register(returning("t", "old"))

    @registry.pre_execute
    async def policy(call: ToolCall, next: Any) -> Any:
        if first.active:
            first.dispose()

            @registry.tool
            async def t(n: int) -> int:
                return n + 1

        return await next()

    assert "n" in failed(await registry.call("t", {"n": "x"}), "INVALID_ARGS")
    assert ok(await registry.call("t", {"n": 1})) == 2


# ---- stage 6 and 7: the body and its value ----


class Custom(Exception):
    pass


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "message", "name"),
    [
        (ValueError("boom"), "boom", "ValueError"),
        (ToolError("for the model"), "for the model", "ToolError"),
        (KeyError(), "KeyError", "KeyError"),
        (Custom("c"), "c", "Custom"),
        (Hostile(), "<unprintable Hostile>", "Hostile"),
        (ExceptionGroup("g", [ValueError("leaf")]), "leaf", "ValueError"),
        (ExceptionGroup("g", [ValueError("a"), ExceptionGroup("h", [KeyError("b")])]), "a; 'b'", "ExceptionGroup"),
        (StopIteration("s"), None, None),
    ],
    ids=label,
)
@pytest.mark.parametrize("sync", [True, False])
async def test_an_exception_of_a_body_is_a_failed_result(
    error: Exception, message: str | None, name: str | None, sync: bool
) -> None:
    def body(arguments: Any, ctx: ToolContext) -> None:
        raise error

    async def abody(arguments: Any, ctx: ToolContext) -> None:
        raise error

    registry = Registry()
    registry.register(raw("t", body if sync else abody))
    result = await registry.call("t", {})
    got = failed(result, "TOOL_ERROR")
    if message is not None:
        assert got == message
        assert result.error.name == name  # type: ignore[union-attr]
        assert text(result) == f"Error: {message}"


async def test_a_tool_error_may_carry_the_code_of_a_room_above() -> None:
    registry = Registry()

    async def body(arguments: Any, ctx: ToolContext) -> None:
        ctx.defer_context({"kept": 1})
        raise ToolError("it failed", code="CODE_RUN_FAILED", name="CodeRunFailedError")

    registry.register(raw("t", body))
    result = await registry.call("t", {})
    assert failed(result, "CODE_RUN_FAILED") == "it failed"
    assert result.contexts == ({"kept": 1},)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
async def test_keyboard_interrupt_and_system_exit_leave_and_the_records_are_complete(
    error: type[BaseException],
) -> None:
    registry, _trace = traced()

    async def body(arguments: Any, ctx: ToolContext) -> None:
        raise error

    def drive() -> None:
        coroutine = registry.call("x", {})
        while True:
            coroutine.send(None)

    registry.register(raw("x", body))
    with pytest.raises(error):
        drive()
    events = registry.events.events  # type: ignore[union-attr]
    assert [event.type for event in events] == ["tool/call", "tool/result"]


async def test_a_sync_raw_body_runs_in_a_thread_and_may_return_an_awaitable() -> None:
    registry = Registry()

    async def later() -> str:
        return "awaited"

    registry.register(raw("t", lambda arguments, ctx: later()))
    assert ok(await registry.call("t", {})) == "awaited"


@pytest.mark.parametrize(
    "value",
    [(1, 2), {1}, datetime(2020, 1, 1), math.nan, [math.inf], object(), b"x", {1.5: 2}],
    ids=label,
)
async def test_a_raw_value_that_is_not_json_is_invalid_output(value: Any) -> None:
    registry, trace = traced([{"a": value}])
    message = failed(await registry.call("t", {}), "INVALID_TOOL_OUTPUT")
    assert message.startswith('tool "t" returned invalid output: [0].a')
    assert trace == FULL


async def test_all_violations_of_the_output_schema_are_listed() -> None:
    registry, trace = traced(
        {"a": 1, "b": 2}, output={"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    )
    message = failed(await registry.call("t", {}), "INVALID_TOOL_OUTPUT")
    assert "a: expected a string" in message
    assert "b: expected a string" in message
    assert trace == FULL


@pytest.mark.parametrize("value", [None, 0, False, "", [], {}, 1.5, "text", [1], {"k": None}])
async def test_any_json_root_is_a_value(value: Any) -> None:
    registry, _ = traced(value)
    result = await registry.call("t", {})
    assert ok(result) == value
    assert type(ok(result)) in (type(value), *type(value).__subclasses__())


@pytest.mark.parametrize(
    ("value", "expected"),
    [("as it is\n", "as it is\n"), ({"a": [1, "ü"]}, '{"a":[1,"ü"]}'), (None, "null"), (True, "true"), ([], "[]")],
)
async def test_the_default_rendering_is_the_string_itself_or_compact_json(value: Any, expected: str) -> None:
    registry, _ = traced(value)
    assert text(await registry.call("t", {})) == expected


async def test_an_integer_of_ten_thousand_digits_is_a_value_like_any_other() -> None:
    registry, _ = traced({"n": 7**12_000})
    result = await registry.call("t", {"n": 7**12_000})
    assert ok(result) == {"n": 7**12_000}
    assert len(text(result)) > 10_000


async def test_a_renderer_gives_a_string_or_blocks_of_any_kind() -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    for rendered, expected in (
        ("s", [{"type": "text", "text": "s"}]),
        ([image, {"type": "x"}], [image, {"type": "x"}]),
        ([], []),
    ):
        registry, _ = traced(1, render=lambda arguments, value, rendered=rendered: rendered)
        result = await registry.call("t", {})
        assert ok(result) == 1
        assert result.content == expected


@pytest.mark.parametrize(
    "render",
    [
        lambda a, v: 1 / 0,
        lambda a, v: None,
        lambda a, v: [datetime(2020, 1, 1)],
        lambda a, v: ["text"],
        lambda a, v: a.update(x=1),
    ],
)
async def test_a_failing_renderer_or_projector_is_invalid_output(render: Any) -> None:
    registry, trace = traced(1, render=render)
    assert "render" in failed(await registry.call("t", {}), "INVALID_TOOL_OUTPUT")
    assert trace == FULL


@pytest.mark.parametrize("project", [lambda a, v: {1, 2}, lambda a, v: 1 / 0, lambda a, v: datetime(2020, 1, 1)])
async def test_a_failing_projector_is_invalid_output(project: Any) -> None:
    registry, trace = traced(1, presentation_meta=project)
    assert "presentation_meta" in failed(await registry.call("t", {}), "INVALID_TOOL_OUTPUT")
    assert trace == FULL


async def test_meta_is_for_top_level_calls_only() -> None:
    registry = Registry()
    inner: list[ToolResult] = []

    async def outer(arguments: Any, ctx: ToolContext) -> None:
        inner.append(await registry.call("t", {}, parent=ctx.call.token))

    registry.register(returning("t", 1, presentation_meta=lambda arguments, value: {"v": value}))
    registry.register(raw("outer", outer))
    assert (await registry.call("t", {})).meta == {"v": 1}
    ok(await registry.call("outer", {}))
    assert inner[0].meta is None


async def test_contexts_and_the_conclude_mark_belong_to_the_call_and_need_success() -> None:
    kept: list[ToolContext] = []
    registry = Registry()

    async def body(arguments: Any, ctx: ToolContext) -> int:
        kept.append(ctx)
        defer, conclude = ctx.defer_context, ctx.conclude_turn
        defer({"n": 1})
        defer("two")
        conclude()
        with pytest.raises(TypeError):
            defer(5)  # type: ignore[arg-type]
        if arguments.get("fail"):
            raise ValueError("no")
        return 1

    registry.register(raw("t", body))
    result = await registry.call("t", {})
    contexts = ({"n": 1}, {"role": "user", "content": [{"type": "text", "text": "two"}]})
    assert result.contexts == contexts
    assert isinstance(result, ToolSuccess)
    assert result.concludes_turn is True
    kept[0].defer_context("late")
    kept[0].conclude_turn()
    failure = await registry.call("t", {"fail": True})
    assert failure.contexts == contexts
    assert not hasattr(failure, "concludes_turn")


async def test_progress_reaches_the_observers_from_both_kinds_of_bodies_and_cannot_fail_them() -> None:
    registry = Registry()
    heard: list[Any] = []

    async def abody(arguments: Any, ctx: ToolContext) -> None:
        ctx.progress(1, 2, "half")
        ctx.progress(2)

    def body(arguments: Any, ctx: ToolContext) -> None:
        ctx.progress(0.5, message="from a thread")

    registry.on_progress(lambda call, *progress: 1 / 0)
    registry.on_progress(lambda call, *progress: heard.append((call.name, *progress)))
    registry.register(raw("a", abody))
    registry.register(raw("s", body))
    ok(await registry.call("a", {}))
    ok(await registry.call("s", {}))
    assert heard == [("a", 1, 2, "half"), ("a", 2, None, None), ("s", 0.5, None, "from a thread")]


# ---- stage 8: review ----


def reviewed(verdict: Any, value: Any = {"n": 1}, **options: Any) -> tuple[Registry, Trace]:  # noqa: B006
    registry = Registry(events=MemoryEventLog())
    trace = Trace().watch(registry)

    async def execute(arguments: Any, ctx: ToolContext) -> Any:
        trace.append("body")
        ctx.defer_context({"body": 1})
        ctx.conclude_turn()
        if isinstance(value, Exception):
            raise value
        return value

    registry.register(raw("t", execute, presentation_meta=lambda arguments, value: {"meta": value}, **options))

    @registry.post_execute
    async def review(call: ToolCall, result: ToolResult, next: Any) -> Any:
        return verdict if not callable(verdict) else await verdict(call, result, next)

    return registry, trace


async def test_accepting_changes_nothing() -> None:
    for verdict in (Accept(), Accept(contexts=[])):
        registry, _ = reviewed(verdict)
        result = await registry.call("t", {})
        assert result == ToolSuccess(
            {"n": 1}, [{"type": "text", "text": '{"n":1}'}], {"meta": {"n": 1}}, ({"body": 1},), True
        )


async def test_new_content_keeps_value_and_meta() -> None:
    registry, _ = reviewed(Accept(content=[{"type": "text", "text": "redacted"}], contexts=({"r": 1}, "s")))
    result = await registry.call("t", {})
    assert ok(result) == {"n": 1}
    assert (text(result), result.meta) == ("redacted", {"meta": {"n": 1}})
    assert result.contexts[:2] == ({"body": 1}, {"r": 1})
    registry, _ = reviewed(Accept(content="a string"))
    assert text(await registry.call("t", {})) == "a string"


@pytest.mark.parametrize("value", [None, 2, {"x": [1]}])
async def test_a_new_value_is_validated_rendered_and_projected_again(value: Any) -> None:
    registry, _ = reviewed(Accept(value=value))
    result = await registry.call("t", {})
    assert ok(result) == value
    assert result.meta == {"meta": value}
    assert isinstance(result, ToolSuccess)
    assert result.concludes_turn


async def test_a_new_value_that_does_not_fit_is_invalid_output() -> None:
    for value in (5, {1}, math.nan):
        registry, _ = reviewed(Accept(value=value), value="v", output={"type": "string"})
        failed(await registry.call("t", {}), "INVALID_TOOL_OUTPUT")


@pytest.mark.parametrize(("value", "content"), [(1, "x"), (None, None), (None, "x"), (1, None)])
async def test_replacing_both_is_an_error_by_presence(value: Any, content: Any) -> None:
    registry, trace = reviewed(Accept(value=value, content=content))
    assert "both" in failed(await registry.call("t", {}), "PIPELINE_ERROR")
    assert trace[-1] == "result"


async def test_a_failure_can_get_new_content_but_no_value() -> None:
    registry, _ = reviewed(Accept(content="softer"), value=ValueError("hard"))
    result = await registry.call("t", {})
    assert failed(result, "TOOL_ERROR") == "hard"
    assert text(result) == "softer"
    registry, _ = reviewed(Accept(value=1), value=ValueError("hard"))
    assert "failed result" in failed(await registry.call("t", {}), "PIPELINE_ERROR")


async def test_a_block_replaces_everything_by_its_feedback() -> None:
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    for feedback, message, content in (
        ("no secrets", "no secrets", [{"type": "text", "text": "no secrets"}]),
        ([{"type": "text", "text": "a"}, image, {"type": "text", "text": "b"}], "a\n[image content]\nb", None),
        ([], "tool result blocked by a review", []),
    ):
        for value in ({"n": 1}, ValueError("x")):
            registry, _ = reviewed(Block(feedback, contexts=({"p": 1},)), value=value)
            result = await registry.call("t", {})
            assert failed(result, "BLOCKED") == message
            assert result.content == (content if content is not None else feedback)
            assert (result.contexts, result.meta) == (({"p": 1},), None)


@pytest.mark.parametrize(
    "verdict",
    [
        None,
        True,
        Allow(),
        Deny("x"),
        "accept",
        Accept,
        Block([datetime(2020, 1, 1)]),
        Accept(content=5),
        Accept(contexts=[5]),
        Block(None),
    ],
)
async def test_a_review_that_says_anything_else_withholds_the_value(verdict: Any) -> None:
    registry, trace = reviewed(None)

    async def answer(call: ToolCall, result: ToolResult, next: Any) -> Any:
        return verdict

    registry, trace = reviewed(answer)
    result = await registry.call("t", {})
    failed(result, "PIPELINE_ERROR")
    assert result.contexts == ()
    assert trace[-1] == "result"


async def test_a_raising_review_withholds_the_value() -> None:
    async def boom(call: ToolCall, result: ToolResult, next: Any) -> Any:
        raise OSError("scanner is gone")

    registry, _ = reviewed(boom)
    result = await registry.call("t", {})
    assert failed(result, "PIPELINE_ERROR") == "scanner is gone"
    assert result.contexts == ()


async def test_reviews_form_a_waterfall_over_the_frozen_result() -> None:
    order: list[str] = []

    async def inner(call: ToolCall, result: Any, next: Any) -> Any:
        order.append("inner")
        with pytest.raises(dataclasses.FrozenInstanceError):
            result.value = 1
        verdict = await next()
        assert verdict == Accept()
        assert verdict.value is UNSET
        return Accept(contexts=({"inner": 1},))

    registry, _ = reviewed(inner)

    @registry.post_execute(prepend=True)
    async def outer(call: ToolCall, result: ToolResult, next: Any) -> Any:
        order.append("outer")
        verdict = await next()
        return Accept(content="outer", contexts=(*verdict.contexts, {"outer": 1}))

    result = await registry.call("t", {})
    assert order == ["outer", "inner"]
    assert result.contexts == ({"body": 1}, {"inner": 1}, {"outer": 1})
    assert text(result) == "outer"


async def test_contexts_keep_the_order_body_wrapper_review() -> None:
    registry, _ = reviewed(Accept(contexts=({"review": 1},)))

    @registry.around_execute
    async def wrapper(call: ToolCall, next: Any) -> ToolResult:
        result = await next()
        return dataclasses.replace(result, contexts=({"wrapper": 1},))

    assert (await registry.call("t", {})).contexts == ({"body": 1}, {"wrapper": 1}, {"review": 1})


# ---- stage 9: finalize ----


async def test_the_finalizer_has_the_last_word_on_the_content_once_and_sees_the_final_result() -> None:
    seen: list[Any] = []

    def finalize(call: ToolCall, result: ToolResult) -> Any:
        seen.append(result)
        return [{"type": "text", "text": text(result)[:3]}]

    registry = Registry()
    registry.register(returning("t", "abcdef", finalize_content=finalize))
    result = await registry.call("t", {})
    assert (ok(result), text(result)) == ("abcdef", "abc")
    registry.guard(lambda call: "a long denial")
    result = await registry.call("t", {})
    assert (failed(result, "DENIED"), text(result)) == ("a long denial", "Err")
    assert len(seen) == 2


async def test_a_failing_finalizer_is_the_result_and_is_not_asked_again() -> None:
    calls: list[int] = []

    async def late(call: ToolCall, result: ToolResult) -> None: ...

    def boom(call: ToolCall, result: ToolResult) -> Any:
        calls.append(1)
        raise ValueError("final")

    for finalize, word in (
        (boom, "final"),
        (lambda call, result: [len], "content"),
        (lambda call, result: 5, "content"),
        (late, "sync"),
    ):
        registry = Registry()
        registry.register(returning("t", 1, finalize_content=finalize))
        assert word in failed(await registry.call("t", {}), "PIPELINE_ERROR")
    assert calls == [1]


async def test_the_finalizer_is_the_one_that_the_tool_had_when_the_call_began() -> None:
    registry = Registry()
    tool = returning("t", 1, finalize_content=lambda call, result: [{"type": "text", "text": "first"}])
    registry.register(tool)

    @registry.pre_execute
    async def swap(call: ToolCall, next: Any) -> Any:
        tool.finalize_content = None
        return await next()

    assert text(await registry.call("t", {})) == "first"
    assert text(await registry.call("t", {})) == "1"


# ---- stage 10: publish ----


async def test_observers_get_the_very_objects_and_none_of_them_can_fail_or_starve_anything(
    caplog: pytest.LogCaptureFixture,
) -> None:
    registry, _ = traced()
    seen: list[Any] = []

    def boom(call: ToolCall, result: ToolResult) -> None:
        raise RuntimeError("observer")

    async def late(call: ToolCall, result: ToolResult) -> None: ...

    registry.on_result(boom)
    registry.on_result(late)
    registry.on_result(lambda call, result: seen.append(result))
    with caplog.at_level(logging.WARNING, "codemode"):
        result = await registry.call("t", {}, call_id="c-1")
    assert seen[0] is result
    assert ok(result) == "v"
    warnings = [event.data for event in registry.events.events if event.type == "warning"]  # type: ignore[union-attr]
    assert len(warnings) == 2
    assert warnings[0]["call_id"] == "c-1"
    assert "observer" in str(warnings[0]["message"])
    assert [record.name for record in caplog.records] == ["codemode.registry"] * 2


OUTCOMES: list[tuple[str, Any]] = [
    ("success", lambda registry: None),
    ("deny", lambda registry: registry.guard(lambda call: "no")),
    ("guard raises", lambda registry: registry.guard(lambda call: 1 / 0)),
    ("unknown", lambda registry: registry._layer.tools.clear()),
]


@pytest.mark.parametrize(("what", "prepare"), OUTCOMES)
async def test_every_outcome_is_finalized_and_notified_exactly_once(what: str, prepare: Any) -> None:
    registry, trace = traced()
    prepare(registry)
    await registry.call("t", {})
    assert trace.count("result") == 1
    assert trace.count("final") <= 1


async def test_a_nested_result_is_notified_before_the_outer_one() -> None:
    registry = Registry()
    order: list[tuple[str, bool]] = []

    async def outer(arguments: Any, ctx: ToolContext) -> None:
        await registry.call("inner", {}, parent=ctx.call.token)

    registry.register(returning("inner", 1))
    registry.register(raw("outer", outer))
    registry.on_result(lambda call, result: order.append((call.name, call.parent is None)))
    await registry.call("outer", {})
    assert order == [("inner", False), ("outer", True)]


# ---- records ----


async def test_the_pair_of_records_has_the_fields_of_the_table() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)
    registry.register(returning("t", {"n": 1}, presentation_meta=lambda arguments, value: {"m": 1}))
    scope = registry.scope("agent")
    await registry.call("t", {"q": 1}, call_id="c1", scope=scope)
    await registry.call("nope", {}, call_id="c2")
    assert [(event.seq, event.type, event.data) for event in log.events] == [
        (1, "tool/call", {"call_id": "c1", "root_call_id": "c1", "name": "t", "arguments": {"q": 1}, "scope": "agent"}),
        (
            2,
            "tool/result",
            {
                "call_id": "c1",
                "call_seq": 1,
                "is_error": False,
                "content": [{"type": "text", "text": '{"n":1}'}],
                "meta": {"m": 1},
            },
        ),
        (3, "tool/call", {"call_id": "c2", "root_call_id": "c2", "name": "nope", "arguments": {}}),
        (
            4,
            "tool/result",
            {
                "call_id": "c2",
                "call_seq": 3,
                "is_error": True,
                "content": [{"type": "text", "text": 'Error: unknown tool "nope"'}],
                "error": {"message": 'unknown tool "nope"', "code": "UNKNOWN_TOOL", "name": "UNKNOWN_TOOL"},
            },
        ),
    ]


async def test_records_are_appended_before_their_effects_are_visible() -> None:
    order: list[str] = []

    class Log(MemoryEventLog):
        async def append(self, type: str, data: Any) -> Any:
            order.append(type)
            return await super().append(type, data)

    registry = Registry(events=Log())
    Trace.watch(order, registry)  # type: ignore[arg-type]
    registry.register(returning("t", 1))
    await registry.call("t", {})
    assert order == ["tool/call", "pre", "guard", "in", "out", "post", "tool/result", "result"]


@pytest.mark.parametrize("broken", ["tool/call", "tool/result"])
async def test_an_append_that_fails_fails_the_call_and_nothing_hangs(broken: str) -> None:
    class Log(MemoryEventLog):
        async def append(self, type: str, data: Any) -> Any:
            if type == broken:
                raise OSError("disk full")
            return await super().append(type, data)

    registry, trace = traced()
    registry.events = Log()
    with anyio.fail_after(5):
        message = failed(await registry.call("t", {}), "PIPELINE_ERROR")
    assert "disk full" in message
    assert trace == (["final", "result"] if broken == "tool/call" else FULL)
    assert [event.type for event in registry.events.events] == ([] if broken == "tool/call" else ["tool/call"])


async def test_a_registry_without_a_log_works_the_same() -> None:
    registry = Registry()
    registry.register(returning("t", 1))
    assert ok(await registry.call("t")) == 1


async def test_each_call_leaves_a_structured_line_at_debug_level(caplog: pytest.LogCaptureFixture) -> None:
    registry, _ = traced()
    with caplog.at_level(logging.DEBUG, "codemode"):
        await registry.call("t", {}, call_id="c-9")
    (record,) = [record for record in caplog.records if getattr(record, "call_id", None) == "c-9"]
    assert record.name == "codemode.registry"
    assert record.tool == "t"  # type: ignore[attr-defined]


@pytest.mark.parametrize("options", [{"scope": "agent"}, {"cancel": anyio.Event}, {"scope": 5}])
async def test_fields_of_the_wrong_type_are_refused_as_results(options: Any) -> None:
    registry, trace = traced()
    message = failed(await registry.call("t", {}, **options), "PIPELINE_ERROR")
    assert next(iter(options)) in message
    assert "body" not in trace
    assert not registry._live


@pytest.mark.parametrize("name", [None, 5, b"t", ["t"]])
async def test_a_name_that_is_no_string_is_an_unknown_tool(name: Any) -> None:
    registry, _ = traced()
    failed(await registry.call(name, {}), "UNKNOWN_TOOL")


async def test_a_log_that_counts_its_events_is_used_although_it_is_empty() -> None:
    class Sized(MemoryEventLog):
        def __len__(self) -> int:
            return len(self.events)

    log = Sized()
    registry = Registry()
    registry.register(returning("t", 1))
    ok(await registry._call("t", {}, events=log))
    assert len(log) == 2
    registry = Registry(events=Sized())
    registry.register(returning("t", 1))
    ok(await registry.call("t", {}))
    assert len(registry.events) == 2  # type: ignore[arg-type]
