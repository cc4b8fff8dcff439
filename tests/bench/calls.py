"""Sub-calls: a program calls a tool, through the whole pipeline, with a log; and where the time of one goes."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

import anyio

from codemode import Allow, EventLog, Limits, Registry, Tool
from tests.bench import pipeline
from tests.bench.measuring import BASELINE, OURS, Row, Sample, interleaved
from tests.bench.pipe import RawPipe
from tests.bench.settings import Settings, adding, log_of

LIMITS = Limits(max_calls=10_000_000, max_parallel=100, wall_seconds=3600, compute_seconds=3600, memory_bytes=4 << 30)

SEQUENTIAL = """
import time
total = 0
began = time.perf_counter()
for i in range({count}):
    total = await tools.add(a=total, b=1)
spent = time.perf_counter() - began
assert total == {count}
return spent
"""
GATHERED = """
import asyncio, time
began = time.perf_counter()
found = await asyncio.gather(*[tools.add(a=i, b=1) for i in range({count})])
spent = time.perf_counter() - began
assert found == list(range(1, {count} + 1))
return spent
"""
WAITS = """
import asyncio, time
began = time.perf_counter()
await asyncio.gather(*[tools.rest() for i in range(100)])
return time.perf_counter() - began
"""


def with_hooks(registry: Registry) -> Registry:
    """One hook of each kind that only says yes."""

    @registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        return Allow()

    @registry.around_execute
    async def wrapper(call: Any, next: Any) -> Any:
        return await next()

    @registry.post_execute
    async def review(call: Any, result: Any, next: Any) -> Any:
        return await next()

    registry.guard(lambda call: None)
    return registry


def sequential(settings: Settings) -> list[Row]:
    """Microseconds of one sub-call among many, one after the other."""
    count = settings.count(1000, 300)
    with RawPipe() as raw:
        samples = _ours(settings, SEQUENTIAL, count)
        samples.append(lambda: {"raw pipe: JSON there and back": [raw.calls(count) / count * 1e6]})
        samples.append(lambda: {BASELINE: [_plain_calls(count)]})
        samples += [lambda peer=peer: {peer.name: [_peer_calls(peer, count)]} for peer in settings.peers]
        readings = interleaved("sub-call, one after the other", "us", samples, settings.repeats)
    return readings.rows(target=200.0, notes={OURS: "whole pipeline, JSONL log"})


def gathered(settings: Settings) -> list[Row]:
    """Microseconds of one sub-call among a thousand under one gather."""
    count = settings.count(1000, 300)
    samples = _ours(settings, GATHERED, count)
    samples.append(lambda: {BASELINE: [asyncio.run(_plain_gather(count)) / count * 1e6]})
    readings = interleaved("sub-call, 1,000 gathered", "us", samples, settings.repeats)
    return readings.rows(target=80.0, notes={OURS: "whole pipeline, JSONL log"})


def waits(settings: Settings) -> list[Row]:
    """Milliseconds of a hundred parallel calls of 10 ms each, guarded."""

    async def rest(arguments: Any, ctx: Any) -> None:
        await anyio.sleep(0.010)

    async def ours() -> list[float]:
        async with log_of("memory") as log:
            registry = with_hooks(Registry(events=log))
            registry.register(Tool("rest", "Rest.", rest, parameters={"type": "object"}, concurrency_safe=True))
            async with settings.code_mode(registry, limits=LIMITS) as code_mode:
                return [await _value(code_mode, WAITS) * 1000 for _ in range(3)]

    async def plain() -> float:
        began = time.perf_counter()
        await asyncio.gather(*[asyncio.sleep(0.010) for _ in range(100)])
        return (time.perf_counter() - began) * 1000

    samples: list[Sample] = [lambda: {OURS: settings.drive(ours)}, lambda: {BASELINE: [asyncio.run(plain())]}]
    return interleaved("100 parallel waits of 10 ms, guarded", "ms", samples, settings.repeats).rows(target=16.0)


def stages(settings: Settings) -> list[Row]:
    """Where the time of one sequential sub-call goes; and the pipeline alone, from `tests.bench.pipeline`."""
    count = settings.count(1000, 300)

    def sample() -> dict[str, list[float]]:
        return settings.drive(_stages_of(settings, count))

    readings = interleaved("stages of a sub-call, JSONL log", "us", [sample], settings.repeats)
    rows = readings.rows()
    if not settings.quick:
        for name, figure, unit in pipeline.calls((settings.backend,)):
            rows.append(Row("the pipeline alone (CPU, best)", name, unit, figure, figure, figure, pipeline.REPEAT))
    return rows


def _stages_of(settings: Settings, count: int) -> Any:
    async def main() -> dict[str, list[float]]:
        appends: list[float] = []
        async with log_of("file") as log:
            timed = _TimedLog(log, appends)
            async with settings.code_mode(adding(timed), limits=LIMITS) as code_mode:
                timings: list[dict[str, float]] = []
                timed.timings = timings
                appends.clear()
                before = time.process_time()
                result = await code_mode.run(SEQUENTIAL.format(count=count))
                host = (time.process_time() - before) / count * 1e6
                assert result.ok, result.text
        found = {
            name: [statistics.fmean(timing[name] for timing in timings) * 1000]
            for name in ("queued", "before", "body", "after")
        }
        found["two appends to the log (in before and after)"] = [sum(appends) / count * 1e6]
        found["whole call, as the program sees it"] = [float(result.value) / count * 1e6]
        found["CPU of the host"] = [host]
        found["CPU of the child"] = [result.usage.compute_seconds / count * 1e6]
        return found

    return main


class _TimedLog:
    """A log around a log, that notes how long appends take and what the records say of stages."""

    def __init__(self, log: EventLog, spent: list[float]) -> None:
        self._log, self._spent = log, spent
        self.timings: list[dict[str, float]] = []

    async def append(self, type: str, data: Any) -> Any:
        began = time.perf_counter()
        event = await self._log.append(type, data)
        if type.startswith("tool/code-dispatch"):
            self._spent.append(time.perf_counter() - began)
            if "timing" in data:
                self.timings.append(data["timing"])
        return event


def _ours(settings: Settings, program: str, count: int) -> list[Sample]:
    kinds = (
        (OURS, "file", False),
        (f"{OURS}, memory log", "memory", False),
        (f"{OURS}, a hook of each kind", "file", True),
    )

    def sample(name: str, log: str, hooks: bool) -> dict[str, list[float]]:
        async def main() -> dict[str, list[float]]:
            async with log_of(log) as events:
                registry = adding(events)
                if hooks:
                    with_hooks(registry)
                async with settings.code_mode(registry, limits=LIMITS) as code_mode:
                    return {name: [await _value(code_mode, program.format(count=count)) / count * 1e6]}

        return settings.drive(main)

    return [lambda kind=kind: sample(*kind) for kind in kinds]


async def _value(code_mode: Any, program: str) -> float:
    result = await code_mode.run(program)
    assert result.ok, result.text
    return float(result.value)


def _plain_calls(count: int) -> float:
    async def add(a: int, b: int) -> int:
        return a + b

    async def main() -> float:
        total = 0
        began = time.perf_counter()
        for _ in range(count):
            total = await add(a=total, b=1)
        return (time.perf_counter() - began) / count * 1e6

    return asyncio.run(main())


async def _plain_gather(count: int) -> float:
    async def add(a: int, b: int) -> int:
        return a + b

    began = time.perf_counter()
    await asyncio.gather(*[add(a=i, b=1) for i in range(count)])
    return time.perf_counter() - began


def _peer_calls(peer: Any, count: int) -> float:
    began = time.perf_counter()
    peer.calls(count)
    return (time.perf_counter() - began) / count * 1e6
