"""code-mode.md, "Limits": each ends the child for certain, within 100 ms, with a structured error."""

# ruff: noqa: E501 - a program is quoted in one line, beside what it must give

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from codemode import Ask, Limits, Registry

from .programs import opened, run


async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


async def ended(program: str, limits: Limits, *functions: Any) -> tuple[Any, float]:
    """The result and how long the run took, with the child ready before."""
    async with opened(*functions, limits=limits) as (cm, _, _):
        await cm.run("return 1")
        started = time.monotonic()
        result = await cm.run(program)
        return result, time.monotonic() - started


async def test_a_hot_loop_ends_at_compute_seconds() -> None:
    result, _ = await ended("while True:\n    pass", Limits(compute_seconds=0.5))
    assert result.error is not None
    assert result.error.kind == "timeout"
    assert "0.5" in result.error.message
    assert 0.5 <= result.usage.compute_seconds <= 0.6


async def test_a_pending_call_does_not_save_a_hot_loop() -> None:
    async def decoy() -> None:
        """Wait."""
        await anyio.sleep_forever()

    program = "import asyncio\nt = asyncio.create_task(tools.decoy())\nawait asyncio.sleep(0)\nwhile True:\n    pass"
    result, _ = await ended(program, Limits(compute_seconds=0.4), decoy)
    assert result.error.kind == "timeout"
    assert [call.status for call in result.calls] == ["aborted"]


async def test_waiting_costs_no_compute() -> None:
    async def slow() -> int:
        """Wait."""
        await anyio.sleep(0.8)
        return 1

    result, _ = await ended("return await tools.slow()", Limits(compute_seconds=0.4), slow)
    assert result.ok, result.text
    assert result.usage.compute_seconds < 0.4


async def test_an_idle_program_ends_at_wall_seconds_within_100_ms() -> None:
    result, took = await ended("import asyncio\nawait asyncio.Event().wait()", Limits(wall_seconds=0.6))
    assert result.error.kind == "timeout"
    assert "0.6" in result.error.message
    assert 0.6 <= took < 1.2  # 100 ms for the kill; the rest is for a machine that is busy with other tests
    assert 0.6 <= result.usage.wall_seconds < 1.2


async def test_waiting_for_a_tool_counts_on_the_wall() -> None:
    async def slow() -> int:
        """Wait."""
        await anyio.sleep_forever()
        return 1

    result, took = await ended("return await tools.slow()", Limits(wall_seconds=0.5), slow)
    assert result.error.kind == "timeout"
    assert [call.status for call in result.calls] == ["aborted"]
    assert took < 2


async def test_the_wall_pauses_while_a_human_is_asked() -> None:
    async def approver(request: Any) -> str:
        await anyio.sleep(1.2)
        return "allowed-once"

    registry = Registry(approver=approver)
    registry.tool(add)

    @registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        return Ask() if call.name == "add" else await next()

    result = await run("return await tools.add(1, 2)", registry=registry, limits=Limits(wall_seconds=1.0))
    assert result.ok, result.text


@pytest.mark.parametrize(
    "program",
    [
        "x = 'a' * (1 << 30)\nreturn len(x)",
        "x = []\nwhile True:\n    x.append('a' * 1000000 + str(len(x)))",
        "return len(list(range(10 ** 9)))",
    ],
)
async def test_memory_is_bounded_and_the_host_lives_on(program: str) -> None:
    async with opened(limits=Limits(memory_bytes=128 * 1024 * 1024)) as (cm, _, _):
        result = await cm.run(program)
        again = await cm.run("return 1")
    assert result.error is not None
    assert result.error.kind in {"worker-exit", "exception"}
    assert "memory" in result.text.lower()
    assert again.value == 1


async def test_too_many_calls_raise_in_the_program() -> None:
    program = "n = 0\ntry:\n    while True:\n        await tools.add(1, 2)\n        n += 1\nexcept ToolCallError as e:\n    return [n, e.message]"
    result = await run(program, add, limits=Limits(max_calls=5))
    assert result.value[0] == 5
    assert "5" in result.value[1]
    assert result.usage.calls == 5


