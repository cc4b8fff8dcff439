"""`python -m tests.bridge.soak --runs 10000`: runs with kills, crashes, cancels and time-outs, and what is left.

Every kind of end takes its turn. Afterwards nothing may have grown: descriptors, threads, zombies, temporary files; and
the memory of the host and of the zygote only within a margin. Prints the figures; exit code 1 if they are bad.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from codemode_bridge import Binding, CodeRunRequest, CodeRunResult, Limits, ProcessRuntime, run_unrestricted
from codemode_bridge._zygotes import HOUSE
from codemode_registry import CancelSignal

_WARM_UP = 60
# Allocators keep what they had once; growth with the number of runs is what must not be.
_MARGIN_KIB = 6 * 1024


@dataclass(frozen=True, slots=True)
class Figures:
    """What is there at a moment without runs."""

    descriptors: int
    threads: int
    zombies: int
    temporary_files: int
    host_kib: int
    zygote_kib: int


def _resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    return 0


def _states(pid: int) -> list[str]:
    states: list[str] = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(OSError):  # Buried meanwhile.
            states.append(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0])
    return states


async def figures() -> Figures:
    """Measure, once the zygote has buried who was killed."""
    zygote = HOUSE.zygote().pid
    for _ in range(500):
        if "Z" not in _states(zygote) + _states(os.getpid()):
            break
        await anyio.sleep(0.01)
    gc.collect()
    return Figures(
        len(os.listdir("/proc/self/fd")),
        threading.active_count(),
        (_states(zygote) + _states(os.getpid())).count("Z"),
        len(os.listdir(tempfile.gettempdir())),
        _resident(os.getpid()),
        _resident(zygote),
    )


async def one(runtime: ProcessRuntime, number: int) -> None:
    """One run, of the kind whose turn it is; it must end as it should."""
    value, kind = number, None
    match number % 12:
        case 0:
            result, kind = await run_unrestricted("import os; os.abort()", runtime=runtime), "worker-exit"
        case 1:
            result, kind = await run_unrestricted("import ctypes; ctypes.string_at(0)", runtime=runtime), "worker-exit"
        case 2:
            result, kind = await run_unrestricted("import os; os._exit(3)", runtime=runtime), "worker-exit"
        case 3:
            result = await _run(runtime, "x = bytearray(1 << 40)")
            kind = "worker-exit"
        case 4:
            result = await _run(runtime, "while True: pass", limits=Limits(compute_seconds=0.02))
            kind = "timeout"
        case 5:
            result = await _run(runtime, "await tools.never()", limits=Limits(wall_seconds=0.02))
            kind = "timeout"
        case 6:
            signal = CancelSignal()
            request = CodeRunRequest("print(1)\nwhile True: pass", cancel=signal, on_log=lambda _: signal.cancel())
            result, kind = await runtime.run(request), "abort"
        case 7:
            with anyio.move_on_after(0.005):
                await _run(runtime, "await tools.never()")
            return
        case 8:
            result = await _run(runtime, "raise ValueError('x')")
            kind = "exception"
        case _:
            result = await _run(runtime, f"return await tools.echo(value={number})")
    found = result.error.kind if result.error is not None else None
    assert found == kind, (number, result)
    assert kind is not None or result.value == value, (number, result)


async def _echo(arguments: dict[str, Any]) -> Any:
    return arguments["value"]


async def _never(_: dict[str, Any]) -> None:
    await anyio.sleep_forever()


_BINDINGS = {"echo": Binding("echo", ("value",), _echo), "never": Binding("never", (), _never)}


async def _run(runtime: ProcessRuntime, program: str, **options: Any) -> CodeRunResult:
    return await runtime.run(CodeRunRequest(program, _BINDINGS, **options))


async def soak(runs: int, side_by_side: int = 4) -> tuple[Figures, Figures]:
    """Run that many; the figures before and after."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)  # Others use the common one meanwhile.
        return await _soak(runs, side_by_side)


async def _soak(runs: int, side_by_side: int) -> tuple[Figures, Figures]:
    async with ProcessRuntime() as runtime:
        await _many(runtime, range(_WARM_UP), side_by_side)
        before = await figures()
        await _many(runtime, range(_WARM_UP, _WARM_UP + runs), side_by_side)
        after = await figures()
    return before, after


async def _many(runtime: ProcessRuntime, numbers: Iterable[int], side_by_side: int) -> None:
    shared = iter(numbers)

    async def some() -> None:
        for number in shared:
            await one(runtime, number)

    async with anyio.create_task_group() as tasks:
        for _ in range(side_by_side):
            tasks.start_soon(some)


def grown(before: Figures, after: Figures) -> list[str]:
    """What is left that should not be."""
    wrong = [
        name for name in ("descriptors", "threads", "temporary_files") if getattr(after, name) > getattr(before, name)
    ]
    wrong += ["zombies"] if after.zombies else []
    wrong += [name for name in ("host_kib", "zygote_kib") if getattr(after, name) - getattr(before, name) > _MARGIN_KIB]
    return wrong


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--backend", default="trio", choices=["trio", "asyncio"])
    options = parser.parse_args()
    begun = time.monotonic()
    before, after = anyio.run(soak, options.runs, backend=options.backend)
    print(f"{options.runs} runs in {time.monotonic() - begun:.0f} s\nbefore {before}\nafter  {after}")
    wrong = grown(before, after)
    print("grown: " + ", ".join(wrong) if wrong else "nothing is left behind")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
