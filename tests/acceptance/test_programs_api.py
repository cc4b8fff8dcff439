"""api.md, "Code mode": signatures, results, limits, runtimes."""

# ruff: noqa: E501 - a program is quoted in one line, beside what it must give

from __future__ import annotations

import inspect
import math
from typing import Any

import anyio
import pytest

import codemode
from codemode import (
    Binding,
    BindingError,
    CancelSignal,
    CodeMode,
    CodeModeError,
    CodeRunRequest,
    CodeRunResult,
    Deny,
    Limits,
    MemoryEventLog,
    ProcessRuntime,
    Registry,
    RunError,
    RunResult,
    ToolCall,
    run_sync,
)
from codemode.testing import FakeRuntime, run_unrestricted, runtime_self_check

from .programs import of_type, opened, run, value


def test_every_public_name_is_importable_from_codemode() -> None:
    names = """
    Registry Tool ToolAnnotations ToolCall ToolContext ToolError ToolRequest ToolResult ToolSuccess ToolFailure
    CancelSignal Allow Deny Ask Accept Block Approver ApprovalRequest ApprovalPolicy EventLog Event MemoryEventLog JsonlEventLog
    read_events JsonValue CodeModeError RegistrationError RuntimeUnavailableError Registration Scope CodeMode RunResult RunError
    CallRecord Limits CodeRuntime CodeRunRequest CodeRunResult Binding BindingError ProcessRuntime run_sync check_program
    Diagnostic Usage
    """
    missing = [name for name in names.split() if not hasattr(codemode, name)]
    assert missing == []
    assert list(codemode.__all__) == sorted(codemode.__all__)


def test_code_mode_has_the_pinned_defaults() -> None:
    parameters = inspect.signature(CodeMode).parameters
    assert parameters["scope"].default is None
    assert parameters["mode"].default == "code"
    assert parameters["limits"].default == Limits()
    assert parameters["events"].default is None
    assert parameters["approver"].default is None
    assert parameters["runtime"].default is None
    for name in ("scope", "mode", "limits", "events", "approver", "runtime"):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    run_parameters = inspect.signature(CodeMode.run).parameters
    assert run_parameters["description"].default == "program"
    for name in ("scope", "call_id", "cancel"):
        assert run_parameters[name].default is None


def test_limits_have_the_pinned_defaults() -> None:
    limits = Limits()
    assert limits.compute_seconds == 60.0
    assert limits.wall_seconds == 600.0
    assert limits.memory_bytes == 512 * 1024 * 1024
    assert limits.output_bytes == 64 * 1024 * 1024
    assert limits.max_calls == 1000
    assert limits.max_parallel == 10
    assert limits.source_bytes == 256 * 1024
    assert limits.text_chars == 100_000


NAMES = [
    "compute_seconds",
    "wall_seconds",
    "memory_bytes",
    "output_bytes",
    "max_calls",
    "max_parallel",
    "source_bytes",
    "text_chars",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf])
def test_a_limit_that_is_not_positive_and_finite_is_a_value_error_naming_it(name: str, bad: Any) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: bad})


@pytest.mark.parametrize(
    "name", ["max_calls", "max_parallel", "memory_bytes", "output_bytes", "source_bytes", "text_chars"]
)
def test_a_limit_that_counts_is_an_integer(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: 1.5})


@pytest.mark.parametrize("bad", ["1", None, True])
def test_a_limit_that_is_no_number_is_a_value_error_naming_it(bad: Any) -> None:
    with pytest.raises(ValueError, match="wall_seconds"):
        Limits(wall_seconds=bad)


async def test_a_result_has_every_pinned_attribute() -> None:
    async def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    async with opened(add) as (cm, _, log):
        result = await cm.run("print('hello')\nreturn await tools.add(1, 2)", description="adds", call_id="outer")
    assert isinstance(result, RunResult)
    assert result.ok is True
    assert result.value == 3
    assert result.has_value is True
    assert list(result.logs) == ["hello"]
    assert "hello" in result.text
    assert "3" in result.text
    assert result.error is None
    [record] = result.calls
    assert record.sub_call_id == "outer:code:1"
    assert record.name == "add"
    assert record.arguments == {"a": 1, "b": 2}
    assert record.status == "done"
    assert 0 <= record.duration < 10
    assert record.message is None
    assert list(result.notes) == []
    assert result.usage is not None
    assert result.usage.wall_seconds > 0
    assert result.usage.compute_seconds >= 0
    assert result.usage.peak_memory_bytes > 0
    assert result.usage.calls == 1
    assert isinstance(result.run_id, str)
    assert result.run_id
    assert result.result.is_error is False
    assert result.result.value == {"logs": ["hello"], "result": 3}
    [start] = of_type(log, "code/run-start")
    assert start["run_id"] == result.run_id


