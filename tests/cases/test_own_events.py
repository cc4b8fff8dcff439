"""More of the event log: types, order, identity, what a file of it holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from codemode import CodeMode, JsonlEventLog, Limits, read_events
from tests.cases.world import World, shared_runtime, tool

INTEGER = {"type": "integer"}
ADD = tool("add", {"a": INTEGER, "b": INTEGER}, INTEGER, "read-only")


def test_the_records_of_a_run_in_order() -> None:
    world = World("print('x')\nreturn await tools.add(a=1, b=2)", [ADD])
    result = world.run()
    kinds = [event.type for event in world.events.events]
    assert kinds == [
        "tool/call",
        "code/run-start",
        "tool/code-dispatch-start",
        "tool/code-dispatch",
        "code/run-end",
        "tool/result",
    ]
    call, start, dispatch, settle, end, outcome = (event.data for event in world.events.events)
    assert call["name"] == "run_code"
    assert call["call_id"] == call["root_call_id"]
    assert start["tools"] == ["add"]
    assert start["limits"]["compute_seconds"] == 10.0
    assert start["isolation"] == "sealed-process"
    assert dispatch["line"] == 2
    assert dispatch["parent_call_id"] == call["call_id"]
    assert settle["start_seq"] == world.of("tool/code-dispatch-start")[0].seq
    assert settle["timing"].keys() == {"queued", "before", "body", "after"}
    assert "value" not in settle
    assert end["run_id"] == result.run_id
    assert end["usage"]["calls"] == 1
    assert outcome["call_seq"] == world.of("tool/call")[0].seq
    assert outcome["is_error"] is False
    for event in world.events.events:
        assert event.time > 1_600_000_000_000
        assert None not in event.data.values()


def test_a_run_that_fails_has_the_same_records() -> None:
    world = World("await tools.add(a=1, b='x')", [ADD])
    world.run()
    world.assert_paired()
    end = world.of("code/run-end")[0].data
    assert end["status"] == "exception"
    assert end["error"]["line"] == 1
    assert world.of("tool/result")[0].data["is_error"] is True


def test_a_call_by_the_model_and_a_call_by_a_program_are_told_apart() -> None:
    world = World("return await tools.add(a=1, b=2)", [ADD])

    async def main() -> None:
        async with world.code_mode(mode="both") as code_mode:
            await code_mode.call("add", {"a": 1, "b": 1}, call_id="direct-1")
            await code_mode.run(world.program, call_id="run-1")

    world.drive(main)
    assert [data["call_id"] for data in (event.data for event in world.of("tool/call"))] == ["direct-1", "run-1"]
    assert world.starts()[0]["sub_call_id"] == "run-1:code:1"
    assert world.starts()[0]["root_call_id"] == "run-1"


def test_a_settle_is_written_before_the_program_has_the_value() -> None:
    seen: list[list[str]] = []

    def look(world: World, a: Any, ctx: Any) -> int:
        seen.append([data["name"] for data in world.settles()])
        return 1

    world = World(
        "await tools.add(a=1, b=1)\nawait tools.look()\nawait tools.look()", [ADD, tool("look")], bodies={"look": look}
    )
    assert world.run().ok
    assert seen == [["add"], ["add", "look"]]


def test_a_jsonl_log_holds_every_record_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    world = World("return await tools.add(a=1, b=2)", [ADD])

    async def once() -> None:
        async with (
            JsonlEventLog(path) as log,
            CodeMode(world.registry, events=log, runtime=shared_runtime(), limits=Limits()) as code_mode,
        ):
            assert (await code_mode.run(world.program)).value == 3

    world.drive(once)
    with path.open("a", encoding="utf-8") as torn:
        torn.write('{"seq": 7, "ti')
    world.drive(once)
    events = list(read_events(path))
    assert [event.seq for event in events] == list(range(1, 13))
    assert [json.loads(line)["seq"] for line in path.read_text().splitlines()] == list(range(1, 13))
    assert world.events.events == []


def test_the_content_of_the_log_can_be_shaped_without_touching_the_value() -> None:
    world = World("return await tools.big()", [tool("big")], bodies={"big": lambda w, a, c: "x" * 10_000})
    world.registry.shape_dispatch_log(
        lambda dispatch: [{"type": "text", "text": f"{dispatch.name}: shortened"}] if dispatch.name == "big" else None
    )
    assert len(world.value()) == 10_000
    assert world.settles()[0]["content"] == [{"type": "text", "text": "big: shortened"}]


def test_the_outer_result_is_a_tool_result() -> None:
    world = World("print('log')\nreturn {'a': 1}")
    result = world.run()
    assert result.result.is_error is False
    assert result.result.value == {"logs": ["log"], "result": {"a": 1}}
    assert result.result.content[0] == {"type": "text", "text": result.text}
    failed = world.run("1 / 0")
    assert failed.result.is_error is True
    assert failed.result.error.code == "CODE_RUN_FAILED"
    nothing = world.run("x = 1")
    assert nothing.result.value == {"logs": []}
