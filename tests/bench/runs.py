"""A trivial program in a warm runtime: a fresh sealed child each time for codemode, whatever is warm for a peer."""

from __future__ import annotations

import time
from typing import Any

import anyio

from codemode import CodeMode
from tests.bench.measuring import BASELINE, OURS, Row, Sample, interleaved
from tests.bench.peers import Peer
from tests.bench.pipe import fork_and_wait
from tests.bench.settings import Settings, adding

_PROGRAM = "1 + 1"
_PAUSE = 0.005
_AT_ONCE = 8


def paused(settings: Settings) -> list[Row]:
    """Milliseconds of one run, with 5 ms of rest before each: what a user of a program now and then waits for."""
    count = settings.count(120, 40)

    async def ours() -> list[float]:
        async with settings.code_mode(adding()) as code_mode:
            found: list[float] = []
            for _ in range(count):
                await anyio.sleep(_PAUSE)
                found.append(await _one(code_mode))
            return found

    return _rows(settings, "trivial program, warm, 5 ms pauses", ours, count, pause=_PAUSE, target=0.8, target_p99=3.0)


def back_to_back(settings: Settings) -> list[Row]:
    """Milliseconds of one run, the next at once."""
    count = settings.count(120, 40)

    async def ours() -> list[float]:
        async with settings.code_mode(adding()) as code_mode:
            began = time.perf_counter()
            for _ in range(count):
                await _one(code_mode)
            return [(time.perf_counter() - began) / count * 1000]

    return _rows(settings, "trivial program, back to back", ours, count, pause=0.0, target=2.0)


def at_once(settings: Settings) -> list[Row]:
    """Runs a second with eight under way all the time."""
    count = settings.count(400, 80)

    async def ours() -> list[float]:
        async with settings.code_mode(adding()) as code_mode:
            left = count

            async def lane() -> None:
                nonlocal left
                while left > 0:
                    left -= 1
                    await _one(code_mode)

            began = time.perf_counter()
            async with anyio.create_task_group() as lanes:
                for _ in range(_AT_ONCE):
                    lanes.start_soon(lane)
            return [count / (time.perf_counter() - began)]

    samples: list[Sample] = [lambda: {OURS: settings.drive(ours)}]
    readings = interleaved("trivial program, 8 at once", "runs/s", samples, settings.repeats)
    return readings.rows(target=600.0, at_least=True)


async def _one(code_mode: CodeMode) -> float:
    began = time.perf_counter()
    result = await code_mode.run(_PROGRAM)
    spent = time.perf_counter() - began
    assert result.value == 2, result.text
    return spent * 1000


def _rows(
    settings: Settings,
    measure: str,
    ours: Any,
    count: int,
    *,
    pause: float,
    target: float,
    target_p99: float | None = None,
) -> list[Row]:
    samples: list[Sample] = [
        lambda: {OURS: settings.drive(ours)},
        lambda: {BASELINE: _each(lambda: eval(compile(_PROGRAM, "<program>", "eval"), {}), count, pause)},
        lambda: {"fork, leave, wait (no interpreter state)": _each(None, count, pause)},
        *(lambda peer=peer: {peer.name: _each(lambda: peer.run(_PROGRAM), count, pause)} for peer in settings.peers),
    ]
    return interleaved(measure, "ms", samples, settings.repeats).rows(target=target, target_p99=target_p99)


def _each(run: Any, count: int, pause: float) -> list[float]:
    found: list[float] = []
    for _ in range(count):
        if pause:
            time.sleep(pause)
        if run is None:
            found.append(fork_and_wait() * 1000)
            continue
        began = time.perf_counter()
        assert run() == 2
        found.append((time.perf_counter() - began) * 1000)
    return found


__all__ = ["Peer", "at_once", "back_to_back", "paused"]