async def test_nothing_returned_differs_from_none_returned() -> None:
    async with opened() as (cm, _, _):
        nothing = await cm.run("x = 1")
        bare = await cm.run("return")
        none = await cm.run("return None")
        expression_of_none = await cm.run("print('x')")
    assert (nothing.has_value, nothing.value) == (False, None)
    assert bare.has_value is False
    assert (none.has_value, none.value) == (True, None)
    assert expression_of_none.has_value is False
    assert nothing.result.value == {"logs": []}
    assert none.result.value == {"logs": [], "result": None}


async def test_run_sync_runs_a_program_from_a_plain_function() -> None:
    registry = Registry()

    @registry.tool
    async def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    result = await anyio.to_thread.run_sync(lambda: run_sync(registry, "return await tools.add(1, 2)"))
    assert (result.ok, result.value) == (True, 3)


def test_run_sync_takes_the_options_of_code_mode_and_of_run() -> None:
    log = MemoryEventLog()
    registry = Registry()
    result = run_sync(
        registry,
        "print('x' * 1000)",
        limits=Limits(text_chars=100),
        events=log,
        description="d",
        call_id="mine",
        scope=None,
    )
    assert len(result.text) <= 100
    assert of_type(log, "tool/call")[0]["call_id"] == "mine"


async def test_run_sync_works_inside_a_running_loop() -> None:
    """For notebooks: their cells run while a loop runs."""
    result = run_sync(Registry(), "return 1")
    assert result.value == 1


async def test_code_mode_uses_its_own_event_log_where_given() -> None:
    of_registry, own = MemoryEventLog(), MemoryEventLog()
    registry = Registry(events=of_registry)
    async with CodeMode(registry, events=own) as cm:
        await cm.run("return 1")
    assert list(of_registry.events) == []
    assert [event.type for event in own.events] == ["tool/call", "code/run-start", "code/run-end", "tool/result"]


async def test_run_after_exit_raises() -> None:
    cm = CodeMode(Registry())
    async with cm:
        pass
    with pytest.raises(CodeModeError):
        await cm.run("return 1")


async def test_runs_in_flight_end_as_abort_when_code_mode_closes() -> None:
    results: list[RunResult] = []
    log = MemoryEventLog()
    started = anyio.Event()
    registry = Registry(events=log)

    @registry.tool
    async def wait() -> None:
        """Wait."""
        started.set()
        await anyio.sleep_forever()

    cm = CodeMode(registry)
    async with anyio.create_task_group() as group:

        async def go() -> None:
            results.append(await cm.run("print('before')\nawait tools.wait()"))

        async with cm:
            group.start_soon(go)
            with anyio.fail_after(10):
                await started.wait()
    [result] = results
    assert result.error is not None
    assert result.error.kind == "abort"
    assert list(result.logs) == ["before"]
    assert [call.status for call in result.calls] == ["aborted"]
    assert of_type(log, "code/run-end")[0]["status"] == "abort"
    assert len(of_type(log, "tool/result")) == 1


async def test_kind_syntax() -> None:
    result = await run("x = 1\ny = = 2")
    assert result.error is not None
    assert (result.error.kind, result.error.line) == ("syntax", 2)
    assert result.result.error.code == "CODE_RUN_FAILED"


async def test_a_refusal_of_the_dialect_is_kind_syntax() -> None:
    result = await run("import asyncio\nimport subprocess")
    assert result.error is not None
    assert (result.error.kind, result.error.line) == ("syntax", 2)
    assert "subprocess" in result.error.message


async def test_kind_exception_has_type_line_and_a_traceback_of_program_frames_only() -> None:
    result = await run("def f(x):\n    return 1 / x\n\nf(0)")
    error = result.error
    assert isinstance(error, RunError)
    assert (error.kind, error.type, error.line) == ("exception", "ZeroDivisionError", 2)
    assert isinstance(error.traceback, str)
    assert "line 4" in error.traceback
    assert "line 2" in error.traceback
    assert "site-packages" not in error.traceback
    assert "codemode_guest" not in error.traceback


