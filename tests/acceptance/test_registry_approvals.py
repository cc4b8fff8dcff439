"""api.md, "Approvals"; decisions.md on asking. Public names only."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from codemode import (
    ApprovalRequest,
    Ask,
    CancelSignal,
    JsonValue,
    MemoryEventLog,
    RegistrationError,
    Registry,
    Tool,
    ToolContext,
    ToolFailure,
    ToolSuccess,
)


class Asked:
    """A registry whose every call is asked about."""

    def __init__(self, approver: Any = None, reason: str | None = "touches production") -> None:
        self.events = MemoryEventLog()
        self.ran: list[Any] = []
        self.reviewed: list[Any] = []
        self.registry = Registry(events=self.events, approver=approver)
        self.registry.register(Tool("t", "d", self.body, parameters={"type": "object"}))

        async def policy(call: Any, next: Any) -> Any:
            return Ask(reason) if reason is not None else Ask()

        async def review(call: Any, result: Any, next: Any) -> Any:
            self.reviewed.append(result)
            return await next()

        self.registry.pre_execute(policy)
        self.registry.post_execute(review)

    async def body(self, arguments: Any, ctx: ToolContext) -> JsonValue:
        self.ran.append(arguments)
        return "ran"

    def records(self) -> list[tuple[str, dict[str, Any]]]:
        return [(event.type, dict(event.data)) for event in self.events.events if event.type.startswith("approval/")]


async def test_an_approver_gets_the_whole_request_and_one_question_is_one_grant() -> None:
    requests: list[ApprovalRequest] = []

    async def approver(request: ApprovalRequest) -> str:
        requests.append(request)
        return "allowed-once"

    asked = Asked(approver)
    scope = asked.registry.scope("s")
    cancel = CancelSignal()
    result = await asked.registry.call("t", {"a": [1]}, scope=scope, call_id="c", cancel=cancel)
    assert isinstance(result, ToolSuccess)
    request = requests[0]
    assert isinstance(request, ApprovalRequest)
    assert (request.tool_name, request.call_id, request.reason) == ("t", "c", "touches production")
    assert request.arguments == {"a": [1]}
    with pytest.raises(TypeError):
        request.arguments["a"].append(2)
    assert request.scope is scope
    assert isinstance(request.cancel, CancelSignal)
    cancel.cancel()
    assert request.cancel.cancelled
    await asked.registry.call("t", {})
    assert len(requests) == 2
    assert requests[1].scope is None


async def test_asked_and_decided_are_logged_with_one_id() -> None:
    async def approver(request: ApprovalRequest) -> str:
        return "allowed-once"

    asked = Asked(approver)
    await asked.registry.call("t", {}, call_id="c")
    (first, question), (second, answer) = asked.records()
    assert (first, second) == ("approval/asked", "approval/decided")
    assert question == {"id": question["id"], "tool_name": "t", "call_id": "c", "reason": "touches production"}
    assert answer == {"id": question["id"], "outcome": "allowed-once"}

    silent = Asked(approver, reason=None)
    await silent.registry.call("t", {}, call_id="c")
    assert "reason" not in silent.records()[0][1]


@pytest.mark.parametrize(
    ("answer", "code", "outcome"),
    [
        ("rejected", "APPROVAL_REJECTED", "rejected"),
        ("cancelled", "APPROVAL_CANCELLED", "cancelled"),
        ("unavailable", "APPROVAL_UNAVAILABLE", "unavailable"),
        ("maybe", "APPROVAL_UNAVAILABLE", "unavailable"),
        (None, "APPROVAL_UNAVAILABLE", "unavailable"),
        (True, "APPROVAL_UNAVAILABLE", "unavailable"),
        (["allowed-once"], "APPROVAL_UNAVAILABLE", "unavailable"),
    ],
)
async def test_anything_but_allowed_once_denies_with_its_own_code(answer: Any, code: str, outcome: str) -> None:
    async def approver(request: ApprovalRequest) -> Any:
        return answer

    asked = Asked(approver)
    result = await asked.registry.call("t", {})
    assert isinstance(result, ToolFailure)
    assert result.error.code == code
    assert "t" in result.error.message
    assert asked.ran == []
    assert len(asked.reviewed) == 1
    assert asked.records()[1][1]["outcome"] == outcome


async def test_the_messages_of_the_three_denials_differ() -> None:
    answers = iter(("rejected", "cancelled", "unavailable"))

    async def approver(request: ApprovalRequest) -> str:
        return next(answers)

    asked = Asked(approver)
    results = [await asked.registry.call("t", {}) for _ in range(3)]
    assert len({result.error.message for result in results if isinstance(result, ToolFailure)}) == 3


async def test_no_approver_a_raising_or_a_sync_one_is_unavailable_and_logged() -> None:
    async def broken(request: ApprovalRequest) -> str:
        raise RuntimeError("gone")

    def sync(request: ApprovalRequest) -> str:
        raise RuntimeError("gone")

    for approver in (None, broken, sync):
        asked = Asked(approver)
        result = await asked.registry.call("t", {})
        assert isinstance(result, ToolFailure)
        assert result.error.code == "APPROVAL_UNAVAILABLE"
        assert [name for name, _ in asked.records()] == ["approval/asked", "approval/decided"]
        assert asked.records()[1][1]["outcome"] == "unavailable"
        assert asked.ran == []


async def test_policy_never_rejects_without_asking_and_the_nearest_declaration_wins() -> None:
    requests: list[Any] = []

    async def approver(request: ApprovalRequest) -> str:
        requests.append(request)
        return "allowed-once"

    asked = Asked(approver)
    parent = asked.registry.scope("p")
    child = parent.scope("c")
    parent.set_approval_policy("never")
    for scope in (parent, child):
        result = await asked.registry.call("t", {}, scope=scope)
        assert isinstance(result, ToolFailure)
        assert result.error.code == "APPROVAL_REJECTED"
    assert requests == []
    assert [name for name, _ in asked.records()] == ["approval/asked", "approval/decided"] * 2
    child.set_approval_policy("ask")
    assert isinstance(await asked.registry.call("t", {}, scope=child), ToolSuccess)
    asked.registry.set_approval_policy("never")
    assert isinstance(await asked.registry.call("t", {}, scope=child), ToolSuccess)
    assert isinstance(await asked.registry.call("t", {}), ToolFailure)
    with pytest.raises(RegistrationError):
        asked.registry.set_approval_policy("always")


async def test_cancelling_an_open_question_is_aborted_before_dispatch_and_decided() -> None:
    cancel = CancelSignal()

    async def approver(request: ApprovalRequest) -> str:
        cancel.cancel("closed")
        await anyio.sleep_forever()
        return "allowed-once"

    asked = Asked(approver)
    with anyio.fail_after(10):
        result = await asked.registry.call("t", {}, cancel=cancel)
    assert isinstance(result, ToolFailure)
    assert result.error.code == "ABORTED_BEFORE_DISPATCH"
    assert asked.ran == []
    assert asked.records()[1][1]["outcome"] == "cancelled"


async def test_an_approver_that_allows_after_the_cancel_allows_nothing() -> None:
    cancel = CancelSignal()

    async def approver(request: ApprovalRequest) -> str:
        cancel.cancel()
        return "allowed-once"

    asked = Asked(approver)
    result = await asked.registry.call("t", {}, cancel=cancel)
    assert isinstance(result, ToolFailure)
    assert result.error.code == "ABORTED_BEFORE_DISPATCH"
    assert asked.ran == []
