"""gateway.md and decisions.md, "Gateway": the command line and the MCP server, from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codemode import read_events

TOOLS = '''
from codemode import Registry

registry = Registry()

@registry.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

@registry.tool
async def remove(path: str) -> str:
    """Remove a file."""
    return "removed " + path
'''


def codemode(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "codemode", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, input=stdin, capture_output=True, text=True, timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_tools.py").write_text(TOOLS)
    return tmp_path


def test_run_prints_the_text_and_ends_with_zero(folder: Path) -> None:
    done = codemode(folder, "run", "-c", "print('hi')\nreturn await tools.add(1, 2)", "--tools", "my_tools:registry")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["hi", "3"]


def test_run_takes_a_file_and_standard_input(folder: Path) -> None:
    (folder / "p.py").write_text("return await tools.add(1, 2)")
    assert codemode(folder, "run", "p.py", "--tools", "my_tools:registry").stdout.strip() == "3"
    assert codemode(folder, "run", "-", stdin="return 5").stdout.strip() == "5"


def test_json_prints_the_fields_of_the_result_and_nothing_else(folder: Path) -> None:
    done = codemode(
        folder, "run", "--json", "-c", "print('hi')\nreturn await tools.add(1, 2)", "--tools", "my_tools:registry"
    )
    fields: dict[str, Any] = json.loads(done.stdout)
    for name in ("ok", "value", "has_value", "logs", "text", "error", "calls", "notes", "usage", "run_id"):
        assert name in fields, name
    assert (fields["ok"], fields["value"], fields["logs"]) == (True, 3, ["hi"])
    assert fields["calls"][0]["status"] == "done"


def test_a_failed_program_ends_with_one_and_a_users_mistake_with_two(folder: Path) -> None:
    failed = codemode(folder, "run", "-c", "1/0")
    assert failed.returncode == 1
    assert "ZeroDivisionError" in failed.stdout + failed.stderr
    for mistake in (
        ["run", "missing.py"],
        ["run", "-c", "return 1", "--tools", "nowhere:registry"],
        ["nonsense"],
        ["run"],
    ):
        done = codemode(folder, *mistake)
        assert done.returncode == 2, (mistake, done)
        assert "Traceback" not in done.stderr
        assert done.stderr.strip()


def test_the_log_is_written_where_it_is_asked_for(folder: Path) -> None:
    codemode(
        folder, "run", "-c", "return await tools.add(1, 2)", "--tools", "my_tools:registry", "--log", "events.jsonl"
    )
    types = [event.type for event in read_events(folder / "events.jsonl")]
    assert types == [
        "tool/call",
        "code/run-start",
        "tool/code-dispatch-start",
        "tool/code-dispatch",
        "code/run-end",
        "tool/result",
    ]
    page = codemode(folder, "trace", "events.jsonl", "--html", "page.html")
    assert page.returncode == 0, page.stderr
    assert "add" in (folder / "page.html").read_text()
    tree = codemode(folder, "trace", "events.jsonl")
    assert "add" in tree.stdout


def test_policies_of_the_file_hold(folder: Path) -> None:
    (folder / "codemode.toml").write_text('[policies]\ndeny = ["rem*"]\n')
    program = "try:\n    return await tools.remove('x')\nexcept ToolCallError as e:\n    return 'denied: ' + e.message"
    done = codemode(folder, "run", "-c", program, "--tools", "my_tools:registry")
    assert done.stdout.startswith("denied: "), done


def test_an_ask_without_a_terminal_is_a_denial(folder: Path) -> None:
    (folder / "codemode.toml").write_text('[policies]\nask = ["remove"]\n')
    program = "try:\n    return await tools.remove('x')\nexcept ToolCallError as e:\n    return 'denied'"
    assert codemode(folder, "run", "-c", program, "--tools", "my_tools:registry").stdout.strip() == "denied"


def test_stubs_tools_and_check(folder: Path) -> None:
    assert (
        "async def add(self, a: int, b: int) -> int" in codemode(folder, "stubs", "--tools", "my_tools:registry").stdout
    )
    assert "add" in codemode(folder, "tools", "--tools", "my_tools:registry").stdout
    good = codemode(folder, "check", "-c", "return await tools.add(1, 2)", "--tools", "my_tools:registry")
    bad = codemode(folder, "check", "-c", "return await tools.ad(1, 2)", "--tools", "my_tools:registry")
    assert good.returncode == 0, good.stdout + good.stderr
    assert bad.returncode == 1
    assert "ad" in bad.stdout + bad.stderr


def test_doctor_and_help(folder: Path) -> None:
    doctor = codemode(folder, "doctor")
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert "seccomp" in doctor.stdout.lower()
    for command in ("run", "check", "stubs", "tools", "serve", "doctor", "install", "audit", "trace"):
        told = codemode(folder, command, "--help")
        assert told.returncode == 0
        assert "codemode " + command in told.stdout + told.stderr


async def test_serve_answers_the_official_client(folder: Path) -> None:
    pytest.importorskip("mcp")
    from mcp import StdioServerParameters
    from mcp.client.client import Client

    environment = {**os.environ, "PYTHONPATH": str(folder)}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "codemode", "serve", "--tools", "my_tools:registry"],
        env=environment,
        cwd=str(folder),
    )
    async with Client(_transport(server)) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"run_code", "search_tools", "get_tool_docs"} <= set(listed)
        assert listed["run_code"].output_schema is not None
        ran = await client.call_tool(
            "run_code", {"code": "print('hi')\nreturn await tools.add(1, 2)", "description": "adds"}
        )
        assert ran.structured_content is not None
        assert {"ok": True, "logs": ["hi"], "result": 3}.items() <= ran.structured_content.items()
        assert ran.content[0].text == "hi\n3"  # type: ignore[union-attr]
        found = await client.call_tool("search_tools", {"query": "add numbers"})
        assert "add" in str(found.content)
        docs = await client.call_tool("get_tool_docs", {"names": ["add"]})
        assert "async def add(self, a: int, b: int) -> int" in docs.content[0].text  # type: ignore[union-attr]
        failed = await client.call_tool("run_code", {"code": "1/0", "description": "fails"})
        assert failed.is_error
        assert failed.structured_content is not None
        assert failed.structured_content["error"]["kind"] == "exception"
        assert "ZeroDivisionError" in str(failed.content)


def _transport(server: Any) -> Any:
    from mcp.client.stdio import stdio_client

    return stdio_client(server)
