"""A short soak on every test run; `python -m tests.bridge.soak` is the long one."""

from __future__ import annotations

from tests.bridge.soak import grown, soak


async def test_nothing_grows_over_two_hundred_runs_of_every_kind() -> None:
    before, after = await soak(240)
    assert grown(before, after) == [], (before, after)
