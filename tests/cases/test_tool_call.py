"""The ways to call a tool, and what comes back of it."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable

from codemode import Registry
from tests.cases.given import Case, Json, given, given_values
from tests.cases.world import World, assert_same


@given_values(
    {
        "args-keyword-call": 5,
        "async-tool-bound-to-name": ["n1", ["n5", "N5"], True],
        "tool-dynamic-name-lookup": ["n1", 5, "error"],
        "ux-join-two-tools": {"report": "ana |  2\ncy  |  0\nbo  |  -", "failed": [2]},
    }
)
def test_a_call_gives_the_tools_value(case: Case, expected: Json) -> None:
    world = World(case)
    assert_same(world.value(), expected)
    world.assert_paired()


@given("async-sync-wrapped-coroutine-tool")
def test_an_async_tool_behind_a_plain_decorator_is_awaited(case: Case) -> None:
    ran = []

    def traced(function: Callable[..., Awaitable[str]]) -> Callable[..., Awaitable[str]]:
        @functools.wraps(function)
        def wrapper(*args: object, **kwargs: object) -> Awaitable[str]:
            return function(*args, **kwargs)

        return wrapper

    world = World(case, register=False)

    @world.registry.tool
    @traced
    async def lookup(name: str) -> str:
        """Find a name."""
        ran.append(name)
        return "found " + name

    assert world.value() == "found ana"
    assert ran == ["ana"]

    # The same for a raw tool, whose body is a plain function that returns a coroutine.
    raw = World(case, bodies={"lookup": lambda w, a, ctx: lookup(a["name"])})
    assert raw.value() == "found ana"
    assert len(raw.visits) == 1


@given("err-host-bug-contained")
def test_a_bug_in_a_tool_is_a_plain_failure(case: Case) -> None:
    world = World(case)
    result = world.run()
    kind, text = result.value
    assert kind == "ToolCallError"
    assert "internal" in text
    for leak in ("Traceback", ".py", "/", "behaviours"):
        assert leak not in text
        assert not any(leak in line for line in result.logs)
    for event in world.events.events:
        assert "behaviours.py" not in repr(event.data)
    assert world.value("return 1") == 1


@given("std-json-roundtrip-in-program")
def test_a_result_is_already_a_value(case: Case) -> None:
    result = World(case).run()
    assert not result.ok
    assert result.error.kind == "exception"
    assert result.error.type == "TypeError"
    assert result.error.line == 3
    assert "json.loads(r)" in result.text


@given("ux-date-window-report")
def test_a_date_window_crosses_in_all_its_spellings(case: Case) -> None:
    world = World(case)
    assert_same(
        world.value(),
        {"n": 3, "per_hour": {"2024-03-30 23:00": 2, "2024-03-31 00:00": 1}, "span": "0:40:00"},
    )
    assert world.ran("events") == [
        {"start": "2024-03-30T12:00:00+00:00", "end": "2024-03-31T12:00:00Z", "since": 1711800000}
    ]


def test_a_registry_without_tools_runs_programs() -> None:
    world = World("return dir(tools)")
    assert isinstance(world.registry, Registry)
    assert world.value() == []
