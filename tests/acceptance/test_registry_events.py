"""api.md, "Events"; code-mode.md, the table of events as far as single calls go. Public names only."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from codemode import (
    Ask,
    Block,
    CancelSignal,
    CodeMode,
    Event,
    JsonlEventLog,
    JsonValue,
    MemoryEventLog,
    Registry,
    Tool,
    ToolContext,
    ToolError,
    ToolFailure,
    ToolRequest,
    ToolSuccess,
    read_events,
)


async def echo(arguments: Any, ctx: ToolContext) -> JsonValue:
    return arguments


def with_echo(events: Any, **options: Any) -> Registry:
    registry = Registry(events=events)
    registry.register(Tool("echo", "d", echo, parameters={"type": "object"}, **options))
    return registry


async def test_append_gives_the_event_with_seq_time_type_and_data() -> None:
    log = MemoryEventLog()
    before = int(time.time() * 1000)
    first = await log.append("a/b", {"x": 1})
    second = await log.append("c", {})
    after = int(time.time() * 1000)
    assert isinstance(first, Event)
    assert (first.seq, first.type, first.data) == (1, "a/b", {"x": 1})
    assert second.seq == 2
    assert type(first.time) is int
    assert before <= first.time <= second.time <= after
    assert list(log.events) == [first, second]


async def test_a_call_is_a_pair_of_records() -> None:
    log = MemoryEventLog()
    registry = with_echo(log, presentation_meta=lambda a, v: {"m": 1})
    scope = registry.scope("agent-1")
    await registry.call("echo", {"a": [1]}, call_id="c", scope=scope)
    await registry.call("echo", {}, call_id="d")
    call, result, bare, _ = log.events
    assert (call.type, call.data) == (
        "tool/call",
        {"call_id": "c", "root_call_id": "c", "name": "echo", "arguments": {"a": [1]}, "scope": "agent-1"},
    )
    assert (result.type, result.data) == (
        "tool/result",
        {
            "call_id": "c",
            "call_seq": call.seq,
            "is_error": False,
            "content": [{"type": "text", "text": '{"a":[1]}'}],
            "meta": {"m": 1},
        },
    )
    assert "scope" not in bare.data


async def test_a_failures_record_has_message_code_and_name_and_never_the_value() -> None:
    log = MemoryEventLog()
    registry = Registry(events=log)

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        if arguments:
            return "secret"
        raise ToolError("broken")

    registry.register(Tool("t", "d", body, parameters={"type": "object"}))
    await registry.call("t", {})
    assert log.events[1].data["error"] == {"message": "broken", "code": "TOOL_ERROR", "name": "ToolError"}
    assert log.events[1].data["is_error"] is True

    async def block(call: Any, result: Any, next: Any) -> Any:
        return Block("hidden")

    registry.post_execute(block)
    await registry.call("t", {"x": 1})
    assert "secret" not in json.dumps([dict(event.data) for event in log.events])


async def test_the_call_is_logged_before_policies_and_the_result_before_it_is_seen() -> None:
    log = MemoryEventLog()
    registry = with_echo(log)
    seen: list[list[str]] = []

    @registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        seen.append([event.type for event in log.events])
        return await next()

    await registry.call("echo", {})
    assert seen == [["tool/call"]]
    assert [event.type for event in log.events] == ["tool/call", "tool/result"]


class Broken:
    """A log that refuses records of some type."""

    def __init__(self, refused: str) -> None:
        self.refused = refused
        self.inner = MemoryEventLog()

    async def append(self, type: str, data: dict[str, JsonValue]) -> Event:
        if type == self.refused:
            raise OSError("disk full")
        return await self.inner.append(type, data)


@pytest.mark.parametrize("refused", ["tool/call", "tool/result"])
async def test_an_append_that_fails_fails_the_call(refused: str) -> None:
    ran: list[int] = []
    registry = Registry(events=Broken(refused))

    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        ran.append(1)
        return "secret"

    registry.register(Tool("t", "d", body, parameters={"type": "object"}))
    with anyio.fail_after(10):
        result = await registry.call("t", {})
        batch = await registry.call_batch([ToolRequest("t", {}), ToolRequest("t", {})])
    for failure in (result, *batch):
        assert isinstance(failure, ToolFailure)
        assert failure.error.code == "PIPELINE_ERROR"
        assert "secret" not in repr(failure)
    assert ran == ([] if refused == "tool/call" else [1, 1, 1])


async def test_without_a_log_everything_works() -> None:
    registry = Registry()
    registry.register(Tool("echo", "d", echo, parameters={"type": "object"}))
    assert isinstance(await registry.call("echo", {}), ToolSuccess)


async def test_jsonl_is_one_object_a_line_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    async with JsonlEventLog(path) as log:
        registry = with_echo(log)
        await registry.call("echo", {"text": "zwei\nZeilen é \u2028"})
        event = await log.append("own", {"n": 10**30})
    lines = path.read_bytes().splitlines()
    assert len(lines) == 3
    assert set(json.loads(lines[0])) == {"seq", "time", "type", "data"}
    events = list(read_events(path))
    assert [one.type for one in events] == ["tool/call", "tool/result", "own"]
    assert [one.seq for one in events] == [1, 2, 3]
    assert events[2] == event
    assert events[0].data["arguments"] == {"text": "zwei\nZeilen é \u2028"}
    assert next(iter(read_events(str(path)))) == events[0]


@pytest.mark.parametrize("torn", [b'{"seq": 3, "ti', b"\xff\xfe", b'{"seq":3,"time":1,"type":"x","data":{}'])
async def test_reopening_repairs_a_torn_last_line_and_goes_on_with_seq(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "events.jsonl"
    async with JsonlEventLog(path) as log:
        await log.append("a", {})
        await log.append("b", {})
    with path.open("ab") as file:
        file.write(torn)
    assert [event.type for event in read_events(path)] == ["a", "b"]
    async with JsonlEventLog(path, fsync=True) as log:
        event = await log.append("c", {})
    assert event.seq == 3
    assert [(one.seq, one.type) for one in read_events(path)] == [(1, "a"), (2, "b"), (3, "c")]


async def test_a_log_may_be_used_without_with_and_closed(tmp_path: Path) -> None:
    log = JsonlEventLog(tmp_path / "events.jsonl", fsync=False)
    await log.append("a", {})
    await log.aclose()
    await log.aclose()
    with pytest.raises(Exception, match="closed"):
        await log.append("b", {})
    assert [event.type for event in read_events(tmp_path / "events.jsonl")] == ["a"]


async def test_concurrent_appends_have_no_gaps_and_are_in_order(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    async with JsonlEventLog(path) as log, anyio.create_task_group() as group:
        for n in range(100):
            group.start_soon(log.append, "n", {"n": n})
    assert [event.seq for event in read_events(path)] == list(range(1, 101))


async def test_a_shaper_changes_the_logs_copy_of_a_sub_call_only() -> None:
    log = MemoryEventLog()
    registry = with_echo(log)
    seen: list[Any] = []

    def shape(dispatch: Any) -> Any:
        seen.append(dispatch)
        return [{"type": "text", "text": "short"}] if dispatch.name == "echo" else None

    registry.shape_dispatch_log(shape)
    scope = registry.scope("s")
    async with CodeMode(registry, scope=scope) as cm:
        result = await cm.run("return await tools.echo(a=1)", call_id="outer")
    assert result.ok, result.text
    assert result.value == {"a": 1}
    dispatch = seen[0]
    assert dispatch.call.call_id == "outer"
    assert dispatch.call.name == "run_code"
    assert dispatch.scope is scope
    assert dispatch.sub_call_id == "outer:code:1"
    assert dispatch.name == "echo"
    assert dispatch.is_error is False
    assert dispatch.content == [{"type": "text", "text": '{"a":1}'}]
    settled = [event for event in log.events if event.type == "tool/code-dispatch"]
    assert settled[0].data["content"] == [{"type": "text", "text": "short"}]
    assert [event.type for event in log.events] == [
        "tool/call",
        "code/run-start",
        "tool/code-dispatch-start",
        "tool/code-dispatch",
        "code/run-end",
        "tool/result",
    ]


@pytest.mark.parametrize("shaper", [lambda dispatch: 1 / 0, lambda dispatch: None, lambda dispatch: [object()]])
async def test_a_shaper_that_gives_nothing_or_fails_leaves_the_copy_as_it_was(shaper: Any) -> None:
    log = MemoryEventLog()
    registry = with_echo(log)
    registry.shape_dispatch_log(shaper)
    async with CodeMode(registry) as cm:
        result = await cm.run("return await tools.echo(a=1)")
    assert result.ok
    settled = [event for event in log.events if event.type == "tool/code-dispatch"]
    assert settled[0].data["content"] == [{"type": "text", "text": '{"a":1}'}]


async def test_calls_that_never_began_are_pairs_too(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    cancel = CancelSignal()
    cancel.cancel()
    async with JsonlEventLog(path) as log:
        registry = with_echo(log)
        scope = registry.scope("s")
        scope.present_as("code")
        await registry.call("echo", {"a": 1}, cancel=cancel)
        await registry.call("echo", {"a": {1}})
        await registry.call("echo", {}, scope=scope)
        await registry.call("ghost", {})
        await registry.call("echo", {"a": {1}}, cancel=cancel)
    events = list(read_events(path))
    assert [event.type for event in events] == ["tool/call", "tool/result"] * 5
    assert [event.data["error"]["code"] for event in events[1::2]] == [  # type: ignore[call-overload,index]
        "ABORTED_BEFORE_DISPATCH",
        "INVALID_ARGS",
        "UNKNOWN_TOOL",
        "UNKNOWN_TOOL",
        "INVALID_ARGS",
    ]
    assert ["arguments" in event.data for event in events[0::2]] == [True, False, True, True, False]


async def test_integers_of_any_size_are_exact_everywhere(tmp_path: Path) -> None:
    huge = 10**5000 + 1
    path = tmp_path / "events.jsonl"
    async with JsonlEventLog(path) as log:
        registry = with_echo(log)
        result = await registry.call("echo", {"n": huge, "list": [-huge]})
    assert isinstance(result, ToolSuccess), result.error.message[:200]
    assert result.value == {"n": huge, "list": [-huge]}
    assert next(iter(read_events(path))).data["arguments"] == {"n": huge, "list": [-huge]}


async def test_contained_failures_are_told_through_the_loggers_of_codemode(caplog: pytest.LogCaptureFixture) -> None:
    log = MemoryEventLog()
    registry = with_echo(log)

    def bad(call: Any, result: Any) -> None:
        raise RuntimeError("observer broke")

    registry.on_result(bad)
    with caplog.at_level("WARNING"):
        await registry.call("echo", {}, call_id="c")
    assert any(record.name.startswith("codemode") for record in caplog.records)
    assert any("observer broke" in record.getMessage() + str(record.exc_info) for record in caplog.records)
    warnings = [event.data for event in log.events if event.type == "warning"]
    assert all({"source", "message"} <= set(data) for data in warnings)


async def test_a_question_that_is_open_when_the_task_is_cancelled_is_decided_in_the_log() -> None:
    log = MemoryEventLog()
    asked = anyio.Event()

    async def approver(request: Any) -> str:
        asked.set()
        await anyio.sleep_forever()
        return "allowed-once"

    registry = with_echo(log)
    registry.approver = approver

    @registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        return Ask()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(registry.call, "echo", {})
            await asked.wait()
            group.cancel_scope.cancel()
    assert [event.type for event in log.events] == ["tool/call", "approval/asked", "approval/decided", "tool/result"]
    assert log.events[2].data["outcome"] == "cancelled"
    assert log.events[3].data["error"]["code"] == "ABORTED_BEFORE_DISPATCH"  # type: ignore[call-overload,index]


async def test_data_that_is_no_json_is_refused_by_a_log_and_takes_no_number(tmp_path: Path) -> None:
    memory = MemoryEventLog()
    async with JsonlEventLog(tmp_path / "events.jsonl") as file:
        for log in (memory, file):
            with pytest.raises(Exception, match="JSON"):
                await log.append("own", {"x": object()})  # type: ignore[dict-item]
            assert (await log.append("own", {})).seq == 1
    mine: dict[str, Any] = {"a": [1]}
    event = await memory.append("own", mine)
    mine["a"].append(2)
    assert event.data == {"a": [1]}


async def test_a_nested_call_of_the_host_is_recorded_with_its_root() -> None:
    log = MemoryEventLog()
    registry = with_echo(log, presentation_meta=lambda a, v: {"m": 1})

    async def outer(arguments: Any, ctx: ToolContext) -> JsonValue:
        inner = await registry.call("echo", {}, parent=ctx.call.token)
        assert isinstance(inner, ToolSuccess)
        assert inner.meta is None  # metadata is for the outer call's user interface
        return None

    registry.register(Tool("outer", "d", outer, parameters={"type": "object"}))
    assert isinstance(await registry.call("outer", {}, call_id="o"), ToolSuccess)
    roots = {event.data["root_call_id"] for event in log.events if "root_call_id" in event.data}
    assert roots == {"o"}
