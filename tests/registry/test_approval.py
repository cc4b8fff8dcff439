"""Asking a human: one question, one grant, four answers, and everything else denies."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest

from codemode_registry import Ask, CancelSignal, MemoryEventLog, Registry, ToolCall, ToolContext, ToolResult

from .build import WAIT, Trace, failed, label, ok, raw, returning


def asking(approver: Any, *, reason: str | None = "it writes") -> tuple[Registry, Trace, MemoryEventLog]:
    log = MemoryEventLog()
    registry = Registry(events=log, approver=approver)
    trace = Trace().watch(registry)
    registry.register(trace.tool("t"))

    @registry.pre_execute
    async def ask(call: ToolCall, next: Any) -> Any:
        return Ask(reason)

    return registry, trace, log


def approvals(log: MemoryEventLog) -> list[tuple[str, dict[str, Any]]]:
    return [(event.type, dict(event.data)) for event in log.events if event.type.startswith("approval/")]


def answering(answer: Any, asked: list[Any] | None = None) -> Any:
    async def approver(request: Any) -> Any:
        if asked is not None:
            asked.append(request)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return approver


async def test_allowed_once_goes_on_and_is_logged_as_asked_and_decided() -> None:
    asked: list[Any] = []
    registry, trace, log = asking(answering("allowed-once", asked))
    assert ok(await registry.call("t", {"p": [1]}, call_id="c1")) == "v"
    assert trace == ["pre", "guard", "guard", "in", "body", "out", "post", "final", "result"]
    (request,) = asked
    assert (request.tool_name, request.call_id, request.reason, request.scope) == ("t", "c1", "it writes", None)
    assert request.arguments == {"p": [1]}
    with pytest.raises(TypeError):
        request.arguments["p"].append(2)
    assert isinstance(request.cancel, CancelSignal)
    (asked_type, asked_data), (decided_type, decided_data) = approvals(log)
    assert (asked_type, decided_type) == ("approval/asked", "approval/decided")
    assert asked_data == {"id": decided_data["id"], "tool_name": "t", "call_id": "c1", "reason": "it writes"}
    assert decided_data == {"id": asked_data["id"], "outcome": "allowed-once"}
    order = [event.type for event in log.events]
    assert order == ["tool/call", "approval/asked", "approval/decided", "tool/result"]


async def test_a_grant_is_for_one_call_only_and_ids_are_fresh() -> None:
    asked: list[Any] = []
    registry, _, log = asking(answering("allowed-once", asked))
    for _ in range(3):
        ok(await registry.call("t", {}))
    assert len(asked) == 3
    assert len({data["id"] for _, data in approvals(log)}) == 3


async def test_a_question_without_a_reason_has_none_in_the_log() -> None:
    registry, _, log = asking(answering("allowed-once"), reason=None)
    ok(await registry.call("t", {}))
    assert "reason" not in approvals(log)[0][1]


DENIALS: list[tuple[Any, str, str, str]] = [
    ("rejected", "APPROVAL_REJECTED", "rejected", "the user rejected"),
    ("cancelled", "APPROVAL_CANCELLED", "cancelled", "was cancelled"),
    ("unavailable", "APPROVAL_UNAVAILABLE", "unavailable", "no approver"),
    ("maybe", "APPROVAL_UNAVAILABLE", "unavailable", "no approver"),
    ("ALLOWED-ONCE", "APPROVAL_UNAVAILABLE", "unavailable", "no approver"),
    (True, "APPROVAL_UNAVAILABLE", "unavailable", "no approver"),
    (None, "APPROVAL_UNAVAILABLE", "unavailable", "no approver"),
    (OSError("terminal is gone"), "APPROVAL_UNAVAILABLE", "unavailable", "no approver"),
]


@pytest.mark.parametrize(("answer", "code", "outcome", "words"), DENIALS, ids=label)
async def test_every_other_answer_denies_with_its_own_code(answer: Any, code: str, outcome: str, words: str) -> None:
    registry, trace, log = asking(answering(answer))
    message = failed(await registry.call("t", {}), code)
    assert words in message
    assert '"t"' in message
    assert "it writes" in message
    assert trace == ["pre", "guard", "post", "final", "result"]
    assert approvals(log)[1][1]["outcome"] == outcome


@pytest.mark.parametrize("approver", [None, lambda request: "allowed-once", "allowed-once"])
async def test_no_approver_or_one_that_is_not_async_is_unavailable_and_logged_all_the_same(approver: Any) -> None:
    registry, _, log = asking(approver)
    failed(await registry.call("t", {}), "APPROVAL_UNAVAILABLE")
    assert [kind for kind, _ in approvals(log)] == ["approval/asked", "approval/decided"]


async def test_an_answer_that_is_none_is_told_to_the_host(caplog: pytest.LogCaptureFixture) -> None:
    registry, _, _ = asking(answering(True))
    failed(await registry.call("t", {}), "APPROVAL_UNAVAILABLE")
    assert "the approver answered True, which is none of allowed-once" in caplog.text
    caplog.clear()
    registry.approver = answering("unavailable")
    failed(await registry.call("t", {}), "APPROVAL_UNAVAILABLE")
    assert caplog.text == ""


async def test_the_approver_is_looked_up_at_each_question() -> None:
    registry, _, _ = asking(answering("allowed-once"))
    ok(await registry.call("t", {}))
    registry.approver = None
    failed(await registry.call("t", {}), "APPROVAL_UNAVAILABLE")


async def test_policy_never_denies_without_asking_and_the_nearest_declaration_wins() -> None:
    asked: list[Any] = []
    registry, _, log = asking(answering("allowed-once", asked))
    registry.set_approval_policy("never")
    assert "never" in failed(await registry.call("t", {}), "APPROVAL_REJECTED")
    assert asked == []
    assert [data.get("outcome") for _, data in approvals(log)] == [None, "rejected"]
    scope = registry.scope("s")
    child = scope.scope("c")
    scope.set_approval_policy("ask")
    assert ok(await registry.call("t", {}, scope=child)) == "v"
    child.set_approval_policy("never")
    failed(await registry.call("t", {}, scope=child), "APPROVAL_REJECTED")
    with pytest.raises(ValueError, match="ask, never"):
        scope.set_approval_policy("always")


async def test_a_call_that_cannot_run_is_never_put_to_a_human() -> None:
    asked: list[Any] = []
    registry, _trace, log = asking(answering("allowed-once", asked))
    registry.register(raw("strict", lambda arguments, ctx: 1, parameters={"required": ["q"]}))
    failed(await registry.call("strict", {}), "INVALID_ARGS")
    failed(await registry.call("nowhere", {}), "UNKNOWN_TOOL")
    registry.guard(lambda call: "no" if call.name == "t" else None)
    failed(await registry.call("t", {}), "DENIED")
    assert asked == []
    assert approvals(log) == []


async def test_a_guard_may_still_overrule_the_grant() -> None:
    frozen: list[str] = []

    async def approver(request: Any) -> str:
        frozen.append("frozen meanwhile")
        return "allowed-once"

    registry, trace, _ = asking(approver)
    registry.guard(lambda call: frozen[0] if frozen else None)
    assert failed(await registry.call("t", {}), "DENIED") == "frozen meanwhile"
    assert "body" not in trace


async def test_cancelling_while_the_question_is_open_aborts_before_dispatch_and_a_late_answer_is_ignored() -> None:
    open_question = anyio.Event()

    async def approver(request: Any) -> str:
        open_question.set()
        try:
            await anyio.sleep_forever()
        finally:
            assert request.cancel.cancelled
        return "allowed-once"

    registry, trace, log = asking(approver)
    cancel = CancelSignal()
    results: list[ToolResult] = []

    async def call() -> None:
        results.append(await registry.call("t", {}, cancel=cancel))

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await open_question.wait()
            cancel.cancel()
    failed(results[0], "ABORTED_BEFORE_DISPATCH")
    assert approvals(log)[1][1]["outcome"] == "cancelled"
    assert "body" not in trace
    assert "post" in trace


async def test_an_answer_that_comes_with_the_cancellation_allows_nothing() -> None:
    cancel = CancelSignal()

    async def approver(request: Any) -> str:
        cancel.cancel()
        return "allowed-once"

    registry, trace, log = asking(approver)
    failed(await registry.call("t", {}, cancel=cancel), "ABORTED_BEFORE_DISPATCH")
    assert "body" not in trace
    assert approvals(log)[1][1]["outcome"] == "cancelled"


async def test_a_call_that_is_cancelled_before_the_question_is_not_asked() -> None:
    asked: list[Any] = []
    cancel = CancelSignal()
    registry, _trace, log = asking(answering("allowed-once", asked))

    @registry.pre_execute(prepend=True)
    async def stop(call: ToolCall, next: Any) -> Any:
        cancel.cancel()
        return await next()

    failed(await registry.call("t", {}, cancel=cancel), "ABORTED_BEFORE_DISPATCH")
    assert asked == []
    assert approvals(log)[1][1]["outcome"] == "cancelled"


async def test_cancelling_the_callers_task_closes_the_question_in_the_log() -> None:
    open_question = anyio.Event()

    async def approver(request: Any) -> str:
        open_question.set()
        await anyio.sleep_forever()
        return "allowed-once"

    registry, _trace, log = asking(approver)
    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: registry.call("t", {}))
            await open_question.wait()
            group.cancel_scope.cancel()
    assert [event.type for event in log.events] == ["tool/call", "approval/asked", "approval/decided", "tool/result"]
    assert approvals(log)[1][1]["outcome"] == "cancelled"


async def test_a_log_that_refuses_the_question_fails_the_call_closed() -> None:
    class Log(MemoryEventLog):
        async def append(self, type: str, data: Any) -> Any:
            if type == "approval/asked":
                raise OSError("disk full")
            return await super().append(type, data)

    asked: list[Any] = []
    registry, trace, _ = asking(answering("allowed-once", asked))
    registry.events = Log()
    failed(await registry.call("t", {}), "PIPELINE_ERROR")
    assert asked == []
    assert "body" not in trace


async def test_an_inner_ask_can_be_answered_by_an_outer_policy() -> None:
    from codemode_registry import Allow, Deny

    asked: list[Any] = []
    registry, _, _ = asking(answering("allowed-once", asked))
    outer: list[Any] = [Allow(), Deny("outer")]

    @registry.pre_execute(prepend=True)
    async def decide(call: ToolCall, next: Any) -> Any:
        assert await next() == Ask("it writes")
        return outer.pop(0)

    ok(await registry.call("t", {}))
    failed(await registry.call("t", {}), "DENIED")
    assert asked == []


async def test_a_nested_call_asks_the_approver_of_the_call_that_made_it() -> None:
    asked: list[Any] = []
    log = MemoryEventLog()
    registry = Registry()
    registry.register(returning("inner", 1))

    async def outer(arguments: Any, ctx: ToolContext) -> Any:
        return ok(await registry.call("inner", {}, parent=ctx.call.token))

    registry.register(raw("outer", outer))

    @registry.pre_execute
    async def policy(call: ToolCall, next: Any) -> Any:
        return Ask() if call.name == "inner" else await next()

    result = await registry._call("outer", {}, events=log, approver=answering("allowed-once", asked))
    assert ok(result) == 1
    assert [request.tool_name for request in asked] == ["inner"]
    assert [event.type for event in log.events].count("tool/call") == 2
    failed(await registry.call("outer", {}), "TOOL_ERROR")


async def test_a_raising_approver_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    registry, _, _ = asking(answering(OSError("terminal is gone")))
    with caplog.at_level(logging.WARNING, "codemode.registry"):
        await registry.call("t", {})
    assert any("approver" in record.message for record in caplog.records)


async def test_a_body_may_ask_about_its_own_call_and_warn() -> None:
    asked: list[Any] = []
    other: list[Any] = []
    log = MemoryEventLog()
    registry = Registry(events=log, approver=answering("allowed-once", asked))
    kept: list[ToolContext] = []

    async def body(arguments: Any, ctx: ToolContext) -> list[str]:
        kept.append(ctx)
        await ctx.warn("body", "careful")
        return [await ctx.ask("really?"), await ctx.ask("client?", through=answering("rejected", other))]

    registry.register(raw("t", body))
    assert ok(await registry.call("t", {}, call_id="c")) == ["allowed-once", "rejected"]
    assert [request.reason for request in (*asked, *other)] == ["really?", "client?"]
    assert [event.type for event in log.events] == [
        "tool/call",
        "warning",
        "approval/asked",
        "approval/decided",
        "approval/asked",
        "approval/decided",
        "tool/result",
    ]
    assert log.events[1].data == {"source": "body", "message": "careful", "call_id": "c"}
    assert await kept[0].ask("late?") == "unavailable"
    registry.set_approval_policy("never")
    assert ok(await registry.call("t", {})) == ["rejected", "rejected"]
