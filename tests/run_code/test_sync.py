"""What leaves `run_sync` beside a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import anyio
import pytest

from codemode import MemoryEventLog, Registry, run_sync
from codemode._thread import run_in_loop

Backend = Literal["trio", "asyncio"]
BACKENDS: tuple[Backend, ...] = ("trio", "asyncio")


def registry_with(body: Callable[[], Any]) -> tuple[Registry, MemoryEventLog]:
    log = MemoryEventLog()
    registry = Registry(events=log)
    registry.tool(name="end")(body)
    return registry, log


async def exits() -> None:
    raise SystemExit(7)


async def interrupts() -> None:
    raise KeyboardInterrupt


def exits_in_a_thread() -> None:
    raise SystemExit(7)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("body", "kind"), [(exits, SystemExit), (interrupts, KeyboardInterrupt), (exits_in_a_thread, SystemExit)]
)
def test_an_exit_that_a_tool_raises_leaves_as_it_is(
    body: Callable[[], Any], kind: type[BaseException], backend: Backend
) -> None:
    registry, log = registry_with(body)
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - a group would be one too
        run_sync(registry, "return await tools.end()", backend=backend)
    assert type(caught.value) is kind
    if kind is SystemExit:
        assert caught.value.code == 7  # type: ignore[attr-defined]
    assert [event.type for event in log.events][-3:] == ["tool/code-dispatch", "code/run-end", "tool/result"]


async def test_beside_a_running_loop_too() -> None:
    registry, _ = registry_with(exits)
    with pytest.raises(SystemExit):
        run_sync(registry, "return await tools.end()")


async def both(*failures: BaseException) -> None:
    async def fail(failure: BaseException) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise failure

    async with anyio.create_task_group() as outer, anyio.create_task_group() as inner:
        for failure in failures:
            inner.start_soon(fail, failure)
        await anyio.wait_all_tasks_blocked()
        outer.cancel_scope.cancel()


def test_exits_that_several_tasks_ask_for_are_one_and_an_interrupt_counts_most() -> None:
    with pytest.raises(SystemExit):
        run_in_loop(lambda: both(SystemExit(1), SystemExit(2)))
    with pytest.raises(KeyboardInterrupt):
        run_in_loop(lambda: both(SystemExit(1), KeyboardInterrupt()))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_single_failure_is_told_without_its_groups_and_several_keep_theirs(backend: Backend) -> None:
    with pytest.raises(ValueError, match="one"):
        run_in_loop(lambda: both(ValueError("one")), backend=backend)
    with pytest.raises(ExceptionGroup):
        run_in_loop(lambda: both(ValueError("one"), ValueError("two")), backend=backend)


def test_an_exit_does_not_hide_another_failure() -> None:
    with pytest.raises(BaseExceptionGroup):
        run_in_loop(lambda: both(SystemExit(1), ValueError("lost?")))
