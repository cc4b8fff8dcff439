"""A broken pipeline is found out: each mutation, and the whole one, which has nothing to find."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from codemode import ProcessRuntime
from codemode.testing.battery._pipeline import pipeline_findings
from tests.testing.mutations import MUTATIONS, Mutation


@pytest.fixture
def anyio_backend() -> str:
    """The mutations are about our code, which is the same on both; the battery itself is tested on both."""
    return "trio"


@pytest.fixture
async def runtime() -> AsyncIterator[ProcessRuntime]:
    async with ProcessRuntime() as runtime:
        yield runtime


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name.replace(" ", "-"))
async def test_the_battery_sees_a_broken_pipeline(
    mutation: Mutation, runtime: ProcessRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = await pipeline_findings(runtime, only=mutation.seen_by)
    assert {finding.attempt for finding in sound} == set(mutation.seen_by)
    assert [finding.happened for finding in sound if finding.verdict != "held"] == []
    with monkeypatch.context() as patch:
        mutation.apply(patch)
        broken = await pipeline_findings(runtime, only=mutation.seen_by)
    assert any(finding.verdict == "bypass" for finding in broken), [finding.happened for finding in broken]


def test_there_are_as_many_ways_as_promised() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) >= 25
