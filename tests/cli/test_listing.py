"""tools, stubs, check, doctor and install: what they print, for people and for machines."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path

import pytest

from .commands import codemode
from .test_run import TOOLS


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "mytools.py").write_text(TOOLS)
    return tmp_path


def test_tools_lists_effects_policies_and_token_costs(here: Path) -> None:
    (here / "codemode.toml").write_text(
        'tools = "mytools:registry"\n[toolsets]\nfs = { root = ".", write = true }\n'
        '[policies]\nask_unless_read_only = true\ndeny = ["wipe"]\n'
    )
    said = json.loads(codemode("tools", "--json", cwd=here).stdout)
    rows = {row["name"]: row for row in said["tools"]}
    assert rows["double"]["effects"] == "reads"
    assert rows["fs.write"]["effects"] == "destructive"
    assert rows["wipe"]["effects"] == "unknown"
    assert [rows[name]["policy"] for name in ("double", "wipe", "fs.edit")] == ["allow", "deny", "ask"]
    assert rows["fs.grep"]["parallel"] is True
    assert all(row["stub_tokens"] > 0 and row["schema_tokens"] > 0 for row in rows.values())
    assert said["tokens"]["stubs"] < said["tokens"]["schemas"]
    table = codemode("tools", cwd=here)
    assert "fs.grep" in table.stdout
    assert "tokens as stubs" in table.stderr
    assert codemode("tools", "--names", cwd=here).stdout.split() == list(rows)


def test_without_tools_it_says_how_to_name_some(here: Path) -> None:
    done = codemode("tools", cwd=here)
    assert (done.returncode, done.stdout) == (0, "")
    assert "--fs DIR" in done.stderr


def test_stubs_are_python_on_stdout_or_in_a_file(here: Path) -> None:
    done = codemode("stubs", "--fs", ".", "--tools", "mytools", cwd=here)
    ast.parse(done.stdout)
    assert "async def double(self, number: int) -> int" in done.stdout
    assert codemode("stubs", "--fs", ".", "--tools", "mytools", "-o", "t.pyi", cwd=here).returncode == 0
    assert (here / "t.pyi").read_text() == done.stdout
    assert "class" in codemode("stubs", "--fs", ".", "--form", "prompt", cwd=here).stdout


def test_check_reports_in_the_programs_own_lines(here: Path) -> None:
    (here / "p.py").write_text("x = 1\nreturn await tools.fs.reed('a')\n")
    done = codemode("check", "p.py", "--fs", ".", cwd=here)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("p.py:2:")
    assert "    return await tools.fs.reed('a')" in done.stdout
    as_json = json.loads(codemode("check", "p.py", "--fs", ".", "--json", cwd=here).stdout)
    assert as_json[0]["line"] == 2
    refused = codemode("check", "-c", "import socket", "--fs", ".", cwd=here)
    assert (refused.returncode, "program:1:" in refused.stdout) == (1, True)
    good = codemode("check", "-c", "return await tools.fs.read('a')", "--fs", ".", cwd=here)
    assert (good.returncode, good.stdout) == (0, ""), good.stdout


def test_doctor_says_what_holds(here: Path) -> None:
    done = codemode("doctor", "--fs", ".", "--json", cwd=here)
    said = json.loads(done.stdout)
    found = {(finding["area"], finding["name"]): finding for finding in said["findings"]}
    assert found["sandbox", "a program"]["ok"] is True, found
    assert found["tools", "in all"]["detail"] == "4"
    assert ("sandbox", "a program") in found
    assert done.returncode == (0 if said["ok"] else 1)
    assert "sandbox" in codemode("doctor", cwd=here).stdout


def test_install_prints_what_to_put_where(here: Path) -> None:
    (here / "codemode.toml").write_text("")
    done = codemode("install", "cursor", cwd=here)
    server = json.loads(done.stdout)["mcpServers"]["codemode"]
    assert server["args"][-3:] == ["serve", "--config", str(here / "codemode.toml")]
    assert ".cursor/mcp.json" in done.stderr
    assert not (here / ".cursor").exists()
    toml = codemode("install", "codex", "--name", "my tools", cwd=here).stdout
    assert tomllib.loads(toml)["mcp_servers"]["my tools"]["args"] == server["args"]
    claude = codemode("install", "claude-code", cwd=here).stdout
    assert claude.startswith("claude mcp add codemode -- ")


def test_install_writes_beside_what_is_there(here: Path) -> None:
    (here / "mcp.json").write_text("{}")
    place = here / ".vscode" / "mcp.json"
    place.parent.mkdir()
    place.write_text('{"servers": {"other": {"command": "x"}}, "inputs": []}')
    words = ("install", "vscode", "--mcp", "mcp.json", "--tools", "mytools.py:registry", "--write")
    assert "added to" in codemode(*words, cwd=here).stderr
    assert "replaced in" in codemode(*words, cwd=here).stderr
    content = json.loads(place.read_text())
    assert content["servers"]["other"] == {"command": "x"}
    assert content["servers"]["codemode"]["type"] == "stdio"
    assert f"{here / 'mytools.py'}:registry" in content["servers"]["codemode"]["args"]
    assert content["inputs"] == []
    assert (place.parent / "mcp.json.bak").exists()


def test_install_leaves_a_file_alone_that_it_does_not_understand(here: Path) -> None:
    (here / "codemode.toml").write_text("")
    place = here / ".mcp.json"
    place.write_text('{"mcpServers": {}, // a comment\n}')
    done = codemode("install", "claude-code", "--write", cwd=here)
    assert (done.returncode, "left alone" in done.stderr) == (2, True)
    assert "a comment" in place.read_text()


def test_install_adds_a_table_to_a_toml_file_once(here: Path) -> None:
    (here / "codemode.toml").write_text("")
    place = here / ".home" / ".codex" / "config.toml"
    place.parent.mkdir(parents=True)
    place.write_text('model = "x" # kept\n')
    assert codemode("install", "codex", "--write", cwd=here).returncode == 0
    assert place.read_text().startswith('model = "x" # kept\n')
    assert "codemode" in tomllib.loads(place.read_text())["mcp_servers"]
    again = codemode("install", "codex", "--write", cwd=here)
    assert (again.returncode, "already" in again.stderr) == (2, True)
