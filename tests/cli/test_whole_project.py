"""One file with two servers, a module and a toolset: list, stub, check, run and connect, one command each."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from .commands import Terminal, codemode

SERVER = """
import sys
from mcp.server import MCPServer

server = MCPServer(sys.argv[1])


@server.tool()
def forecast(city: str, days: int = 1) -> dict:
    \"\"\"The weather to come.\"\"\"
    return {"city": city, "days": days, "by": sys.argv[1]}


server.run("stdio")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "weather.py").write_text(SERVER)
    (tmp_path / "mytools.py").write_text(
        "from codemode import Registry\nregistry = Registry()\n"
        "@registry.tool\nasync def add(a: int, b: int = 2) -> int:\n    return a + b\n"
    )
    servers = "".join(
        f'[mcpServers.{name}]\ncommand = {sys.executable!r}\nargs = ["weather.py", "{name}"]\ncwd = "."\n'
        f'env = {{ TOKEN = "s3cret-value" }}\n'
        for name in ("north", "south")
    )
    (tmp_path / "codemode.toml").write_text(
        'tools = "mytools:registry"\nlog = "log.jsonl"\n'
        + servers
        + '[toolsets]\nfs = "."\n[policies]\nallow = ["add", "north.*"]\nask_unless_read_only = true\n'
    )
    return tmp_path


def test_tools_stubs_and_check_see_everything(project: Path) -> None:
    names = codemode("tools", "--names", cwd=project).stdout.split()
    assert set(names) == {"add", "north.forecast", "south.forecast", "fs.list", "fs.glob", "fs.read", "fs.grep"}
    assert "class NorthTools" in codemode("stubs", cwd=project).stdout
    wrong = codemode("check", "-c", "await tools.north.forecst(city='x')", cwd=project)
    assert (wrong.returncode, "forecast" in wrong.stdout) == (1, True)


def test_a_program_calls_them_all_and_no_secret_is_in_the_log(project: Path) -> None:
    code = (
        "a = await tools.north.forecast(city='Oslo')\n"
        "return [a['by'], await tools.add(a=40), len(await tools.fs.glob('*.py'))]"
    )
    done = codemode("run", "-c", code, "--json", cwd=project)
    assert json.loads(done.stdout)["value"] == ["north", 42, 2], done.stderr
    assert "s3cret-value" not in (project / "log.jsonl").read_text() + done.stdout + done.stderr


def test_a_question_about_a_servers_tool_is_asked_at_the_terminal(project: Path) -> None:
    screen = Terminal("run", "-c", "return await tools.south.forecast(city='Rome')", cwd=project)
    screen.expect("south.forecast wants to run with")
    screen.expect("run it?")
    screen.send("y\n")
    assert screen.wait() == 0
    assert '"by": "south"' in screen.text


def test_a_server_that_is_down_is_named_and_the_rest_works(project: Path) -> None:
    (project / "mcp.json").write_text(json.dumps({"mcpServers": {"broken": {"command": "/no/such/program"}}}))
    done = codemode("run", "-c", "return await tools.add(a=1)", "--mcp", "mcp.json", "-y", cwd=project)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
    assert "MCP server 'broken' is down" in done.stderr
    doctor = codemode("doctor", "--mcp", "mcp.json", cwd=project)
    assert doctor.returncode == 1
    assert "BAD broken" in doctor.stdout
    assert "ok  north: up: 1 tool" in doctor.stdout


def test_wrong_server_files_are_one_clear_line(project: Path) -> None:
    for text, said in (
        ("{", "not valid JSON"),
        ("[]", "expected an object"),
        ('{"mcpServers": {"north": {"command": "x"}}}', "named twice"),
        ('{"mcpServers": {"x": {}}}', "x"),
        ('{"policies": {"denny": []}}', "did you mean 'deny'"),
    ):
        (project / "mcp.json").write_text(text)
        done = codemode("tools", "--mcp", "mcp.json", cwd=project)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
        assert "Traceback" not in done.stderr
