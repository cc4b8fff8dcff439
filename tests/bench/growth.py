"""Growth: what must stay flat over many runs, and what must grow with the work and no faster."""

from __future__ import annotations

import gc
import os
import statistics
import time
from pathlib import Path
from typing import Any

from codemode import CodeMode, MemoryEventLog, Registry, Tool
from tests.bench.calls import GATHERED, LIMITS, SEQUENTIAL
from tests.bench.measuring import OURS, Row
from tests.bench.settings import INTEGER, Settings, adding, log_of

_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20


def resident() -> float:
    """Megabytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_MIB


def descriptors() -> int:
    """Open ones of this process."""
    return len(os.listdir("/proc/self/fd"))


def slope(settings: Settings) -> list[Row]:
    """2,000 runs: the host's memory, its descriptors and the time of a run, first and last fifth."""
    runs = settings.count(2000, 300)
    fifth = runs // 5
    times: list[float] = []

    async def main() -> tuple[float, float, int, int]:
        async with settings.code_mode(adding()) as code_mode:
            for _ in range(fifth):
                await _timed(code_mode)
            gc.collect()
            memory, opened = resident(), descriptors()
            for _ in range(runs):
                times.append(await _timed(code_mode))
            gc.collect()
            return memory, resident(), opened, descriptors()

    memory, memory_after, opened, opened_after = settings.drive(main)
    first, last = statistics.median(times[:fifth]), statistics.median(times[-fifth:])
    title = f"slope over {runs:,} runs"

    def row(subject: str, unit: str, figure: float, target: float | None = None, note: str = "") -> Row:
        return Row(title, subject, unit, figure, figure, figure, runs, target=target, note=note)

    return [
        row("host memory, growth", "MB", memory_after - memory, 1.0, "a megabyte is the noise of the allocator"),
        row("open descriptors, growth", "", opened_after - opened, 3.0, "a waiting child may be on its way"),
        row("time of a run, last fifth to first", "x", last / first, 1.15),
    ]


async def _timed(code_mode: CodeMode) -> float:
    began = time.perf_counter()
    result = await code_mode.run("return await tools.add(a=1, b=2)")
    assert result.value == 3, result.text
    return (time.perf_counter() - began) * 1000


def calls(settings: Settings) -> list[Row]:
    """Microseconds of one of 10, 1,000 and 100,000 sub-calls in one program (less the run itself)."""
    rows: list[Row] = []
    for form, program in (("one after the other", SEQUENTIAL), ("gathered", GATHERED)):
        for count in (10, 1_000, settings.count(100_000, 10_000)):
            figures = [settings.drive(_calls(settings, program, count)) for _ in range(1 if count > 10_000 else 3)]
            figure = statistics.median(figures)
            rows.append(
                Row(
                    "growth with the number of calls",
                    f"{count:,} {form}",
                    "us/call",
                    figure,
                    max(figures),
                    min(figures),
                    1,
                )
            )
    return rows


def _calls(settings: Settings, program: str, count: int) -> Any:
    async def main() -> float:
        async with log_of("file") as log, settings.code_mode(adding(log), limits=LIMITS) as code_mode:
            result = await code_mode.run(program.format(count=count))
            assert result.ok, result.text
            assert isinstance(result.value, float)
            return result.value / count * 1e6

    return main


def many_tools(n: int) -> Registry:
    """A registry with n tools of three parameters each."""

    async def body(arguments: Any, ctx: Any) -> int:
        return 3

    registry = Registry(events=MemoryEventLog())
    text = {"type": "string", "description": "A text."}
    for number in range(n):
        properties = {"query": text, "limit": INTEGER, f"option_{number}": {"type": "array", "items": text}}
        schema = {"type": "object", "properties": properties, "required": ["query"]}
        name = "add" if number == 0 else f"tool_{number}"
        parameters = schema if number else {"type": "object", "properties": {"a": INTEGER, "b": INTEGER}}
        registry.register(Tool(name, f"Does the thing number {number}.", body, parameters=parameters, output=INTEGER))
    return registry


def tools(settings: Settings) -> list[Row]:
    """Milliseconds of a run with one call, over 10 and 1,000 visible tools."""
    rows: list[Row] = []
    for count in (10, 1_000):

        async def main(count: int = count) -> list[float]:
            async with settings.code_mode(many_tools(count)) as code_mode:
                return [await _timed(code_mode) for _ in range(settings.count(50, 15))]

        times = settings.drive(main)
        median = statistics.median(times)
        rows.append(
            Row(
                "growth with the number of tools",
                f"{count:,} tools",
                "ms/run",
                median,
                max(times),
                min(times),
                len(times),
            )
        )
    return rows


__all__ = ["OURS", "calls", "descriptors", "many_tools", "resident", "slope", "tools"]
