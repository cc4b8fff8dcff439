"""The jobs tools: commands in the background, their output as a stream, and an end for each."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from codemode.toolsets import _job_board, _jobs, job_tools
from codemode.toolsets._job_board import Ending, Job, JobBoard
from codemode_registry import Registry, ToolError

from .calling import Tools

FOREVER = "import time, sys\nprint('up', flush=True)\nwhile True: time.sleep(1)"


@pytest.fixture
def toolset(tmp_path: Path) -> Iterator[Any]:
    with job_tools(cwd=tmp_path) as made:
        yield made


@pytest.fixture
def tools(toolset: Any) -> Tools:
    return Tools(toolset)


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


class Gate:
    """What a job waits at, so that it still runs when it is looked at."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._end = os.open(path, os.O_RDWR)  # with both ends here, neither side waits for the other to open
        self.wait = f"open({str(path)!r}).readline()\n"
        """The job's first line."""

    def open(self) -> None:
        os.write(self._end, b"\n")

    def close(self) -> None:
        os.close(self._end)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with contextlib.closing(Gate(tmp_path / "gate")) as made:
        yield made


async def until(tools: Tools, job_id: str, text: str) -> str:
    """Read a job's output until a text is in it."""
    said = ""
    with anyio.fail_after(20):
        while text not in said:
            said += (await tools("output", job_id=job_id))["text"]
            await anyio.sleep(0.01)
    return said


async def test_a_job_runs_and_its_output_is_read_once(tools: Tools, tmp_path: Path, gate: Gate) -> None:
    code = gate.wait + "import os; print(os.getcwd()); print('è')"
    job = await tools("start", command=python(code), label="where am I")
    assert (job["job_id"], job["kind"], job["label"], job["status"]) == (
        "command-1",
        "command",
        "where am I",
        "running",
    )
    gate.open()
    ended = await tools("output", job_id="command-1", wait=True)
    assert ended["text"] == f"{tmp_path}\nè\n"
    assert (ended["job"]["status"], ended["job"]["exit_code"]) == ("completed", 0)
    assert (await tools("output", job_id="command-1"))["text"] == ""
    assert [each["job_id"] for each in await tools("list")] == ["command-1"]


async def test_a_failing_job_says_its_code_and_its_errors(tools: Tools) -> None:
    job = await tools("start", command=python("import sys; sys.exit('no good')"))
    ended = await tools("output", job_id=job["job_id"], wait=True)
    assert (ended["text"], ended["job"]["status"], ended["job"]["detail"]) == ("no good\n", "failed", "exit code 1")


async def test_a_kill_ends_the_job_with_all_it_started(tools: Tools, tmp_path: Path) -> None:
    child = (
        "import os, time\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "print('up', flush=True)\n"
        "time.sleep(1000)"
    )
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    job = await tools("start", command=python(code))
    await until(tools, job["job_id"], "up")
    grandchild = int((tmp_path / "pid").read_text())
    assert (await tools("kill", job_id=job["job_id"]))["status"] in ("stopping", "killed")
    ended = await tools("output", job_id=job["job_id"], wait=True)
    assert ended["job"]["status"] == "killed"
    with anyio.fail_after(20):
        while _alive(grandchild):  # noqa: ASYNC110 (another process's end has no event here)
            await anyio.sleep(0.01)
    assert (await tools("kill", job_id=job["job_id"]))["status"] == "killed"


async def test_a_job_that_ignores_term_is_killed_for_good(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jobs, "TERM_SECONDS", 0.1)
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + FOREVER
    job = await tools("start", command=python(code))
    await until(tools, job["job_id"], "up")
    await tools("kill", job_id=job["job_id"])
    with anyio.fail_after(10):
        ended = await tools("output", job_id=job["job_id"], wait=True)
    assert (ended["job"]["status"], ended["job"]["detail"]) == ("killed", "ended by SIGKILL")


async def test_a_wait_that_ends_leaves_the_job_alive(tools: Tools) -> None:
    job = await tools("start", command=python(FOREVER))
    assert (await tools("output", job_id=job["job_id"], wait=True, timeout=0.05))["job"]["status"] == "running"
    with anyio.move_on_after(0.05) as scope:
        await tools("output", job_id=job["job_id"], wait=True)
    assert scope.cancelled_caught
    assert (await tools("list"))[0]["status"] == "running"


async def test_what_cannot_be_started_takes_no_number(tools: Tools) -> None:
    assert "cannot be started" in await tools.refusal("start", command=["/no/such/program"])
    assert "list of texts" in await tools.refusal("start", command=[])
    assert "list of texts" in await tools.refusal("start", command=["a\0b"])
    assert (await tools("start", command=python("pass")))["job_id"] == "command-1"


