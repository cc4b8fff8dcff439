"""Limits and deaths: each ends the run in time, with its own structured error, and the next program runs."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from codemode_bridge import (
    Binding,
    CodeRunRequest,
    CodeRunResult,
    Limits,
    PauseClock,
    ProcessRuntime,
    RunError,
    run_unrestricted,
)
from codemode_bridge._zygotes import HOUSE
from codemode_registry import CancelSignal

MIB = 1024 * 1024
# A limit is kept to within 100 ms on an idle machine; this machine may be shared with other tests.
SLACK = 3.0


def error_of(result: CodeRunResult) -> RunError:
    assert result.error is not None, result
    return result.error


def lives(pid: int) -> bool:
    """Neither gone nor a zombie: a zombie has closed its descriptors."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children_of(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def still_works(runtime: ProcessRuntime) -> None:
    assert (await runtime.run(CodeRunRequest("return 'works'"))).value == "works"


async def test_compute_is_metered_while_a_decoy_call_is_pending(runtime: ProcessRuntime) -> None:
    async def decoy(_: dict[str, Any]) -> None:
        await anyio.sleep_forever()

    program = (
        "import asyncio\nasyncio.create_task(tools.decoy())\nawait asyncio.sleep(0)\nprint('spins')\nwhile True: pass"
    )
    begun = time.monotonic()
    request = CodeRunRequest(program, {"decoy": Binding("decoy", (), decoy)}, Limits(compute_seconds=0.2))
    result = await runtime.run(request)
    assert error_of(result).kind == "timeout"
    assert "compute_seconds" in error_of(result).message
    assert "0.2 s" in error_of(result).message
    assert result.logs == ("spins",)
    assert result.usage is not None
    assert 0.2 <= result.usage.compute_seconds < 0.2 + SLACK
    assert time.monotonic() - begun < 5
    await still_works(runtime)


async def test_waiting_on_a_slow_call_costs_no_compute(runtime: ProcessRuntime) -> None:
    async def slow(_: dict[str, Any]) -> int:
        await anyio.sleep(0.5)
        return 7

    request = CodeRunRequest(
        "return await tools.slow()", {"slow": Binding("slow", (), slow)}, Limits(compute_seconds=0.3)
    )
    result = await runtime.run(request)
    assert result.value == 7
    assert result.usage is not None
    assert result.usage.compute_seconds < 0.3
    assert result.usage.wall_seconds >= 0.5


async def test_the_wall_clock_ends_a_program_that_waits_for_ever(runtime: ProcessRuntime) -> None:
    program = "import asyncio\nprint('waits')\nawait asyncio.Event().wait()"
    result = await runtime.run(CodeRunRequest(program, limits=Limits(wall_seconds=0.2)))
    assert error_of(result).kind == "timeout"
    assert "wall_seconds" in error_of(result).message
    assert result.logs == ("waits",)
    assert result.usage is not None
    assert 0.2 <= result.usage.wall_seconds < 0.2 + SLACK


async def test_the_wall_clock_stands_still_while_a_human_is_asked(runtime: ProcessRuntime) -> None:
    pause = PauseClock()

    async def ask(_: dict[str, Any]) -> str:
        with pause.hold():
            await anyio.sleep(0.6)
        return "yes"

    limits = Limits(wall_seconds=0.4)
    request = CodeRunRequest("return await tools.ask()", {"ask": Binding("ask", (), ask)}, limits, pause=pause)
    assert (await runtime.run(request)).value == "yes"
    assert 0.5 < pause.paused() < 0.6 + SLACK
    program = "answer = await tools.ask()\nprint(answer)\nimport asyncio\nawait asyncio.sleep(60)"
    result = await runtime.run(CodeRunRequest(program, request.bindings, limits, pause=PauseClock()))
    assert error_of(result).kind == "timeout"


@pytest.mark.parametrize(
    "program", ["x = bytearray(10**10)", "x = []\nwhile True:\n    x.append('y' * 1_000_000 + str(len(x)))"]
)
async def test_memory_ends_the_run_and_nothing_else(runtime: ProcessRuntime, program: str) -> None:
    limits = Limits(memory_bytes=64 * MIB)
    result = await runtime.run(CodeRunRequest("print('eats')\n" + program, limits=limits))
    assert error_of(result).kind == "worker-exit"
    assert "out of memory" in error_of(result).message
    assert "64 MiB (memory_bytes)" in error_of(result).message
    assert error_of(result).type == "MemoryError"
    assert result.logs == ("eats",)
    await still_works(runtime)


async def test_a_memory_error_that_the_program_catches_is_its_own_business(runtime: ProcessRuntime) -> None:
    program = "try:\n    x = bytearray(10**10)\nexcept MemoryError:\n    return 'less then'"
    assert (await runtime.run(CodeRunRequest(program))).value == "less then"


async def test_a_memory_error_that_the_program_raises_is_an_exception(runtime: ProcessRuntime) -> None:
    error = error_of(await runtime.run(CodeRunRequest("raise MemoryError('mine')")))
    assert (error.kind, error.type) == ("exception", "MemoryError")


async def test_a_flood_of_output_is_kept_to_the_byte(runtime: ProcessRuntime) -> None:
    limits = Limits(output_bytes=1000)
    result = await runtime.run(CodeRunRequest("while True:\n    print('0123456789')", limits=limits))
    assert error_of(result).kind == "output-limit"
    assert "1000 bytes" in error_of(result).message
    size = len(json.dumps(list(result.logs), separators=(",", ":"))) + len(json.dumps(error_of(result).message))
    assert 1000 - 13 <= size <= 1000
    assert set(result.logs[:-1]) == {"0123456789"}