async def test_the_output_ledger_is_kept_to_the_byte() -> None:
    program = "print('a')\nreturn 'b'"
    fits = await run(program, limits=Limits(output_bytes=8))
    over = await run(program, limits=Limits(output_bytes=7))
    assert fits.ok, fits.text
    assert over.error is not None
    assert over.error.kind == "output-limit"


async def test_what_fits_of_the_output_is_kept() -> None:
    result = await run("for n in range(100):\n    print('line', n)", limits=Limits(output_bytes=300))
    assert result.error is not None
    assert result.error.kind == "output-limit"
    assert "300" in result.error.message
    assert result.logs[0] == "line 0"
    assert len(result.logs) > 10
    kept = "\n".join(result.logs)
    assert "\n".join(f"line {n}" for n in range(100)).startswith(kept)


async def test_one_giant_line_is_kept_in_part() -> None:
    result = await run("print('é' * 100000)", limits=Limits(output_bytes=1000))
    assert result.error is not None
    assert result.error.kind == "output-limit"
    assert 200 < len(result.logs[0]) < 500
    assert set(result.logs[0]) == {"é"}


async def test_a_giant_exception_is_an_output_limit() -> None:
    result = await run("raise ValueError('x' * 1000000)", limits=Limits(output_bytes=1000))
    assert result.error is not None
    assert result.error.kind == "output-limit"


async def test_values_of_tools_are_not_charged_to_the_ledger() -> None:
    async def big() -> str:
        """Big."""
        return "x" * 1_000_000

    result = await run("return len(await tools.big())", big, limits=Limits(output_bytes=100))
    assert result.value == 1_000_000


async def test_a_source_that_is_too_long_is_kind_syntax() -> None:
    result = await run("#" + "x" * 2000, limits=Limits(source_bytes=1000))
    assert result.error is not None
    assert result.error.kind == "syntax"
    assert "1000" in result.error.message or "1,000" in result.error.message


@pytest.mark.parametrize(
    "program",
    [
        "(" * 5000 + ")" * 5000,
        "-" * 100_000 + "1",
        "x = " + "[" * 300 + "]" * 300,
        "a" + ".a" * 60_000,
        "\x00",
        "return '\ud800'",
        "1 " + "+ 1 " * 50_000,
        "\n".join(" " * n + "if True:" for n in range(110)),
        "try:\n pass\nfinally:\n " + "try:\n  pass\n finally:\n  pass",
        "f'" + "{1}" * 10_000 + "'",
        "not " * 50_000 + "1",
        "lambda: " * 20_000 + "1",
    ],
)
async def test_nothing_about_a_program_crashes_the_host(program: str) -> None:
    async with opened() as (cm, _, _):
        with anyio.fail_after(30):
            result = await cm.run(program)
        assert (await cm.run("return 1")).value == 1
    assert result.ok or result.error is not None


async def test_endless_recursion_is_a_recursion_error() -> None:
    result = await run("def f():\n    return f()\nf()")
    assert result.error is not None
    assert result.error.type == "RecursionError"


async def test_max_parallel_governs_the_program() -> None:
    running, most = 0, 0
    registry = Registry(max_parallel=10)

    @registry.tool(concurrency_safe=True)
    async def safe() -> None:
        """Overlap."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(0.02)
        running -= 1

    program = "import asyncio\nawait asyncio.gather(*[tools.safe() for _ in range(8)])"
    result = await run(program, registry=registry, limits=Limits(max_parallel=3))
    assert result.ok, result.text
    assert most == 3


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="counts processes through /proc")
async def test_nothing_is_left_behind() -> None:
    def children() -> set[str]:
        own = os.getpid()
        found = set()
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == own:
                found.add(stat.parent.name)
        return found

    await run("return 1")
    descriptors, processes = len(os.listdir("/proc/self/fd")), children()
    for _ in range(3):
        await run("return 1")
        await run("while True:\n    pass", limits=Limits(wall_seconds=0.2))
    assert children() - processes == set()
    assert len(os.listdir("/proc/self/fd")) <= descriptors
