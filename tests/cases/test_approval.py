"""Who may call what, and who is asked: nothing of it is decided by the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from codemode import Allow, Ask, Block, CancelSignal, CodeRunResult, Deny, Limits, RunResult
from tests.cases.given import Case, Json, given
from tests.cases.world import ScriptedHuman, World, assert_same


def ask_for(world: World, *names: str, reason: str | None = None) -> None:
    """A policy that wants a human for these tools."""

    @world.registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        return Ask(reason) if call.name in names else await next()


@given("app-approval-callback-once")
def test_each_call_is_asked_about_and_each_answer_counts_once(case: Case) -> None:
    human = ScriptedHuman(["allowed-once"])
    world = World(case, approver=human)
    ask_for(world, "pay")
    assert_same(world.value(), ["paid 1", "paid 1"])
    assert len(human.asked) == 2
    assert [request.tool_name for request in human.asked] == ["pay", "pay"]
    assert len({request.call_id for request in human.asked}) == 2
    assert human.asked[0].arguments == {"to": "a", "amount": 1}
    assert len(world.ran("pay")) == 2
    assert [event.data["outcome"] for event in world.of("approval/decided")] == ["allowed-once"] * 2


@given("app-ask-denied")
def test_a_denied_approval_is_an_error_that_the_program_can_catch(case: Case) -> None:
    world = World(case, approver=ScriptedHuman(["rejected"]))
    ask_for(world, "pay", reason="nope")
    result = world.run()
    assert result.ok
    assert result.value.startswith("denied: ")
    assert "nope" in result.value
    assert world.visits == []
    assert [record.status for record in result.calls] == ["denied"]
    assert world.settles()[0]["error"]["code"] == "APPROVAL_REJECTED"


@given("app-denial-of-typed-tool")
def test_a_denial_is_not_held_against_the_output_schema(case: Case) -> None:
    world = World(case)

    @world.registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        return Deny("over quota") if call.name == "balance" else await next()

    assert_same(world.value(), ["denied", True])
    assert world.visits == []


@given("app-direct-only-tool")
def test_no_way_leads_from_a_program_to_a_tool_that_is_kept_from_it(case: Case) -> None:
    probe = (
        "out = []\nfor f in (lambda: tools.approve_transfer, lambda: tools['approve_transfer'],"
        " lambda: getattr(tools, 'approve_transfer')):\n    try:\n        await f()()\n        out.append('ran')\n"
        "    except Exception as e:\n        out.append(type(e).__name__)\n"
        "return [out, dir(tools), 'approve_transfer' in tools]"
    )
    # Hidden from the scope of the programs: it is not there.
    hidden = World(case)
    scope = hidden.registry.scope("programs")
    scope.restrict(deny=["approve_transfer"])
    assert hidden.value(scope=scope).endswith("Error")
    tried, listed, there = hidden.value(probe, scope=scope)
    assert all(name.endswith("Error") for name in tried)
    assert listed == []
    assert there is False
    assert "approve_transfer" not in hidden.code_mode(scope=scope).stubs()
    assert hidden.visits == []

    # Barred by a guard for calls that have a parent: there, but it never runs.
    guarded = World(case)
    guarded.registry.guard(
        lambda call: "only directly" if call.parent is not None and call.name == "approve_transfer" else None
    )
    assert guarded.value() == "ToolCallError"
    tried, _, _ = guarded.value(probe)
    assert tried == ["ToolCallError"] * 3
    assert guarded.visits == []

    async def direct() -> Any:
        return await guarded.registry.call("approve_transfer", {})

    assert not guarded.drive(direct).is_error
    assert len(guarded.visits) == 1


@given("app-human-ask-stays-human")
def test_an_automatic_reviewer_cannot_answer_for_a_human(case: Case) -> None:
    automatic, human = ScriptedHuman(["allowed-once"]), ScriptedHuman(["allowed-once"])
    world = World(case, approver=automatic)

    # The rule stands outside; an inner policy that would allow is not heard, and cannot undo the question.
    ask_for(world, "pay", reason="a human must see this")

    @world.registry.pre_execute
    async def trusting(call: Any, next: Any) -> Any:
        return Allow()

    assert world.value(approver=human) == "paid 3"
    assert automatic.asked == []
    assert [request.reason for request in human.asked] == ["a human must see this"]

    async def nobody(request: Any) -> str:
        return "unavailable"

    refused = world.run(approver=nobody)
    assert not refused.ok
    assert refused.error.type == "ToolCallError"
    assert automatic.asked == []
    assert len(world.visits) == 1


@given("app-loop-of-writes")
def test_each_write_of_a_loop_is_gated(case: Case) -> None:
    human = ScriptedHuman(["allowed-once"] * 3 + ["rejected"])
    world = World(case, approver=human)
    ask_for(world, "post")
    value = world.value()
    assert value["sent"] == 3
    assert isinstance(value["stopped"], str)
    assert [visit.arguments["n"] for visit in world.visits] == [0, 1, 2]
    assert len(human.asked) == 4


@given("app-monotonic-guard")
@pytest.mark.parametrize("first", ["deny", "allow"])
def test_a_guard_that_denies_is_final(case: Case, first: str) -> None:
    world = World(case)
    guards: dict[str, Callable[[Any], str | None]] = {
        "deny": lambda call: "no rm here (guard: keep-files)" if call.name == "rm" else None,
        "allow": lambda call: None,
    }
    for name in (first, *(guards.keys() - {first})):
        world.registry.guard(guards[name])

    @world.registry.pre_execute
    async def generous(call: Any, next: Any) -> Any:
        return Allow()

    value = world.value()
    assert value.startswith("guard: ")
    assert "keep-files" in value
    assert world.visits == []
    assert "keep-files" in world.settles()[0]["error"]["message"]
    assert world.settles()[0]["error"]["code"] == "DENIED"


@given("app-result-review-blocks")
def test_a_blocked_result_appears_nowhere(case: Case) -> None:
    world = World(case)

    @world.registry.post_execute
    async def review(call: Any, result: Any, next: Any) -> Any:
        if not result.is_error and call.name == "fetch" and "TOP-SECRET" in str(result.value):
            return Block("withheld by review")
        return await next()

    result = world.run()
    first, second = result.value
    assert first == "hello"
    assert second == "blocked: withheld by review"
    for place in (
        result.text,
        repr(result.logs),
        repr(result.result),
        repr([event.data for event in world.events.events]),
    ):
        assert "TOP-SECRET" not in place
    assert world.ran("fetch") == [{"what": "public"}, {"what": "secret"}]
    withheld = world.settles()[1]
    assert withheld["is_error"] is True
    assert withheld["error"]["code"] == "BLOCKED"
    assert len(world.starts()) == 2


class CountingRuntime:
    """A runtime that starts no child and counts what it is given."""

    language = "python"
    isolation = "process"

    def __init__(self) -> None:
        self.programs: list[str] = []

    async def run(self, request: Any) -> CodeRunResult:
        self.programs.append(request.program)
        return CodeRunResult()

    async def aclose(self) -> None:
        return None

    async def __aenter__(self) -> CountingRuntime:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None


@given("app-run-itself-needs-approval")
def test_a_program_is_shown_whole_before_it_runs(case: Case) -> None:
    long_program = case.text + "\n" + "# \u2028 a comment  \n" * 5_000
    for program in (case.text, long_program):
        human = ScriptedHuman(["rejected"])
        world = World(case, approver=human)
        ask_for(world, "run_code", reason="programs need a look")
        runtime = CountingRuntime()
        result = world.run(program, runtime=runtime)
        assert not result.ok
        assert result.error.kind == "denied"
        assert "programs need a look" in result.error.message or "rejected" in result.error.message
        assert human.asked[0].arguments["code"] == program
        assert runtime.programs == []
        assert world.visits == []
        assert not world.of("code/run-start")

    human = ScriptedHuman(["allowed-once", "allowed-once"])
    world = World(case, approver=human)
    ask_for(world, "run_code", "write")
    assert world.value() == "done"
    assert [request.tool_name for request in human.asked] == ["run_code", "write"]
    rejecting = World(case, approver=ScriptedHuman(["allowed-once", "rejected"]))
    ask_for(rejecting, "run_code", "write")
    assert not rejecting.run().ok
    assert rejecting.visits == []


@given("app-timeout-is-denial")
def test_a_question_that_nobody_answers_is_a_denial(case: Case) -> None:
    asked = []

    async def patient(request: Any) -> str:
        """An approver with a time-out of its own, longer than the run's wall limit."""
        asked.append(request)
        with anyio.move_on_after(0.8):
            await anyio.sleep_forever()
        return "unavailable"

    world = World(case, approver=patient)
    ask_for(world, "pay")
    result: RunResult = world.run(limits=Limits(compute_seconds=0.5, wall_seconds=0.6))
    assert result.ok, result.text
    assert result.value.startswith("no answer: ")
    assert "approv" in result.value
    assert world.visits == []
    assert len(asked) == 1
    assert [event.data["outcome"] for event in world.of("approval/decided")] == ["unavailable"]
    assert [record.status for record in result.calls] == ["denied"]
    assert result.usage.compute_seconds < 0.4

    # Nobody to ask at all.
    alone = World(case)
    ask_for(alone, "pay")
    assert alone.value().startswith("no answer: ")
    assert alone.visits == []

    # "Stop on timeout": the approver ends the run.
    signal = CancelSignal()

    async def stopping(request: Any) -> str:
        signal.cancel("nobody answered in time")
        return "cancelled"

    ended = World(case, approver=stopping)
    ask_for(ended, "pay")
    outcome = ended.run_with_cancel(signal)
    assert outcome.error.kind == "abort"
    assert ended.visits == []


