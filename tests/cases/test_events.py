"""The event log: complete, in order, and what it says is what happened."""

from __future__ import annotations

import hashlib
from typing import Any

from codemode import Ask, MemoryEventLog
from tests.cases.given import Case, given
from tests.cases.world import ScriptedHuman, World, assert_same


@given("ev-complete-pairs")
def test_each_sub_call_has_one_start_and_one_end(case: Case) -> None:
    world = World(case)
    result = world.run()
    assert result.value == "ok"
    world.assert_paired()
    events = world.events.events
    kinds = [event.type for event in events]
    assert kinds.index("code/run-start") < kinds.index("tool/code-dispatch-start")
    assert kinds.index("code/run-end") > len(kinds) - 1 - kinds[::-1].index("tool/code-dispatch")
    call = world.of("tool/call")[0].data
    assert call["name"] == "run_code"
    assert call["arguments"]["code"] == case.text
    start, end = world.of("code/run-start")[0].data, world.of("code/run-end")[0].data
    assert start["call_id"] == end["call_id"] == call["call_id"]
    assert start["run_id"] == end["run_id"] == result.run_id
    assert end["status"] == "ok"
    add, boom = world.settles()
    for number, (name, data) in enumerate((("add", add), ("boom", boom)), 1):
        assert data["name"] == name
        assert data["sub_call_id"] == f"{call['call_id']}:code:{number}"
        assert data["parent_call_id"] == call["call_id"]
        assert data["root_call_id"] == call["root_call_id"]
    assert add["is_error"] is False
    assert add["content"] == [{"type": "text", "text": "3"}]
    assert boom["is_error"] is True
    assert boom["error"]["message"] == "deliberate tool failure"
    assert boom["error"]["code"] == "TOOL_ERROR"
    assert boom["content"] == [{"type": "text", "text": "Error: deliberate tool failure"}]
    outcome = world.of("tool/result")[0].data
    assert outcome["call_id"] == call["call_id"]
    assert outcome["is_error"] is False


@given("ev-instrumentation-metrics")
def test_ends_carry_outcome_and_duration(case: Case) -> None:
    world = World(case)
    result = world.run()
    assert_same(result.value, 1000)
    boom, slow = world.settles()
    assert boom["is_error"] is True
    assert boom["error"]["message"] == "deliberate tool failure"
    assert slow["is_error"] is False
    assert 25 <= slow["timing"]["body"] < 5000
    assert len(slow["content"][0]["text"]) == 1000
    end = world.of("code/run-end")[0].data
    assert end["status"] == "ok"
    assert end["usage"]["calls"] == 2
    assert end["usage"]["wall_seconds"] >= 0.03
    assert [record.status for record in result.calls] == ["failed", "done"]
    assert 0.025 <= result.calls[1].duration < 5


@given("ev-invalid-args-not-dispatched")
def test_arguments_that_cannot_be_sent_leave_no_trace_of_a_call(case: Case) -> None:
    human = ScriptedHuman(["allowed-once"])
    world = World(case, approver=human)
    seen = []

    @world.registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        if call.name == "run_code":
            return await next()
        seen.append(call.name)
        return Ask()

    assert world.value().endswith("Error")
    # The same for arguments that are JSON but not what the tool takes: no policy hears of what no human could allow.
    assert world.run("await tools.add({'a': 1, 'b': 'x'})").error.type == "ToolCallError"
    assert world.visits == []
    assert human.asked == []
    assert not world.of("approval/asked")
    assert seen == []
    first_run = [event for event in world.events.events if event.seq <= world.of("code/run-end")[0].seq]
    assert not [event for event in first_run if event.type.startswith("tool/code-dispatch")]


@given("ev-observer-failure-contained")
def test_a_failing_observer_does_not_break_the_run(case: Case, caplog: Any) -> None:
    world = World(case)
    world.registry.on_result(_explode)
    world.registry.on_change(_explode)
    assert_same(world.value(), 3)
    world.assert_paired()
    assert world.of("code/run-end")[0].data["status"] == "ok"
    assert "observer says no" in caplog.text or any("observer" in repr(e.data) for e in world.of("warning"))


def _explode(*_: object) -> None:
    raise RuntimeError("observer says no")


@given("ev-program-text-exact")
def test_the_logged_program_is_the_text_that_ran(case: Case) -> None:
    world = World(case)
    assert_same(world.value(), [36, "    - nested"])
    call = world.of("tool/call")[0].data
    assert call["arguments"]["code"] == case.text
    digest = hashlib.sha256(case.text.encode()).hexdigest()
    assert world.of("code/run-start")[0].data["code_sha256"] == digest
    assert_same(world.value(call["arguments"]["code"]), [36, "    - nested"])


@given("state-host-context-not-guest-controlled")
def test_the_hosts_context_reaches_policies_and_tools(case: Case) -> None:
    world = World(case)
    scope = world.registry.scope("session-7")
    seen: list[Any] = []

    @world.registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        seen.append((call.name, getattr(call.scope, "name", None), call.parent is not None))
        return await next()

    refused = world.run(scope=scope)
    assert not refused.ok
    assert refused.error.type == "ToolCallError"
    assert "session" in refused.text
    assert "context" in refused.text
    honest = world.run("return await tools.whoami()", scope=scope)
    assert honest.value == "session-7"
    assert seen[-2:] == [("run_code", "session-7", False), ("whoami", "session-7", True)]
    assert {data["scope"] for data in world.starts()} == {"session-7"}
    assert isinstance(world.events, MemoryEventLog)
