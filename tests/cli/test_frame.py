"""The frame: help, versions, exit codes, the missing extra, completion, and no traceback for a mistake."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from codemode._cli._app import COMMANDS

from .commands import SECONDS, codemode, environment

THERE = [name for name in COMMANDS if importlib.util.find_spec(f"codemode._cli.{name}")]


def test_help_lists_every_command_with_examples(tmp_path: Path) -> None:
    shown = codemode("--help", cwd=tmp_path)
    assert shown.returncode == 0
    for name in THERE:
        assert name in shown.stdout
    assert "codemode demo" in shown.stdout


@pytest.mark.parametrize("name", THERE)
def test_the_help_of_each_command_has_examples(tmp_path: Path, name: str) -> None:
    shown = codemode(name, "--help", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert f"codemode {name}" in shown.stdout
    assert "Examples" in shown.stdout or "$ codemode" in shown.stdout


def test_the_version_is_said(tmp_path: Path) -> None:
    assert codemode("--version", cwd=tmp_path).stdout.startswith("codemode 0.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rnu"], "Did you mean 'run'"),
        (["run", "--nope"], "No such option"),
        (["run"], "give one program"),
        (["run", "missing.py"], "cannot be read"),
        (["run", "-c", "1", "x.py"], "give one program"),
        (["run", "-c", "1", "--fs", "nowhere"], "is not a directory"),
        (["run", "-c", "1", "--sqlite", "nowhere.db"], "is not a file"),
        (["run", "-c", "1", "--mcp", "nowhere.json"], "there is no file"),
        (["run", "-c", "1", "--tools", "nowhere_at_all:registry"], "there is no module 'nowhere_at_all'"),
        (["run", "-c", "1", "--tools", "json:nothing"], "has no 'nothing'"),
        (["run", "-c", "1", "--tools", "json:dumps"], "expected a Registry"),
        (["run", "-c", "1", "--tools", ":x"], "expected module:name"),
        (["run", "-c", "1", "--wall-seconds", "-1"], "wall_seconds"),
        (["run", "-c", "1", "--config", "nowhere.toml"], "there is no project file"),
        (["demo", "nowhere"], "is not a directory"),
        (["install", "netscape"], "not known"),
        (["install", "cursor"], "nothing to serve"),
        (["stubs", "--output", "no/such/folder/x.pyi"], "cannot be written"),
    ],
)
def test_a_mistake_is_words_and_exit_code_2_and_no_traceback(tmp_path: Path, words: list[str], said: str) -> None:
    done = codemode(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert said in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_users_module_that_fails_is_told_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "broken_tools.py").write_text("import os\n\nregistry = undefined_name\n")
    done = codemode("tools", "--tools", "broken_tools:registry", cwd=tmp_path)
    assert done.returncode == 2
    assert "NameError" in done.stderr
    assert "broken_tools.py, line 3" in done.stderr
    (tmp_path / "torn_tools.py").write_text("def f(:\n")
    done = codemode("tools", "--tools", "torn_tools.py", cwd=tmp_path)
    assert (done.returncode, "torn_tools.py, line 1" in done.stderr) == (2, True)


def test_without_the_extra_one_line_says_how_to_get_it(tmp_path: Path) -> None:
    code = (
        "import sys, importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'typer' else real(name, *more)\n"
        "from codemode.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr == "codemode: the command line needs typer: pip install 'codemode-runtime[cli]'\n"


def test_completion_knows_the_commands_and_the_clients(tmp_path: Path) -> None:
    env = {"_CODEMODE_COMPLETE": "complete_bash", "COMP_WORDS": "codemode st", "COMP_CWORD": "1"}
    assert codemode(cwd=tmp_path, **env).stdout.split() == ["stubs"]
    env |= {"COMP_WORDS": "codemode install cl", "COMP_CWORD": "2"}
    assert codemode(cwd=tmp_path, **env).stdout.split() == ["claude-code", "claude-desktop"]


def test_the_frame_imports_nothing_heavy() -> None:
    code = (
        "import sys; import codemode._cli._app as app; app._load('run')\n"
        "print([m for m in ('trio', 'anyio', 'rich', 'pydantic', 'mcp', 'codemode_registry') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_command_module_has_its_command_and_examples() -> None:
    for name in THERE:
        module = importlib.import_module(f"codemode._cli.{name}")
        assert callable(module.command)
        assert "codemode" in module.EPILOG


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m codemode stubs --fs . --fs-write | true",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a shell closes the streams")
@pytest.mark.parametrize(
    ("streams", "said"),
    [("<&-", "3"), (">&-", ""), ("2>&-", "3"), ("<&- >&- 2>&-", "")],
    ids=["in", "out", "err", "all"],
)
def test_closed_standard_streams_break_nothing(tmp_path: Path, streams: str, said: str) -> None:
    done = in_shell(f"run -c 'return 3' {streams}", tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, said)
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_result_that_cannot_be_written_is_words_and_an_exit_code(tmp_path: Path) -> None:
    done = in_shell("run -c 'return 3' -q >/dev/full", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("codemode: the result cannot be written: No space left")
    assert len(done.stderr.splitlines()) == 1


def in_shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command of ours as a shell starts it."""
    return subprocess.run(
        ["sh", "-c", f'"$PYTHON" -m codemode {command}'],
        cwd=cwd,
        env=environment(cwd / ".home", PYTHON=sys.executable),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


_TOLD = """
import atexit, sys
from codemode_bridge import _zygotes
begin = _zygotes.begin
_zygotes.begin = lambda: (print("typer" in sys.modules), begin())
atexit.register(lambda: print(*sys.modules))
sys.argv = ["codemode", *sys.argv[1:]]
from codemode.__main__ import main
main()
"""


def _told(*words: str, cwd: Path, **more: str) -> list[str]:
    """What a command does in a process that says when the zygote began, and at its end what was loaded."""
    done = subprocess.run(
        [sys.executable, "-c", _TOLD, *words],
        cwd=cwd,
        env=environment(cwd, **more),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_run_begins_with_the_zygote_and_loads_what_it_needs(tmp_path: Path) -> None:
    began, *_, value, loaded = _told("run", "-c", "1 + 1", cwd=tmp_path)
    assert (began, value) == ("False", "2")  # before typer was there
    heavy = {"asyncio", "rich", "mcp", "pydantic_settings", "sqlite3", "codemode.toolsets._fs", "codemode_stubs"}
    assert set(loaded.split()) & heavy == set()


def test_a_run_begins_late_where_that_is_asked_for(tmp_path: Path) -> None:
    value, _ = _told("run", "-c", "1 + 1", cwd=tmp_path, CODEMODE_START="late")
    assert value == "2"


def test_a_command_that_runs_nothing_begins_nothing(tmp_path: Path) -> None:
    assert "False" not in _told("tools", cwd=tmp_path)


def test_colour_can_be_forced_through_a_pipe(tmp_path: Path) -> None:
    *_, loaded = _told("run", "-c", "1 + 1", cwd=tmp_path, FORCE_COLOR="1")
    assert "rich.console" in loaded.split()
