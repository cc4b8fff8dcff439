"""A broken pipeline is found out: each mutation, and the whole one, which has nothing to find."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from codemode import ProcessRuntime
from codemode.testing.battery._pipeline import pipeline_findings
from codemode_registry import _pipeline
from tests.testing.mutations import MUTATIONS, Mutation, Patch


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
    with monkeypatch.context() as context:
        patch = Patch(context)
        mutation.apply(patch)
        broken = await pipeline_findings(runtime, only=mutation.seen_by)
    assert patch.broken == []
    assert any(finding.verdict == "bypass" for finding in broken), [finding.happened for finding in broken]


async def test_a_patch_that_does_not_fit_is_not_taken_for_a_mutation(
    runtime: ProcessRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_parameter_too_many(patch: Patch) -> None:
        decide = _pipeline.decide

        async def stale(run: Any, turn: Any, extra: Any) -> Any:
            return await decide(run, turn)

        patch.setattr(_pipeline, "decide", stale)

    def one_argument_too_few(patch: Patch) -> None:
        decide: Any = _pipeline.decide
        patch.setattr(_pipeline, "decide", lambda run, turn: decide(run))

    def an_attribute_that_is_gone(patch: Patch) -> None:
        patch.setattr(_pipeline, "_guards", lambda run: run.call.arguments.nothing_of_this_name)

    for apply in (one_parameter_too_many, one_argument_too_few, an_attribute_that_is_gone):
        with monkeypatch.context() as context:
            patch = Patch(context)
            apply(patch)
            broken = await pipeline_findings(runtime, only=["guard.direct"])
        assert any(finding.verdict == "bypass" for finding in broken)
        assert patch.broken != []


def test_there_are_as_many_ways_as_promised() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) >= 25
