"""A host has one loop: the other one's library is not loaded, and a tool that needs it says what to do."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import anyio
import pytest
import trio

from codemode import Registry
from codemode_registry import _loops

_WITHOUT_THE_OTHER = """
import sys, time
import anyio
from codemode_registry import CancelSignal, Registry, Tool, ToolContext

registry = Registry()
seen = []

async def endless(arguments, ctx):
    started.set()
    await anyio.sleep_forever()

async def own_failure(arguments, ctx):
    raise anyio.get_cancelled_exc_class() if backend == "asyncio" else ValueError

registry.register(Tool("endless", "", endless, parameters={}))
registry.register(Tool("own_failure", "", own_failure, parameters={}))

async def main():
    global started
    started = anyio.Event()
    signal = CancelSignal()
    async with anyio.create_task_group() as group:
        async def cancelled():
            seen.append((await registry.call("endless", cancel=signal)).error.code)
        group.start_soon(cancelled)
        await started.wait()
        signal.cancel()
    started = anyio.Event()
    async with anyio.create_task_group() as group:
        async def gone():
            await registry.call("endless")
            seen.append("came back")
        group.start_soon(gone)
        await started.wait()
        group.cancel_scope.cancel()
    seen.append((await registry.call("own_failure")).error.code)

backend, other = sys.argv[1:]
anyio.run(main, backend=backend)
print(*seen, other in sys.modules)
"""

_THREADS_OF_ASYNCIO = """
import sys, time
import anyio
from codemode_registry import Registry, Tool

registry = Registry()

def patient(arguments, ctx):
    while not ctx.cancel.cancelled:
        time.sleep(0.001)

def wrong(arguments, ctx):
    raise KeyError("x")

registry.register(Tool("quick", "", lambda arguments, ctx: 1, parameters={}))
registry.register(Tool("wrong", "", wrong, parameters={}))
registry.register(Tool("patient", "", patient, parameters={}, timeout=0.02))

async def main():
    before = "trio" in sys.modules
    results = [await registry.call(name) for name in ("quick", "wrong", "patient")]
    print(before, results[0].value, results[1].error.name, results[2].error.code)

anyio.run(main, backend="asyncio")
"""


def _said(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(("backend", "other"), [("asyncio", "trio"), ("trio", "asyncio")])
def test_bodies_are_cancelled_without_the_other_loops_library(backend: str, other: str) -> None:
    assert _said(_WITHOUT_THE_OTHER, backend, other) == "ABORTED TOOL_ERROR False"


def test_the_first_sync_body_of_an_asyncio_host_gets_its_thread() -> None:
    assert _said(_THREADS_OF_ASYNCIO) == "False 1 KeyError TOOL_TIMEOUT"


async def test_the_running_loop_is_known_by_its_task(anyio_backend_name: str) -> None:
    task = _loops.current_task()
    if anyio_backend_name == "trio":
        assert task is trio.lowlevel.current_task()
    else:
        assert task is asyncio.current_task()
    assert _loops.trio_cancellation() == (trio.Cancelled,)
    assert await anyio.to_thread.run_sync(_loops.current_task) is None


def test_where_no_loop_runs_there_is_no_task() -> None:
    assert _loops.current_task() is None


def test_a_tool_of_asyncio_under_trio_is_told_which_loop_it_needs() -> None:
    registry = Registry()

    @registry.tool
    async def nap() -> None:
        await asyncio.sleep(0.01)

    async def main() -> str:
        return (await registry.call("nap")).error.message

    assert "needs asyncio's" in anyio.run(main, backend="trio")
