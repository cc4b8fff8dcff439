"""pipeline.md: each row of the stage table and each rule, by what can be seen from outside. Public names only.

The recording registry below notes every stage that a call passes; tests assert whole traces, not single flags.
"""

from __future__ import annotations

import math
import textwrap
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from codemode import (
    Accept,
    Allow,
    Ask,
    Block,
    CancelSignal,
    CodeMode,
    Deny,
    JsonValue,
    MemoryEventLog,
    Registry,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolFailure,
    ToolSuccess,
)

Hook = Callable[..., Awaitable[Any]]
FULL = ["pre", "guard", "around", "body", "/around", "post", "finalize", "result"]


class Traced:
    """A registry with one tool and one hook of each kind; each notes that it ran, then does what `stages` says."""

    def __init__(self, *, output: dict[str, Any] | None = None, approver: Any = None, **options: Any) -> None:
        self.trace: list[str] = []
        self.seen: dict[str, Any] = {}
        self.stages: dict[str, Callable[..., Any]] = {}
        self.events = MemoryEventLog()
        self.registry = Registry(events=self.events, approver=approver)
        parameters = {"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": False}
        self.registry.register(
            Tool("t", "d", self.body, parameters=parameters, output=output, finalize_content=self.finalize, **options)
        )
        self.registry.pre_execute(self.policy)
        self.registry.guard(self.guard)
        self.registry.around_execute(self.wrapper)
        self.registry.post_execute(self.review)
        self.registry.on_result(self.observe)

    async def body(self, arguments: Any, ctx: ToolContext) -> Any:
        self.trace.append("body")
        if "body" in self.stages:
            return await self.stages["body"](arguments, ctx)
        return "value"

    async def policy(self, call: ToolCall, next: Hook) -> Any:
        self.trace.append("pre")
        return await self.stages["pre"](call, next) if "pre" in self.stages else await next()

    def guard(self, call: ToolCall) -> Any:
        self.trace.append("guard")
        return self.stages["guard"](call) if "guard" in self.stages else None

    async def wrapper(self, call: ToolCall, next: Hook) -> Any:
        self.trace.append("around")
        result = await self.stages["around"](call, next) if "around" in self.stages else await next()
        self.trace.append("/around")
        return result

    async def review(self, call: ToolCall, result: Any, next: Hook) -> Any:
        self.trace.append("post")
        self.seen["post"] = result
        return await self.stages["post"](call, result, next) if "post" in self.stages else await next()

    def finalize(self, call: ToolCall, result: Any) -> Any:
        self.trace.append("finalize")
        self.seen["finalize"] = result
        return self.stages["finalize"](call, result) if "finalize" in self.stages else None

    def observe(self, call: ToolCall, result: Any) -> None:
        self.trace.append("result")
        self.seen["call"] = call
        self.seen["result"] = result

    async def call(self, arguments: Any = None, name: str = "t", **options: Any) -> Any:
        self.trace.clear()
        result = await self.registry.call(name, {} if arguments is None else arguments, **options)
        assert self.seen["result"] is result
        assert self.trace.count("result") == 1
        return result

    async def fails(self, code: str, trace: list[str], arguments: Any = None, **options: Any) -> ToolFailure:
        result = await self.call(arguments, **options)
        assert isinstance(result, ToolFailure), result
        assert result.is_error is True
        assert result.error.code == code, result.error
        assert self.trace == trace
        return result


def raising(error: BaseException) -> Callable[..., Any]:
    async def stage(*_: Any) -> Any:
        raise error

    return stage


def giving(value: Any) -> Callable[..., Any]:
    async def stage(*_: Any) -> Any:
        return value

    return stage


def text_of(result: Any) -> str:
    assert len(result.content) == 1
    assert result.content[0]["type"] == "text"
    return str(result.content[0]["text"])


async def test_an_allowed_call_passes_every_stage_in_order() -> None:
    traced = Traced()
    result = await traced.call({"x": 1})
    assert traced.trace == FULL
    assert isinstance(result, ToolSuccess)
    assert (result.is_error, result.value, result.content) == (False, "value", [{"type": "text", "text": "value"}])
    assert result.meta is None
    assert list(result.contexts) == []
    assert result.concludes_turn is False
    assert not hasattr(result, "error")


# ---- 0: begin ----


class Odd:
    pass


