"""write and edit: only from the version that was read, whole or not at all."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import anyio
import pytest

from codemode.toolsets import Basis, WriteIntent, _writing, fs_tools, unconditional
from codemode_registry import Registry, ToolError

from .calling import Tools


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one two one\n")
    return tmp_path


@pytest.fixture
def tools(root: Path) -> Tools:
    return Tools(fs_tools(root, write=True))


async def test_a_new_file_is_created_with_its_directories(root: Path, tools: Tools) -> None:
    assert await tools("write", path="x/y/z.txt", content="hé") == {"path": "x/y/z.txt", "size": 3, "created": True}
    assert (root / "x/y/z.txt").read_text("utf-8") == "hé"


async def test_an_existing_file_must_be_read_before_it_is_written(root: Path, tools: Tools) -> None:
    assert "read it first" in await tools.refusal("write", path="a.txt", content="new")
    assert (root / "a.txt").read_text() == "one two one\n"
    await tools("read", path="a.txt")
    assert (await tools("write", path="a.txt", content="new"))["created"] is False
    assert (root / "a.txt").read_text() == "new"


async def test_edit_needs_a_read_of_this_very_version(root: Path, tools: Tools) -> None:
    assert "edit requires reading" in await tools.refusal("edit", path="a.txt", old="two", new="2")
    await tools("read", path="a.txt")
    (root / "a.txt").write_text("one two three\n")
    assert "changed since it was read" in await tools.refusal("edit", path="a.txt", old="two", new="2")
    await tools("read", path="a.txt", offset=1, limit=1)
    assert (await tools("edit", path="a.txt", old="two", new="2"))["replaced"] == 1
    assert (await tools("edit", path="a.txt", old="2", new="zwei"))["replaced"] == 1, "its own edit is no stranger's"
    assert (root / "a.txt").read_text() == "one zwei three\n"


async def test_what_was_seen_missing_or_was_deleted(root: Path, tools: Tools) -> None:
    await tools.refusal("read", path="b.txt")
    assert "not found" in await tools.refusal("edit", path="b.txt", old="x", new="y")
    (root / "b.txt").write_text("came meanwhile")
    assert "exists already" in await tools.refusal("write", path="b.txt", content="x")
    await tools("read", path="a.txt")
    (root / "a.txt").unlink()
    assert "deleted since it was read" in await tools.refusal("edit", path="a.txt", old="two", new="2")


async def test_an_edit_says_what_does_not_fit(root: Path, tools: Tools) -> None:
    await tools("read", path="a.txt")
    assert "occurs 2 times" in await tools.refusal("edit", path="a.txt", old="one", new="1")
    assert "not in" in await tools.refusal("edit", path="a.txt", old="three", new="3")
    assert "empty" in await tools.refusal("edit", path="a.txt", old="", new="3")
    assert "same text" in await tools.refusal("edit", path="a.txt", old="one", new="one")
    assert (await tools("edit", path="a.txt", old="one", new="1", replace_all=True))["replaced"] == 2
    (root / "crlf.txt").write_bytes(b"a\r\nb\r\n")
    await tools("read", path="crlf.txt")
    assert "\\r\\n" in await tools.refusal("edit", path="crlf.txt", old="a\nb", new="x")
    await tools("edit", path="crlf.txt", old="a\r\nb", new="x\r\ny")
    assert (root / "crlf.txt").read_bytes() == b"x\r\ny\r\n"


async def test_one_scope_does_not_read_for_another(root: Path) -> None:
    registry = Registry()
    registry.add(fs_tools(root, write=True), namespace="fs")
    first, second = registry.scope("first"), registry.scope("second")
    edit = {"path": "a.txt", "old": "two", "new": "2"}
    assert not (await registry.call("fs.read", {"path": "a.txt"}, scope=first)).is_error
    assert (await registry.call("fs.edit", edit, scope=second)).is_error
    assert (await registry.call("fs.edit", edit)).is_error
    assert not (await registry.call("fs.edit", edit, scope=first)).is_error


async def test_mode_is_kept_and_no_draft_is_left(root: Path, tools: Tools) -> None:
    (root / "a.txt").chmod(0o750)
    await tools("read", path="a.txt")
    await tools("write", path="a.txt", content="x")
    await tools.refusal("write", path="sub/../a.txt/b", content="x")
    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o750
    assert os.listdir(root) == ["a.txt"]


async def test_a_hard_link_outside_keeps_its_content(
    root: Path, tools: Tools, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "kept.txt"
    outside.write_text("kept")
    os.link(outside, root / "hard.txt")
    await tools("read", path="hard.txt")
    await tools("write", path="hard.txt", content="changed")
    assert outside.read_text() == "kept"


async def test_of_racing_edits_of_one_version_one_wins(root: Path, tools: Tools) -> None:
    await tools("read", path="a.txt")
    toolset = fs_tools(root, write=True)
    registry = Registry()
    registry.add(toolset, namespace="fs")
    scopes = [registry.scope(f"s{n}") for n in range(8)]
    for scope in scopes:
        await registry.call("fs.read", {"path": "a.txt"}, scope=scope)
    outcomes: list[bool] = []

    async def edit(scope: object) -> None:
        result = await registry.call("fs.edit", {"path": "a.txt", "old": "two", "new": "won"}, scope=scope)  # type: ignore[arg-type]
        outcomes.append(result.is_error)

    async with anyio.create_task_group() as tasks:
        for scope in scopes:
            tasks.start_soon(edit, scope)
    assert sorted(outcomes) == [False] + [True] * 7
    assert (root / "a.txt").read_text() == "one won one\n"


async def test_a_reader_sees_the_old_content_or_the_new_and_nothing_between(root: Path, tools: Tools) -> None:
    contents = ["a" * 200_000, "b" * 200_000]
    (root / "big.txt").write_text(contents[0])
    await tools("read", path="big.txt")
    stop = threading.Event()
    seen: set[str] = set()

    def read() -> None:
        while not stop.is_set():
            seen.add((root / "big.txt").read_text())

    thread = threading.Thread(target=read)
    thread.start()
    try:
        for number in range(20):
            await tools("write", path="big.txt", content=contents[number % 2])
    finally:
        stop.set()
        thread.join()
    assert seen <= set(contents)


async def test_the_intent_of_a_write_is_a_hook(root: Path) -> None:
    asked: list[WriteIntent] = []

    def policy(intent: WriteIntent) -> Basis:
        asked.append(intent)
        if intent.path.endswith(".lock"):
            raise ToolError("lock files are not written by hand")
        return Basis(None)

    tools = Tools(fs_tools(root, write=True, intent=policy))
    await tools("write", path="a.txt", content="unread, and yet written")
    assert "by hand" in await tools.refusal("write", path="x.lock", content="x")
    assert [(i.operation, i.path, i.seen) for i in asked] == [("write", "a.txt", None), ("write", "x.lock", None)]
    assert not (root / "x.lock").exists()
    free = Tools(fs_tools(root, write=True, intent=unconditional))
    assert (await free("edit", path="a.txt", old="unread", new="read"))["replaced"] == 1


async def test_bounds_and_odd_texts(root: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_writing, "MAX_TEXT_BYTES", 10)
    assert "at most 10" in await tools.refusal("write", path="new.txt", content="x" * 11)
    assert not (root / "new.txt").exists()
    assert "directory" in await tools.refusal("write", path=".", content="x")


async def test_without_write_there_is_neither_write_nor_edit(root: Path) -> None:
    assert {tool.name for tool in fs_tools(root)}.isdisjoint({"write", "edit"})
    by_name = {tool.name: tool for tool in fs_tools(root, write=True)}
    assert by_name["write"].annotations.destructive is True
    assert by_name["edit"].concurrency_safe is False
