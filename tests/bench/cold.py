"""Cold: from a fresh interpreter to the first result of a program that calls one tool."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from tests.bench.measuring import BASELINE, OURS, Row, Sample, interleaved
from tests.bench.settings import Settings

_TOLD = """\
import os, time
def told(value):
    assert value == 3, value
    os.write(1, b"%d" % time.monotonic_ns())
"""
_OURS = """\
from codemode import Registry, run_sync
registry = Registry()

@registry.tool
async def add(a: int, b: int) -> int:
    return a + b

result = run_sync(registry, "return await tools.add(a=1, b=2)")
assert result.ok, result.text
told(result.value)
"""
_PLAIN = """\
import asyncio
async def add(a, b):
    return a + b
async def main():
    return await add(1, 2)
told(asyncio.run(main()))
"""


def cold(settings: Settings) -> list[Row]:
    """Milliseconds from the start of the interpreter to the value, and all CPU time that was spent until it is gone."""
    scripts = {OURS: _OURS, BASELINE: _PLAIN} | {peer.name: peer.cold for peer in settings.peers}
    samples: list[Sample] = [lambda name=name, text=text: _start(name, text) for name, text in scripts.items()]
    readings = interleaved("cold: fresh interpreter to the first result", "ms", samples, settings.count(11, 3))
    return readings.rows(target=300.0)


def _start(name: str, script: str) -> dict[str, list[float]]:
    before = os.times()
    began = time.monotonic_ns()
    # What is installed has its bytecode. A developer's wish that none be written would measure the compiler instead.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", _TOLD + script]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    after = os.times()
    # Children of the script that it waited for are in it: its zygote, a worker.
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {name: [(int(done.stdout) - began) / 1e6], f"{name}, CPU of all its processes": [cpu * 1000]}