async def test_unknown_ids_are_refused_with_the_known_ones(tools: Tools) -> None:
    await tools("start", command=python("pass"))
    for name in ("output", "kill"):
        assert "there are: command-1" in await tools.refusal(name, job_id="command-7")
        assert "unknown job" in await tools.refusal(name, job_id="")


async def test_the_environment_of_the_host_is_not_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    with job_tools(cwd=tmp_path) as toolset:
        tools = Tools(toolset)
        job = await tools("start", command=python("import os; print(sorted(os.environ))"))
        said = (await tools("output", job_id=job["job_id"], wait=True))["text"]
        assert "SOME_API_KEY" not in said
        assert "PATH" in said


async def test_another_scopes_job_is_as_good_as_unknown(toolset: Any) -> None:
    registry = Registry()
    registry.add(toolset, namespace="jobs")
    mine, yours = registry.scope("mine"), registry.scope("yours")
    started = await registry.call("jobs.start", {"command": python("pass")}, scope=mine)
    job_id = started.value["job_id"]
    for name in ("output", "kill"):
        result = await registry.call(f"jobs.{name}", {"job_id": job_id}, scope=yours)
        assert result.is_error
        assert "unknown job" in result.error.message
    assert (await registry.call("jobs.list", {}, scope=yours)).value == []
    assert len((await registry.call("jobs.list", {}, scope=mine)).value) == 1


async def test_closing_ends_every_job_and_starts_none(tmp_path: Path) -> None:
    toolset = job_tools(cwd=tmp_path)
    tools = Tools(toolset)
    job = await tools("start", command=python(FOREVER))
    await until(tools, job["job_id"], "up")
    await anyio.to_thread.run_sync(toolset.close)
    assert (await tools("list"))[0]["status"] == "killed"
    assert "closed" in await tools.refusal("start", command=python("pass"))
    toolset.close()


def test_the_board_counts_live_jobs_of_each_owner() -> None:
    board = JobBoard()
    jobs = [board.start("k", "label", None, lambda job: None) for _ in range(_job_board.MAX_ACTIVE)]
    with pytest.raises(ToolError, match="kill one"):
        board.start("k", "label", None, lambda job: None)
    jobs[0].settle(Ending(ok=True, detail=""))
    assert board.start("k", "label", None, lambda job: None).job_id == f"k-{_job_board.MAX_ACTIVE + 1}"
    assert board.start("other", "label", Registry().scope("s"), lambda job: None).job_id == "other-1"


def test_the_first_ending_counts_and_a_kill_that_cannot_changes_nothing() -> None:
    job = Job("k-1", "k", "label", None)

    def refuse() -> None:
        raise ToolError("cannot")

    job.cancel = refuse
    with pytest.raises(ToolError, match="cannot"):
        job.stop()
    assert job.view().status == "running"
    job.cancel = lambda: None
    assert job.stop()
    job.settle(Ending(ok=True, detail="first"))
    job.settle(Ending(ok=False, detail="second"))
    assert (job.view().status, job.view().detail) == ("killed", "first")
    assert not job.stop()


def test_output_that_is_too_much_is_counted_and_the_newest_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_job_board, "MAX_OUTPUT_BYTES", 10)
    job = Job("k-1", "k", "label", None)
    job.write(b"0123456789abc")
    assert job.take() == ("3456789abc", 3)
    assert job.take() == ("", 0)


@pytest.mark.parametrize("text", ["aé", "a€", "a😀", "plain"])
def test_a_character_that_has_not_come_whole_waits_for_its_rest(text: str) -> None:
    job = Job("k-1", "k", "label", None)
    read = ""
    for byte in text.encode():
        job.write(bytes([byte]))
        read += job.take()[0]
    job.settle(Ending(ok=True, detail=""))
    assert read + job.take()[0] == text


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_what_a_model_reads_is_the_text_and_the_state(toolset: Any, gate: Gate) -> None:
    registry = Registry()
    registry.add(toolset, namespace="jobs")

    async def read(name: str, **arguments: Any) -> str:
        return str((await registry.call(f"jobs.{name}", arguments)).content[0]["text"])

    assert await read("list") == "no jobs"
    code = gate.wait + "print('hello')"
    assert "command-1: running" in await read("start", command=python(code), label="greet")
    gate.open()
    assert await read("output", job_id="command-1", wait=True) == "hello\n[command-1: completed, exit code 0]"
    assert await read("output", job_id="command-1") == "[no new output]\n[command-1: completed, exit code 0]"
    assert await read("list") == "command-1 [command] completed, exit code 0: greet"
    assert await read("kill", job_id="command-1") == "command-1: completed, exit code 0"