@pytest.mark.parametrize(
    "name", ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseException", "StopIteration", "ValueError"]
)
async def test_an_uncaught_exception_of_any_kind_is_kind_exception(name: str) -> None:
    result = await run(f"x = 1\nraise {name}('why')")
    assert result.error is not None
    assert (result.error.kind, result.error.type, result.error.line) == ("exception", name, 2)


async def test_an_exception_class_of_the_program_has_its_name_as_type() -> None:
    result = await run("class Mine(Exception):\n    pass\nraise Mine('m')")
    assert result.error is not None
    assert (result.error.type, result.error.message, result.error.line) == ("Mine", "m", 3)


async def test_kind_denied_when_the_outer_call_did_not_run() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)

    @registry.pre_execute
    async def policy(call: ToolCall, next: Any) -> Any:
        return Deny("not now") if call.name == "run_code" else await next()

    async with CodeMode(registry) as cm:
        result = await cm.run("return 1")
    assert not result.ok
    assert result.error is not None
    assert result.error.kind == "denied"
    assert "not now" in result.text
    assert result.result.error.code == "DENIED"
    assert of_type(log, "code/run-start") == []


async def test_kind_invalid_output() -> None:
    result = await run("return {'a': [1, object()]}")
    assert result.error is not None
    assert result.error.kind == "invalid-output"
    assert "object" in result.error.message


async def test_a_blank_description_is_refused_before_the_program_runs() -> None:
    ran: list[CodeRunRequest] = []

    async def fake(request: CodeRunRequest) -> CodeRunResult:
        ran.append(request)
        return CodeRunResult()

    async with CodeMode(Registry(), runtime=FakeRuntime(fake)) as cm:
        result = await cm.run("return 1", description="  ")
        raw = await cm.call("run_code", {"code": "return 1", "description": " "})
        missing = await cm.call("run_code", {"code": "return 1"})
    assert not result.ok
    assert raw.is_error
    assert "description" in raw.error.message
    assert missing.error.code == "INVALID_ARGS"
    assert "description" in missing.error.message
    assert ran == []


async def test_the_outer_call_goes_through_call_too() -> None:
    async with opened() as (cm, _, _):
        outcome = await cm.call("run_code", {"code": "print('a')\nreturn 2", "description": "two"})
    assert outcome.value == {"logs": ["a"], "result": 2}
    assert outcome.content == [{"type": "text", "text": "a\n2"}]


async def test_call_batch_of_code_mode_applies_the_mode() -> None:
    async def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    async with opened(add) as (cm, _, _):
        collapsed, ran = await cm.call_batch(
            [
                codemode.ToolRequest("add", {"a": 1, "b": 2}),
                codemode.ToolRequest("run_code", {"code": "return 1", "description": "one"}),
            ]
        )
    assert collapsed.is_error
    assert "run_code" in collapsed.error.message
    assert ran.value == {"logs": [], "result": 1}


async def test_modes_decide_what_the_model_sees() -> None:
    registry = Registry()

    @registry.tool
    async def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    async with CodeMode(registry) as cm:
        assert [schema["name"] for schema in cm.schemas()] == ["run_code"]
    async with CodeMode(registry, mode="native") as cm:
        assert [schema["name"] for schema in cm.schemas()] == ["add"]
        assert (await cm.call("add", {"a": 1, "b": 2})).value == 3
        assert (await cm.call("run_code", {"code": "return 1", "description": "d"})).error.code == "UNKNOWN_TOOL"
    async with CodeMode(registry, mode="both") as cm:
        assert sorted(schema["name"] for schema in cm.schemas()) == ["add", "run_code"]
        assert (await cm.call("add", {"a": 1, "b": 2})).value == 3
    with pytest.raises(ValueError, match="mode"):
        CodeMode(registry, mode="other")  # type: ignore[arg-type]


async def test_run_code_can_be_called_through_the_registry_while_a_code_mode_is_open_and_presents_it() -> None:
    registry = Registry()
    arguments = {"code": "return 1", "description": "one"}
    scope = registry.scope("s")
    scope.present_as("code")
    async with CodeMode(registry):
        assert (await registry.call("run_code", arguments, scope=scope)).value == {"logs": [], "result": 1}
        assert (await registry.call("run_code", arguments)).error.code == "UNKNOWN_TOOL"
        assert [schema["name"] for schema in registry.schemas(scope)] == ["run_code"]
    assert (await registry.call("run_code", arguments, scope=scope)).error.code == "UNKNOWN_TOOL"