@given("app-timeout-of-typed-tool")
def test_a_tools_time_out_is_an_error_and_no_value(case: Case) -> None:
    world = World(case, timeouts={"quote": 0.2})
    result = world.run()
    assert_same(result.value, ["error", True])
    assert world.settles()[0]["error"]["code"] == "TOOL_TIMEOUT"
    assert 'tool "quote" timed out after 0.2s' in world.settles()[0]["error"]["message"]
    assert world.visits[0].cancelled


@given("app-tool-hidden-midrun")
def test_visibility_is_checked_when_a_call_is_made(case: Case) -> None:
    world = World(case, register=False)
    registration = world.registry.register(world.tools["ephemeral"])
    world.registry.register(world.tools["unlock"])
    policies: list[str] = []

    @world.registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        policies.append(call.name)
        if call.name == "run_code":
            return await next()
        registration.dispose()
        return await next()

    result = world.run()
    assert world.ran("ephemeral") == []
    if result.ok:
        gone, appeared = result.value
        assert gone.endswith(":ephemeral")
        assert appeared == "secret-ok"
        assert "secret" in policies
    else:
        assert result.error.line == 7
        assert "secret" in result.error.message
        assert world.ran("secret") == []
        assert world.settles()[0]["is_error"] is True
        assert world.settles()[0]["error"]["code"] == "UNKNOWN_TOOL"
        assert "ephemeral" in world.settles()[0]["error"]["message"]
    # In the next run, the tool that appeared is there.
    assert world.value("return await tools.secret()") == "secret-ok"


@given("app-unannotated-tool-not-assumed-safe")
def test_a_tool_without_annotations_is_asked_about(case: Case) -> None:
    from codemode import Tool, ToolAnnotations

    def read_only(world: World, name: str) -> bool:
        annotations = world.registry.get(name).annotations
        return annotations.read_only is True and annotations.destructive is not True

    human = ScriptedHuman(["rejected"])
    world = World(case, approver=human)
    for name, marks in (
        ("look", ToolAnnotations(read_only=True)),
        ("torn", ToolAnnotations(read_only=True, destructive=True)),
    ):
        world.registry.register(Tool(name, "A tool.", execute=_value, parameters={"type": "object"}, annotations=marks))

    @world.registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        if call.name == "run_code" or read_only(world, call.name):
            return Allow()
        return Ask()

    assert not world.run().ok
    assert [request.tool_name for request in human.asked] == ["delete_file"]
    assert world.visits == []
    assert world.value("return await tools.look()") == "looked"
    assert len(human.asked) == 1
    assert not world.run("return await tools.torn()").ok
    assert [request.tool_name for request in human.asked] == ["delete_file", "torn"]


def _value(a: Json, ctx: Json) -> str:
    return "looked"
