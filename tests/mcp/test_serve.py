"""`codemode serve` as a client meets it: a command that is started, or an address that is connected to."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult

from .conftest import LEFT_STREAMS

SECRET = "s3cr3t-key-0123456789"
PROGRAM = """
import asyncio
first, second = await asyncio.gather(tools.odd.first(), tools.odd.second())
print("both done")
return [first, second, await tools.shout(word="hi")]
"""
MODULE = '''
from codemode import Registry

registry = Registry()


@registry.tool
async def shout(word: str) -> str:
    """Make a word loud."""
    return word.upper()
'''


@pytest.fixture
def project(tmp_path: Path, odd: Callable[..., dict[str, Any]]) -> list[str]:
    """Arguments for a project with an upstream, a module of its own, and a question about one tool."""
    servers = {"mcpServers": {"odd": odd(env={"API_KEY": SECRET})}, "policies": {"ask": ["odd.second"]}}
    (tmp_path / "mcp.json").write_text(json.dumps(servers), encoding="utf-8")
    (tmp_path / "shouting.py").write_text(MODULE, encoding="utf-8")
    files = ["--mcp", str(tmp_path / "mcp.json"), "--tools", f"{tmp_path / 'shouting.py'}:registry"]
    return ["-m", "codemode", "serve", *files, "--log", str(tmp_path / "log.jsonl")]


async def yes(context: Any, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={})


async def run(client: Client, code: str) -> CallToolResult:
    return await client.call_tool("run_code", {"code": code, "description": "a test"})


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_starts_the_gateway_and_runs_a_program(project: list[str], tmp_path: Path, mode: str) -> None:
    command = StdioServerParameters(command=sys.executable, args=project, cwd=tmp_path)
    with anyio.fail_after(90.0):
        async with Client(command, mode=mode, elicitation_callback=yes) as client:
            assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
            offered = await client.list_tools()
            assert [tool.name for tool in offered.tools] == ["run_code", "search_tools", "get_tool_docs"]
            assert "async def shout" in str(offered.tools[0].description)
            result = await run(client, PROGRAM)
            assert result.structured_content == {
                "ok": True,
                "result": ["first", "second", "HI"],
                "logs": ["both done"],
                "calls": [{"name": name, "status": "done"} for name in ("odd.first", "odd.second", "shout")],
            }
            leaked = await run(client, "return await tools.odd.secret()")
            assert leaked.structured_content["result"] == "key [redacted]"
    log = (tmp_path / "log.jsonl").read_text(encoding="utf-8")
    assert '"code/run-end"' in log
    assert SECRET not in log


async def test_a_program_that_never_ends_is_stopped_by_its_client(project: list[str], tmp_path: Path) -> None:
    command = StdioServerParameters(command=sys.executable, args=project, cwd=tmp_path)
    log = tmp_path / "log.jsonl"
    with anyio.fail_after(90.0):
        async with Client(command) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run, client, "while True:\n    await tools.odd.first()")
                await in_log(log, "code/run-start")
                tasks.cancel_scope.cancel()
            await in_log(log, "code/run-end")
            assert (await run(client, "return 1")).structured_content["result"] == 1
    ends = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if "code/run-end" in line]
    assert [end["data"]["status"] for end in ends] == ["abort", "ok"]


async def in_log(log: Path, words: str) -> None:
    """A bounded wait (the caller's limit) for a record that another process writes."""
    while not log.exists() or words not in log.read_text(encoding="utf-8"):  # noqa: ASYNC110, ASYNC240
        await anyio.sleep(0.02)


@asynccontextmanager
async def served(project: list[str], folder: Path) -> AsyncIterator[tuple[str, anyio.abc.Process]]:
    arguments = [sys.executable, *project, "--http", "--port", "0"]
    async with await anyio.open_process(arguments, cwd=folder, stdin=subprocess.DEVNULL) as process:
        try:
            assert process.stderr is not None
            said = ""
            while "listening on " not in said:
                said += (await process.stderr.receive()).decode()
            address = said.split("listening on ")[1]
            while "\n" not in address:
                address += (await process.stderr.receive()).decode()
            yield address.strip().splitlines()[0], process
        finally:
            if process.returncode is None:
                process.kill()


@pytest.mark.filterwarnings(LEFT_STREAMS)
@pytest.mark.usefixtures("collected_streams")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_clients_connect_over_http_each_with_its_own_questions(
    project: list[str], tmp_path: Path, mode: str
) -> None:
    answers: dict[str, Any] = {}

    async def connect(url: str, name: str, elicit: Callable[..., Awaitable[ElicitResult]] | None) -> None:
        async with Client(url, mode=mode, elicitation_callback=elicit) as client:
            result = await run(client, f"return ['{name}', await tools.odd.second()]")
            answers[name] = result.structured_content

    with anyio.fail_after(120.0):
        async with served(project, tmp_path) as (url, process):
            async with anyio.create_task_group() as tasks:
                for number in range(5):
                    tasks.start_soon(connect, url, f"can-{number}", yes)
                    tasks.start_soon(connect, url, f"cannot-{number}", None)
            for name, answer in answers.items():
                if name.startswith("can-"):
                    assert answer["result"] == [name, "second"]
                else:
                    assert answer["calls"][0]["status"] == "denied"
            assert len(answers) == 10
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 128 + signal.SIGTERM


async def test_a_signal_ends_the_gateway_over_stdio_while_no_line_comes(project: list[str], tmp_path: Path) -> None:
    with anyio.fail_after(60.0):
        async with await anyio.open_process([sys.executable, *project], cwd=tmp_path) as process:
            assert process.stderr is not None
            said = ""
            while "serving MCP server odd" not in said:
                said += (await process.stderr.receive()).decode()
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 130


async def test_a_wrong_file_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"x": {"comand": SECRET}}}), encoding="utf-8")
    done = await anyio.run_process(
        [sys.executable, "-m", "codemode", "serve", "--mcp", str(tmp_path / "mcp.json")], check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    said = done.stderr.decode()
    assert "did you mean `command`" in said
    assert SECRET not in said
    assert "Traceback" not in said


async def test_an_address_that_is_taken_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = await anyio.run_process(
            [sys.executable, "-m", "codemode", "serve", "--fs", ".", "--http", "--port", str(port)],
            check=False,
            cwd=tmp_path,
        )
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


@pytest.mark.parametrize("closed", [False, True], ids=["null device", "closed"])
async def test_without_a_client_at_stdin_the_gateway_ends(tmp_path: Path, closed: bool) -> None:
    where = "<&-" if closed else "</dev/null"
    with anyio.fail_after(60.0):
        done = await anyio.run_process(
            ["sh", "-c", f'"{sys.executable}" -m codemode serve --fs . {where}'], check=False, cwd=tmp_path
        )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr.decode().strip() == "serving fs ."