async def test_a_huge_exception_text_is_an_output_limit(runtime: ProcessRuntime) -> None:
    result = await runtime.run(CodeRunRequest("raise ValueError('x' * 5000)", limits=Limits(output_bytes=1000)))
    assert error_of(result).kind == "output-limit"


async def test_a_source_that_is_too_long_never_meets_a_child(runtime: ProcessRuntime) -> None:
    result = await runtime.run(CodeRunRequest("x = 1\n" * 100, limits=Limits(source_bytes=599)))
    assert error_of(result).kind == "syntax"
    assert "source_bytes" in error_of(result).message


async def test_a_program_can_be_checked_without_being_run(runtime: ProcessRuntime) -> None:
    clean = await runtime.run(CodeRunRequest("print('must not run')\nreturn 1", check_only=True))
    assert (clean.error, clean.refusals, clean.logs, clean.has_value) == (None, (), (), False)
    refused = await runtime.run(CodeRunRequest("x = 1\neval('2')\nopen('f')", check_only=True))
    assert [line for line, _, _ in refused.refusals] == [2, 3]


DEATHS = [
    ("import os; os._exit(7)", "exited with code 7 before completing", None),
    ("import ctypes\nctypes.string_at(0)", "SIGSEGV", 2),
    ("\nimport os; os.abort()", "SIGABRT", 2),
    ("import os; os.fork()", "SIGSYS", None),
    ("import os; os.close(3)", "exited with code 0|closed its bridge", None),
    ("import ctypes\n\n[ctypes.string_at(0) for _ in range(2)]", "SIGSEGV", 3),
    ("import os, time; os.write(3, b'Fatal Python error: forged'); time.sleep(60)", "SIGKILL", None),
]


@pytest.mark.parametrize(("code", "message", "line"), DEATHS)
async def test_a_death_is_reported_with_what_is_known(
    runtime: ProcessRuntime, code: str, message: str, line: int | None
) -> None:
    result = await run_unrestricted(
        "print('last words')\n" + code, runtime=runtime, limits=Limits(memory_bytes=64 * MIB)
    )
    error = error_of(result)
    assert error.kind == "worker-exit"
    assert re.search(message, error.message), error.message
    if line is not None:
        assert error.line == line + 1
    assert result.logs == ("last words",)
    assert result.usage is not None
    assert result.usage.peak_memory_bytes > MIB
    await still_works(runtime)


async def test_an_abort_in_the_middle_of_a_loop_keeps_logs_and_reason(runtime: ProcessRuntime) -> None:
    cancel = CancelSignal()
    request = CodeRunRequest(
        "print('on')\nwhile True: pass", cancel=cancel, on_log=lambda _: cancel.cancel("the user went away")
    )
    result = await runtime.run(request)
    assert (error_of(result).kind, error_of(result).message) == ("abort", "the user went away")
    assert result.logs == ("on",)


async def test_cancelling_the_caller_ends_child_and_calls(runtime: ProcessRuntime) -> None:
    begun, ended = anyio.Event(), anyio.Event()

    async def wait(_: dict[str, Any]) -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    request = CodeRunRequest("await tools.wait()", {"wait": Binding("wait", (), wait)})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.run, request)
        await begun.wait()
        tasks.cancel_scope.cancel()
    assert ended.is_set()
    await still_works(runtime)


async def test_closing_the_runtime_aborts_what_runs() -> None:
    async with ProcessRuntime() as runtime:
        results: list[CodeRunResult] = []
        begun = anyio.Event()

        async def run() -> None:
            request = CodeRunRequest("print('on')\nwhile True: pass", on_log=lambda _: begun.set())
            results.append(await runtime.run(request))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await begun.wait()
            await runtime.aclose()
            assert [error_of(one).kind for one in results] == ["abort"]


async def test_a_child_killed_from_outside_is_a_worker_exit(runtime: ProcessRuntime) -> None:
    shot: list[int] = []

    async def shoot(_: dict[str, Any]) -> None:
        zygote = HOUSE._current
        assert zygote is not None
        # The zygote's children are the run and those that wait for one.
        shot.extend(children_of(zygote.pid))
        for pid in shot:
            os.kill(pid, signal.SIGKILL)
        await anyio.sleep_forever()

    result = await runtime.run(CodeRunRequest("await tools.shoot()", {"shoot": Binding("shoot", (), shoot)}))
    assert error_of(result).kind == "worker-exit"
    assert "SIGKILL" in error_of(result).message
    with anyio.fail_after(10):
        while any(map(lives, shot)):  # noqa: ASYNC110 - another process is waited for
            await anyio.sleep(0.001)
    await still_works(runtime)


@pytest.mark.parametrize("raised", ["SystemExit(3)", "KeyboardInterrupt()"])
async def test_an_exit_inside_a_task_ends_that_task_and_not_the_child(runtime: ProcessRuntime, raised: str) -> None:
    task = f"import asyncio\nasync def f(): raise {raised}\n"
    caught = "try: await asyncio.create_task(f())\nexcept BaseException as e: return type(e).__name__"
    assert (await runtime.run(CodeRunRequest(task + caught, {}))).value == raised.partition("(")[0]
    error = error_of(await runtime.run(CodeRunRequest(task + "await asyncio.gather(f(), asyncio.sleep(9))", {})))
    assert (error.kind, error.type, error.line) == ("exception", raised.partition("(")[0], 2)
    callback = (
        "t = asyncio.create_task(asyncio.sleep(0))\ndef done(t): raise SystemExit(3)\nt.add_done_callback(done)\n"
    )
    after = "import asyncio\n" + callback + "await t\nawait asyncio.sleep(0)\nreturn 'after'"
    assert (await runtime.run(CodeRunRequest(after, {}))).value == "after"