@pytest.mark.parametrize(
    ("arguments", "path", "kind"),
    [
        ({"x": {1, 2}}, "x", "set"),
        ({"x": b"b"}, "x", "bytes"),
        ({"x": math.nan}, "x", "nan"),
        ({"x": math.inf}, "x", "inf"),
        ({"x": [0, {"y": Odd()}]}, "y", "Odd"),
        ({"x": {1: 2}}, "x", "int"),
        ({1: 2}, "", "int"),
    ],
)
@pytest.mark.parametrize("aborted", [False, True])
async def test_lossy_arguments_are_invalid_args_naming_path_and_type(
    arguments: Any, path: str, kind: str, aborted: bool
) -> None:
    traced = Traced()
    cancel = CancelSignal()
    if aborted:
        cancel.cancel()
    failure = await traced.fails("INVALID_ARGS", ["finalize", "result"], arguments, cancel=cancel)
    assert path in failure.error.message
    assert kind.lower() in failure.error.message.lower()
    pair = [event for event in traced.events.events if event.type in ("tool/call", "tool/result")]
    assert [event.type for event in pair] == ["tool/call", "tool/result"]
    assert "arguments" not in pair[0].data


async def test_depth_is_bounded_at_500() -> None:
    registry = Registry()

    async def body(arguments: Any, ctx: ToolContext) -> Any:
        return arguments

    registry.register(Tool("any", "d", body, parameters={"type": "object"}))

    def deep(levels: int) -> Any:
        value: Any = {}
        for _ in range(levels - 1):
            value = {"a": value}
        return value

    taken = await registry.call("any", deep(500))
    assert isinstance(taken, ToolSuccess), taken
    refused = await registry.call("any", deep(501))
    assert isinstance(refused, ToolFailure)
    assert refused.error.code == "INVALID_ARGS"


async def test_arguments_are_copied_frozen_and_shared_and_the_callers_own_left_alone() -> None:
    registry = Registry()
    seen: list[Any] = []

    async def body(arguments: Any, ctx: ToolContext) -> Any:
        seen.append(arguments)
        assert ctx.call.arguments is arguments
        mine["list"].append("late")
        return arguments

    registry.register(Tool("t", "d", body, parameters={"type": "object"}))

    @registry.pre_execute
    async def policy(call: ToolCall, next: Hook) -> Any:
        seen.append(call.arguments)
        for spoil in (
            lambda: call.arguments.update(a=1),
            lambda: call.arguments["list"].append(1),
            lambda: call.arguments.__setitem__("a", 1),
            lambda: call.arguments["object"].clear(),
        ):
            with pytest.raises(TypeError):
                spoil()
        for field in ("name", "arguments", "token", "call_id"):
            with pytest.raises((AttributeError, TypeError)):
                setattr(call, field, "other")
        return await next()

    registry.guard(lambda call: seen.append(call.arguments))
    mine: dict[str, Any] = {"list": [1], "object": {"a": None}}
    result = await registry.call("t", mine)
    assert isinstance(result, ToolSuccess), result
    assert all(item is seen[0] for item in seen)
    assert seen[0] == {"list": [1], "object": {"a": None}}
    assert mine["list"] == [1, "late"]
    mine["object"]["a"] = 5
    assert result.value == {"list": [1], "object": {"a": None}}
    with pytest.raises(TypeError):
        result.value["list"].append(1)


async def test_tuples_and_mappings_are_taken_as_lists_and_objects() -> None:
    import types

    registry = Registry()

    async def body(arguments: Any, ctx: ToolContext) -> Any:
        return arguments

    registry.register(Tool("t", "d", body, parameters={"type": "object"}))
    result = await registry.call("t", types.MappingProxyType({"a": (1, (2,))}))
    assert isinstance(result, ToolSuccess), result
    assert result.value == {"a": [1, [2]]}
    passed_on = await registry.call("t", result.value)
    assert isinstance(passed_on, ToolSuccess)
    assert passed_on.value == result.value


async def test_each_call_has_a_fresh_token_and_ids() -> None:
    traced = Traced()
    await traced.call()
    first = traced.seen["call"]
    await traced.call(call_id="mine")
    second = traced.seen["call"]
    assert first.token is not second.token
    assert first.token != second.token
    assert isinstance(first.call_id, str)
    assert first.call_id
    assert second.call_id == second.root_call_id == "mine"
    assert first.root_call_id == first.call_id != second.call_id
    assert (first.name, first.scope, first.parent) == ("t", None, None)
    assert isinstance(first.cancel, CancelSignal)
    scope = traced.registry.scope("s")
    await traced.call(scope=scope)
    assert traced.seen["call"].scope is scope


async def test_finalize_is_captured_when_the_call_begins() -> None:
    traced = Traced()

    async def vanish(call: Any, next: Any) -> Any:
        registration.dispose()
        return await next()

    tool = Tool("v", "d", traced.body, parameters={"type": "object"}, finalize_content=traced.finalize)
    registration = traced.registry.register(tool)
    traced.stages["pre"] = vanish
    await traced.fails("UNKNOWN_TOOL", ["pre", "guard", "around", "/around", "post", "finalize", "result"], name="v")


# ---- 0b: pre-abort ----


