"""What becomes of the calls of a program in the host; the program itself is a stand-in."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
import trio

from codemode import (
    Accept,
    Allow,
    Ask,
    BindingError,
    Block,
    CancelSignal,
    CodeRunRequest,
    CodeRunResult,
    Deny,
    Limits,
    Registry,
    RunError,
    Tool,
    ToolCall,
    ToolError,
)
from codemode.testing import RecordingLog, ScriptedApprover
from tests.run_code.fakes import ID, echo, gated, returns, run

EMPTY: dict[str, Any] = {"type": "object"}
PICTURE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


@pytest.fixture
def log() -> RecordingLog:
    return RecordingLog()


@pytest.fixture
def registry(log: RecordingLog) -> Registry:
    return Registry(events=log)


async def call(request: CodeRunRequest, name: str, **arguments: Any) -> Any:
    return await request.bindings[name].call(arguments)


async def message_of(request: CodeRunRequest, name: str, **arguments: Any) -> str:
    with pytest.raises(BindingError) as caught:
        await call(request, name, **arguments)
    return str(caught.value)


class TestIdentity:
    async def test_ids_count_submissions_and_the_outer_call_is_the_parent(self, registry: Registry) -> None:
        echo(registry)
        seen: list[ToolCall] = []

        @registry.pre_execute
        async def watch(call: ToolCall, next: Any) -> Any:
            seen.append(call)
            return await next()

        async def program(request: CodeRunRequest) -> CodeRunResult:
            await call(request, "echo", value=1)
            await call(request, "echo", value=2)
            return returns(None)

        await run(registry, program)
        outer, first, second = seen
        assert [outer.call_id, first.call_id, second.call_id] == ["outer", "outer:code:1", "outer:code:2"]
        assert first.parent is outer.token
        assert first.parent is not None
        assert first.root_call_id == second.root_call_id == "outer"
        assert first.token is not second.token

    async def test_a_sub_call_runs_in_the_scope_of_the_outer_one(self, registry: Registry) -> None:
        echo(registry)
        scope = registry.scope("agent")
        scopes: list[Any] = []
        registry.guard(lambda call: scopes.append(call.scope))

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns(await call(request, "echo"))

        await run(registry, program, scope=scope)
        assert scopes
        assert all(seen is scope for seen in scopes)

    async def test_run_code_is_never_among_a_programs_own_tools(self, registry: Registry) -> None:
        echo(registry)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns(sorted(request.bindings))

        assert (await run(registry, program)).value == ["echo"]
        assert (await run(registry, program, mode="both")).value == ["echo"]

    async def test_bindings_carry_the_spelling_of_the_stub(self, registry: Registry) -> None:
        async def body(arguments: Any, ctx: Any) -> None:
            return None

        schema = {
            "type": "object",
            "properties": {"limit": {"type": "integer"}, "query": {"type": "string"}},
            "required": ["query"],
        }
        registry.register(Tool("list-all", "Lists.", body, parameters=schema, namespace="git"))

        async def program(request: CodeRunRequest) -> CodeRunResult:
            binding = request.bindings["git.list-all"]
            return returns([binding.namespace, binding.method, list(binding.parameters), binding.signature])

        namespace, method, parameters, signature = (await run(registry, program)).value
        assert (namespace, method, parameters) == ("git", "list_all", ["query", "limit"])
        assert "query" in signature


class TestRecords:
    async def test_a_call_writes_a_start_and_an_end_in_order(self, registry: Registry, log: RecordingLog) -> None:
        echo(registry)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            submit = request.bindings["echo"].submit
            assert submit is not None
            ended, told = anyio.Event(), []

            def reply(value: Any, refused: str | None) -> None:
                told.append([value, refused])
                ended.set()

            submit({"value": "hi"}, 7, reply)
            await ended.wait()
            return returns(told)

        assert (await run(registry, program)).value == [["hi", None]]
        assert log.types == [
            "tool/call",
            "code/run-start",
            "tool/code-dispatch-start",
            "tool/code-dispatch",
            "code/run-end",
            "tool/result",
        ]
        (start,) = log.of("tool/code-dispatch-start")
        assert start == {
            "root_call_id": "outer",
            "parent_call_id": "outer",
            "sub_call_id": "outer:code:1",
            "name": "echo",
            "arguments": {"value": "hi"},
            "line": 7,
        }
        (end,) = log.of("tool/code-dispatch")
        timing = dict(end["timing"])
        assert {name: value for name, value in end.items() if name != "timing"} == {
            "root_call_id": "outer",
            "parent_call_id": "outer",
            "sub_call_id": "outer:code:1",
            "name": "echo",
            "arguments": {"value": "hi"},
            "start_seq": 3,
            "is_error": False,
            "content": [{"type": "text", "text": "hi"}],
        }
        assert sorted(timing) == ["after", "before", "body", "queued"]
        assert all(value >= 0 for value in timing.values())

    async def test_a_scope_is_named(self, registry: Registry, log: RecordingLog) -> None:
        echo(registry)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns(await call(request, "echo"))

        await run(registry, program, scope=registry.scope("agent"))
        assert [data["scope"] for data in log.of("tool/code-dispatch-start", "tool/code-dispatch")] == ["agent"] * 2

    async def test_the_end_is_in_the_log_before_the_program_has_the_value(
        self, registry: Registry, log: RecordingLog
    ) -> None:
        echo(registry)
        counts: list[int] = []

        async def program(request: CodeRunRequest) -> CodeRunResult:
            for _ in range(3):
                await call(request, "echo")
                counts.append(len(log.of("tool/code-dispatch")))
            return returns(None)

        await run(registry, program)
        assert counts == [1, 2, 3]

    async def test_a_denied_call_has_both_records_and_no_body(self, registry: Registry, log: RecordingLog) -> None:
        ran: list[int] = []

        async def body(arguments: Any, ctx: Any) -> None:
            ran.append(1)

        registry.register(Tool("rm", "Removes.", body, parameters=EMPTY))
        registry.guard(lambda call: "never" if call.name == "rm" else None)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns(await message_of(request, "rm"))

        result = await run(registry, program)
        assert "never" in result.value
        assert ran == []
        assert [record.status for record in result.calls] == ["denied"]
        (end,) = log.of("tool/code-dispatch")
        assert end["is_error"]
        assert end["error"]["code"] == "DENIED"

    async def test_the_copy_for_the_log_can_be_shaped(self, registry: Registry, log: RecordingLog) -> None:
        echo(registry)
        seen: list[Any] = []

        def shape(dispatch: Any) -> Any:
            seen.append((dispatch.call.call_id, dispatch.sub_call_id, dispatch.name, dispatch.is_error))
            return [{"type": "text", "text": "short"}]

        registry.shape_dispatch_log(shape)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns(await call(request, "echo", value="long " * 100))

        result = await run(registry, program)
        assert result.value == "long " * 100
        assert seen == [("outer", "outer:code:1", "echo", False)]
        assert log.of("tool/code-dispatch")[0]["content"] == [{"type": "text", "text": "short"}]

    async def test_the_runs_own_events_say_what_ran(self, registry: Registry, log: RecordingLog) -> None:
        echo(registry)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns(1)

        result = await run(registry, program, description="Do it")
        (start,), (end,) = log.of("code/run-start"), log.of("code/run-end")
        assert (start["call_id"], start["run_id"], start["description"]) == ("outer", result.run_id, "Do it")
        assert (start["tools"], start["isolation"]) == (["echo"], "none")
        assert len(start["code_sha256"]) == 64
        assert start["limits"]["max_calls"] == 1000
        assert (end["call_id"], end["run_id"], end["status"]) == ("outer", result.run_id, "ok")
        assert "error" not in end
        assert end["usage"]["calls"] == 0

    async def test_a_failed_run_says_so_in_its_end(self, registry: Registry, log: RecordingLog) -> None:
        async def program(request: CodeRunRequest) -> CodeRunResult:
            return CodeRunResult(error=RunError("exception", "boom", "ValueError", 3))

        await run(registry, program)
        (end,) = log.of("code/run-end")
        assert end["status"] == "exception"
        assert end["error"] == {"kind": "exception", "message": "boom", "line": 3}


class TestValues:
    async def test_the_value_crosses_and_the_rendering_does_not(self, registry: Registry) -> None:
        async def body(arguments: Any, ctx: Any) -> Any:
            return {"n": 1}

        registry.register(Tool("one", "One.", body, parameters=EMPTY, render=lambda arguments, value: "one"))

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns(await call(request, "one"))

        assert (await run(registry, program)).value == {"n": 1}

    async def test_a_failure_crosses_as_its_message(self, registry: Registry) -> None:
        async def body(arguments: Any, ctx: Any) -> Any:
            raise ToolError("deliberate failure")

        registry.register(Tool("boom", "Fails.", body, parameters=EMPTY))

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns(await message_of(request, "boom"))

        result = await run(registry, program)
        assert result.value == "deliberate failure"
        assert [(record.status, record.message) for record in result.calls] == [("failed", "deliberate failure")]

    async def test_replaced_content_hides_no_value_but_a_replaced_value_and_a_block_do(
        self, registry: Registry
    ) -> None:
        echo(registry)

        @registry.post_execute
        async def review(call: ToolCall, result: Any, next: Any) -> Any:
            asked = call.arguments.get("value") if call.name == "echo" else None
            if asked == "content":
                return Accept(content=[{"type": "text", "text": "hidden"}])
            if asked == "value":
                return Accept(value="replaced")
            if asked == "block":
                return Block("withheld")
            return await next()

        async def program(request: CodeRunRequest) -> CodeRunResult:
            content = await call(request, "echo", value="content")
            value = await call(request, "echo", value="value")
            return returns([content, value, await message_of(request, "echo", value="block")])

        assert (await run(registry, program)).value == ["content", "replaced", "withheld"]

    async def test_a_tool_that_is_gone_by_then_is_unknown_and_the_run_goes_on(self, registry: Registry) -> None:
        async def body(arguments: Any, ctx: Any) -> Any:
            return 1

        registration = registry.register(Tool("ephemeral", "Goes.", body, parameters=EMPTY))

        async def program(request: CodeRunRequest) -> CodeRunResult:
            registration.dispose()
            return returns(await message_of(request, "ephemeral"))

        assert "ephemeral" in (await run(registry, program)).value

    async def test_invalid_arguments_take_a_number_and_are_not_asked_about(self, registry: Registry) -> None:
        registry.register(
            Tool("need", "Needs.", lambda arguments, ctx: 1, parameters={**ID, "required": ["id"]}),
        )
        approver = ScriptedApprover(otherwise="allowed-once")
        asked_about: list[str] = []

        @registry.pre_execute
        async def ask(call: ToolCall, next: Any) -> Any:
            asked_about.append(call.name)
            return Ask() if call.name == "need" else Allow()

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns([await message_of(request, "need"), await call(request, "need", id="x")])

        result = await run(registry, program, approver=approver)
        assert "id" in result.value[0]
        assert [record.sub_call_id for record in result.calls] == ["outer:code:1", "outer:code:2"]
        assert len(approver.requests) == 1

    async def test_arguments_that_are_no_json_fail_that_call_and_are_left_out_of_the_log(
        self, registry: Registry, log: RecordingLog
    ) -> None:
        echo(registry)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            message = await message_of(request, "echo", value=float("inf"))
            return returns([message, await call(request, "echo", value=1)])

        result = await run(registry, program)
        assert "value" in result.value[0]
        assert result.value[1] == 1
        assert [record.status for record in result.calls] == ["failed", "done"]
        first, second = log.of("tool/code-dispatch-start")
        assert "arguments" not in first
        assert second["arguments"] == {"value": 1}


class TestScheduling:
    async def test_safe_calls_overlap_up_to_max_parallel(self, registry: Registry) -> None:
        gate = gated(registry)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            async with anyio.create_task_group() as group:
                pending = [request.bindings["slow"].call({"id": str(n)}) for n in range(5)]
                for one in pending:
                    group.start_soon(wait, one)
                await gate.until(lambda: gate.active == 2)
                gate.let(*map(str, range(5)))
            return returns(gate.entered)

        result = await run(registry, program, limits=Limits(max_parallel=2))
        assert result.value == list("01234")
        assert gate.most == 2

    async def test_an_exclusive_call_waits_for_an_empty_pool_and_holds_the_barrier(self, registry: Registry) -> None:
        gate = gated(registry)
        write = gated(registry, name="write", safe=False)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            async with anyio.create_task_group() as group:
                for name, one in [("slow", "r1"), ("slow", "r2"), ("write", "w"), ("slow", "r3")]:
                    group.start_soon(wait, request.bindings[name].call({"id": one}))
                await gate.until(lambda: gate.active == 2)
                assert write.entered == []
                gate.let("r1", "r2")
                await write.until(lambda: write.active == 1)
                assert gate.entered == ["r1", "r2"]
                gate.let("r3")
                write.let("w")
            return returns(None)

        result = await run(registry, program)
        assert gate.entered == ["r1", "r2", "r3"]
        assert [record.status for record in result.calls] == ["done"] * 4

    async def test_ends_are_logged_in_the_order_in_which_bodies_finish(
        self, registry: Registry, log: RecordingLog
    ) -> None:
        gate = gated(registry)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            pending = [request.bindings["slow"].call({"id": name}) for name in ("a", "b", "c")]
            async with anyio.create_task_group() as group:
                group.start_soon(wait, pending[0])
                group.start_soon(wait, pending[2])
                await gate.until(lambda: gate.active == 3)
                gate.let("b")
                assert await pending[1] == "b"  # a fast call waits for no slower neighbour
                gate.let("c")
                await gate.until(lambda: "c" in gate.left)
                gate.let("a")
            return returns(None)

        await run(registry, program)
        ids = [data["arguments"]["id"] for data in log.of("tool/code-dispatch")]
        assert ids == ["b", "c", "a"]
        assert [data["arguments"]["id"] for data in log.of("tool/code-dispatch-start")] == ["a", "b", "c"]

    async def test_one_call_more_than_allowed_is_refused_and_nothing_done_is_lost(self, registry: Registry) -> None:
        echo(registry)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            values = [await call(request, "echo", value=n) for n in range(3)]
            return returns([values, await message_of(request, "echo", value=3)])

        result = await run(registry, program, limits=Limits(max_calls=3))
        assert result.value[0] == [0, 1, 2]
        assert "3 tool calls" in result.value[1]
        assert len(result.calls) == 3
        assert result.usage.calls == 3


async def wait(pending: Any) -> None:
    await pending


class TestTheEnd:
    async def test_what_runs_is_aborted_what_waits_is_abandoned_and_late_calls_are_refused(
        self, registry: Registry, log: RecordingLog
    ) -> None:
        gate = gated(registry, safe=False)
        kept: list[Any] = []
        late: list[str] = []
        signals: list[CancelSignal] = []
        registry.guard(lambda call: signals.append(call.cancel))

        async def program(request: CodeRunRequest) -> CodeRunResult:
            kept.append(request)
            async with anyio.create_task_group() as group:
                group.start_soon(swallow, request.bindings["slow"].call({"id": "runs"}))
                group.start_soon(swallow, request.bindings["slow"].call({"id": "waits"}))
                await gate.until(lambda: gate.active == 1)
                group.cancel_scope.cancel()
            return returns("early")

        async def early(request: CodeRunRequest) -> CodeRunResult:
            kept.append(request)
            kept.append(request.bindings["slow"].call({"id": "runs"}))
            kept.append(request.bindings["slow"].call({"id": "waits"}))
            await gate.until(lambda: gate.active == 1)
            return returns("early")

        result = await run(registry, early)
        assert result.value == "early"
        assert [record.status for record in result.calls] == ["aborted", "abandoned"]
        assert gate.left == ["runs"]
        assert len(log.of("tool/code-dispatch-start")) == len(log.of("tool/code-dispatch")) == 1
        assert signals[-1].cancelled
        for pending in kept[1:]:
            with pytest.raises(BindingError):
                await pending
        late.append(await message_of(kept[0], "slow", id="late"))
        assert "over" in late[0]
        assert "slow" in late[0]
        assert log.types[-2:] == ["code/run-end", "tool/result"]

    async def test_a_body_that_takes_its_time_to_stop_is_awaited(self, registry: Registry, log: RecordingLog) -> None:
        entered = anyio.Event()
        stopped: list[str] = []

        async def body(arguments: Any, ctx: Any) -> Any:
            entered.set()
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.lowlevel.checkpoint()
                    stopped.append("body")

        registry.register(Tool("slow", "Slow.", body, parameters=EMPTY))
        pending: list[Any] = []

        async def program(request: CodeRunRequest) -> CodeRunResult:
            pending.append(request.bindings["slow"].call({}))
            await entered.wait()
            return returns(1)

        result = await run(registry, program)
        assert stopped == ["body"]
        assert [record.status for record in result.calls] == ["aborted"]
        with pytest.raises(BindingError):
            await pending[0]

    async def test_a_runtime_that_raises_is_a_worker_exit_and_is_drained(
        self, registry: Registry, log: RecordingLog
    ) -> None:
        gate = gated(registry)
        pending: list[Any] = []

        async def program(request: CodeRunRequest) -> CodeRunResult:
            pending.append(request.bindings["slow"].call({"id": "x"}))
            await gate.until(lambda: gate.active == 1)
            raise RuntimeError("backend exploded")

        result = await run(registry, program)
        assert result.error is not None
        assert result.error.kind == "worker-exit"
        assert "backend exploded" in result.error.message
        assert gate.left == ["x"]
        assert len(log.of("tool/code-dispatch")) == 1
        with pytest.raises(BindingError):
            await pending[0]

    async def test_giving_up_a_wait_cancels_that_tool(self, registry: Registry) -> None:
        gate = gated(registry)
        echo(registry)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(wait, request.bindings["slow"].call({"id": "x"}))
                    await gate.until(lambda: gate.active == 1)
                    scope.cancel()
            await gate.until(lambda: gate.left == ["x"])
            return returns(await call(request, "echo", value="goes on"))

        result = await run(registry, program)
        assert result.value == "goes on"
        assert [record.status for record in result.calls] == ["aborted", "done"]

    async def test_waits_that_are_all_given_up_at_once_leave_the_stream_free(self, registry: Registry) -> None:
        gate = gated(registry)
        echo(registry)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            async with anyio.create_task_group() as group:
                for name in ("a", "b", "queued", "queued too"):
                    group.start_soon(wait, request.bindings["slow"].call({"id": name}))
                await gate.until(lambda: gate.active == 2)
                group.cancel_scope.cancel()
            return returns(await call(request, "echo", value="goes on"))

        with anyio.fail_after(5):
            result = await run(registry, program, limits=Limits(max_parallel=2))
        assert result.value == "goes on"
        statuses = [record.status for record in result.calls]
        assert statuses == ["aborted", "aborted", "abandoned", "abandoned", "done"]

    async def test_cancelling_the_run_stops_the_program_and_its_tools(
        self, registry: Registry, log: RecordingLog
    ) -> None:
        gate = gated(registry)
        cancel = CancelSignal()

        async def program(request: CodeRunRequest) -> CodeRunResult:
            async with anyio.create_task_group() as group:
                group.start_soon(wait, request.bindings["slow"].call({"id": "x"}))
                await gate.until(lambda: gate.active == 1)
                cancel.cancel("user pressed stop")
            return returns("never")

        result = await run(registry, program, cancel=cancel)
        assert result.error is not None
        assert result.error.kind == "abort"
        assert gate.left == ["x"]
        assert [record.status for record in result.calls] == ["aborted"]
        assert log.of("code/run-end")[0]["status"] == "abort"

    async def test_a_run_that_is_cancelled_before_it_starts_runs_nothing(
        self, registry: Registry, log: RecordingLog
    ) -> None:
        cancel = CancelSignal()
        cancel.cancel()
        started: list[int] = []

        async def program(request: CodeRunRequest) -> CodeRunResult:
            started.append(1)
            return returns(1)

        result = await run(registry, program, cancel=cancel)
        assert result.error is not None
        assert result.error.kind == "abort"
        assert started == []

    async def test_cancelling_the_callers_task_writes_the_records_first(
        self, registry: Registry, log: RecordingLog
    ) -> None:
        gate = gated(registry)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns(await call(request, "slow", id="x"))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(run, registry, program)
                await gate.until(lambda: gate.active == 1)
                group.cancel_scope.cancel()
        assert gate.left == ["x"]
        assert len(log.of("tool/code-dispatch-start")) == len(log.of("tool/code-dispatch")) == 1
        assert log.of("code/run-end")[0]["status"] == "abort"

    async def test_a_native_cancel_of_asyncio_writes_the_records_too(
        self, registry: Registry, log: RecordingLog, anyio_backend_name: str
    ) -> None:
        if anyio_backend_name != "asyncio":
            pytest.skip("task.cancel() is asyncio's")
        gate = gated(registry)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns(await call(request, "slow", id="x"))

        task = asyncio.create_task(run(registry, program))
        await gate.until(lambda: gate.active == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert gate.left == ["x"]
        assert len(log.of("tool/code-dispatch-start")) == len(log.of("tool/code-dispatch")) == 1
        assert log.of("code/run-end")[0]["status"] == "abort"

    async def test_no_task_of_a_run_outlives_it(self, registry: Registry, anyio_backend_name: str) -> None:
        gate = gated(registry)
        before = live_tasks(anyio_backend_name)
        pending: list[Any] = []

        async def program(request: CodeRunRequest) -> CodeRunResult:
            pending.extend(request.bindings["slow"].call({"id": str(n)}) for n in range(8))
            await gate.until(lambda: gate.active == 8)
            return returns(1)

        await run(registry, program)
        for one in pending:
            with pytest.raises(BindingError):
                await one
        assert live_tasks(anyio_backend_name) == before


async def swallow(pending: Any) -> None:
    with pytest.raises(BindingError):
        await pending


def live_tasks(backend: str) -> int:
    if backend == "trio":
        return trio.lowlevel.current_statistics().tasks_living
    return len(asyncio.all_tasks())


class TestContexts:
    async def test_contexts_ride_on_the_outer_result_in_order_even_of_a_failed_run(self, registry: Registry) -> None:
        async def body(arguments: Any, ctx: Any) -> Any:
            ctx.defer_context({"role": "user", "content": arguments["id"]})
            return 1

        registry.register(Tool("note", "Notes.", body, parameters=ID))

        async def program(request: CodeRunRequest) -> CodeRunResult:
            await call(request, "note", id="a")
            await call(request, "note", id="b")
            return CodeRunResult(error=RunError("exception", "boom", "ValueError", 1))

        result = await run(registry, program)
        assert [context["content"] for context in result.result.contexts] == ["a", "b"]

    async def test_images_of_the_final_content_are_deferred_before_the_calls_own_contexts(
        self, registry: Registry
    ) -> None:
        async def body(arguments: Any, ctx: Any) -> Any:
            ctx.defer_context({"role": "user", "content": "own"})
            return 1

        registry.register(
            Tool(
                "shot",
                "Shoots.",
                body,
                parameters=ID,
                render=lambda arguments, value: [{"type": "text", "text": "a picture"}, PICTURE],
            )
        )

        @registry.post_execute
        async def review(call: ToolCall, result: Any, next: Any) -> Any:
            if call.name == "shot" and call.arguments.get("id") == "replaced":
                return Accept(content=[{"type": "text", "text": "no picture"}])
            if call.name == "shot" and call.arguments.get("id") == "blocked":
                return Block("no")
            return await next()

        async def program(request: CodeRunRequest) -> CodeRunResult:
            await call(request, "shot")
            await call(request, "shot", id="replaced")
            await message_of(request, "shot", id="blocked")
            return returns(1)

        contexts = (await run(registry, program)).result.contexts
        assert [context["content"] for context in contexts] == [[PICTURE], "own", "own"]

    async def test_conclude_turn_counts_only_if_call_and_run_succeed(self, registry: Registry) -> None:
        async def body(arguments: Any, ctx: Any) -> Any:
            ctx.conclude_turn()
            if arguments.get("id") == "fails":
                raise ToolError("no")
            return 1

        registry.register(Tool("finish", "Ends.", body, parameters=ID))

        async def good(request: CodeRunRequest) -> CodeRunResult:
            return returns(await call(request, "finish"))

        async def failed_call(request: CodeRunRequest) -> CodeRunResult:
            return returns(await message_of(request, "finish", id="fails"))

        async def failed_run(request: CodeRunRequest) -> CodeRunResult:
            await call(request, "finish")
            return CodeRunResult(error=RunError("exception", "boom"))

        assert (await run(registry, good)).result.concludes_turn  # type: ignore[union-attr]
        assert not (await run(registry, failed_call)).result.concludes_turn  # type: ignore[union-attr]
        assert (await run(registry, failed_run)).result.is_error


class TestABrokenLog:
    @pytest.mark.parametrize("broken", ["tool/code-dispatch-start", "tool/code-dispatch"])
    async def test_a_record_that_cannot_be_written_fails_the_call_and_the_run(self, broken: str) -> None:
        log = RecordingLog(fail=lambda type, data: type == broken)
        registry = Registry(events=log)
        echo(registry)
        messages: list[str] = []

        async def program(request: CodeRunRequest) -> CodeRunResult:
            messages.append(await message_of(request, "echo", value="secret"))
            messages.append(await message_of(request, "echo", value="again"))
            return returns("went on")

        with anyio.fail_after(5):
            result = await run(registry, program)
        assert not result.ok
        assert result.error is not None
        assert result.error.kind == "abort"
        assert "event log" in result.error.message
        assert all("secret" not in message for message in messages)
        assert not result.has_value
        assert log.of("code/run-end")[0]["status"] == "abort"

    @pytest.mark.parametrize("broken", ["code/run-start", "code/run-end", "tool/call"])
    async def test_a_run_that_cannot_be_recorded_fails(self, broken: str) -> None:
        log = RecordingLog(fail=lambda type, data: type == broken)
        registry = Registry(events=log)
        ran: list[int] = []

        async def program(request: CodeRunRequest) -> CodeRunResult:
            ran.append(1)
            return returns("value")

        with anyio.fail_after(5):
            result = await run(registry, program)
        assert result.error is not None
        assert result.error.kind == "abort"
        assert not result.has_value
        assert ran == ([1] if broken == "code/run-end" else [])

    @pytest.mark.parametrize("failed", [False, True])
    async def test_an_end_that_cannot_be_recorded_is_an_abort_and_shows_nothing(self, failed: bool) -> None:
        registry = Registry(events=RecordingLog(fail=lambda type, data: type == "tool/result"))

        async def program(request: CodeRunRequest) -> CodeRunResult:
            error = RunError("exception", "secret") if failed else None
            value = None if failed else "secret"
            return CodeRunResult(value, not failed, logs=("secret",), notes=("secret",), error=error)

        with anyio.fail_after(5):
            result = await run(registry, program)
        assert result.error is not None
        assert result.error.kind == "abort"
        assert "event log" in result.error.message
        assert (result.ok, result.has_value, result.logs, result.notes) == (False, False, [], [])
        assert "secret" not in result.text + result.error.message

    async def test_without_a_log_everything_works(self) -> None:
        registry = Registry()
        echo(registry)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns(await call(request, "echo", value=1))

        assert (await run(registry, program)).value == 1


class TestApproval:
    async def test_each_call_is_asked_about_on_its_own_and_the_clock_stands_still(self, registry: Registry) -> None:
        echo(registry)
        paused: list[bool] = []
        requests: list[CodeRunRequest] = []

        @registry.pre_execute
        async def ask(call: ToolCall, next: Any) -> Any:
            return Ask("sure?") if call.name == "echo" else Allow()

        def answer(request: Any) -> str:
            before = requests[0].pause.paused()  # type: ignore[union-attr]
            deadline = anyio.current_time() + 2
            while requests[0].pause.paused() == before and anyio.current_time() < deadline:  # type: ignore[union-attr]
                pass
            paused.append(requests[0].pause.paused() > before)  # type: ignore[union-attr]
            return "allowed-once"

        approver = ScriptedApprover([answer, answer, "rejected"])

        async def program(request: CodeRunRequest) -> CodeRunResult:
            requests.append(request)
            same = [await call(request, "echo", value=1), await call(request, "echo", value=1)]
            return returns([same, await message_of(request, "echo", value=1)])

        result = await run(registry, program, approver=approver)
        assert result.value[0] == [1, 1]
        assert len(approver.requests) == 3
        assert paused == [True, True]
        assert [record.status for record in result.calls] == ["done", "done", "denied"]

    async def test_an_approver_of_one_run_answers_for_its_sub_calls(self, registry: Registry) -> None:
        echo(registry)

        @registry.pre_execute
        async def ask(call: ToolCall, next: Any) -> Any:
            return Ask() if call.name == "echo" else Allow()

        own = ScriptedApprover(otherwise="allowed-once")
        registry.approver = ScriptedApprover(otherwise="rejected")

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns(await call(request, "echo", value=1))

        assert (await run(registry, program, approver=own)).value == 1
        assert len(own.requests) == 1

    async def test_a_denied_outer_call_runs_nothing_and_shows_the_program(self, registry: Registry) -> None:
        shown: list[Any] = []

        @registry.pre_execute
        async def deny(call: ToolCall, next: Any) -> Any:
            shown.append(call.arguments["code"])
            return Deny("not today")

        started: list[int] = []

        async def program(request: CodeRunRequest) -> CodeRunResult:
            started.append(1)
            return returns(1)

        result = await run(registry, program)
        assert shown == ["stand-in"]
        assert started == []
        assert result.error is not None
        assert result.error.kind == "denied"
        assert "not today" in result.error.message
        assert "not today" in result.text

    async def test_a_review_of_the_outer_result_has_the_last_word(self, registry: Registry) -> None:
        verdicts: list[Any] = [Block("withheld"), Accept(value={"logs": [], "result": "other"})]

        @registry.post_execute
        async def review(call: ToolCall, result: Any, next: Any) -> Any:
            return verdicts.pop(0)

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns("secret", logs=("secret",))

        blocked = await run(registry, program)
        assert (blocked.ok, blocked.has_value, blocked.value, blocked.logs) == (False, False, None, [])
        assert blocked.error is not None
        assert blocked.error.kind == "denied"
        assert "secret" not in blocked.text
        replaced = await run(registry, program)
        assert (replaced.ok, replaced.value, replaced.logs, replaced.text) == (True, "other", [], "other")

    async def test_a_review_of_the_outer_result_that_raises_aborts_and_shows_nothing(self, registry: Registry) -> None:
        @registry.post_execute
        async def review(call: ToolCall, result: Any, next: Any) -> Any:
            raise ValueError("broken")

        async def program(request: CodeRunRequest) -> CodeRunResult:
            return returns("secret", logs=("secret",))

        result = await run(registry, program)
        assert result.error is not None
        assert (result.error.kind, result.error.message) == ("abort", "broken")
        assert (result.has_value, result.logs) == (False, [])
        assert "secret" not in result.text
