"""Properties of the registry that hold for whatever is thrown at it. Public names only; the loop is run inside."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import anyio
import anyio.lowlevel
import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode import (
    CancelSignal,
    JsonValue,
    MemoryEventLog,
    Registry,
    Tool,
    ToolContext,
    ToolFailure,
    ToolRequest,
    ToolSuccess,
)

BACKENDS = ("trio", "asyncio")
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)
objects = st.dictionaries(st.text(max_size=6), values, max_size=4)
backends = st.sampled_from(BACKENDS)


def echoing(**options: Any) -> Registry:
    async def body(arguments: Any, ctx: ToolContext) -> Any:
        return arguments

    registry = Registry(**options)
    registry.register(Tool("echo", "d", body, parameters={"type": "object"}))
    return registry


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same JSON types all the way down (1, 1.0 and True differ)."""
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return type(left) is type(right) and left == right


@given(objects, backends)
@settings(deadline=None, max_examples=60)
def test_json_goes_in_and_comes_out_unchanged(value: dict[str, Any], backend: str) -> None:
    log = MemoryEventLog()
    registry = echoing(events=log)
    before = json.dumps(value)
    result = anyio.run(registry.call, "echo", value, backend=backend)
    assert isinstance(result, ToolSuccess)
    assert same(result.value, value)
    assert json.dumps(result.value) == before == json.dumps(value)
    assert same(log.events[0].data["arguments"], value)
    assert same(json.loads(result.content[0]["text"]), value)


def containers(value: Any) -> list[Any]:
    found: list[Any] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, (dict, list)):
            found.append(item)
            stack.extend(item.values() if isinstance(item, dict) else item)
    return found


@given(objects, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_no_container_of_a_value_can_be_changed(value: dict[str, Any], source: random.Random) -> None:
    result = anyio.run(echoing().call, "echo", value, backend="trio")
    assert isinstance(result, ToolSuccess)
    victim: Any = source.choice(containers(result.value))
    before = json.dumps(result.value)
    changes: list[Any] = (
        [
            victim.clear,
            lambda: victim.update(a=1),
            lambda: victim.__setitem__("a", 1),
            victim.popitem,
            lambda: victim.setdefault("zz", 1),
        ]
        if isinstance(victim, dict)
        else [
            victim.clear,
            lambda: victim.append(1),
            lambda: victim.extend([1]),
            victim.sort,
            victim.reverse,
            lambda: victim.insert(0, 1),
        ]
    )
    for change in changes:
        with pytest.raises(TypeError):
            change()
    with pytest.raises(TypeError):
        victim |= {"a": 1} if isinstance(victim, dict) else [1]
    assert json.dumps(result.value) == before


schemas = st.recursive(
    st.sampled_from(
        [
            {},
            {"type": "string"},
            {"type": "integer"},
            {"type": "number", "minimum": 0},
            {"type": "boolean"},
            {"type": "null"},
            {"enum": [1, "a", None, False]},
            {"type": "string", "minLength": 2},
            {"const": 0},
        ]
    ),
    lambda inner: st.one_of(
        inner.map(lambda schema: {"type": "array", "items": schema}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"anyOf": parts}),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
            lambda properties: {"type": "object", "properties": properties, "required": sorted(properties)[:1]}
        ),
        inner.map(lambda schema: {"type": "object", "additionalProperties": schema}),
    ),
    max_leaves=8,
)


@given(schemas, values)
@settings(deadline=None, max_examples=150)
def test_arguments_and_values_pass_exactly_when_the_schema_says_so(schema: dict[str, Any], value: Any) -> None:
    registry = Registry()

    async def give(arguments: Any, ctx: ToolContext) -> Any:
        return value

    async def take(arguments: Any, ctx: ToolContext) -> Any:
        return None

    registry.register(Tool("give", "d", give, parameters={"type": "object"}, output=schema))
    registry.register(Tool("take", "d", take, parameters={"type": "object", "properties": {"x": schema}}))

    async def both() -> list[Any]:
        return [await registry.call("give", {}), await registry.call("take", {"x": value})]

    given_back, taken = anyio.run(both, backend="asyncio")
    valid = jsonschema_rs.is_valid(schema, value)
    assert isinstance(given_back, ToolSuccess) is valid
    assert isinstance(taken, ToolSuccess) is valid
    if not valid:
        assert (given_back.error.code, taken.error.code) == ("INVALID_TOOL_OUTPUT", "INVALID_ARGS")


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.sampled_from(["ok", "raise", "deny"])), max_size=12),
    st.integers(1, 4),
    backends,
    st.none() | st.integers(0, 11),
)
@settings(deadline=None, max_examples=80)
def test_any_mix_of_calls_keeps_the_ordering_rules(
    plan: list[tuple[bool, int, str]], most: int, backend: str, cancel_at: int | None
) -> None:
    log = MemoryEventLog()
    registry = Registry(events=log, max_parallel=most)
    cancel = CancelSignal()
    running: dict[int, bool] = {}
    pre: list[int] = []
    reviewed: list[int] = []

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        n = arguments["n"]
        parallel, yields, outcome = plan[n]
        assert all(running.values()) if parallel else not running
        running[n] = parallel
        assert len(running) <= most
        try:
            if n == cancel_at:
                cancel.cancel()
            for _ in range(yields):
                await anyio.lowlevel.checkpoint()
            if outcome == "raise":
                raise ValueError("as planned")
        finally:
            del running[n]
        return n

    @registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        pre.append(call.arguments["n"])
        return await next()

    @registry.post_execute
    async def review(call: Any, result: Any, next: Any) -> Any:
        reviewed.append(call.arguments["n"])
        return await next()

    registry.guard(lambda call: "as planned" if plan[call.arguments["n"]][2] == "deny" else None)
    registry.register(
        Tool("t", "d", body, parameters={"type": "object"}, concurrency_safe=lambda arguments: plan[arguments["n"]][0])
    )

    async def batch() -> list[Any]:
        with anyio.fail_after(30):
            return await registry.call_batch([ToolRequest("t", {"n": n}) for n in range(len(plan))], cancel=cancel)

    results = anyio.run(batch, backend=backend)
    assert len(results) == len(plan)
    assert pre == sorted(pre)
    assert reviewed == sorted(reviewed)
    calls = [event for event in log.events if event.type == "tool/call"]
    ends = [event for event in log.events if event.type == "tool/result"]
    assert [event.data["arguments"]["n"] for event in calls] == list(range(len(plan)))
    assert [event.data["call_seq"] for event in ends] == [event.seq for event in calls]
    for n, result in enumerate(results):
        outcome = plan[n][2]
        if not cancel.cancelled:
            if outcome == "ok":
                assert isinstance(result, ToolSuccess)
                assert result.value == n
            else:
                assert isinstance(result, ToolFailure)
                assert result.error.code == {"raise": "TOOL_ERROR", "deny": "DENIED"}[outcome]
        elif result.is_error:
            assert result.error.code in ("TOOL_ERROR", "DENIED", "ABORTED", "ABORTED_BEFORE_DISPATCH")