async def test_a_call_cancelled_before_it_began_meets_only_finalize_and_observers() -> None:
    traced = Traced()
    cancel = CancelSignal()
    cancel.cancel("stop")
    failure = await traced.fails("ABORTED_BEFORE_DISPATCH", ["finalize", "result"], {"x": 1}, cancel=cancel)
    assert text_of(failure).startswith("Error: ")
    await traced.fails("ABORTED_BEFORE_DISPATCH", ["finalize", "result"], {"x": "wrong"}, cancel=cancel)


# ---- 1: validate ----


async def test_invalid_arguments_skip_policies_and_body_and_are_reviewed_and_nobody_is_asked() -> None:
    asked: list[Any] = []

    async def approver(request: Any) -> str:
        asked.append(request)
        return "allowed-once"

    traced = Traced(approver=approver)
    traced.stages["pre"] = giving(Ask("why"))
    result = await traced.call({"x": "one", "y": 2})
    assert isinstance(result, ToolFailure)
    assert result.error.code == "INVALID_ARGS"
    assert "body" not in traced.trace
    assert traced.trace[-3:] == ["post", "finalize", "result"]
    assert "pre" not in traced.trace
    assert asked == []
    for part in ("t", "x", "y", "integer", "one"):
        assert part in result.error.message
    assert text_of(result) == f"Error: {result.error.message}"


async def test_unknown_names_pass_policies_guards_and_wrappers_are_never_asked_about_and_are_reviewed() -> None:
    asked: list[Any] = []

    async def approver(request: Any) -> str:
        asked.append(request)
        return "allowed-once"

    traced = Traced(approver=approver)
    trace = ["pre", "guard", "around", "/around", "post", "result"]
    failure = await traced.fails("UNKNOWN_TOOL", trace, name="ghost")
    assert "ghost" in failure.error.message
    traced.stages["pre"] = giving(Ask())
    failure = await traced.fails("UNKNOWN_TOOL", trace, name="ghost")
    assert asked == []


# ---- 2: pre-execute ----


async def test_a_denial_has_the_reason_and_is_reviewed() -> None:
    traced = Traced()
    traced.stages["pre"] = giving(Deny("not today"))
    failure = await traced.fails("DENIED", ["pre", "post", "finalize", "result"])
    assert failure.error.message == "not today"
    assert text_of(failure) == "Error: not today"


@pytest.mark.parametrize("decision", [None, True, "allow", "", 1, Allow, Accept(), {"decision": "allow"}])
async def test_what_is_no_decision_fails_closed(decision: Any) -> None:
    traced = Traced()
    traced.stages["pre"] = giving(decision)
    result = await traced.call()
    assert isinstance(result, ToolFailure)
    assert result.error.code == "PIPELINE_ERROR"
    assert "body" not in traced.trace
    assert "post" not in traced.trace


async def test_a_raising_policy_is_a_pipeline_error_and_skips_the_review() -> None:
    traced = Traced()
    traced.stages["pre"] = raising(RuntimeError("broken"))
    failure = await traced.fails("PIPELINE_ERROR", ["pre", "finalize", "result"])
    assert "broken" in failure.error.message


async def test_an_outer_policy_may_override_an_inner_one_in_both_directions() -> None:
    traced = Traced()

    async def overriding(call: Any, next: Any) -> Any:
        assert isinstance(await next(), Deny)
        return Allow()

    traced.registry.pre_execute(giving(Deny("inner")))
    traced.stages["pre"] = overriding
    assert isinstance(await traced.call(), ToolSuccess)


# ---- 4: guards ----


@pytest.mark.parametrize("reason", ["frozen", ""])
async def test_a_guards_string_denies_for_good(reason: str) -> None:
    traced = Traced()
    traced.stages["guard"] = lambda call: reason
    traced.registry.pre_execute(giving(Allow()), prepend=True)
    failure = await traced.fails("DENIED", ["guard", "post", "finalize", "result"])
    assert reason in failure.error.message


async def test_the_first_reason_wins_and_later_guards_are_not_asked() -> None:
    traced = Traced()
    later: list[Any] = []
    traced.stages["guard"] = lambda call: "first"
    traced.registry.guard(later.append)
    failure = await traced.fails("DENIED", ["pre", "guard", "post", "finalize", "result"])
    assert failure.error.message == "first"
    assert later == []


async def asynchronous(call: Any) -> None:
    return None


@pytest.mark.parametrize(
    "guard", [asynchronous, lambda call: True, lambda call: 1, lambda call: ["no"], lambda call: 1 / 0]
)
async def test_odd_guards_fail_closed(guard: Any) -> None:
    traced = Traced()
    traced.stages["guard"] = guard
    await traced.fails("PIPELINE_ERROR", ["pre", "guard", "finalize", "result"])


