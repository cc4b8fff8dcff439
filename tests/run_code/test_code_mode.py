"""CodeMode: modes, direct calls, what the model is shown, its life."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from codemode import (
    Accept,
    CodeMode,
    CodeModeError,
    CodeRunRequest,
    CodeRunResult,
    Limits,
    MemoryEventLog,
    Registry,
    RunError,
    RuntimeUnavailableError,
    ToolCall,
    ToolRequest,
    ToolSuccess,
)
from codemode.testing import FakeRuntime, RecordingLog, ScriptedApprover
from tests.run_code.fakes import echo, gated, returns, run


async def seven(request: CodeRunRequest) -> CodeRunResult:
    return returns(7, logs=("a",))


def names(schemas: list[dict[str, Any]]) -> list[str]:
    return [schema["name"] for schema in schemas]


@pytest.fixture
def registry() -> Registry:
    registry = Registry()
    echo(registry)
    return registry


class TestModes:
    @pytest.mark.parametrize(
        ("mode", "shown"), [("native", ["echo"]), ("code", ["run_code"]), ("both", ["echo", "run_code"])]
    )
    async def test_the_model_is_shown_what_the_mode_says(self, registry: Registry, mode: Any, shown: list[str]) -> None:
        code_mode = CodeMode(registry, mode=mode, runtime=FakeRuntime(seven))
        assert names(code_mode.schemas()) == shown
        async with code_mode:
            assert names(code_mode.schemas()) == shown

    async def test_a_scopes_declaration_wins(self, registry: Registry) -> None:
        scope = registry.scope("agent")
        scope.present_as("both")
        code_mode = CodeMode(registry, runtime=FakeRuntime(seven))
        assert names(code_mode.schemas(scope)) == ["echo", "run_code"]
        assert names(code_mode.schemas()) == ["run_code"]

    async def test_a_direct_call_is_refused_before_policy_in_mode_code(self, registry: Registry) -> None:
        seen: list[str] = []
        registry.guard(lambda call: seen.append(call.name))
        async with CodeMode(registry, runtime=FakeRuntime(seven)) as code_mode:
            result = await code_mode.call("echo", {"value": 1})
            assert result.is_error
            assert result.error.code == "UNKNOWN_TOOL"
            assert "run_code" in result.error.message
            assert seen == []
            outcome = await code_mode.call("run_code", {"code": "x", "description": "Seven"})
            assert not outcome.is_error
            assert outcome.value == {"logs": ["a"], "result": 7}
            assert outcome.content == [{"type": "text", "text": "a\n7"}]

    async def test_a_direct_call_works_in_mode_both(self, registry: Registry) -> None:
        async with CodeMode(registry, mode="both", runtime=FakeRuntime(seven)) as code_mode:
            result = await code_mode.call("echo", {"value": 1})
            assert isinstance(result, ToolSuccess)
            assert result.value == 1

    async def test_run_code_is_unknown_in_mode_native_and_the_host_may_still_run(self, registry: Registry) -> None:
        async with CodeMode(registry, mode="native", runtime=FakeRuntime(seven)) as code_mode:
            result = await code_mode.call("run_code", {"code": "x", "description": "d"})
            assert result.is_error
            assert (await code_mode.run("x")).value == 7
            scope = registry.scope("plain")
            scope.present_as("native")
            assert (await code_mode.run("x", scope=scope)).value == 7

    async def test_a_batch_goes_by_the_mode_too(self, registry: Registry) -> None:
        async with CodeMode(registry, mode="both", runtime=FakeRuntime(seven)) as code_mode:
            first, second = await code_mode.call_batch(
                [ToolRequest("echo", {"value": 1}), ToolRequest("run_code", {"code": "x", "description": "d"})]
            )
            assert isinstance(first, ToolSuccess)
            assert isinstance(second, ToolSuccess)
            assert (first.value, second.value) == (1, {"logs": ["a"], "result": 7})
        async with CodeMode(registry, runtime=FakeRuntime(seven)) as code_mode:
            (refused,) = await code_mode.call_batch([ToolRequest("echo", {"value": 1})])
            assert refused.is_error

    async def test_the_registry_knows_run_code_while_a_code_mode_is_open(self, registry: Registry) -> None:
        scope = registry.scope("agent")
        scope.present_as("code")
        arguments = {"code": "x", "description": "d"}
        async with CodeMode(registry, runtime=FakeRuntime(seven)):
            result = await registry.call("run_code", arguments, scope=scope)
            assert isinstance(result, ToolSuccess)
            assert result.value == {"logs": ["a"], "result": 7}
            assert (await registry.call("run_code", arguments)).is_error  # native where nothing is declared
        assert (await registry.call("run_code", arguments, scope=scope)).is_error

    def test_an_unknown_mode_is_the_developers_mistake(self, registry: Registry) -> None:
        with pytest.raises(ValueError, match="mode"):
            CodeMode(registry, mode="auto", runtime=FakeRuntime(seven))  # type: ignore[arg-type]


class TestRunCode:
    async def test_code_and_description_are_required_and_the_description_is_not_blank(self, registry: Registry) -> None:
        runtime = FakeRuntime(seven)
        async with CodeMode(registry, runtime=runtime) as code_mode:
            for arguments in ({"code": "x"}, {"description": "d"}, {"code": "x", "description": "   "}):
                result = await code_mode.call("run_code", arguments)
                assert result.is_error
                assert result.error.code == "INVALID_ARGS"
            assert not (await code_mode.run("x", description=" ")).ok
        assert runtime.requests == []

    async def test_the_output_is_closed_and_leaves_out_what_was_not_returned(self, registry: Registry) -> None:
        async def nothing(request: CodeRunRequest) -> CodeRunResult:
            return CodeRunResult()

        result = await run(registry, nothing)
        assert result.result.value == {"logs": []}  # type: ignore[union-attr]
        assert (result.ok, result.has_value, result.value) == (True, False, None)

        async def null(request: CodeRunRequest) -> CodeRunResult:
            return CodeRunResult(has_value=True)

        result = await run(registry, null)
        assert result.result.value == {"logs": [], "result": None}  # type: ignore[union-attr]
        assert (result.has_value, result.text) == (True, "null")

    async def test_a_failed_run_is_a_failed_result_with_its_code_and_text(self, registry: Registry) -> None:
        async def fails(request: CodeRunRequest) -> CodeRunResult:
            return CodeRunResult(error=RunError("exception", "boom", "ValueError", 1), logs=("before",))

        result = await run(registry, fails)
        assert result.result.is_error
        assert result.result.error.code == "CODE_RUN_FAILED"
        assert result.text.startswith("Error: code run failed (exception): ValueError: boom")
        assert "before" in result.text
        assert result.logs == ["before"]
        assert result.error == RunError("exception", "boom", "ValueError", 1)

    async def test_the_text_limit_counts_every_character(self, registry: Registry) -> None:
        async def long(request: CodeRunRequest) -> CodeRunResult:
            return returns("x" * 10_000)

        async def fails(request: CodeRunRequest) -> CodeRunResult:
            return CodeRunResult(error=RunError("exception", "x" * 10_000, "E", 1))

        limits = Limits(text_chars=1_000)
        for program in (long, fails):
            result = await run(registry, program, limits=limits)
            assert len(result.text) <= 1_000
            assert "characters left out" in result.text
        assert (await run(registry, long, limits=limits)).value == "x" * 10_000

    async def test_an_oversized_program_is_refused_without_a_child(self, registry: Registry) -> None:
        runtime = FakeRuntime(seven)
        async with CodeMode(registry, runtime=runtime) as code_mode:
            result = await code_mode.run("#" + "é" * 200, limits=Limits(source_bytes=400))
            assert result.error is not None
            assert result.error.kind == "syntax"
            assert "400" in result.error.message
            assert (await code_mode.run("#" + "é" * 199, limits=Limits(source_bytes=400))).ok
        assert len(runtime.requests) == 1

    async def test_a_default_timeout_of_tools_does_not_end_programs(self) -> None:
        registry = Registry(default_timeout=0.05)

        async def takes_longer(request: CodeRunRequest) -> CodeRunResult:
            await anyio.sleep(0.15)
            return returns(1)

        assert (await run(registry, takes_longer)).value == 1

    async def test_limits_and_approver_of_one_run_are_its_own(self, registry: Registry) -> None:
        seen: list[int] = []

        async def program(request: CodeRunRequest) -> CodeRunResult:
            seen.append(request.limits.max_calls)
            return returns(1)

        async with CodeMode(registry, runtime=FakeRuntime(program), limits=Limits(max_calls=5)) as code_mode:
            await code_mode.run("x")
            await code_mode.run("x", limits=Limits(max_calls=3))
            await code_mode.call("run_code", {"code": "x", "description": "d"})
        assert seen == [5, 3, 5]

    async def test_a_code_mode_may_have_its_own_log_and_approver(self, registry: Registry) -> None:
        own = RecordingLog()
        registry.events = MemoryEventLog()
        approver = ScriptedApprover(otherwise="allowed-once")

        from codemode import Ask

        @registry.pre_execute
        async def ask(call: ToolCall, next: Any) -> Any:
            return Ask()

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns(await request.bindings["echo"].call({"value": 1}))

        result = await run(registry, program, events=own, approver=approver)
        assert result.value == 1
        assert [request.tool_name for request in approver.requests] == ["run_code", "echo"]
        assert registry.events.events == []
        assert own.types[0] == "tool/call"
        assert own.types[-1] == "tool/result"
        assert "approval/decided" in own.types

    async def test_a_wrapper_that_retries_runs_the_program_again(self, registry: Registry) -> None:
        attempts: list[int] = []

        @registry.around_execute
        async def retry(call: ToolCall, next: Callable[[], Any]) -> Any:
            result = await next()
            return await next() if result.is_error else result

        async def flaky(request: CodeRunRequest) -> CodeRunResult:
            attempts.append(1)
            if len(attempts) == 1:
                return CodeRunResult(error=RunError("exception", "first", "E"))
            return returns("second")

        result = await run(registry, flaky)
        assert (result.ok, result.value, result.text) == (True, "second", "second")

    async def test_content_that_a_review_replaces_is_what_the_model_sees(self, registry: Registry) -> None:
        @registry.post_execute
        async def shorten(call: ToolCall, result: Any, next: Any) -> Any:
            return Accept(content=[{"type": "text", "text": "short"}])

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns("long " * 10)

        result = await run(registry, program)
        assert (result.text, result.value) == ("short", "long " * 10)

    async def test_no_child_is_raised_to_the_developer_and_told_to_the_model(self, registry: Registry) -> None:
        async def none(request: CodeRunRequest) -> CodeRunResult:
            raise RuntimeUnavailableError("no seccomp here")

        async with CodeMode(registry, runtime=FakeRuntime(none)) as code_mode:
            with pytest.raises(RuntimeUnavailableError, match="no seccomp"):
                await code_mode.run("x")
            result = await code_mode.call("run_code", {"code": "x", "description": "d"})
            assert result.is_error
            assert "no seccomp here" in result.error.message


class TestLife:
    async def test_it_must_be_open(self, registry: Registry) -> None:
        code_mode = CodeMode(registry, runtime=FakeRuntime(seven))
        with pytest.raises(CodeModeError, match="async with"):
            await code_mode.run("x")
        async with code_mode:
            pass
        with pytest.raises(CodeModeError, match="closed"):
            await code_mode.run("x")
        with pytest.raises(CodeModeError):
            await code_mode.call("echo", {})

    async def test_runs_in_flight_end_as_abort_before_it_is_closed(self) -> None:
        log = RecordingLog()
        registry = Registry(events=log)
        gate = gated(registry)
        results: list[Any] = []

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns(await request.bindings["slow"].call({"id": "x"}))

        code_mode = CodeMode(registry, runtime=FakeRuntime(program))

        async def start() -> None:
            results.append(await code_mode.run("x"))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                async with code_mode:
                    group.start_soon(start)
                    await gate.until(lambda: gate.active == 1)
                assert log.of("code/run-end")[0]["status"] == "abort"
        assert results[0].error.kind == "abort"
        assert gate.left == ["x"]

    async def test_several_may_be_open_over_one_registry(self, registry: Registry) -> None:
        async def eight(request: CodeRunRequest) -> CodeRunResult:
            return returns(8)

        async with (
            CodeMode(registry, runtime=FakeRuntime(seven)) as first,
            CodeMode(registry, runtime=FakeRuntime(eight)) as second,
        ):
            assert [(await first.run("x")).value, (await second.run("x")).value] == [7, 8]
            outcome = await first.call("run_code", {"code": "x", "description": "d"})
            assert isinstance(outcome, ToolSuccess)
            assert outcome.value == {"logs": ["a"], "result": 7}


class TestInstructions:
    def test_the_description_says_what_a_model_must_know(self, registry: Registry) -> None:
        (schema,) = CodeMode(registry, runtime=FakeRuntime(seven)).schemas()
        text = schema["description"]
        for fact in (
            "`code`",
            "`description`",
            "async Python function",
            "`await` and `return` work at the top level",
            "await tools.<name>(...)",
            "Only what the program prints or returns comes back",
            "Images",
            "attached after the run",
            "do not run the same program again",
            "math",
            "asyncio",
        ):
            assert fact in text
        properties = schema["input_schema"]["properties"]
        assert schema["input_schema"]["required"] == ["code", "description"]
        assert "active voice" in properties["description"]["description"]

    def test_instructions_hold_the_stubs_of_what_the_scope_sees(self, registry: Registry) -> None:
        code_mode = CodeMode(registry, runtime=FakeRuntime(seven))
        assert "async def echo" in code_mode.instructions()
        assert "async def echo" in code_mode.stubs()
        scope = registry.scope("agent")
        scope.restrict(deny=["echo"])
        assert "async def echo" not in code_mode.instructions(scope)
        assert "run_code" not in code_mode.stubs()

    def test_the_same_tools_give_the_same_bytes(self, registry: Registry) -> None:
        code_mode = CodeMode(registry, runtime=FakeRuntime(seven))
        assert code_mode.instructions() == CodeMode(registry, runtime=FakeRuntime(seven)).instructions()


def test_what_is_no_registry_and_no_limits_is_named_at_once() -> None:
    wrong: Any = None
    with pytest.raises(TypeError, match="registry must be a Registry, not NoneType"):
        CodeMode(wrong)
    wrong = {"max_calls": 3}
    with pytest.raises(TypeError, match="limits must be a Limits, not dict"):
        CodeMode(Registry(), limits=wrong)