async def test_the_schema_of_run_code_is_as_the_design_says() -> None:
    async with opened() as (cm, _, _):
        [schema] = cm.schemas()
    parameters = schema["input_schema"]
    assert set(parameters["required"]) == {"code", "description"}
    assert parameters["properties"]["code"]["type"] == "string"
    for fact in ("description", "async", "await", "return", "tools", "print", "image"):
        assert fact in schema["description"].lower(), fact


async def test_run_code_is_never_among_a_programs_own_tools() -> None:
    result = await run("return ['run_code' in tools, hasattr(tools, 'run_code'), 'run_code' in dir(tools)]")
    assert result.value == [False, False, False]


async def test_a_scope_of_the_run_decides_its_tools() -> None:
    registry = Registry()
    scope = registry.scope("agent")

    @scope.tool
    async def mine() -> str:
        """Mine."""
        return "mine"

    async with CodeMode(registry) as cm:
        inside = await cm.run("return await tools.mine()", scope=scope)
        outside = await cm.run("return await tools.mine()")
        assert "mine" in cm.stubs(scope)
        assert "mine" not in cm.stubs()
        assert "mine" in cm.instructions(scope)
    assert inside.value == "mine"
    assert outside.error is not None
    assert outside.error.type == "AttributeError"


async def test_stubs_and_instructions_need_no_child_and_no_open_code_mode() -> None:
    registry = Registry()

    @registry.tool
    async def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    cm = CodeMode(registry, mode="native")
    assert "async def add(self, a: int, b: int) -> int" in cm.stubs()
    assert "add" in cm.instructions()


async def test_fake_runtime_gets_a_request_and_its_bindings_work() -> None:
    seen: list[CodeRunRequest] = []
    caught: list[str] = []

    async def fake(request: CodeRunRequest) -> CodeRunResult:
        seen.append(request)
        answer = await request.bindings["add"].call({"a": 1, "b": 2})
        try:
            await request.bindings["fail"].call({})
        except BindingError as error:
            caught.append(str(error))
        return CodeRunResult(value=answer, has_value=True, logs=("one", "two"))

    registry = Registry()

    @registry.tool
    async def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @registry.tool
    async def fail() -> int:
        """Fail."""
        raise codemode.ToolError("no luck")

    async with CodeMode(registry, runtime=FakeRuntime(fake)) as cm:
        result = await cm.run("the program")
    [request] = seen
    assert request.program == "the program"
    assert request.bindings["add"].name == "add"
    assert tuple(request.bindings["add"].parameters) == ("a", "b")
    assert isinstance(request.bindings["add"], Binding)
    assert request.limits == Limits()
    assert isinstance(request.cancel, CancelSignal)
    assert "run_code" not in request.bindings
    assert caught == ["no luck"]
    assert result.value == 3
    assert list(result.logs) == ["one", "two"]
    assert [call.status for call in result.calls] == ["done", "failed"]
    assert result.calls[1].message == "no luck"


async def test_a_runtime_that_raises_is_worker_exit_and_the_drain_happens() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)

    @registry.tool
    async def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    async def fake(request: CodeRunRequest) -> CodeRunResult:
        await request.bindings["add"].call({"a": 1, "b": 2})
        raise RuntimeError("backend exploded")

    async with CodeMode(registry, runtime=FakeRuntime(fake)) as cm:
        result = await cm.run("x")
    assert result.error is not None
    assert result.error.kind == "worker-exit"
    assert "backend exploded" in result.error.message
    assert [call.status for call in result.calls] == ["done"]
    assert len(of_type(log, "tool/code-dispatch")) == 1
    assert of_type(log, "code/run-end")[0]["status"] == "worker-exit"


async def test_process_runtime_is_the_protocol() -> None:
    runtime = ProcessRuntime()
    assert runtime.language == "python"
    assert runtime.isolation in {"sealed-process", "process"}

    async def double(arguments: Any) -> Any:
        if arguments["x"] < 0:
            raise BindingError("negative")
        return arguments["x"] * 2

    async with runtime:
        request = CodeRunRequest(
            program="try:\n    await tools.double(-1)\nexcept ToolCallError as e:\n    print(e.message)\nreturn await tools.double(4)",
            bindings={"double": Binding("double", ("x",), double)},
            limits=Limits(),
            cancel=CancelSignal(),
        )
        result = await runtime.run(request)
    assert isinstance(result, CodeRunResult)
    assert (result.value, result.has_value, list(result.logs), result.error) == (8, True, ["negative"], None)
    assert result.usage is not None
    await runtime.aclose()