async def test_guards_run_before_a_human_is_asked_and_again_after() -> None:
    asked: list[Any] = []

    async def approver(request: Any) -> str:
        asked.append(request)
        return "allowed-once"

    traced = Traced(approver=approver)
    traced.stages["pre"] = giving(Ask("why"))
    traced.stages["guard"] = lambda call: "no"
    await traced.fails("DENIED", ["pre", "guard", "post", "finalize", "result"])
    assert asked == []
    traced.stages["guard"] = lambda call: "too late" if asked else None
    failure = await traced.fails("DENIED", ["pre", "guard", "guard", "post", "finalize", "result"])
    assert failure.error.message == "too late"
    assert len(asked) == 1


# ---- 5: around ----


async def test_next_gives_a_normalised_result_and_may_be_called_again() -> None:
    traced = Traced()
    attempts: list[int] = []
    inner: list[str] = []

    async def flaky(arguments: Any, ctx: ToolContext) -> JsonValue:
        attempts.append(1)
        if len(attempts) < 3:
            raise ToolError(f"attempt {len(attempts)}")
        return len(attempts)

    async def retry(call: Any, next: Any) -> Any:
        for _ in range(5):
            result = await next()
            if not result.is_error:
                return result
            assert isinstance(result, ToolFailure)
            assert result.error.code == "TOOL_ERROR"
        raise AssertionError("never")

    async def within(call: Any, next: Any) -> Any:
        inner.append("in")
        return await next()

    traced.stages |= {"body": flaky, "around": retry}
    traced.registry.around_execute(within)
    result = await traced.call()
    assert isinstance(result, ToolSuccess)
    assert result.value == 3
    assert len(inner) == 3


async def test_a_wrapper_may_answer_itself_and_its_value_is_validated_and_rendered() -> None:
    traced = Traced(output={"type": "string"}, render=lambda a, v: f"rendered {v}")

    async def cached(call: Any, next: Any) -> Any:
        return ToolSuccess("cached", content=[{"type": "text", "text": "FAKE"}])

    traced.stages["around"] = cached
    result = await traced.call()
    assert isinstance(result, ToolSuccess)
    assert result.value == "cached"
    assert text_of(result) == "rendered cached"
    assert "body" not in traced.trace

    async def wrong(call: Any, next: Any) -> Any:
        return ToolSuccess(5)

    traced.stages["around"] = wrong
    refused = await traced.call()
    assert isinstance(refused, ToolFailure)
    assert refused.error.code == "INVALID_TOOL_OUTPUT"

    async def failing(call: Any, next: Any) -> Any:
        return ToolFailure.of("breaker open", code="BREAKER")

    traced.stages["around"] = failing
    failed = await traced.call()
    assert isinstance(failed, ToolFailure)
    assert (failed.error.message, failed.error.code) == ("breaker open", "BREAKER")


@pytest.mark.parametrize("answer", [None, "value", {"is_error": False}])
async def test_a_wrapper_that_gives_no_result_fails_closed(answer: Any) -> None:
    traced = Traced()
    traced.stages["around"] = giving(answer)
    result = await traced.call()
    assert isinstance(result, ToolFailure)
    assert result.error.code == "PIPELINE_ERROR"


async def test_a_raising_wrapper_is_a_pipeline_error_and_skips_the_review() -> None:
    traced = Traced()
    traced.stages["around"] = raising(RuntimeError("wrapper broke"))
    failure = await traced.fails("PIPELINE_ERROR", ["pre", "guard", "around", "finalize", "result"])
    assert "wrapper broke" in failure.error.message


@pytest.mark.parametrize("who", ["wrapper", "caller"])
async def test_a_wrapper_replaces_the_signal_which_is_fused_with_the_callers(who: str) -> None:
    traced = Traced()
    callers, own = CancelSignal(), CancelSignal()
    reasons: list[Any] = []

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        (own if who == "wrapper" else callers).cancel(f"by {who}")
        reasons.append((ctx.cancel.cancelled, ctx.cancel.reason))
        return "late"

    async def replacing(call: Any, next: Any) -> Any:
        return await next(cancel=own)

    traced.stages |= {"body": body, "around": replacing}
    result = await traced.call(cancel=callers)
    assert isinstance(result, ToolFailure)
    assert result.error.code == "ABORTED"
    assert reasons == [(True, f"by {who}")]
    assert own.cancelled is (who == "wrapper")
    assert callers.cancelled is (who == "caller")


async def test_an_already_cancelled_replacement_skips_the_body() -> None:
    traced = Traced()

    async def replacing(call: Any, next: Any) -> Any:
        own = CancelSignal()
        own.cancel()
        return await next(cancel=own)

    traced.stages["around"] = replacing
    await traced.fails("ABORTED_BEFORE_DISPATCH", ["pre", "guard", "around", "/around", "post", "finalize", "result"])


# ---- 6: body ----


