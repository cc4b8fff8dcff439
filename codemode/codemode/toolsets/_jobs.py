"""The `jobs` tools: start a command that takes long, look at its output, list and kill.

Rules
- A command is a list of words for the operating system, never a text for a shell. It runs as the host does: give
  these tools only to programs that may run commands, or put a policy on `jobs.start` (it is marked destructive and
  open-world, so `ask_unless_read_only` asks).
- A command gets a short environment (paths, language, home), not the host's: keys that stand in the environment of an
  agent are not for its commands, unless `env=` says so.
- Each command has a session of its own and is killed with everything in it: TERM first, KILL after a while. One
  thread a job reads its output; nothing waits on a pipe that nobody empties.
- `output` with `wait` waits in the loop, not in a thread: cancelling the call ends the wait and never the job.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import anyio
from pydantic import Field, with_config
from typing_extensions import TypedDict

from codemode_registry import Tool, ToolAnnotations, ToolContext, ToolError, function_tool

from ._job_board import Ending, Job, JobBoard, JobView
from ._toolset import CLOSED, Toolset

MAX_WAIT_SECONDS = 600.0
"""The longest wait of one `output` call; a longer one is cut to it."""

TERM_SECONDS = 3.0
"""How long a killed command may take to end by itself."""

POLL_SECONDS = 0.02
"""How often a waiting `output` looks: below what a person or a program notices, and free of threads."""

_PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV", "SYSTEMROOT")


@with_config(CLOSED)
class JobHandle(TypedDict):
    """A job: what `output` and `kill` take is its job_id."""

    job_id: str
    kind: str
    label: str
    status: Annotated[str, Field(description="running, stopping, completed, failed or killed")]
    started: Annotated[float, Field(description="seconds since 1970")]
    ended: float | None
    exit_code: int | None
    detail: str


@with_config(CLOSED)
class JobOutput(TypedDict):
    """What a job said since the last look."""

    text: str
    dropped: Annotated[int, Field(description="bytes before text that were too many to keep")]
    job: JobHandle


class JobTools:
    """The bodies of the tools over one board."""

    def __init__(self, board: JobBoard, cwd: str, env: Mapping[str, str]) -> None:
        self._board, self._cwd, self._env = board, cwd, dict(env)

    def start(self, ctx: ToolContext, command: list[str], label: str | None = None) -> JobHandle:
        """Start a command in the background and return at once.

        Args:
            command: the program and its arguments, each a text of its own; no shell
            label: a few words on what it is for
        """
        if not command or not command[0] or any("\0" in word for word in command):
            raise ToolError("command must be a list of texts, the program first, without NUL characters")
        shown = label or " ".join(command)[:120]
        job = self._board.start(
            "command", shown, ctx.call.scope, lambda job: _spawn(job, command, self._cwd, self._env)
        )
        return _handle(job.view())

    async def output(
        self,
        ctx: ToolContext,
        job_id: str,
        wait: bool = False,
        timeout: Annotated[float, Field(gt=0)] = 30.0,  # noqa: ASYNC109 (a parameter of the tool)
    ) -> JobOutput:
        """The output of a job since the last look; with wait, only when it has ended or the time is over.

        Args:
            job_id: from start or list
            wait: wait for the end of the job
            timeout: seconds to wait at most (600 is the most)
        """
        job = self._board.find(job_id, ctx.call.scope)
        if wait:
            with anyio.move_on_after(min(timeout, MAX_WAIT_SECONDS)):
                while job.live:  # noqa: ASYNC110 (a thread of another loop may settle it)
                    await anyio.sleep(POLL_SECONDS)
        view = job.view()  # before the output: an ended job's output is then whole
        text, dropped = job.take()
        return {"text": text, "dropped": dropped, "job": _handle(view)}

    def list_jobs(self, ctx: ToolContext) -> list[JobHandle]:
        """The jobs, running and ended, in the order of their start."""
        return [_handle(job.view()) for job in self._board.visible(ctx.call.scope)]

    def kill(self, ctx: ToolContext, job_id: str) -> JobHandle:
        """End a job, with all that it has started. A job that has ended stays as it is.

        Args:
            job_id: from start or list
        """
        job = self._board.find(job_id, ctx.call.scope)
        job.stop()
        return _handle(job.view())


def _spawn(job: Job, command: list[str], cwd: str, env: Mapping[str, str]) -> None:
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise ToolError(f"{command[0][:200]!r} cannot be started: {reason}") from None
    running = _Command(job, process)
    job.cancel = running.end
    threading.Thread(target=running.follow, name=f"codemode {job.job_id}", daemon=True).start()


class _Command:
    """A running command and the thread that follows it."""

    def __init__(self, job: Job, process: subprocess.Popen[bytes]) -> None:
        self._job, self._process = job, process
        self._collecting = threading.Lock()

    def follow(self) -> None:
        """Empty the pipe until nobody holds it any more, then collect the process."""
        process = self._process
        assert process.stdout is not None
        with process.stdout as pipe:
            while data := os.read(pipe.fileno(), 1 << 16):
                self._job.write(data)
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # ended, and its number still taken
        with self._collecting:
            code = process.wait()
        detail = f"exit code {code}" if code >= 0 else f"ended by {signal.Signals(-code).name}"
        self._job.settle(Ending(ok=code == 0, detail=detail, exit_code=code))

    def end(self) -> None:
        """Ask the command and everything in its session to end; after a while, make it."""
        self._signal(signal.SIGTERM)
        timer = threading.Timer(TERM_SECONDS, self._signal, (signal.SIGKILL,))
        timer.daemon = True
        timer.start()

    def _signal(self, number: signal.Signals) -> None:
        # Not Popen.poll: it would collect the process, and its group's number could then be a stranger's.
        with self._collecting, contextlib.suppress(ProcessLookupError, PermissionError):
            if self._process.returncode is None:
                os.killpg(self._process.pid, number)


def _handle(view: JobView) -> JobHandle:
    return {
        "job_id": view.job_id,
        "kind": view.kind,
        "label": view.label,
        "status": view.status,
        "started": round(view.started, 3),
        "ended": None if view.ended is None else round(view.ended, 3),
        "exit_code": view.exit_code,
        "detail": view.detail,
    }


def shown_output(arguments: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    """What a model reads of an `output`: the text and a line on the job's state."""
    job, text = value["job"], value["text"]
    lost = f"[{value['dropped']:,} bytes before this were too many to keep]\n" if value["dropped"] else ""
    body = text if text.endswith("\n") else f"{text}\n" if text else "[no new output]\n"
    return f"{lost}{body}[{job['job_id']}: {_state(job)}]"


