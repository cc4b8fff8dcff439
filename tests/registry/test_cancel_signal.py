"""Cancel signals: set once, from anywhere; fused without growing."""

from __future__ import annotations

import gc
import threading

import anyio

from codemode_registry import CancelSignal

from .build import WAIT


def test_a_signal_is_set_once_and_keeps_its_first_reason() -> None:
    signal = CancelSignal()
    assert not signal.cancelled
    assert signal.reason is None
    signal.cancel("enough")
    signal.cancel("more")
    assert signal.cancelled
    assert signal.reason == "enough"
    assert "enough" in repr(signal)


def test_the_reason_has_a_default() -> None:
    signal = CancelSignal()
    signal.cancel()
    assert signal.reason == "cancelled"


def test_any_follows_each_of_its_sources_and_sets_none_of_them() -> None:
    a, b = CancelSignal(), CancelSignal()
    fused = CancelSignal.any(a, b)
    b.cancel("b said so")
    assert fused.cancelled
    assert fused.reason == "b said so"
    assert not a.cancelled
    other = CancelSignal.any(a)
    other.cancel()
    assert not a.cancelled


def test_any_of_a_signal_that_is_set_is_set() -> None:
    a = CancelSignal()
    a.cancel("before")
    assert CancelSignal.any(CancelSignal(), a).reason == "before"


def test_chains_of_fused_signals_pass_the_reason_on_while_only_the_last_is_held() -> None:
    root = CancelSignal()
    last = CancelSignal.any(CancelSignal.any(CancelSignal.any(root)))
    gc.collect()
    root.cancel("root")
    assert last.reason == "root"


def test_a_long_lived_signal_does_not_grow_with_its_followers() -> None:
    root = CancelSignal()
    for _ in range(1000):
        CancelSignal.any(root, CancelSignal())
    gc.collect()
    assert not root._followers


async def test_waiting_ends_with_the_reason_also_from_another_thread() -> None:
    signal = CancelSignal()
    got: list[str] = []

    async def wait() -> None:
        got.append(await signal.wait())

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            threading.Thread(target=signal.cancel, args=("from a thread",)).start()
        assert await signal.wait() == "from a thread"
    assert got == ["from a thread"] * 2


async def test_a_waiter_that_is_cancelled_leaves_nothing_behind() -> None:
    signal = CancelSignal()
    with anyio.move_on_after(0):
        await signal.wait()
    assert not signal._listeners
    assert not signal.cancelled
