"""Each run is fresh: nothing of one reaches another, whatever it did."""

from __future__ import annotations

import math

import anyio
import pytest

from codemode import Limits, RunResult
from tests.cases.given import Case, given
from tests.cases.world import LIMITS, World, assert_same


@given("state-failed-run-leaves-nothing")
def test_a_failed_run_leaves_no_names(case: Case) -> None:
    world = World(case)

    async def main() -> list[RunResult]:
        async with world.code_mode() as code_mode:
            return [await code_mode.run(case.text) for _ in range(2)]

    for result in world.drive(main):
        assert not result.ok
        assert result.error.type == "ValueError"
        assert result.logs == ["clean"]
        assert "clean" in result.text


@given("state-limits-not-shared")
def test_two_runtimes_keep_their_own_limits(case: Case) -> None:
    world = World(case)

    async def main() -> list[int]:
        counts = []
        async with (
            world.code_mode(limits=Limits(max_calls=3)) as first,
            world.code_mode(limits=Limits(max_calls=5)) as second,
        ):
            for code_mode in (first, second, first, second):
                before = len(world.visits)
                result = await code_mode.run(case.text)
                assert not result.ok
                assert result.error.type == "ToolCallError"
                counts.append(len(world.visits) - before)
        return counts

    assert world.drive(main) == [3, 5, 3, 5]
    limits = Limits(max_calls=3)
    with pytest.raises(AttributeError):
        limits.max_calls = 100  # type: ignore[misc]
    for bad in (0, -1, 2.5, "3"):
        with pytest.raises((ValueError, TypeError), match="max_calls"):
            Limits(max_calls=bad)  # type: ignore[arg-type]


@given("state-module-mutation-isolated")
def test_a_module_cannot_be_patched_for_anyone(case: Case) -> None:
    world = World(case)
    result = world.run()
    assert not result.ok
    assert result.error.line == 2
    assert "json" in result.text
    after = world.value("import json, math\nreturn [json.dumps({'a': 1}), math.pi]")
    assert_same(after, ['{"a": 1}', math.pi])


@given("state-tools-object-protected")
def test_tools_cannot_be_assigned_over(case: Case) -> None:
    world = World(case)
    result = world.run()
    if result.ok:
        changed, real = result.value
        assert isinstance(changed, str)
        assert changed.endswith("Error")
        assert real == 4
        assert len(world.starts()) == 1
        assert world.ran("add") == [{"a": 2, "b": 2}]
    else:
        assert result.error.kind == "syntax"
        assert "tools" in result.text
        assert world.visits == []
    shadowed = world.run("tools2 = tools\ntools = None\nreturn await tools2.add({'a': 2, 'b': 2})")
    if shadowed.ok:
        assert shadowed.value == 4
        assert len(world.visits) == len(world.starts())


@given("state-two-sessions-same-names")
def test_two_sessions_at_once_do_not_share_names(case: Case) -> None:
    world = World(case)
    results: dict[str, RunResult] = {}

    async def main() -> None:
        scopes = {name: world.registry.scope(name) for name in ("s1", "s2")}
        async with world.code_mode(limits=LIMITS) as code_mode:

            async def one(name: str) -> None:
                results[name] = await code_mode.run(case.text, scope=scopes[name])

            async with anyio.create_task_group() as group:
                for name in scopes:
                    group.start_soon(one, name)

    world.drive(main)
    for name in ("s1", "s2"):
        assert_same(results[name].value, [name] * 3)
