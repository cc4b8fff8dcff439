"""Nothing outside of the root is reached: not by `..`, absolute paths, links, races or special files."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from codemode.toolsets import fs_tools

from .calling import Tools

SECRET = "the secret outside"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "sub").mkdir()
    (tmp_path / "inside" / "own.txt").write_text("own")
    return tmp_path / "inside"


@pytest.fixture
def tools(root: Path) -> Tools:
    return Tools(fs_tools(root, write=True))


def descriptors() -> int:
    """How many descriptors this process has open, where that can be seen."""
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


PATHS_OUT = [
    "../secret.txt",
    "sub/../../secret.txt",
    "sub/../../inside/../secret.txt",
    "./../secret.txt",
    "..",
    "../",
    "../inside",
    "/etc/passwd",
    "//etc/passwd",
    "sub/../../../../../../../../etc/passwd",
]


@pytest.mark.parametrize("path", PATHS_OUT)
async def test_a_path_out_of_the_root_is_refused_by_every_tool(root: Path, tools: Tools, path: str) -> None:
    await tools.refusal("list", path=path)
    await tools.refusal("read", path=path)
    await tools.refusal("glob", pattern="*", path=path)
    await tools.refusal("grep", pattern="secret", path=path)
    await tools.refusal("write", path=path, content="gone")
    await tools.refusal("write", path=f"{path}/new.txt", content="gone")
    await tools.refusal("edit", path=path, old="the", new="a")
    assert (root.parent / "secret.txt").read_text() == SECRET


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "\ud800", "a" * 300])
async def test_what_is_no_path_is_refused_with_words(tools: Tools, path: str) -> None:
    await tools.refusal("list", path=path)
    await tools.refusal("read", path=path)


@pytest.mark.parametrize("target", ["../secret.txt", "{outside}/secret.txt", "sub/../../secret.txt", "/proc/self/cwd"])
async def test_a_link_out_of_the_root_leads_nowhere(root: Path, tools: Tools, target: str) -> None:
    (root / "way").symlink_to(target.format(outside=root.parent))
    for name in ("read", "list", "write", "edit", "grep", "glob"):
        arguments: dict[str, object] = {"path": "way"}
        arguments |= {"content": "x"} if name == "write" else {"old": "t", "new": "u"} if name == "edit" else {}
        arguments |= {"pattern": "secret"} if name in ("grep", "glob") else {}
        assert "out of the root" in await tools.refusal(name, **arguments)
    assert await tools("grep", pattern="secret") == []
    assert (root.parent / "secret.txt").read_text() == SECRET


async def test_a_linked_directory_out_of_the_root_is_no_way_out_either(root: Path, tools: Tools) -> None:
    (root / "up").symlink_to("..")
    assert "out of the root" in await tools.refusal("read", path="up/secret.txt")
    assert "out of the root" in await tools.refusal("write", path="up/new.txt", content="x")
    assert await tools("glob", pattern="**/secret.txt") == []
    assert not (root.parent / "new.txt").exists()


async def test_links_inside_the_root_work(root: Path, tools: Tools) -> None:
    (root / "sub" / "near").symlink_to("../own.txt")
    (root / "far").symlink_to(root / "sub" / "near")
    (root / "dir").symlink_to("sub")
    assert await tools("read", path="sub/near") == "own"
    assert await tools("read", path="far") == "own"
    assert await tools("read", path="dir/near") == "own"
    assert await tools("read", path="dir/../own.txt") == "own"


async def test_writing_through_a_link_changes_what_it_stands_for(root: Path, tools: Tools) -> None:
    (root / "link").symlink_to("own.txt")
    await tools("read", path="link")
    assert (await tools("write", path="link", content="new"))["path"] == "own.txt"
    assert (root / "link").is_symlink()
    assert (root / "own.txt").read_text() == "new"


async def test_links_in_circles_end(root: Path, tools: Tools) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "self").symlink_to("self/self/self")
    (root / "sub" / "loop").symlink_to("..")
    assert "links" in await tools.refusal("read", path="a")
    assert "links" in await tools.refusal("read", path="self")
    assert await tools("read", path="sub/loop/sub/loop/own.txt") == "own"
    assert await tools("glob", pattern="**/own.txt") == ["own.txt"]


async def test_special_files_are_refused_and_never_block(root: Path, tools: Tools) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        old = Path.cwd()
        os.chdir(root)  # the address of a unix socket is short
        try:
            server.bind("sock")
        finally:
            os.chdir(old)
        with anyio.fail_after(10):
            for name in ("pipe", "sock"):
                assert "not a regular file" in await tools.refusal("read", path=name)
                assert "not a regular file" in await tools.refusal("write", path=name, content="x")
            kinds = {entry["name"]: entry["kind"] for entry in await tools("list")}
            assert kinds["pipe"] == kinds["sock"] == "other"
            assert await tools("grep", pattern=".", glob="*") != []


async def test_a_device_is_refused(root: Path, tools: Tools) -> None:
    dev = Tools(fs_tools("/dev"))
    with anyio.fail_after(10):
        assert "not a regular file" in await dev.refusal("read", path="zero")
        assert await dev("grep", pattern=".", glob="zero") == []


async def test_messages_never_name_the_host(root: Path, tools: Tools) -> None:
    (root / "way").symlink_to(root.parent / "secret.txt")
    for path in ("way", "missing", "sub", "/etc/passwd", "own.txt/x"):
        assert str(root) not in await tools.refusal("read", path=path)


async def test_a_very_deep_tree_is_walked_to_the_bound_and_no_descriptor_is_left(root: Path, tools: Tools) -> None:
    deep = os.open(root, os.O_RDONLY)
    for _ in range(260):
        os.mkdir("d", dir_fd=deep)
        below = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    before = descriptors()
    assert await tools("glob", pattern="**/own.txt") == ["own.txt"]
    assert "deeper than" in await tools.refusal("read", path="d/" * 250 + "x")
    for _ in range(8):
        await tools.refusal("read", path="d/d/d/missing")
        await tools("grep", pattern="own", limit=1)
    after = descriptors()
    assert after <= before + 3  # worker threads may have opened a few of their own


async def test_a_directory_that_cannot_be_read_is_passed_over(root: Path, tools: Tools) -> None:
    (root / "closed").mkdir(mode=0o000)
    try:
        assert await tools("glob", pattern="**/own.txt") == ["own.txt"]
    finally:
        (root / "closed").chmod(0o700)


@pytest.fixture
def flipping(root: Path) -> Iterator[threading.Event]:
    """A thread that keeps exchanging a directory for a link out of the root."""
    (root / "dir").mkdir()
    (root / "dir" / "secret.txt").write_text("harmless")
    stop = threading.Event()

    def flip() -> None:
        while not stop.is_set():
            os.rename(root / "dir", root / "moved")
            try:
                (root / "dir").symlink_to("..")
                (root / "dir").unlink()
                os.rename(root / "moved", root / "dir")
            except OSError:  # a write made the directory anew in that moment, and may do so again
                while (root / "moved").exists():
                    shutil.rmtree(root / "dir", ignore_errors=True)
                    with contextlib.suppress(OSError):
                        os.rename(root / "moved", root / "dir")

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join()


async def test_a_race_of_links_against_directories_never_gives_the_secret(
    root: Path, tools: Tools, flipping: threading.Event
) -> None:
    outcomes: set[str] = set()
    for _ in range(300):
        result = await tools.registry.call("t.read", {"path": "dir/secret.txt"})
        outcomes.add(result.error.message if result.is_error else result.value)
        result = await tools.registry.call("t.write", {"path": "dir/new.txt", "content": "x"})
        found = await tools.registry.call("t.grep", {"pattern": "secret outside"})
        assert found.is_error or found.value == []
    assert SECRET not in outcomes
    assert not (root.parent / "new.txt").exists()
