"""Event logs: numbered without gaps, detached from their source, repaired after a crash."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode_registry import EventLog, JsonlEventLog, LogError, MemoryEventLog, Registry, read_events

from .build import failed, ok, returning
from .test_json import JSON


async def test_events_are_numbered_from_one_and_timed_in_epoch_milliseconds(tmp_path: Path) -> None:
    for log in (MemoryEventLog(), JsonlEventLog(tmp_path / "log.jsonl")):
        assert isinstance(log, EventLog)
        before = time.time_ns() // 1_000_000
        events = [await log.append("warning", {"n": n}) for n in range(3)]
        assert [event.seq for event in events] == [1, 2, 3]
        assert all(type(event.time) is int and before <= event.time <= before + 60_000 for event in events)
        assert [(event.type, event.data) for event in events] == [("warning", {"n": n}) for n in range(3)]


async def test_what_was_logged_cannot_change_afterwards() -> None:
    log = MemoryEventLog()
    data: dict[str, Any] = {"rows": [1]}
    event = await log.append("x", data)
    data["rows"].append(2)
    assert log.events == [event]
    assert event.data == {"rows": [1]}
    with pytest.raises(TypeError):
        event.data["rows"].append(3)  # type: ignore[union-attr]


async def test_data_that_is_not_json_is_refused_and_takes_no_number(tmp_path: Path) -> None:
    for log in (MemoryEventLog(), JsonlEventLog(tmp_path / "log.jsonl")):
        with pytest.raises(TypeError, match="set"):
            await log.append("x", {"a": {1}})  # type: ignore[dict-item]
        assert (await log.append("x", {})).seq == 1


@pytest.mark.parametrize("fsync", [False, True])
async def test_a_log_is_read_back_as_it_was_written_one_object_a_line(tmp_path: Path, fsync: bool) -> None:
    path = tmp_path / "log.jsonl"
    nested: Any = []
    for _ in range(300):
        nested = [nested]
    datas: list[dict[str, Any]] = [
        {},
        {"a": [1, 2.5, None, "ü\n\u2028"]},
        {"big": 10**40, "bigger": 7**12_000, "zero": -0.0},
        {"s": "\ud800"},
        {"deep": nested},
    ]
    async with JsonlEventLog(path, fsync=fsync) as log:
        events = [await log.append("x", data) for data in datas]
    assert list(read_events(path)) == events
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == len(datas)
    assert all(line.endswith(b"\n") for line in lines)
    assert list(json.loads(lines[0])) == ["seq", "time", "type", "data"]


@settings(max_examples=40)
@given(st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=4), st.binary(max_size=40), st.integers(0, 200))
def test_a_log_that_was_torn_anywhere_goes_on_from_its_last_whole_line(datas: list[Any], junk: bytes, cut: int) -> None:
    import tempfile

    async def write(path: str, datas: list[Any]) -> list[Any]:
        async with JsonlEventLog(path) as log:
            return [await log.append("x", data) for data in datas]

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log.jsonl")
        events = anyio.run(write, path, datas)
        whole = Path(path).read_bytes()
        torn = whole[: max(0, len(whole) - cut)]
        kept = torn.count(b"\n")
        if torn and not torn.endswith(b"\n"):
            try:
                json.loads(torn.rpartition(b"\n")[2])
                kept += 1
            except ValueError:
                torn += junk.replace(b"\n", b"") if not torn.endswith(b"}") else b""
        Path(path).write_bytes(torn)
        assert list(read_events(path)) == events[:kept]
        more = anyio.run(write, path, [{"after": 1}])
        assert more[0].seq == kept + 1
        assert list(read_events(path)) == [*events[:kept], *more]


async def test_reopening_goes_on_with_the_numbers_and_finishes_a_line_that_lacks_only_its_end(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for round in range(3):
        async with JsonlEventLog(path) as log:
            assert (await log.append("x", {"fill": "y" * 100_000})).seq == 2 * round + 1
            await log.append("x", {})
        path.write_bytes(path.read_bytes()[:-1])
    async with JsonlEventLog(path) as log:
        assert (await log.append("x", {})).seq == 7
    assert [event.seq for event in read_events(path)] == list(range(1, 8))


async def test_a_log_that_was_not_closed_is_as_good_as_one_that_was(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    first = JsonlEventLog(path)
    await first.append("x", {})
    second = JsonlEventLog(path)
    assert (await second.append("x", {})).seq == 2
    await first.aclose()
    await first.aclose()
    await second.aclose()
    with pytest.raises(LogError, match="closed"):
        await second.append("x", {})


async def test_a_file_that_is_no_log_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")
    with pytest.raises(LogError, match=r"notes\.txt"):
        JsonlEventLog(path)
    assert path.read_text() == "my notes\n"
    with pytest.raises(LogError, match=":1"):
        list(read_events(path))
    with pytest.raises(OSError, match="missing"):
        JsonlEventLog(tmp_path / "missing" / "log.jsonl")


async def test_a_broken_line_in_the_middle_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    async with JsonlEventLog(path) as log:
        for _ in range(3):
            await log.append("x", {})
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"garbage\n" + lines[2])
    with pytest.raises(LogError, match=r"log\.jsonl:2"):
        list(read_events(path))


async def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    JsonlEventLog(path)
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("fsync", [False, True])
async def test_concurrent_appends_are_ordered(tmp_path: Path, fsync: bool) -> None:
    path = tmp_path / "log.jsonl"
    async with JsonlEventLog(path, fsync=fsync) as log:

        async def append(n: int) -> None:
            await log.append("x", {"n": n})

        async with anyio.create_task_group() as group:
            for n in range(60):
                group.start_soon(append, n)
    events = list(read_events(path))
    assert [event.seq for event in events] == list(range(1, 61))
    assert sorted(event.data["n"] for event in events) == list(range(60))  # type: ignore[type-var]


def test_appends_of_several_threads_and_loops_are_ordered(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = JsonlEventLog(path)
    memory = MemoryEventLog()

    async def work() -> None:
        for n in range(50):
            await log.append("x", {"n": n})
            await memory.append("x", {"n": n})

    threads = [threading.Thread(target=anyio.run, args=(work,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [event.seq for event in read_events(path)] == list(range(1, 201))
    assert [event.seq for event in memory.events] == list(range(1, 201))


async def test_a_write_that_fails_takes_no_number_and_leaves_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.jsonl"
    log = JsonlEventLog(path)
    registry = Registry(events=log)
    registry.register(returning("t", 1))
    ok(await registry.call("t", {}))
    real = os.write

    def full(fd: int, data: Any) -> int:
        if len(data) > 10:
            return real(fd, data[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        assert "No space left" in failed(await registry.call("t", {}), "PIPELINE_ERROR")
    ok(await registry.call("t", {}))
    await log.aclose()
    assert [event.seq for event in read_events(path)] == [1, 2, 3, 4]


async def test_a_log_that_cannot_take_its_half_line_back_says_that_it_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = JsonlEventLog(tmp_path / "log.jsonl")

    def refuse(*args: Any) -> Any:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", refuse)
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(OSError, match="Input/output"):
            await log.append("x", {})
    with pytest.raises(LogError, match="broken"):
        await log.append("x", {})
    await log.aclose()


async def test_a_log_of_another_make_may_return_nothing() -> None:
    class Sink:
        def __init__(self) -> None:
            self.lines: list[Any] = []

        async def append(self, type: str, data: Any) -> None:
            await anyio.lowlevel.checkpoint()
            self.lines.append((type, data))

    sink = Sink()
    registry = Registry(events=sink)  # type: ignore[arg-type]
    registry.register(returning("t", 1))
    assert ok(await registry.call("t", {}, call_id="c")) == 1
    assert [kind for kind, _ in sink.lines] == ["tool/call", "tool/result"]
    assert "call_seq" not in sink.lines[1][1]