class Custom(Exception):
    pass


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ToolError("for the model"), "for the model"),
        (ValueError("boom"), "boom"),
        (Custom(), "Custom"),
        (KeyError(), "KeyError"),
        (StopAsyncIteration(), "StopAsyncIteration"),
        (ExceptionGroup("many", [ValueError("one"), ValueError("two")]), "one; two"),
    ],
)
async def test_a_body_that_raises_is_a_tool_error_and_is_reviewed(error: Exception, message: str) -> None:
    traced = Traced()
    traced.stages["body"] = raising(error)
    failure = await traced.fails("TOOL_ERROR", FULL)
    assert message in failure.error.message
    assert text_of(failure) == f"Error: {failure.error.message}"
    assert failure.error.name == type(error).__name__
    assert isinstance(traced.seen["post"], ToolFailure)


async def test_an_unprintable_exception_is_a_tool_error_too() -> None:
    traced = Traced()
    traced.stages["body"] = raising(Unprintable())
    failure = await traced.fails("TOOL_ERROR", FULL)
    assert failure.error.message


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_keyboard_interrupt_and_system_exit_leave_the_call(error: type[BaseException], backend: str) -> None:
    traced = Traced()
    traced.stages["body"] = raising(error())
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - which one it is, is looked at below
        anyio.run(traced.registry.call, "t", {}, backend=backend)
    found = caught.value
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, error)


async def test_a_timeout_names_tool_and_seconds() -> None:
    traced = Traced(timeout=0.05)
    traced.stages["body"] = lambda arguments, ctx: anyio.sleep_forever()
    failure = await traced.fails("TOOL_TIMEOUT", FULL)
    assert failure.error.message == 'tool "t" timed out after 0.05s'


async def test_a_tools_timeout_beats_the_default_and_whole_seconds_have_no_point() -> None:
    registry = Registry(default_timeout=0.05)

    @registry.tool
    async def slow() -> None:
        """Slow."""
        await anyio.sleep_forever()

    @registry.tool(timeout=1)
    async def slower() -> str:
        """Slower."""
        await anyio.sleep(0.2)
        return "done"

    @registry.tool(timeout=1)
    async def slowest() -> None:
        """Slowest."""
        await anyio.sleep_forever()

    failure = await registry.call("slow", {})
    assert isinstance(failure, ToolFailure)
    assert failure.error.message == 'tool "slow" timed out after 0.05s'
    assert isinstance(await registry.call("slower", {}), ToolSuccess)
    whole = await registry.call("slowest", {})
    assert isinstance(whole, ToolFailure)
    assert whole.error.message == 'tool "slowest" timed out after 1s'


async def test_a_tool_that_vanished_is_unknown_at_dispatch() -> None:
    registry = Registry()

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        return "ran"

    registration = registry.register(Tool("v", "d", body, parameters={"type": "object"}))

    @registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        registration.dispose()
        return await next()

    result = await registry.call("v", {})
    assert isinstance(result, ToolFailure)
    assert result.error.code == "UNKNOWN_TOOL"


# ---- 7: canonical ----


@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, b"x", object(), {1.5: 1}, [Odd()]])
async def test_a_value_that_is_no_json_is_invalid_tool_output_and_is_reviewed(value: Any) -> None:
    traced = Traced()
    traced.stages["body"] = giving(value)
    failure = await traced.fails("INVALID_TOOL_OUTPUT", FULL)
    assert "t" in failure.error.message


async def test_all_violations_of_an_output_stand_in_the_message() -> None:
    schema = {"type": "object", "properties": {"first": {"type": "integer"}, "second": {"type": "string"}}}
    traced = Traced(output=schema)
    traced.stages["body"] = giving({"first": "a", "second": 2})
    failure = await traced.fails("INVALID_TOOL_OUTPUT", FULL)
    assert "first" in failure.error.message
    assert "second" in failure.error.message


async def test_a_canonical_value_is_a_frozen_copy() -> None:
    mine = {"n": [1]}
    traced = Traced()
    traced.stages["body"] = giving(mine)
    result = await traced.call()
    mine["n"].append(2)
    assert result.value == {"n": [1]}
    with pytest.raises(TypeError):
        result.value["n"].append(3)
    with pytest.raises((AttributeError, TypeError)):
        result.value = 1


# ---- 8: post-execute ----

BLOCKS = [{"type": "text", "text": "other"}]


async def test_accept_with_content_keeps_the_value() -> None:
    traced = Traced(presentation_meta=lambda a, v: {"of": v})
    traced.stages["post"] = giving(Accept(content=BLOCKS))
    result = await traced.call()
    assert isinstance(result, ToolSuccess)
    assert (result.value, result.content, result.meta) == ("value", BLOCKS, {"of": "value"})


