"""Servers that people use, from npm and PyPI, started for real: their tools, their values, their faults."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from codemode.mcp import McpUpstreams
from codemode_registry import MemoryEventLog, Registry


@asynccontextmanager
async def opened(servers: dict[str, Any]) -> AsyncIterator[Registry]:
    registry = Registry(events=MemoryEventLog())
    with anyio.fail_after(90.0):
        async with McpUpstreams({"mcpServers": servers}) as upstreams:
            upstreams.attach(registry)
            assert {status.name: status.error for status in upstreams.status()} == dict.fromkeys(servers)
            yield registry


async def value(registry: Registry, tool: str, /, **arguments: Any) -> Any:
    result = await registry.call(tool, arguments)
    assert not result.is_error, result.error
    return result.value


async def test_everything_of_the_protocol(npm_servers: Path) -> None:
    async with opened({"all": {"command": str(npm_servers / "mcp-server-everything")}}) as registry:
        seen: list[Any] = []
        registry.on_progress(lambda *progress: seen.append(progress))
        assert await value(registry, "all.echo", message="hi") == "Echo: hi"
        weather = await value(registry, "all.get-structured-content", location="New York")
        assert set(weather) == {"temperature", "conditions", "humidity"}
        picture = await registry.call("all.get-tiny-image", {})
        assert not picture.is_error
        assert [block["type"] for block in picture.content] == ["text", "image", "text"]
        assert picture.value[1]["mimeType"] == "image/png"
        links = await value(registry, "all.get-resource-links", count=2)
        assert [block["type"] for block in links[1:]] == ["resource_link"] * (len(links) - 1)
        await value(registry, "all.trigger-long-running-operation", duration=1, steps=3)
        assert len(seen) == 3
        bad = await registry.call("all.get-sum", {"a": "x", "b": 1})
        assert bad.is_error
        assert bad.error.code == "INVALID_ARGS"


async def test_files_of_the_filesystem_server(npm_servers: Path, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello\n", encoding="utf-8")
    server = {"command": str(npm_servers / "mcp-server-filesystem"), "args": [str(tmp_path)]}
    async with opened({"fs": server}) as registry:
        assert (await value(registry, "fs.read_text_file", path=str(tmp_path / "note.txt")))["content"] == "hello\n"
        outside = await registry.call("fs.read_text_file", {"path": "/etc/hostname"})
        assert outside.is_error
        assert "outside allowed directories" in outside.error.message
        tool = registry.get("fs.read_text_file")
        assert tool is not None
        assert tool.concurrency_safe is True


async def test_a_graph_of_the_memory_server(npm_servers: Path, tmp_path: Path) -> None:
    server = {
        "command": str(npm_servers / "mcp-server-memory"),
        "env": {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")},
    }
    async with opened({"memory": server}) as registry:
        entity = {"name": "codemode", "entityType": "project", "observations": ["runs programs"]}
        await value(registry, "memory.create_entities", entities=[entity])
        graph = await value(registry, "memory.read_graph")
        assert [found["name"] for found in graph["entities"]] == ["codemode"]
        assert str(tmp_path) not in (await value(registry, "memory.search_nodes", query="programs"))


async def test_times_of_the_time_server(python_server: Callable[[str], str]) -> None:
    async with opened({"time": {"command": python_server("mcp-server-time")}}) as registry:
        now = await value(registry, "time.get_current_time", timezone="UTC")
        assert now["timezone"] == "UTC"
        wrong = await registry.call("time.get_current_time", {"timezone": "Mars/Olympus"})
        assert wrong.is_error
        assert "Mars/Olympus" in wrong.error.message


async def test_a_repository_of_the_git_server(python_server: Callable[[str], str], tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "the first one"]):
        await anyio.run_process([*git, *command])
    async with opened({"git": {"command": python_server("mcp-server-git")}}) as registry:
        log = await value(registry, "git.git_log", repo_path=str(tmp_path))
        assert "the first one" in str(log)
        missing = await registry.call("git.git_status", {"repo_path": str(tmp_path / "none")})
        assert missing.is_error
