"""Whole runs in real, sealed children."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import anyio
import pytest

from codemode import (
    Allow,
    Ask,
    CancelSignal,
    CodeMode,
    Limits,
    ProcessRuntime,
    Registry,
    RunResult,
    Tool,
    ToolCall,
    run_sync,
)
from codemode.testing import RecordingLog, ScriptedApprover
from tests.run_code.fakes import echo, gated

SOON = 5.0
"""Seconds that anything here may take at most; the machine may be busy."""


@pytest.fixture
def log() -> RecordingLog:
    return RecordingLog()


@pytest.fixture
def registry(log: RecordingLog) -> Registry:
    registry = Registry(events=log)
    echo(registry)

    @registry.tool(concurrency_safe=True)
    async def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @registry.tool(concurrency_safe=True)
    async def fail(message: str) -> None:
        """Fail."""
        raise ValueError(message)

    return registry


async def run(children: ProcessRuntime, registry: Registry, program: str, **options: Any) -> RunResult:
    with anyio.fail_after(30):
        async with CodeMode(registry, runtime=children) as code_mode:
            return await code_mode.run(program, **options)


def kind(result: RunResult) -> str:
    assert result.error is not None, result
    return result.error.kind


class TestOneRun:
    async def test_everything_that_a_run_leaves(self, children: ProcessRuntime, registry: Registry) -> None:
        result = await run(children, registry, 'print("hi")\nx = await tools.add(a=2, b=3)\nreturn {"sum": x}')
        assert result.ok
        assert (result.value, result.logs, result.error, result.notes) == ({"sum": 5}, ["hi"], None, [])
        assert result.text == 'hi\n{\n  "sum": 5\n}'
        (record,) = result.calls
        assert (record.name, record.arguments, record.status) == ("add", {"a": 2, "b": 3}, "done")
        assert record.sub_call_id.endswith(":code:1")
        assert record.duration > 0
        assert result.usage.calls == 1
        assert result.usage.wall_seconds > 0
        assert result.usage.compute_seconds > 0
        assert result.usage.peak_memory_bytes > 1_000_000

    async def test_the_programs_line_of_a_call_is_in_its_record(
        self, children: ProcessRuntime, registry: Registry, log: RecordingLog
    ) -> None:
        await run(children, registry, "\n\nawait tools.add(\n    a=1,\n    b=2,\n)")
        assert [data["line"] for data in log.of("tool/code-dispatch-start")] == [3]

    async def test_printed_text_is_lines_without_their_ends(self, children: ProcessRuntime, registry: Registry) -> None:
        result = await run(children, registry, 'print("a\\nb")\nprint()\nprint("c", end="")\nprint("d")\nreturn 1')
        assert result.logs == ["a", "b", "", "cd"]
        assert result.text == "a\nb\n\ncd\n1"

    async def test_a_failure_names_the_line_and_what_was_done(
        self, children: ProcessRuntime, registry: Registry
    ) -> None:
        result = await run(
            children, registry, 'await tools.add(a=1, b=2)\nprint("here")\nawait tools.fail(message="no")'
        )
        assert kind(result) == "exception"
        assert result.error is not None
        assert (result.error.type, result.error.line, result.error.message) == ("ToolCallError", 3, "no")
        assert 'await tools.fail(message="no")' in result.text
        assert "here" in result.text
        assert "add(a=1, b=2): done" in result.text
        assert 'fail(message="no"): failed' in result.text

    async def test_a_syntax_error_runs_nothing(self, children: ProcessRuntime, registry: Registry) -> None:
        result = await run(children, registry, "await tools.add(a=1, b=2)\ntotal = = 3")
        assert (kind(result), result.error.line, result.calls) == ("syntax", 2, [])  # type: ignore[union-attr]
        assert "total = = 3" in result.text

    async def test_invalid_arguments_name_tool_path_and_what_is_accepted(
        self, children: ProcessRuntime, registry: Registry
    ) -> None:
        result = await run(
            children, registry, "try:\n    await tools.add(a='x', c=1)\nexcept ToolCallError as e:\n    return str(e)"
        )
        for part in ("add", "a", "b", "c", "integer"):
            assert part in result.value

    async def test_nothing_returned_says_so_and_names_the_calls(
        self, children: ProcessRuntime, registry: Registry
    ) -> None:
        result = await run(children, registry, "x = await tools.add(a=1, b=2)")
        assert "nothing was returned or printed" in result.text
        assert "add" in result.text

    async def test_main_that_is_never_called_is_noted(self, children: ProcessRuntime, registry: Registry) -> None:
        result = await run(children, registry, "async def main():\n    return await tools.add(a=1, b=2)")
        assert result.calls == []
        assert any("main" in note for note in result.notes)
        assert "main" in result.text

    async def test_a_forgotten_await_costs_nothing_and_is_told(
        self, children: ProcessRuntime, registry: Registry, log: RecordingLog
    ) -> None:
        result = await run(children, registry, "tools.add(a=1, b=2)\nreturn 'done'")
        assert result.ok
        assert result.calls == []
        assert log.of("tool/code-dispatch-start") == []
        assert any("tools.add(...) on line 1" in note and "await" in note for note in result.notes)
        assert "await tools.add(...)" in result.text

    async def test_an_own_coroutine_that_was_never_awaited_is_told_with_its_line(
        self, children: ProcessRuntime, registry: Registry
    ) -> None:
        program = "async def work():\n    await tools.add(a=1, b=2)\n\nwork()\nreturn 1"
        result = await run(children, registry, program)
        assert any("work(...) on line 4" in note for note in result.notes)

    async def test_state_is_fresh_in_every_run(self, children: ProcessRuntime, registry: Registry) -> None:
        program = "try:\n    leftover\nexcept NameError:\n    print('clean')\nleftover = 1\nraise ValueError('boom')"
        for _ in range(2):
            assert (await run(children, registry, program)).logs == ["clean"]

    async def test_values_cross_whole(self, children: ProcessRuntime, registry: Registry) -> None:
        text = "x" * 3_000_000
        registry.register(
            Tool("big", "Big.", lambda arguments, ctx: {"rows": [{"n": n} for n in range(20_000)], "text": text},
                 parameters={"type": "object"})
        )  # fmt: skip
        program = "b = await tools.big()\nreturn [len(b['text']), sum(r['n'] for r in b['rows']), 2 ** 70]"
        assert (await run(children, registry, program)).value == [3_000_000, 199_990_000, 2**70]

    async def test_a_tools_value_cannot_be_changed_from_a_program(
        self, children: ProcessRuntime, registry: Registry
    ) -> None:
        kept = {"limits": {"max": 10}}
        registry.register(Tool("config", "C.", lambda arguments, ctx: kept, parameters={"type": "object"}))
        program = "a = await tools.config()\na['limits']['max'] = 999\nreturn (await tools.config())['limits']['max']"
        assert (await run(children, registry, program)).value == 10


class TestOrder:
    async def test_results_come_in_the_order_in_which_tools_finish(
        self, children: ProcessRuntime, registry: Registry
    ) -> None:
        gate = gated(registry)
        seen: list[Any] = []

        async def mark(arguments: Any, ctx: Any) -> None:
            seen.append(arguments["id"])
            gate.let({"start": "b", "b": "c", "c": "a"}.get(arguments["id"], "none"))

        registry.register(
            Tool(
                "mark",
                "Marks.",
                mark,
                parameters={"type": "object", "properties": {"id": {"type": "string"}}},
                concurrency_safe=True,
            )
        )
        program = (
            "import asyncio\nts = [asyncio.create_task(tools.slow(id=i)) for i in 'abc']\n"
            "await asyncio.sleep(0)\nawait tools.mark(id='start')\nout = []\n"
            "for t in asyncio.as_completed(ts):\n    v = await t\n    out.append(v)\n    await tools.mark(id=v)\n"
            "return out"
        )
        assert (await run(children, registry, program)).value == ["b", "c", "a"]

    async def test_first_completed_does_not_wait_for_the_slow_one(
        self, children: ProcessRuntime, registry: Registry, log: RecordingLog
    ) -> None:
        gated(registry)
        program = (
            "import asyncio\nslow = asyncio.create_task(tools.slow(id='x'))\n"
            "fast = asyncio.create_task(tools.add(a=1, b=2))\n"
            "done, pending = await asyncio.wait([slow, fast], return_when=asyncio.FIRST_COMPLETED)\n"
            "return [t.result() for t in done]"
        )
        result = await run(children, registry, program)
        assert result.value == [3]
        assert [record.status for record in result.calls] == ["aborted", "done"]

    async def test_a_timeout_in_the_program_cancels_the_tool(
        self, children: ProcessRuntime, registry: Registry, log: RecordingLog
    ) -> None:
        gate = gated(registry)
        program = (
            "import asyncio\ntry:\n    await asyncio.wait_for(tools.slow(id='z'), 0.05)\nexcept TimeoutError:\n"
            "    out = 'timed out'\nreturn [out, await tools.add(a=1, b=2)]"
        )
        result = await run(children, registry, program)
        assert result.value == ["timed out", 3]
        assert gate.left == ["z"]
        assert [record.status for record in result.calls] == ["aborted", "done"]
        assert len(log.of("tool/code-dispatch")) == 2

    async def test_a_failed_gather_leaves_nothing_running(self, children: ProcessRuntime, registry: Registry) -> None:
        gate = gated(registry)
        program = (
            "import asyncio\nawait asyncio.gather(tools.slow(id='a'), tools.slow(id='b'), tools.fail(message='no'))"
        )
        result = await run(children, registry, program)
        assert kind(result) == "exception"
        assert sorted(gate.left) == sorted(gate.entered) == ["a", "b"]
        assert [record.status for record in result.calls] == ["aborted", "aborted", "failed"]


class TestLimits:
    async def test_a_hot_loop_ends_at_the_compute_limit_and_the_next_run_works(
        self, children: ProcessRuntime, registry: Registry
    ) -> None:
        result = await run(
            children, registry, "print('before')\nwhile True:\n    pass", limits=Limits(compute_seconds=0.3)
        )
        assert kind(result) == "timeout"
        assert result.logs == ["before"]
        assert (await run(children, registry, "return 1")).value == 1

    async def test_a_pending_decoy_call_does_not_hide_a_hot_loop(
        self, children: ProcessRuntime, registry: Registry
    ) -> None:
        gated(registry)
        program = "import asyncio\nt = asyncio.create_task(tools.slow())\nawait asyncio.sleep(0)\nwhile True:\n    pass"
        result = await run(children, registry, program, limits=Limits(compute_seconds=0.3))
        assert kind(result) == "timeout"
        assert [record.status for record in result.calls] == ["aborted"]

    async def test_waiting_for_a_tool_costs_no_compute(self, children: ProcessRuntime, registry: Registry) -> None:
        async def nap(arguments: Any, ctx: Any) -> str:
            await anyio.sleep(0.6)
            return "rested"

        registry.register(Tool("nap", "Naps.", nap, parameters={"type": "object"}))
        result = await run(children, registry, "return await tools.nap()", limits=Limits(compute_seconds=0.4))
        assert result.value == "rested"

    async def test_the_wall_clock_ends_a_program_that_waits_forever(
        self, children: ProcessRuntime, registry: Registry
    ) -> None:
        started = time.monotonic()
        result = await run(
            children, registry, "import asyncio\nawait asyncio.Event().wait()", limits=Limits(wall_seconds=0.3)
        )
        assert kind(result) == "timeout"
        assert time.monotonic() - started < SOON

    async def test_the_wall_clock_stands_still_while_a_human_is_asked(
        self, children: ProcessRuntime, registry: Registry
    ) -> None:
        @registry.pre_execute
        async def ask(call: ToolCall, next: Any) -> Any:
            return Ask() if call.name == "add" else Allow()

        async def slow_human(request: Any) -> str:
            await anyio.sleep(0.8)
            return "allowed-once"

        result = await run(
            children, registry, "return await tools.add(a=1, b=2)", limits=Limits(wall_seconds=0.5), approver=slow_human
        )
        assert result.value == 3

    async def test_memory_has_an_end_and_the_host_lives_on(self, children: ProcessRuntime, registry: Registry) -> None:
        program = "x = []\nwhile True:\n    x.append('y' * 1_000_000 + str(len(x)))"
        result = await run(children, registry, program, limits=Limits(memory_bytes=64 * 1024 * 1024))
        assert kind(result) in ("worker-exit", "exception")
        assert (await run(children, registry, "return 1")).value == 1

    async def test_output_is_cut_at_the_byte_and_what_fits_is_kept(
        self, children: ProcessRuntime, registry: Registry
    ) -> None:
        result = await run(
            children, registry, "for i in range(20000):\n    print('x' * 1000)", limits=Limits(output_bytes=100_000)
        )
        assert kind(result) == "output-limit"
        assert "100000" in result.error.message  # type: ignore[union-attr]
        assert 90_000 < len("".join(result.logs)) < 100_000

    async def test_an_exact_fit_of_logs_and_value_passes(self, children: ProcessRuntime, registry: Registry) -> None:
        program = "print('a')\nreturn 'b'"  # ["a"] is 5 bytes, "b" is 3
        assert (await run(children, registry, program, limits=Limits(output_bytes=8))).ok
        result = await run(children, registry, program, limits=Limits(output_bytes=7))
        assert kind(result) == "output-limit"

    async def test_a_gather_cannot_outrun_the_call_limit(self, children: ProcessRuntime, registry: Registry) -> None:
        program = "import asyncio\nreturn await asyncio.gather(*[tools.add(a=i, b=1) for i in range(50)])"
        result = await run(children, registry, program, limits=Limits(max_calls=3))
        assert kind(result) == "exception"
        assert "3 tool calls" in result.text
        assert len(result.calls) == 3
        assert "add(a=0, b=1)" in result.text

    async def test_what_was_done_is_listed_whatever_the_end_was(
        self, children: ProcessRuntime, registry: Registry
    ) -> None:
        program = "await tools.add(a=1, b=2)\nwhile True:\n    pass"
        result = await run(children, registry, program, limits=Limits(compute_seconds=0.3))
        assert kind(result) == "timeout"
        assert [record.status for record in result.calls] == ["done"]
        assert "add(a=1, b=2): done" in result.text


class TestCancel:
    async def test_a_cancelled_run_stops_the_child_and_its_tools_at_once(
        self, children: ProcessRuntime, registry: Registry, log: RecordingLog
    ) -> None:
        gate = gated(registry)
        cancel = CancelSignal()
        times: list[float] = []

        async def stop() -> None:
            await gate.until(lambda: gate.active == 1)
            times.append(time.monotonic())
            cancel.cancel("stop")

        async with anyio.create_task_group() as group:
            group.start_soon(stop)
            result = await run(children, registry, "print('a')\nawait tools.slow(id='x')", cancel=cancel)
            times.append(time.monotonic())
        assert (kind(result), result.error.message) == ("abort", "stop")  # type: ignore[union-attr]
        assert result.logs == ["a"]
        assert gate.left == ["x"]
        assert times[1] - times[0] < 1.0
        assert [record.status for record in result.calls] == ["aborted"]
        assert log.of("code/run-end")[0]["status"] == "abort"

    async def test_a_program_cannot_swallow_a_cancel(self, children: ProcessRuntime, registry: Registry) -> None:
        gate = gated(registry)
        cancel = CancelSignal()

        async def stop() -> None:
            await gate.until(lambda: gate.active == 1)
            cancel.cancel()

        program = "while True:\n    try:\n        await tools.slow(id='a')\n    except BaseException:\n        pass"
        async with anyio.create_task_group() as group:
            group.start_soon(stop)
            result = await run(children, registry, program, cancel=cancel)
        assert kind(result) == "abort"
        assert len(gate.entered) == 1

    async def test_a_cancelled_caller_leaves_no_child_and_no_tool(
        self, children: ProcessRuntime, registry: Registry, log: RecordingLog
    ) -> None:
        gate = gated(registry)
        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as group:
                group.start_soon(run, children, registry, "await tools.slow(id='x')")
                await gate.until(lambda: gate.active == 1)
                group.cancel_scope.cancel()
        assert gate.left == ["x"]
        assert log.of("code/run-end")[0]["status"] == "abort"
        assert len(log.of("tool/code-dispatch")) == 1


class TestMany:
    async def test_runs_at_once_are_right_isolated_and_fair(self, children: ProcessRuntime) -> None:
        registry = Registry()

        async def whoami(arguments: Any, ctx: Any) -> str:
            return str(ctx.call.scope.name)

        registry.register(Tool("whoami", "Who.", whoami, parameters={"type": "object"}, concurrency_safe=True))
        results: dict[int, Any] = {}
        finished: list[int] = []

        async with CodeMode(registry, runtime=children) as code_mode:

            async def one(number: int) -> None:
                program = (
                    "import asyncio\nme = await tools.whoami()\nfor _ in range(4):\n"
                    "    assert set(await asyncio.gather(*[tools.whoami() for _ in range(5)])) == {me}\nreturn me"
                )
                result = await code_mode.run(program, scope=registry.scope(f"s{number}"))
                results[number] = result.value if result.ok else result.error
                finished.append(number)

            with anyio.fail_after(60):
                async with anyio.create_task_group() as group:
                    for number in range(30):
                        group.start_soon(one, number)
        assert results == {number: f"s{number}" for number in range(30)}

    async def test_programs_that_wait_hold_nothing_but_their_child(self, children: ProcessRuntime) -> None:
        registry = Registry()
        gate = gated(registry)
        echo(registry)
        async with CodeMode(registry, runtime=children) as code_mode:

            async def waits(number: int) -> None:
                assert (await code_mode.run(f"return await tools.slow(id='{number}')")).ok

            with anyio.fail_after(60):
                async with anyio.create_task_group() as group:
                    for number in range(20):
                        group.start_soon(waits, number)
                    await gate.until(lambda: gate.active == 20)
                    assert (await code_mode.run("return await tools.echo(value=1)")).value == 1
                    gate.let(*map(str, range(20)))


class TestTheGuards:
    async def test_a_program_reaches_only_what_its_scope_sees(
        self, children: ProcessRuntime, registry: Registry
    ) -> None:
        scope = registry.scope("agent")
        scope.restrict(deny=["add"])
        program = "return ['add' in tools, hasattr(tools, 'add'), sorted(dir(tools))]"
        result = await run(children, registry, program, scope=scope)
        assert result.value == [False, False, ["echo", "fail"]]

    async def test_fifty_calls_are_asked_about_one_by_one(self, children: ProcessRuntime, registry: Registry) -> None:
        @registry.pre_execute
        async def ask(call: ToolCall, next: Any) -> Any:
            return Ask() if call.name == "add" else Allow()

        approver = ScriptedApprover(["allowed-once"] * 3)
        program = (
            "sent = 0\nfor i in range(50):\n    try:\n        await tools.add(a=i, b=1)\n        sent += 1\n"
            "    except ToolCallError as e:\n        return [sent, str(e)]"
        )
        result = await run(children, registry, program, approver=approver)
        assert result.value[0] == 3
        assert len(approver.requests) == 4
        assert [record.status for record in result.calls] == ["done"] * 3 + ["denied"]


class TestSync:
    def test_a_script_runs_a_program_with_one_call(self, registry: Registry) -> None:
        result = run_sync(registry, "return await tools.add(a=1, b=2)", description="Add")
        assert result.value == 3

    def test_it_works_where_a_loop_is_running_already(self, registry: Registry) -> None:
        async def notebook() -> Any:
            return run_sync(registry, "return await tools.add(a=1, b=2)").value

        assert asyncio.run(notebook()) == 3

    def test_its_loop_can_be_that_of_asyncio(self, registry: Registry) -> None:
        @registry.tool
        async def nap() -> str:
            await asyncio.sleep(0)
            return "awake"

        async def notebook() -> Any:
            return run_sync(registry, "return await tools.nap()", backend="asyncio").value

        assert run_sync(registry, "return await tools.nap()", backend="asyncio").value == "awake"
        assert asyncio.run(notebook()) == "awake"

    def test_its_options_are_those_of_code_mode_and_run(self, registry: Registry, log: RecordingLog) -> None:
        own = RecordingLog()
        result = run_sync(registry, "return 1", events=own, limits=Limits(max_calls=2), call_id="mine")
        assert result.ok
        assert own.of("code/run-start")[0]["call_id"] == "mine"
        assert log.events == []


class TestCheck:
    PROGRAM = "print('ran')\nx = await tools.add(a='one')\nreturn x"

    @pytest.fixture(autouse=True)
    def _needs_the_checker(self) -> None:
        pytest.importorskip("ty")

    async def run(self, children: ProcessRuntime, registry: Registry, check: Any, program: str) -> RunResult:
        async with CodeMode(registry, runtime=children, check=check) as code_mode:
            return await code_mode.run(program)

    async def test_findings_are_notes(self, children: ProcessRuntime, registry: Registry) -> None:
        result = await self.run(children, registry, "note", self.PROGRAM)
        assert result.logs == ["ran"]
        assert any(note.startswith("line 2:") for note in result.notes)
        assert "line 2:" in result.text

    async def test_findings_stop_a_program_before_it_runs(self, children: ProcessRuntime, registry: Registry) -> None:
        result = await self.run(children, registry, "error", self.PROGRAM)
        assert (kind(result), result.logs, result.calls) == ("syntax", [], [])
        assert "line 2:" in result.text
        assert (await self.run(children, registry, "error", "return await tools.add(a=1, b=2)")).value == 3