async def test_accept_with_a_value_validates_and_renders_again() -> None:
    traced = Traced(output={"type": ["string", "null"]}, presentation_meta=lambda a, v: {"of": v})
    traced.stages["post"] = giving(Accept(value="new"))
    result = await traced.call()
    assert (result.value, text_of(result), result.meta) == ("new", "new", {"of": "new"})
    traced.stages["post"] = giving(Accept(value=None))
    result = await traced.call()
    assert isinstance(result, ToolSuccess)
    assert (result.value, text_of(result)) == (None, "null")
    traced.stages["post"] = giving(Accept(value=5))
    failure = await traced.fails("INVALID_TOOL_OUTPUT", FULL)
    assert "value" not in failure.error.message or "5" in failure.error.message


async def test_value_and_content_together_are_refused() -> None:
    traced = Traced()

    async def both(call: Any, result: Any, next: Any) -> Any:
        return Accept(value=None, content=BLOCKS)

    traced.stages["post"] = both
    result = await traced.call()
    assert isinstance(result, ToolFailure)
    assert result.error.code == "PIPELINE_ERROR"


async def test_a_failures_value_cannot_be_replaced_and_its_content_can() -> None:
    traced = Traced()
    traced.stages["body"] = raising(ToolError("bad"))
    traced.stages["post"] = giving(Accept(value="good"))
    await traced.fails("PIPELINE_ERROR", FULL)
    traced.stages["post"] = giving(Accept(content=BLOCKS))
    failure = await traced.fails("TOOL_ERROR", FULL)
    assert failure.content == BLOCKS
    assert failure.error.message == "bad"