def shown_jobs(arguments: Mapping[str, Any], value: Sequence[Mapping[str, Any]]) -> str:
    """What a model reads of a `list`."""
    return "\n".join(f"{job['job_id']} [{job['kind']}] {_state(job)}: {job['label']}" for job in value) or "no jobs"


def shown_handle(arguments: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    """What a model reads of a `start` or a `kill`."""
    hint = f"; its output: output(job_id={value['job_id']!r})" if value["status"] == "running" else ""
    return f"{value['job_id']}: {_state(value)}{hint}"


def _state(job: Mapping[str, Any]) -> str:
    return f"{job['status']}, {job['detail']}" if job["detail"] else str(job["status"])


def job_tools(*, cwd: str | os.PathLike[str] = ".", env: Mapping[str, str] | None = None) -> Toolset:
    """Tools for long work: start a command in the background, see its output, list and kill.

    Args:
        cwd: where commands run.
        env: their environment (default: path, home and language of the host's, nothing else).

    Returns:
        A toolset; `close()` ends every command that still runs. The end of the process does too.
    """
    board = JobBoard()
    chosen = {name: os.environ[name] for name in _PASSED if name in os.environ} if env is None else env
    bodies = JobTools(board, os.path.abspath(cwd), chosen)
    looks = ToolAnnotations(read_only=True, destructive=False, open_world=False)
    acts = ToolAnnotations(read_only=False, destructive=True, open_world=True)
    ends = ToolAnnotations(read_only=False, destructive=True, open_world=False)
    patience = MAX_WAIT_SECONDS + 10
    tools: list[Tool] = [
        function_tool(bodies.start, name="start", render=shown_handle, annotations=acts),
        function_tool(
            bodies.output,
            name="output",
            concurrency_safe=True,
            timeout=patience,
            render=shown_output,
            annotations=looks,
        ),
        function_tool(bodies.list_jobs, name="list", concurrency_safe=True, render=shown_jobs, annotations=looks),
        function_tool(bodies.kill, name="kill", render=shown_handle, annotations=ends),
    ]
    atexit.register(_close, weakref.ref(board))
    return Toolset("jobs", tools, close=board.close)


def _close(board: weakref.ref[JobBoard]) -> None:
    if (left := board()) is not None:
        left.close()
