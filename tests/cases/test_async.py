"""The ways of asyncio in which models write: gather, tasks, groups, time-outs, async generators."""

from __future__ import annotations

from tests.cases.given import Case, Json, given, given_values
from tests.cases.world import World, assert_same


@given_values(
    {
        "async-comprehension-await": [["n1", "n2", "n3"], {"1": "n1", "3": "n3"}, ["n3"], "n9"],
        "async-gather-return-exceptions": ["fine", "E:ToolCallError"],
        "async-generator-and-async-for": [[1, 2, 3, 4, 5], [3, 4, 5]],
        "async-helper-passed-as-callback": ["X:n1", "Y:n2"],
        "async-taskgroup": ["n1", "n2", "n3"],
        "lang-async-for-tuple-target": [[["n1", 10], ["n2", 20], ["n3", 30]], 30],
        "lang-while-walrus-await": [1, 2, 3, 4, 5],
    }
)
def test_async_programs_give_the_value_that_python_gives(case: Case, expected: Json) -> None:
    world = World(case)
    assert_same(world.value(), expected)
    world.assert_paired()


@given("async-await-twice-sequential")
def test_a_call_that_is_awaited_twice_runs_once(case: Case) -> None:
    world = World(case)
    first, second = world.value()
    assert_same(first, 1)
    assert second == 1 or second.startswith("again: ")
    assert len(world.visits) == 1
    assert len(world.starts()) == 1


@given("async-gather-first-failure-siblings")
def test_a_failing_gather_leaves_its_siblings_running(case: Case) -> None:
    world = World(case)
    first, sibling = world.value()
    assert "maybe failed" in first
    assert sibling == "s"
    assert not any(visit.cancelled for visit in world.visits)


@given("async-gather-wrapper-each-caught")
def test_each_failure_is_caught_by_its_own_wrapper(case: Case) -> None:
    rows = World(case).value()
    assert rows[0] == ["a", "ok", "fine"]
    for row, name in zip(rows[1:], "bc", strict=True):
        assert row[:2] == [name, "err"]
        assert "maybe failed" in row[2]


@given("async-main-guard")
def test_a_main_guard_is_true(case: Case) -> None:
    world = World(case)
    result = world.run()
    assert_same(result.value, 1)
    assert result.logs == ["working"]
    assert len(world.visits) == 1


@given("async-try-except-in-function")
def test_a_failing_tool_is_caught_inside_a_function(case: Case) -> None:
    value = World(case).value()
    assert value.startswith("caught: ")
    assert "async boom" in value
