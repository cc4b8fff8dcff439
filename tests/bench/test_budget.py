"""Budgets that hold on a noisy machine: ratios of CPU time, growth, and what is loaded. The bench has the figures.

Rules: the least of several interleaved readings counts, CPU time and not wall time, and each bound is about twice what
a quiet machine shows: what fails here is a change of kind (a quadratic step, a second encoding of each value, a leak,
a heavy import in the host), not a bad day.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from codemode import CodeMode, MemoryEventLog, Registry, Tool
from tests.bench.calls import GATHERED, LIMITS, SEQUENTIAL
from tests.bench.growth import descriptors, resident
from tests.bench.measuring import geometric_mean
from tests.bench.pipe import RawPipe
from tests.bench.settings import adding
from tests.bench.values import rows_of
from tests.dialect.bench import WORKLOADS, measure

_SAMPLED = ("arithmetic", "function calls", "dict grouping", "class attributes", "method dispatch", "sorting", "matrix")
"""Workloads that take milliseconds each and differ in kind."""


@pytest.fixture
def anyio_backend() -> str:
    """The host's default; the ratios are about our work, which is the same on both."""
    return "trio"


@asynccontextmanager
async def _open(registry: Registry) -> AsyncIterator[CodeMode]:
    async with CodeMode(registry, limits=LIMITS) as code_mode:
        assert (await code_mode.run("1")).value == 1
        yield code_mode


async def _spent(code_mode: CodeMode, program: str) -> float:
    """CPU seconds of the host and the child together."""
    before = time.process_time()
    result = await code_mode.run(program)
    host = time.process_time() - before
    assert result.ok, result.text
    return host + result.usage.compute_seconds


def test_computing_costs_what_cpython_costs() -> None:
    ratios: dict[str, float] = {}
    for name in _SAMPLED:
        plain, dialect = measure(WORKLOADS[name], 5)
        ratios[name] = dialect / plain
    assert geometric_mean(ratios.values()) < 1.3, ratios
    assert max(ratios.values()) < 1.8, ratios


async def test_a_sub_call_costs_a_bounded_multiple_of_a_raw_pipe() -> None:
    count = 300
    ours, raw = [], []
    with RawPipe() as pipe:
        async with _open(adding(MemoryEventLog())) as code_mode:
            for _ in range(4):
                ours.append(await _spent(code_mode, SEQUENTIAL.format(count=count)) / count)
                raw.append(pipe.cpu_of_calls(count) / count)
    # A pipeline of ten stages, two records, a loop on each side and a sealed child: about ten times the bare exchange.
    assert min(ours) < 22 * min(raw), (ours, raw)


async def test_a_big_value_costs_a_bounded_multiple_of_a_raw_pipe() -> None:
    value = rows_of(11_000)
    ours, raw = [], []

    async def fetch(arguments: object, ctx: object) -> object:
        return value

    registry = Registry(events=MemoryEventLog())
    registry.register(Tool("fetch", "Fetch.", fetch, parameters={"type": "object"}))
    with RawPipe() as pipe:
        async with _open(registry) as code_mode:
            for _ in range(4):
                ours.append(await _spent(code_mode, "return sum(row['n'] for row in await tools.fetch())"))
                raw.append(pipe.cpu_of_receiving(value))
    assert min(ours) < 3.5 * min(raw), (ours, raw)


async def test_the_cost_of_a_call_does_not_grow_with_their_number() -> None:
    async def each(code_mode: CodeMode, program: str, count: int, repeats: int) -> float:
        return min([await _spent(code_mode, program.format(count=count)) for _ in range(repeats)]) / count

    async with _open(adding(MemoryEventLog())) as code_mode:
        few = await each(code_mode, SEQUENTIAL, 10, 4)
        some = await each(code_mode, SEQUENTIAL, 500, 2)
        hundreds = await each(code_mode, GATHERED, 500, 3)
        many = await each(code_mode, GATHERED, 4_000, 1)
    assert some < 1.5 * few, (few, some)
    assert many < 3.0 * hundreds, (hundreds, many)


async def test_hundreds_of_runs_leave_no_descriptor_and_no_memory() -> None:
    async with _open(adding()) as code_mode:

        async def runs(count: int) -> tuple[float, int]:
            for _ in range(count):
                assert (await code_mode.run("return await tools.add(a=1, b=2)")).value == 3
            gc.collect()
            return resident(), descriptors()

        memory, opened = await runs(60)
        memory_after, opened_after = await runs(150)
        # A waiting child may be on its way at either moment: a descriptor each.
        assert opened_after <= opened + 3
        assert memory_after < memory + 3.0, (memory, memory_after)
    await _until(lambda: descriptors() <= opened)


async def _until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not holds():  # noqa: ASYNC110 - the kernel tells nobody
            await anyio.sleep(0.01)


def _loaded_by(script: str) -> set[str]:
    """The modules that are there when a script ends, in an interpreter that no plug-in of tests has touched."""
    folders = [str(Path(sys.modules[name].__path__[0]).parent) for name in ("codemode", "codemode_registry")]
    folders += [str(Path(sys.modules[name].__path__[0]).parent) for name in ("codemode_bridge", "codemode_stubs")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    script = f"import sys\n{script}\nprint(*sys.modules)\n"
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True, env=environment)
    return set(done.stdout.decode().split())


# The dialect and its compiler: the child's. The rest: extras and the checker.
NEVER_NEEDED = {"RestrictedPython", "codemode_guest", "mcp", "typer", "rich", "opentelemetry", "pytest"}
NEVER_NEEDED |= {"codemode_stubs._checker", "codemode._check"}


def test_a_first_result_loads_nothing_that_it_does_not_need() -> None:
    loaded = _loaded_by(
        "from codemode import Registry, run_sync\n"
        "registry = Registry()\n"
        "@registry.tool\n"
        "async def add(a: int, b: int) -> int:\n"
        "    return a + b\n"
        "assert run_sync(registry, 'return await tools.add(a=1, b=2)').value == 3\n"
    )
    # A program's tools are spelled; no stub module is written. And trio runs the loop.
    assert loaded & (NEVER_NEEDED | {"asyncio", "codemode_stubs._render"}) == set()


@pytest.mark.parametrize(("backend", "other"), [("asyncio", "trio"), ("trio", "asyncio")])
def test_without_tools_neither_pydantic_nor_stubs_nor_the_other_loop_is_loaded(backend: str, other: str) -> None:
    loaded = _loaded_by(
        "import anyio\n"
        "from codemode import CodeMode, Registry\n"
        "async def main():\n"
        "    async with CodeMode(Registry()) as code_mode:\n"
        "        assert (await code_mode.run('1 + 1')).value == 2\n"
        f"anyio.run(main, backend={backend!r})\n"
    )
    assert loaded & (NEVER_NEEDED | {other, "pydantic", "codemode_stubs"}) == set()


def test_what_was_loaded_is_not_searched_for_garbage_again() -> None:
    script = (
        "import gc\n"
        "from codemode import CodeMode\n"
        "print(len(gc.get_objects(generation=0)) < 1000, gc.get_freeze_count(), gc.isenabled())\n"
        "gc.freeze()\n"
        "kept = gc.get_freeze_count()\n"
        "from codemode import check_program\n"
        "print(gc.get_freeze_count() == kept > 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "0", "True", "True"]