async def test_the_default_runtime_passes_its_own_self_check() -> None:
    async with ProcessRuntime() as runtime:
        await runtime_self_check(runtime)


async def test_self_check_raises_with_a_list_of_what_fails() -> None:
    async def fake(request: CodeRunRequest) -> CodeRunResult:
        return CodeRunResult()

    with pytest.raises(Exception) as caught:  # noqa: PT011 - which class is not pinned
        await runtime_self_check(FakeRuntime(fake))
    assert len(str(caught.value).splitlines()) > 1


async def test_code_without_the_dialect_still_runs_in_a_sealed_child() -> None:
    result = await run_unrestricted(
        "import os\ntry:\n    open('/etc/passwd')\nexcept OSError as e:\n    return [type(e).__name__, dict(os.environ)]"
    )
    assert result.error is None
    assert result.value[0] in {"PermissionError", "OSError"}
    assert result.value[1] == {}


async def test_a_runtime_given_by_the_caller_stays_open() -> None:
    async with ProcessRuntime() as runtime:
        async with CodeMode(Registry(), runtime=runtime) as cm:
            assert (await cm.run("return 1")).value == 1
        async with CodeMode(Registry(), runtime=runtime) as cm:
            assert (await cm.run("return 2")).value == 2


async def test_a_cancelled_signal_before_the_start_is_abort() -> None:
    cancel = CancelSignal()
    cancel.cancel("user said no")
    async with opened() as (cm, _, log):
        result = await cm.run("return 1", cancel=cancel)
    assert result.error is not None
    assert result.error.kind == "abort"
    assert of_type(log, "code/run-start") == []


async def test_cancel_ends_a_hot_loop_with_its_reason_and_keeps_the_logs() -> None:
    cancel = CancelSignal()
    results: list[RunResult] = []

    async def here() -> None:
        """Say that the program is there."""
        cancel.cancel("user-cancel")

    async with opened(here) as (cm, _, log):
        with anyio.fail_after(10):
            results.append(await cm.run("print('one')\nawait tools.here()\nwhile True:\n    pass", cancel=cancel))
    [result] = results
    assert result.error is not None
    assert (result.error.kind, list(result.logs)) == ("abort", ["one"])
    assert "user-cancel" in result.error.message
    assert result.result.error.code in {"ABORTED", "CODE_RUN_FAILED"}
    assert of_type(log, "code/run-end")[0]["status"] == "abort"


async def test_state_is_fresh_in_every_run() -> None:
    async with opened() as (cm, _, _):
        await cm.run("import json\nglobal counter\ncounter = 1")
        second = await cm.run("return 'counter' in globals_names() if False else counter")
    assert second.error is not None
    assert second.error.type == "NameError"


async def test_random_numbers_are_fresh_in_every_run() -> None:
    async with opened() as (cm, _, _):
        code = "import random, uuid\nreturn [random.random(), str(uuid.uuid4())]"
        first, second = await cm.run(code), await cm.run(code)
    assert first.value[0] != second.value[0]
    assert first.value[1] != second.value[1]


async def test_several_runs_at_once_do_not_disturb_each_other() -> None:
    values: dict[int, Any] = {}
    async with opened() as (cm, _, _), anyio.create_task_group() as group:

        async def go(n: int) -> None:
            result = await cm.run(f"import asyncio\nprint({n})\nawait asyncio.sleep(0.05)\nreturn {n}")
            values[n] = (result.value, list(result.logs))

        for n in range(6):
            group.start_soon(go, n)
    assert values == {n: (n, [str(n)]) for n in range(6)}


async def test_check_refuses_a_program_with_the_words_of_check_program() -> None:
    pytest.importorskip("ty")

    async def search(query: str, limit: int = 10) -> list[str]:
        """Search."""
        return [query]

    result = await run("return await tools.search(quary='x')", search, check="error")
    assert not result.ok
    assert "quary" in result.text
    noted = await run(
        "try:\n    await tools.search('x', limit='3')\nexcept ToolCallError:\n    return 1", search, check="note"
    )
    assert noted.ok
    assert noted.value == 1
    assert any("2" in note for note in noted.notes)


async def test_exact_integers_come_through_run_result() -> None:
    assert await value("return 10 ** 40") == 10**40
    assert await value("return 2 ** 53 + 1") == 2**53 + 1
