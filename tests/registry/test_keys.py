"""Integer keys of a raw tool's value are the decimal strings of JSON, where no two would meet."""

from __future__ import annotations

from typing import Any

import pytest

from codemode import Registry, Tool


def registry_with(value: Any) -> Registry:
    registry = Registry()
    registry.register(Tool("give", "Give it.", lambda arguments, ctx: value, parameters={"type": "object"}))
    return registry


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        ({1: "one"}, {"1": "one"}),
        ({"rows": [{-2: {10**20: None}}]}, {"rows": [{"-2": {str(10**20): None}}]}),
        ({"a": 1, 2: 3}, {"a": 1, "2": 3}),
    ],
)
async def test_integer_keys_become_decimal_strings(value: Any, canonical: Any) -> None:
    assert (await registry_with(value).call("give")).value == canonical


@pytest.mark.parametrize("value", [{1: "a", "1": "b"}, {True: 1}, {None: 1}, {(1,): 2}, {1: {1.5: 2}}])
async def test_keys_that_would_meet_or_are_no_integers_are_refused(value: Any) -> None:
    assert (await registry_with(value).call("give")).error.code == "INVALID_TOOL_OUTPUT"


async def test_a_circle_with_integer_keys_is_refused() -> None:
    circle: dict[Any, Any] = {}
    circle[1] = circle
    assert (await registry_with(circle).call("give")).error.code == "INVALID_TOOL_OUTPUT"