@pytest.mark.parametrize(
    ("feedback", "content", "message"),
    [
        ("no way", [{"type": "text", "text": "no way"}], "no way"),
        (
            [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            "a\nb",
        ),
    ],
)
async def test_block_gives_the_feedback_as_it_is_and_drops_deferred_contexts(
    feedback: Any, content: Any, message: str
) -> None:
    traced = Traced()

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        ctx.defer_context({"role": "user", "from": "body"})
        ctx.conclude_turn()
        return "secret"

    traced.stages["body"] = body
    traced.stages["post"] = giving(Block(feedback, contexts=({"from": "review"},)))
    failure = await traced.fails("BLOCKED", FULL)
    assert failure.content == content
    assert failure.error.message == message
    assert list(failure.contexts) == [{"from": "review"}]
    assert not hasattr(failure, "value")
    assert "secret" not in repr(failure)


async def test_contexts_keep_their_order_body_wrapper_review() -> None:
    traced = Traced()

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        ctx.defer_context({"from": "body 1"})
        ctx.defer_context("body 2")
        return "v"

    async def adding(call: Any, next: Any) -> Any:
        import dataclasses

        result = await next()
        return dataclasses.replace(result, contexts=(*result.contexts, {"from": "wrapper"}))

    traced.stages |= {"body": body, "around": adding, "post": giving(Accept(contexts=({"from": "review"},)))}
    result = await traced.call()
    assert isinstance(result, ToolSuccess)
    assert list(result.contexts) == [
        {"from": "body 1"},
        {"role": "user", "content": [{"type": "text", "text": "body 2"}]},
        {"from": "wrapper"},
        {"from": "review"},
    ]
    assert result.value == "v"


async def test_a_context_survives_the_bodys_failure() -> None:
    traced = Traced()

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        ctx.defer_context({"a": 1})
        raise ToolError("x")

    traced.stages["body"] = body
    failure = await traced.fails("TOOL_ERROR", FULL)
    assert list(failure.contexts) == [{"a": 1}]


async def test_conclude_turn_marks_only_a_success() -> None:
    traced = Traced()

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        ctx.conclude_turn()
        if arguments:
            raise ToolError("x")
        return "v"

    traced.stages["body"] = body
    result = await traced.call()
    assert result.concludes_turn is True
    failed = await traced.call({"x": 1})
    assert getattr(failed, "concludes_turn", False) is False


@pytest.mark.parametrize("decision", [None, True, "accept", Allow(), Deny("x")])
async def test_what_is_no_review_fails_closed(decision: Any) -> None:
    traced = Traced()
    traced.stages["body"] = giving("secret")
    traced.stages["post"] = giving(decision)
    failure = await traced.fails("PIPELINE_ERROR", FULL)
    assert "secret" not in repr(failure)


async def test_a_raising_review_withholds_the_value() -> None:
    traced = Traced()
    traced.stages["body"] = giving("secret")
    traced.stages["post"] = raising(RuntimeError("review broke"))
    failure = await traced.fails("PIPELINE_ERROR", FULL)
    assert "review broke" in failure.error.message
    assert "secret" not in repr(failure)


async def test_the_review_sees_a_frozen_result() -> None:
    traced = Traced()

    async def spoiling(call: Any, result: Any, next: Any) -> Any:
        with pytest.raises((AttributeError, TypeError)):
            result.value = 1
        with pytest.raises((AttributeError, TypeError)):
            result.content.append(1)
        return await next()

    traced.stages["post"] = spoiling
    assert isinstance(await traced.call(), ToolSuccess)


# ---- 9, 10: finalize and publish ----


async def test_finalize_has_the_last_word_on_content_only() -> None:
    traced = Traced()
    traced.stages["finalize"] = lambda call, result: BLOCKS
    result = await traced.call()
    assert traced.trace == FULL
    assert (result.value, result.content) == ("value", BLOCKS)
    traced.stages["body"] = raising(ToolError("bad"))
    failed = await traced.call()
    assert failed.content == BLOCKS
    assert failed.error.message == "bad"


@pytest.mark.parametrize(
    "finalize", [lambda call, result: 1 / 0, lambda call, result: [object()], lambda call, result: 5]
)
async def test_a_failing_finalize_is_the_result_and_runs_once(finalize: Any) -> None:
    traced = Traced()
    traced.stages["body"] = giving("secret")
    traced.stages["finalize"] = finalize
    result = await traced.call()
    assert isinstance(result, ToolFailure)
    assert traced.trace == FULL
    assert "secret" not in repr(result)


async def test_a_raising_observer_is_contained_and_the_others_run() -> None:
    traced = Traced()
    later: list[Any] = []

    def bad(call: Any, result: Any) -> None:
        raise RuntimeError("observer")

    traced.registry.on_result(bad)
    traced.registry.on_result(lambda call, result: later.append(result))
    result = await traced.call()
    assert isinstance(result, ToolSuccess)
    assert later == [result]
    assert later[0] is result


# ---- cancellation ----


async def test_cancelled_in_policy_then_allowed_is_aborted_before_dispatch_and_reviewed() -> None:
    traced = Traced()
    cancel = CancelSignal()

    async def policy(call: Any, next: Any) -> Any:
        cancel.cancel()
        return await next()

    traced.stages["pre"] = policy
    result = await traced.call(cancel=cancel)
    assert isinstance(result, ToolFailure)
    assert result.error.code == "ABORTED_BEFORE_DISPATCH"
    assert "body" not in traced.trace
    assert "post" in traced.trace


async def test_a_denial_that_came_first_keeps_its_code() -> None:
    traced = Traced()
    cancel = CancelSignal()

    async def policy(call: Any, next: Any) -> Any:
        cancel.cancel()
        return Deny("no")

    traced.stages["pre"] = policy
    await traced.fails("DENIED", ["pre", "post", "finalize", "result"], cancel=cancel)


async def test_a_started_async_body_is_cancelled_and_awaited() -> None:
    traced = Traced()
    cancel = CancelSignal()
    cleaned: list[str] = []

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        ctx.defer_context({"kept": True})
        cancel.cancel("enough")
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
                cleaned.append("yes")
        return None

    traced.stages["body"] = body
    failure = await traced.fails("ABORTED", FULL, cancel=cancel)
    assert cleaned == ["yes"]
    assert list(failure.contexts) == [{"kept": True}]


async def test_a_failure_that_came_first_keeps_its_code_and_a_late_success_does_not() -> None:
    traced = Traced()
    cancel = CancelSignal()

    async def failing(arguments: Any, ctx: ToolContext) -> JsonValue:
        cancel.cancel()
        raise ToolError("own failure")

    traced.stages["body"] = failing
    failure = await traced.fails("TOOL_ERROR", FULL, cancel=cancel)
    assert failure.error.message == "own failure"

    late = CancelSignal()

    async def succeeding(arguments: Any, ctx: ToolContext) -> JsonValue:
        late.cancel()
        return "late"

    traced.stages["body"] = succeeding
    failure = await traced.fails("ABORTED", FULL, cancel=late)
    assert not hasattr(failure, "value")


@pytest.mark.parametrize(("decision", "code"), [(Accept(), "ABORTED"), (Block("no"), "BLOCKED")])
async def test_cancelled_in_the_review_an_accepted_success_is_aborted_and_a_block_stays(
    decision: Any, code: str
) -> None:
    traced = Traced()
    cancel = CancelSignal()

    async def review(call: Any, result: Any, next: Any) -> Any:
        cancel.cancel()
        return decision

    traced.stages["post"] = review
    await traced.fails(code, FULL, cancel=cancel)


async def test_a_stuck_thread_is_left_behind_and_named() -> None:
    events = MemoryEventLog()
    registry = Registry(events=events, drain_seconds=0.1)
    release = threading.Event()
    started = threading.Event()

    @registry.tool
    def stuck() -> str:
        """Stuck."""
        started.set()
        release.wait(30)
        return "late"

    cancel = CancelSignal()
    results: list[Any] = []
    try:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:

                async def call() -> None:
                    results.append(await registry.call("stuck", {}, cancel=cancel))

                group.start_soon(call)
                await anyio.to_thread.run_sync(started.wait)
                cancel.cancel()
    finally:
        release.set()
    assert isinstance(results[0], ToolFailure)
    assert results[0].error.code == "ABORTED"
    assert "stuck" in results[0].error.message
    warnings = [event for event in events.events if event.type == "warning"]
    assert len(warnings) == 1
    assert "stuck" in warnings[0].data["message"] or "stuck" in warnings[0].data["source"]
    assert isinstance(warnings[0].data["source"], str)


async def test_a_sync_body_that_stops_in_time_is_awaited() -> None:
    registry = Registry()
    ended = threading.Event()

    @registry.tool(timeout=0.05)
    def polling(ctx: ToolContext) -> str:
        """Polling."""
        while not ctx.cancel.cancelled:
            threading.Event().wait(0.002)
        ended.set()
        return "late"

    result = await registry.call("polling", {})
    assert isinstance(result, ToolFailure)
    assert result.error.code == "TOOL_TIMEOUT"
    assert ended.is_set()


async def test_fifty_stuck_threads_do_not_starve_other_sync_tools() -> None:
    registry = Registry(drain_seconds=0.05)
    release = threading.Event()

    @registry.tool(timeout=0.05, concurrency_safe=True)
    def stuck() -> None:
        """Stuck."""
        release.wait(30)

    @registry.tool
    def quick() -> str:
        """Quick."""
        return "ok"

    try:
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                for _ in range(50):
                    group.start_soon(registry.call, "stuck", {})
            result = await registry.call("quick", {})
    finally:
        release.set()
    assert isinstance(result, ToolSuccess)


async def test_cancelling_the_callers_task_propagates_after_the_drain_with_the_records_written() -> None:
    traced = Traced()
    started = anyio.Event()
    cleaned: list[str] = []

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            cleaned.append("yes")
        return None

    traced.stages["body"] = body
    returned: list[Any] = []

    async def call() -> None:
        returned.append(await traced.registry.call("t", {}))

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await started.wait()
        group.cancel_scope.cancel()
    assert returned == []
    assert cleaned == ["yes"]
    assert [event.type for event in traced.events.events] == ["tool/call", "tool/result"]
    assert traced.events.events[1].data["error"]["code"] == "ABORTED"
    assert traced.trace[-1] == "result"


async def test_the_default_timeout_is_for_tools_and_not_for_programs() -> None:
    registry = Registry(default_timeout=0.3)

    @registry.tool
    async def hang() -> None:
        """Hang."""
        await anyio.sleep_forever()

    program = """
        messages = []
        for _ in range(2):
            try:
                await tools.hang()
            except ToolCallError as error:
                messages.append(error.message)
        return messages
    """
    async with CodeMode(registry) as cm:
        result = await cm.run(textwrap.dedent(program))
    assert result.ok, result.text
    assert result.value == ['tool "hang" timed out after 0.3s'] * 2


async def test_an_uncooperative_async_body_is_awaited_and_the_timeout_keeps_its_code() -> None:
    traced = Traced(timeout=0.05)
    ended: list[str] = []

    async def stubborn(arguments: Any, ctx: ToolContext) -> JsonValue:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.15)
        ended.append("yes")
        return "late"

    traced.stages["body"] = stubborn
    await traced.fails("TOOL_TIMEOUT", FULL)
    assert ended == ["yes"]


async def test_the_deadline_first_and_the_cancel_after_is_a_timeout_and_the_other_way_round_is_not() -> None:
    for first, code in (("deadline", "TOOL_TIMEOUT"), ("cancel", "ABORTED")):
        cancel = CancelSignal()
        traced = Traced(timeout=0.05 if first == "deadline" else 30)

        async def body(
            arguments: Any, ctx: ToolContext, cancel: CancelSignal = cancel, first: str = first
        ) -> JsonValue:
            if first == "cancel":
                cancel.cancel()
            try:
                await anyio.sleep_forever()
            finally:
                cancel.cancel()
            return None

        traced.stages["body"] = body
        await traced.fails(code, FULL, cancel=cancel)


async def test_a_definition_is_borrowed_and_its_body_may_be_replaced_between_calls() -> None:
    registry = Registry()

    async def first(arguments: Any, ctx: ToolContext) -> JsonValue:
        return "first"

    async def second(arguments: Any, ctx: ToolContext) -> JsonValue:
        return "second"

    tool = Tool("t", "d", first, parameters={"type": "object"})
    registry.register(tool)
    assert (await registry.call("t", {})).value == "first"
    tool.execute = second
    assert (await registry.call("t", {})).value == "second"
