"""Big values: a tool's value crosses to the program, which reads all of it; and how that grows with size."""

from __future__ import annotations

import json
import time
from typing import Any

from codemode import CodeMode, Registry, Tool
from tests.bench.calls import LIMITS
from tests.bench.measuring import OURS, Row, Sample, interleaved
from tests.bench.pipe import RawPipe
from tests.bench.settings import Settings, log_of

RAW = "raw pipe and json"
_ROWS_OF_11_7_MB = 130_000
_FETCH = "rows = await tools.fetch(count={count})\nreturn sum(row['n'] for row in rows)"


def rows_of(count: int) -> list[dict[str, Any]]:
    """Ordinary records: about 90 bytes of JSON each."""
    return [
        {"n": n, "name": f"record {n}", "tags": ["alpha", "beta"], "score": n / 7, "open": n % 2 == 0}
        for n in range(count)
    ]


def big(settings: Settings) -> list[Row]:
    """Milliseconds until an 11.7 MB value was received and summed."""
    rows, found = _receive(settings, settings.count(_ROWS_OF_11_7_MB, 13_000), settings.count(5, 3))
    ours, raw = found
    ratio = ours / raw
    rows.append(Row("big value, to a raw pipe", OURS, "x raw pipe", ratio, ratio, ratio, 1, target=1.3))
    return rows


def sizes(settings: Settings) -> list[Row]:
    """Nanoseconds a byte, from 1 KB to 50 MB: growth must be that of the size."""
    rows: list[Row] = []
    for count in (settings.count(1, 0) and (11, 111, 1_111, 11_111, 111_111, 555_555)) or (11, 1_111, 11_111):
        found, (ours, raw) = _receive(settings, count, 3)
        size = len(json.dumps(rows_of(count), separators=(",", ":")))
        del found
        rows.append(
            Row("growth with the size of a value", f"{size:,} bytes", "ns/byte", ours * 1e6 / size, 0, 0, 3, ours / raw)
        )
    return rows


def _receive(settings: Settings, count: int, repeats: int) -> tuple[list[Row], tuple[float, float]]:
    value = rows_of(count)
    size = len(json.dumps(value, separators=(",", ":")))
    with RawPipe() as raw:
        peers = settings.peers if count <= _ROWS_OF_11_7_MB else ()
        samples: list[Sample] = [
            lambda: {OURS: [settings.drive(_ours(settings, value))]},
            lambda: {RAW: [raw.receive(value) * 1000]},
            *(lambda peer=peer: {peer.name: [_peer(peer, value)]} for peer in peers),
        ]
        readings = interleaved(f"a value of {size / 1e6:.1f} MB received and summed", "ms", samples, repeats)
    rows = readings.rows(baseline=RAW)
    medians = {row.subject: row.median for row in rows}
    return rows, (medians[OURS], medians[RAW])


def _ours(settings: Settings, value: list[dict[str, Any]]) -> Any:
    async def fetch(arguments: Any, ctx: Any) -> Any:
        return value

    async def main() -> float:
        async with log_of("memory") as log:
            registry = Registry(events=log)
            registry.register(Tool("fetch", "Fetch.", fetch, parameters={"type": "object"}))
            async with settings.code_mode(registry, limits=LIMITS) as code_mode:
                return await _timed(code_mode, len(value))

    return main


async def _timed(code_mode: CodeMode, count: int) -> float:
    began = time.perf_counter()
    result = await code_mode.run(_FETCH.format(count=count))
    spent = (time.perf_counter() - began) * 1000
    assert result.value == count * (count - 1) // 2, result.text
    return spent


def _peer(peer: Any, value: list[dict[str, Any]]) -> float:
    began = time.perf_counter()
    total = peer.receive(value)
    spent = (time.perf_counter() - began) * 1000
    assert total == len(value) * (len(value) - 1) // 2
    return spent
