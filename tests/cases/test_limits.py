"""Each limit ends a run for certain, says which limit it was, and loses nothing that was done."""

from __future__ import annotations

import pytest

from codemode import Limits, RunResult
from tests.cases.given import Case, given
from tests.cases.world import CUT_WORDS, World, assert_same


def stopped(result: RunResult, kind: str, *words: str) -> str:
    """The text of a run that a limit ended."""
    assert not result.ok, result.text[:500]
    assert result.error is not None
    assert result.error.kind == kind, result.text[:500]
    for word in words:
        assert word in result.error.message.lower(), result.error.message[:500]
    return result.text


@given("lim-deep-nesting-source")
def test_twenty_thousand_brackets_are_refused(case: Case) -> None:
    world = World("")
    result = world.run("(" * 20_000 + ")" * 20_000)
    stopped(result, "syntax")
    assert len(result.text) < 5_000
    assert world.value("return 1") == 1


@given("lim-deep-return-value")
def test_a_value_that_is_too_deep_is_invalid_output(case: Case) -> None:
    world = World(case)
    result = world.run()
    stopped(result, "invalid-output")
    assert "deep" in result.error.message or "nest" in result.error.message or "depth" in result.error.message
    assert world.value("return 1") == 1


@given("lim-definition-phase-is-limited", "lim-hot-loop")
def test_a_busy_loop_is_stopped_at_the_compute_limit(case: Case) -> None:
    world = World(case)
    result = world.run(limits=Limits(compute_seconds=0.4, wall_seconds=20))
    text = stopped(result, "timeout", "compute")
    assert "0.4" in text
    assert 0.3 <= result.usage.compute_seconds < 1.5
    assert world.value("return 1") == 1


@given("lim-hot-loop-in-function")
def test_work_in_functions_counts(case: Case) -> None:
    result = World(case).run(limits=Limits(compute_seconds=0.4, wall_seconds=20))
    stopped(result, "timeout", "compute")
    assert result.usage.compute_seconds < 1.5


@given("lim-huge-exception-text")
def test_a_gigantic_message_is_cut_and_crowds_out_nothing(case: Case) -> None:
    result = World(case).run()
    assert not result.ok
    assert result.error.kind == "exception"
    assert result.error.type == "ValueError"
    assert result.error.line == 2
    assert result.logs == ["before"]
    assert "before" in result.text
    assert len(result.text) <= 100_000
    assert "xxx" in result.text
    assert any(word in result.text for word in CUT_WORDS)


@given("lim-nested-time-budgets")
def test_waiting_for_tools_costs_wall_time_only(case: Case) -> None:
    world = World(case, timeouts={"slow": 0.5})
    idle = world.run(limits=Limits(compute_seconds=0.5, wall_seconds=10))
    assert_same(idle.value, ["0", "1", "2"])
    ended = world.run(limits=Limits(compute_seconds=1, wall_seconds=0.75))
    text = stopped(ended, "timeout", "wall")
    assert "slow" in text
    assert [record.status for record in ended.calls][:2] == ["done", "done"]
    for number in ("0", "1"):
        assert f"'id': '{number}'" in text or f'"id": "{number}"' in text or f'id="{number}"' in text


@given("lim-program-size")
def test_five_megabytes_of_program_are_refused_up_front(case: Case) -> None:
    from tests.cases.world import tool

    world = World(case, [tool("one")])
    result = world.run("await tools.one()\n" + "x = 1\n" * 850_000)
    text = stopped(result, "syntax", "bytes")
    assert "256" in text or "262" in text
    assert "tool" in result.error.message
    assert world.visits == []


@given("lim-slow-tool-not-charged")
def test_a_slow_tool_is_not_charged_to_the_program(case: Case) -> None:
    result = World(case).run(limits=Limits(compute_seconds=1.0, wall_seconds=10.0))
    assert result.value == "s"
    assert result.usage.wall_seconds >= 1.5
    assert result.usage.compute_seconds < 1.0


@given("lim-tool-call-cap-gather")
def test_a_gather_cannot_outrun_the_cap(case: Case) -> None:
    world = World(case)
    result = world.run(limits=Limits(max_calls=3))
    assert not result.ok
    assert result.error.kind == "exception"
    assert result.error.type == "ToolCallError"
    assert "3" in result.error.message
    assert len(world.visits) <= 3
    assert len(world.starts()) <= 3
    for visit in world.visits:
        assert str(visit.arguments["id"]) in result.text
    assert "name" in result.text
    caught = world.run(
        "import asyncio\ncalls = [tools.name({'id': i}) for i in range(50)]\n"
        "rs = await asyncio.gather(*calls, return_exceptions=True)\n"
        "return [r if isinstance(r, str) else type(r).__name__ for r in rs]",
        limits=Limits(max_calls=3),
    )
    assert_same(caught.value, ["n0", "n1", "n2"] + ["ToolCallError"] * 47)


@given("out-huge-print-capped")
def test_a_flood_of_prints_is_stopped_and_what_fits_is_kept(case: Case) -> None:
    world = World(case)
    result = world.run(limits=Limits(output_bytes=1_000_000))
    text = stopped(result, "output-limit")
    assert "1000000" in result.error.message.replace(",", "").replace("_", "") or "1 MB" in result.error.message
    kept = "\n".join(result.logs)
    assert 990_000 <= len(kept) <= 1_000_000
    assert len(text) <= 100_000
    assert world.value("return 1") == 1


@given("out-return-too-large")
def test_a_value_over_the_cap_is_not_replaced_by_a_part_of_it(case: Case) -> None:
    world = World(case)
    result = world.run("print('kept')\n" + case.text)
    stopped(result, "output-limit")
    assert not result.has_value
    assert result.value is None
    assert result.logs == ["kept"]
    assert "67108864" in result.error.message.replace(",", "") or "64" in result.error.message
    small = world.run("return 'y' * 5000", limits=Limits(output_bytes=2000))
    stopped(small, "output-limit")
    assert "2000" in small.error.message.replace(",", "") or "2,000" in small.error.message
    assert "yyy" not in small.text.replace("'y'", "")


@pytest.mark.parametrize(
    "field",
    [
        "compute_seconds",
        "wall_seconds",
        "memory_bytes",
        "output_bytes",
        "max_calls",
        "max_parallel",
        "source_bytes",
        "text_chars",
    ],
)
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_limit_that_is_no_positive_number_is_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        Limits(**{field: value})
