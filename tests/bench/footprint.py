"""Memory: of the host, the zygote, and a child that waits for its program."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import anyio

from codemode import ProcessRuntime
from codemode_bridge import _zygotes
from tests.bench.measuring import OURS, Row
from tests.bench.settings import Settings, adding

_KIB_A_MIB = 1024


def memory(settings: Settings) -> list[Row]:
    """Megabytes, proportional set size (shared pages are divided among those who share them) and private ones."""
    rows: list[Row] = []

    async def main() -> None:
        async with ProcessRuntime(warm=8) as runtime, settings.code_mode(adding()) as code_mode:
            await code_mode.run("1")
            runtime._pool.refill()
            zygote = _zygotes.HOUSE.zygote().pid
            children = await _waiting(zygote, 8)
            rows.extend(_of("a waiting child", children, target=3.0))
            rows.extend(_of("the zygote", [zygote]))
            rows.extend(_of("the host", [os.getpid()]))

    settings.drive(main)
    return rows


async def _waiting(zygote: int, count: int) -> list[int]:
    """The children of the zygote, once there are so many and none of them runs any more."""
    before: dict[int, float] = {}
    with anyio.move_on_after(10):
        while True:
            now = _cpu_of_children(zygote)
            if len(now) >= count and now == before:
                return list(now)
            before = now
            await anyio.sleep(0.2)
    raise RuntimeError(f"there are no {count} waiting children")


def _cpu_of_children(zygote: int) -> dict[int, float]:
    found: dict[int, float] = {}
    for pid in map(int, Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()):
        with contextlib.suppress(OSError):  # It ended meanwhile.
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            if fields[0] != "Z":
                found[pid] = int(fields[11]) + int(fields[12])
    return found


def _of(subject: str, pids: list[int], target: float | None = None) -> list[Row]:
    found: dict[str, list[float]] = {"PSS": [], "private": [], "RSS": []}
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError as why:
            return [Row("memory", subject, "MB", 0, 0, 0, 0, note=f"cannot be read: {why}")]
        sizes = {line.split(":")[0]: int(line.split()[1]) / _KIB_A_MIB for line in lines if line.endswith("kB")}
        found["PSS"].append(sizes["Pss"])
        found["RSS"].append(sizes["Rss"])
        found["private"].append(sizes["Private_Clean"] + sizes["Private_Dirty"])
    rows: list[Row] = []
    for kind, values in found.items():
        values.sort()
        median = values[len(values) // 2]
        row = Row("memory", f"{subject}, {kind}", "MB", median, values[-1], values[0], len(values))
        if kind == "PSS":
            row.target = target
        rows.append(row)
    return rows


__all__ = ["OURS", "memory"]
