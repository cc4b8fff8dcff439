"""Work in the background: what runs, what it has said so far, and how it ended.

Rules
- A job belongs to the scope that started it; another scope's job is as good as unknown (its id is refused). Calls
  without a scope share one owner, and their jobs are everybody's to see.
- States go one way: running -> stopping -> completed | failed | killed, and the first end is the end.
- The output is a stream: what was read is gone. It is bounded; what did not fit is counted, and the newest is kept.
- Threads, not tasks: a job outlives the call and the event loop that started it. `close()` ends them all, and so does
  the end of the process.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from codemode_registry import Scope, ToolError

MAX_ACTIVE = 10
"""Jobs of one owner that may run at once."""

MAX_KEPT = 200
"""Ended jobs that are remembered, over all owners; the oldest go first."""

MAX_OUTPUT_BYTES = 4 << 20
"""Unread output that one job may have."""

CLOSE_SECONDS = 5.0
"""How long closing waits for jobs to end."""

Status = Literal["running", "stopping", "completed", "failed", "killed"]
_LIVE: frozenset[Status] = frozenset({"running", "stopping"})


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job's work ended."""

    ok: bool
    detail: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class JobView:
    """A job at one moment."""

    job_id: str
    kind: str
    label: str
    status: Status
    started: float
    """Seconds since 1970."""
    ended: float | None
    detail: str
    exit_code: int | None


class Job:
    """One piece of work. Its producer writes and, at the end, settles it."""

    def __init__(self, job_id: str, kind: str, label: str, owner: Scope | None) -> None:
        self.job_id, self.kind, self.label = job_id, kind, label
        self.owner = None if owner is None else weakref.ref(owner)
        self.cancel: Callable[[], None] = lambda: None
        """What a kill does first; set by the producer."""
        self._lock = threading.Lock()
        self._status: Status = "running"
        self._killing = False
        self._started = time.time()
        self._ended: float | None = None
        self._ending: Ending | None = None
        self._output = bytearray()
        self._dropped = 0
        self._finished = threading.Event()

    def write(self, data: bytes) -> None:
        """Add to the output."""
        with self._lock:
            self._output += data
            over = len(self._output) - MAX_OUTPUT_BYTES
            if over > 0:
                del self._output[:over]
                self._dropped += over

    def settle(self, ending: Ending) -> None:
        """End the job; only the first ending counts."""
        with self._lock:
            if self._status not in _LIVE:
                return
            self._status = "killed" if self._killing else "completed" if ending.ok else "failed"
            self._ending, self._ended = ending, time.time()
        self._finished.set()

    def take(self) -> tuple[str, int]:
        """The output since the last time, and how many bytes before it were dropped."""
        with self._lock:
            keep = 0 if self._status not in _LIVE else _torn(self._output)
            cut = len(self._output) - keep
            data, dropped = bytes(self._output[:cut]), self._dropped
            del self._output[:cut]
            self._dropped = 0
        return data.decode("utf-8", "replace"), dropped

    def stop(self) -> bool:
        """Ask the job to end; False if it has ended already."""
        with self._lock:
            if self._status not in _LIVE:
                return False
            before, self._killing = self._killing, True  # now: the end may come before `cancel` returns
        try:
            self.cancel()
        except BaseException:
            with self._lock:
                self._killing = before
            raise
        with self._lock:
            if self._status == "running":
                self._status = "stopping"
        return True

    @property
    def live(self) -> bool:
        return not self._finished.is_set()

    def join(self, seconds: float) -> bool:
        """Wait in this thread for the end."""
        return self._finished.wait(seconds)

    def view(self) -> JobView:
        with self._lock:
            detail = "" if self._ending is None else self._ending.detail
            code = None if self._ending is None else self._ending.exit_code
            return JobView(self.job_id, self.kind, self.label, self._status, self._started, self._ended, detail, code)


def _torn(data: bytearray) -> int:
    """How many bytes at the end are the beginning of a UTF-8 character that has not come whole yet."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        length = 2 if byte & 0xE0 == 0xC0 else 3 if byte & 0xF0 == 0xE0 else 4 if byte & 0xF8 == 0xF0 else 1
        return back if length > back else 0
    return 0


class JobBoard:
    """All the jobs of one toolset."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._numbers: Counter[str] = Counter()
        self._closed = False

    def start(self, kind: str, label: str, owner: Scope | None, produce: Callable[[Job], None]) -> Job:
        """Begin a job: `produce(job)` sets `job.cancel`, starts the work and returns.

        Raises:
            ToolError: too many of the owner's jobs run already, or the work cannot be started.
        """
        with self._lock:
            if self._closed:
                raise ToolError("the jobs are closed: nothing can be started any more")
            active = sum(job.live and _owned(job, owner) for job in self._jobs.values())
            if active >= MAX_ACTIVE:
                raise ToolError(f"{active} jobs run already, and that is the most: kill one, or wait for one to end")
            job = Job(f"{kind}-{self._numbers[kind] + 1}", kind, label, owner)
            produce(job)  # under the lock: two starts cannot both take the last place; a failure takes no number
            self._numbers[kind] += 1
            self._jobs[job.job_id] = job
            self._forget()
        return job

    def _forget(self) -> None:
        ended = [job_id for job_id, job in self._jobs.items() if not job.live]
        for job_id in ended[: max(0, len(ended) - MAX_KEPT)]:
            del self._jobs[job_id]

    def find(self, job_id: str, owner: Scope | None) -> Job:
        """A job that this owner may see.

        Raises:
            ToolError: there is none of that id.
        """
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None or not _visible(job, owner):
                mine = [each.job_id for each in self._jobs.values() if _visible(each, owner)]
                raise ToolError(f"unknown job {job_id[:100]!r}; there are: {', '.join(mine[-20:]) or 'none'}")
        return job

    def visible(self, owner: Scope | None) -> list[Job]:
        """The jobs that this owner may see, in the order of their start."""
        with self._lock:
            return [job for job in self._jobs.values() if _visible(job, owner)]

    def close(self) -> None:
        """End every job and take no more."""
        with self._lock:
            self._closed = True
            live = [job for job in self._jobs.values() if job.live]
        for job in live:
            job.stop()
        deadline = time.monotonic() + CLOSE_SECONDS
        for job in live:
            job.join(max(0.0, deadline - time.monotonic()))


def _owned(job: Job, owner: Scope | None) -> bool:
    return job.owner is None if owner is None else job.owner is not None and job.owner() is owner


def _visible(job: Job, owner: Scope | None) -> bool:
    return job.owner is None or _owned(job, owner)
