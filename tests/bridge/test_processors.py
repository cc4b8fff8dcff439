"""While one run at a time goes on, children keep off one processor; when there are more, they use all."""

from __future__ import annotations

import os
from typing import Any

import anyio
import pytest

from codemode_bridge import Binding, CodeRunRequest, ProcessRuntime, _processors
from codemode_bridge._processors import PROCESSORS, Processors, place
from codemode_bridge._zygotes import HOUSE

several = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs Linux and two processors"
)


class Told:
    """A child that only notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def keep_apart(self) -> None:
        self.told.append("apart")

    def spread(self) -> None:
        self.told.append("spread")


def test_only_a_run_after_a_rest_is_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(_processors.time, "monotonic", lambda: now[0])
    processors = Processors()
    first, second, third, fourth = Told(), Told(), Told(), Told()
    processors.begin(first)
    assert first.told == ["apart"]
    now[0] += 1
    processors.begin(second)  # They overlap.
    assert (first.told, second.told) == (["apart", "spread"], ["spread"])
    processors.end(first)
    processors.end(second)
    now[0] += 0.001
    processors.begin(third)  # It follows closely.
    assert third.told == ["spread"]
    processors.end(third)
    now[0] += 1
    processors.begin(fourth)
    assert fourth.told == ["apart"]
    assert (first.told, third.told) == (["apart", "spread"], ["spread"])


@several
async def test_a_run_alone_keeps_off_one_processor_and_runs_together_use_all() -> None:
    everything = os.sched_getaffinity(0)
    seen: list[tuple[int, list[set[int]]]] = []

    async def look(_: dict[str, Any]) -> None:
        await anyio.sleep(0.05)
        children = [child.pid for child in PROCESSORS._running if hasattr(child, "pid")]
        seen.append((len(children), [os.sched_getaffinity(pid) for pid in children]))

    request = CodeRunRequest("await tools.look()", {"look": Binding("look", (), look)})
    async with ProcessRuntime() as runtime:
        for _ in range(4):  # Those that wait are used up: the next ones were forked from a zygote that keeps apart.
            await anyio.sleep(0.01)
            await runtime.run(request)
        assert os.sched_getaffinity(HOUSE.zygote().pid) == everything - {min(everything)}
        assert seen[-1] == (1, [everything - {min(everything)}])
        seen.clear()
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(runtime.run, request)
        assert os.sched_getaffinity(HOUSE.zygote().pid) == everything
        assert seen[0] == (3, [everything] * 3)


@several
@pytest.mark.parametrize("why", [PermissionError, ProcessLookupError])
async def test_where_it_is_not_allowed_all_goes_on_as_before(
    why: type[OSError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise why("no")

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    assert not place(os.getpid(), apart=True)
    async with ProcessRuntime() as runtime:
        for _ in range(3):
            await anyio.sleep(0.01)
            assert (await runtime.run(CodeRunRequest("return 1"))).value == 1


def test_one_processor_is_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", never, raising=False)
    assert not place(os.getpid(), apart=True)
