"""codemode.toml: what it may say, what stands above it, and one clear line for each mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codemode._policies import PolicyRules
from codemode._project import ProjectError, limits_of, load_project, policy_rules

WHOLE = """
tools = "mytools:registry"
log = "logs/run.jsonl"

[mcpServers.git]
command = "uvx"
args = ["mcp-server-git"]
cwd = "sub"
env = { TOKEN = "s3cret" }

[upstreams.web]
url = "https://example.test/mcp"
headers = { Authorization = "Bearer s3cret" }

[toolsets]
fs = { root = ".", write = true }
sqlite = "data.db"
jobs = true

[limits]
wall_seconds = 30
max_calls = 50

[policies]
allow = ["fs.*"]
deny = ["*.delete_*"]
ask = ["jobs.start"]
ask_unless_read_only = true
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "codemode.toml"


def test_a_whole_file_is_read(file: Path) -> None:
    file.write_text(WHOLE)
    project = load_project(file)
    content = project.content
    assert content.tools == ["mytools:registry"]
    assert project.mcp_servers == {
        "git": {
            "command": "uvx",
            "args": ["mcp-server-git"],
            "cwd": str(file.parent / "sub"),
            "env": {"TOKEN": "s3cret"},
        },
        "web": {"url": "https://example.test/mcp", "headers": {"Authorization": "Bearer s3cret"}},
    }
    assert content.toolsets.fs is not None
    assert (content.toolsets.fs.root, content.toolsets.fs.write) == (".", True)
    assert content.toolsets.sqlite is not None
    assert content.toolsets.jobs is not None
    assert content.log is not None
    assert project.path(content.log.path) == file.parent / "logs/run.jsonl"
    assert content.policies.rules() == PolicyRules(("fs.*",), ("*.delete_*",), ("jobs.start",), True)
    limits = limits_of(content.limits, max_calls=7)
    assert (limits.wall_seconds, limits.max_calls, limits.compute_seconds) == (30, 7, 60)


def test_no_file_is_an_empty_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    project = load_project()
    assert (project.file, project.mcp_servers, project.content.tools) == (None, {}, [])
    (tmp_path / "below").mkdir()
    (tmp_path / "codemode.toml").write_text('tools = "x"')
    monkeypatch.chdir(tmp_path / "below")
    assert load_project().file is None, "a file above is not picked up"


def test_the_environment_stands_above_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(WHOLE)
    monkeypatch.setenv("CODEMODE_LIMITS__WALL_SECONDS", "5")
    assert limits_of(load_project(file).content.limits).wall_seconds == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tools = [", "not valid TOML"),
        ("toolz = 'x'", "toolz: is not known (did you mean 'tools'?)"),
        ("[policies]\nalow = ['x']", "policies.alow: is not known (did you mean 'allow'?)"),
        ("[policies]\nallow = 'x'", "policies.allow: input should be a valid list"),
        ("[limits]\nwall_seconds = -1", "limits.wall_seconds: input should be greater than 0"),
        ("[limits]\nwall_second = 1", "did you mean 'wall_seconds'"),
        ("[toolsets]\nfs = 5", "toolsets.fs"),
        ("[toolsets]\nfs = {write = true}", "toolsets.fs.root: field required"),
        ("[mcpServers.a]\nargs = 'x'", "mcpServers.a.args"),
        ("[mcpServers.a]\ncommand='x'\n[upstreams.a]\ncommand='y'", "both in mcpServers and in upstreams"),
    ],
)
def test_a_wrong_file_is_one_clear_line(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    with pytest.raises(ProjectError) as caught:
        load_project(file)
    assert said in str(caught.value)
    assert str(caught.value).startswith("codemode.toml")
    assert len(str(caught.value).splitlines()) == 1


def test_each_mistake_has_its_line_and_no_line_has_a_secret(file: Path) -> None:
    file.write_text("[mcpServers.a]\nenv = { TOKEN = ['s3cret'] }\nheaders = 's3cret'\n[limits]\nmax_calls = 0\n")
    with pytest.raises(ProjectError) as caught:
        load_project(file)
    assert len(str(caught.value).splitlines()) == 3
    assert "s3cret" not in str(caught.value)


def test_a_file_that_is_no_text_or_not_there(file: Path) -> None:
    with pytest.raises(ProjectError, match="there is no project file"):
        load_project(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ProjectError, match=r"codemode\.toml"):
        load_project(file)


def test_a_wrong_variable_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CODEMODE_LIMITS__MAX_CALLS", "many")
    with pytest.raises(ProjectError, match=r"limits\.max_calls"):
        load_project()
    monkeypatch.setenv("CODEMODE_LIMITS", "{")
    with pytest.raises(ProjectError, match="environment"):
        load_project()


def test_policies_of_an_mcp_file_have_the_same_words() -> None:
    said = json.loads('{"deny": ["x.*"], "ask_unless_read_only": true}')
    assert policy_rules(said, "mcp.json") == PolicyRules(deny=("x.*",), ask_unless_read_only=True)
    with pytest.raises(ProjectError, match=r"mcp\.json: policies\.denny: is not known \(did you mean 'deny'\?\)"):
        policy_rules({"denny": []}, "mcp.json")
    with pytest.raises(ProjectError, match="policies"):
        policy_rules(["x"], "mcp.json")  # type: ignore[arg-type]
