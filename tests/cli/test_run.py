"""`codemode run`: results, failures, limits, policies, logs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from codemode_registry import read_events

from .commands import codemode, environment

TOOLS = '''
import time
import anyio
from codemode import Registry, ToolAnnotations

registry = Registry()


@registry.tool(annotations=ToolAnnotations(read_only=True))
async def double(number: int) -> int:
    """Double a number."""
    return number * 2


@registry.tool
async def wipe(what: str) -> str:
    """Wipe something."""
    return f"wiped {what}"


@registry.tool
async def slow(name: str) -> str:
    """Take long."""
    open(name, "w").close()
    await anyio.sleep(1000)
    return name


@registry.tool
def stuck(name: str) -> str:
    """Take long, and hear nothing."""
    open(name, "w").close()
    time.sleep(60)
    return name


@registry.guard
def no_thirteen(call):
    return "unlucky" if call.arguments.get("number") == 13 else None
'''


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "mytools.py").write_text(TOOLS)
    (tmp_path / "a.txt").write_text("hello\n")
    return tmp_path


def test_the_value_comes_out_on_stdout_and_the_rest_on_stderr(here: Path) -> None:
    done = codemode("run", "-c", 'return await tools.fs.read("a.txt")', "--fs", ".", cwd=here)
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    assert "1 call," in done.stderr
    assert "log: " in done.stderr


def test_a_program_comes_from_a_file_or_from_stdin(here: Path) -> None:
    program = "total = 0\nfor n in range(4):\n    total += await tools.double(number=n)\nreturn {'total': total}\n"
    (here / "p.py").write_text(program)
    by_file = codemode("run", "p.py", "--tools", "mytools:registry", "-q", cwd=here)
    by_pipe = codemode("run", "-", "--tools", "mytools", "-q", cwd=here, input=program)
    assert json.loads(by_file.stdout) == json.loads(by_pipe.stdout) == {"total": 12}
    assert by_file.stderr == by_pipe.stderr == ""


def test_json_has_the_fields_of_the_result_and_nothing_else_is_on_stdout(here: Path) -> None:
    code = "print('log'); return [await tools.double(number=4), await tools.fs.list()]"
    done = codemode("run", "-c", code, "--tools", "mytools.py:registry", "--fs", ".", "--json", cwd=here)
    said = json.loads(done.stdout)
    assert (said["ok"], said["value"][0], said["logs"], said["error"]) == (True, 8, ["log"], None)
    assert [(call["name"], call["status"]) for call in said["calls"]] == [("double", "done"), ("fs.list", "done")]
    assert set(said) == {
        *("ok", "value", "has_value", "logs", "text", "error", "calls", "notes", "usage", "run_id"),
    }


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("while True: pass", "timeout"),
        ("x = 'a' * 10**10", "worker-exit"),
        ("raise ValueError('no')", "exception"),
        ("def f(:", "syntax"),
        ("await tools.nothing()", "exception"),
        ("await tools.double(number=13)", "exception"),
        ("import socket", "syntax"),
    ],
)
def test_a_program_that_fails_is_exit_code_1_with_its_kind(here: Path, code: str, kind: str) -> None:
    words = (
        "run",
        "-c",
        code,
        "--tools",
        "mytools:registry",
        "--json",
        "--compute-seconds",
        "1",
        "--memory-mib",
        "256",
    )
    done = codemode(*words, cwd=here)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["error"]["kind"] == kind
    assert "Traceback" not in done.stderr


def test_a_failure_is_told_on_stderr_with_what_was_done(here: Path) -> None:
    done = codemode("run", "-c", "await tools.double(number=1)\nraise ValueError('no')", "--tools", "mytools", cwd=here)
    assert (done.returncode, done.stdout) == (1, "")
    assert "ValueError" in done.stderr
    assert "double" in done.stderr


def test_the_log_is_where_it_was_asked_for_and_goes_on(here: Path) -> None:
    for _ in range(2):
        assert (
            codemode("run", "-c", "await tools.fs.list()", "--fs", ".", "--log", "logs/run.jsonl", cwd=here).returncode
            == 0
        )
    events = list(read_events(here / "logs" / "run.jsonl"))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert sum(event.type == "code/run-end" for event in events) == 2
    assert sum(event.type == "tool/code-dispatch" for event in events) == 2


def test_without_a_place_the_log_is_in_the_state_folder(here: Path) -> None:
    done = codemode("run", "-c", "return 1", cwd=here)
    place = Path(done.stderr.rpartition("log: ")[2].strip())
    assert place.is_relative_to(here / ".home" / "state" / "codemode")
    assert [event.type for event in read_events(place)][-1] == "tool/result"


def test_a_log_that_cannot_be_written_is_said(here: Path) -> None:
    done = codemode("run", "-c", "return 1", "--log", ".", cwd=here)
    assert (done.returncode, "cannot be written" in done.stderr) == (2, True)


def test_a_question_that_nobody_can_answer_denies(here: Path) -> None:
    (here / "codemode.toml").write_text('tools = "mytools:registry"\n[policies]\nask_unless_read_only = true\n')
    code = "await tools.double(number=1)\nreturn await tools.wipe(what='all')"
    env = environment(here / ".home")
    (here / ".home").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "codemode", "run", "-c", code],
        cwd=here,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,  # no terminal at all
    )
    assert done.returncode == 1
    assert "wipe" in done.stderr
    yes = codemode("run", "-c", code, "--yes", "-q", cwd=here)
    assert (yes.returncode, yes.stdout) == (0, "wiped all\n")


def test_progress_can_be_asked_for_where_there_is_no_terminal(here: Path) -> None:
    code = "await tools.double(number=1)\ntry:\n    await tools.double(number=13)\nexcept ToolCallError: pass"
    done = codemode("run", "-c", code, "--tools", "mytools", "--progress", cwd=here)
    assert done.returncode == 0
    assert "+ double(number=1)" in done.stderr
    assert "x double(number=13)" in done.stderr
    assert "unlucky" in done.stderr
    assert "\x1b[" not in done.stderr


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_an_interrupted_run_ends_cleanly_and_says_what_was_done(here: Path, backend: str) -> None:
    (here / ".home").mkdir()
    code = "await tools.double(number=3)\nawait tools.slow(name='started')"
    to = ["--log", "log.jsonl", "--backend", backend]
    process = subprocess.Popen(
        [sys.executable, "-m", "codemode", "run", "-c", code, "--tools", "mytools", *to],
        cwd=here,
        env=environment(here / ".home"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _wait_for(here / "started", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert "interrupted" in err
    assert "double" in err
    assert "Traceback" not in err
    events = list(read_events(here / "log.jsonl"))
    assert [event.type for event in events if event.type.startswith("tool/code")] == [
        "tool/code-dispatch-start",
        "tool/code-dispatch",
    ] * 2
    assert next(event for event in events if event.type == "code/run-end").data["status"] == "abort"


@pytest.mark.parametrize("signals", [2, 3])
def test_more_signals_end_what_does_not_let_itself_be_cancelled(here: Path, signals: int) -> None:
    (here / ".home").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "codemode", "run", "-c", "await tools.stuck(name='started')", "--tools", "mytools"],
        cwd=here,
        env=environment(here / ".home"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=0,
    )
    _wait_for(here / "started", process)
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    while "interrupted" not in process.stderr.readline():
        pass
    for _ in range(signals - 1):
        process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 143, err
    assert "Traceback" not in err


def test_tools_that_need_asyncio_get_its_loop(here: Path) -> None:
    (here / "napping.py").write_text(
        "import asyncio\nfrom codemode import Registry\nregistry = Registry()\n\n"
        "@registry.tool\nasync def nap() -> str:\n    await asyncio.sleep(0.001)\n    return 'awake'\n"
    )
    words = ["run", "-c", "return await tools.nap()", "--tools", "napping.py"]
    assert codemode(*words, "--backend", "asyncio", cwd=here).stdout == "awake\n"
    assert "no running event loop" in codemode(*words, cwd=here).stderr


def test_a_registrys_own_log_gets_every_event_too(here: Path) -> None:
    (here / "logged.py").write_text(
        "from codemode import JsonlEventLog, Registry\nregistry = Registry(events=JsonlEventLog('own.jsonl'))\n"
        "@registry.tool\nasync def one() -> int:\n    return 1\n"
    )
    done = codemode("run", "-c", "return await tools.one()", "--tools", "logged", "--log", "ours.jsonl", cwd=here)
    assert done.returncode == 0, done.stderr
    own, ours = ([event.type for event in read_events(here / name)] for name in ("own.jsonl", "ours.jsonl"))
    assert own == ours
    assert "tool/code-dispatch" in own


def _wait_for(file: Path, process: subprocess.Popen[str]) -> None:
    import time

    deadline = time.monotonic() + 60
    while not file.exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_note_is_told_once_with_the_result_or_beside_its_json(tmp_path: Path) -> None:
    code = "import asyncio\nasyncio.create_task(asyncio.sleep(60))\nreturn (1,)"
    text = codemode("run", "-c", code, cwd=tmp_path)
    assert (text.stdout + text.stderr).count("cancelled unfinished") == 1
    assert text.stderr.count("tuple to list") == 1
    machine = codemode("run", "-c", code, "--json", cwd=tmp_path)
    assert json.loads(machine.stdout)["value"] == [1]
    assert machine.stderr.count("cancelled unfinished") == 1
