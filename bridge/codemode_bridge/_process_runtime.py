"""`ProcessRuntime`: each program in a fresh, sealed child process.

Rules of this module: what a runtime owns is a pool of waiting children and the sessions that run; everything else is in
the modules it calls. It may be used from several event loops and threads at once. On Linux children are forked from the
zygote that all runtimes of a process share; elsewhere, or when asked for, each is spawned.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import weakref
from types import TracebackType
from typing import Literal, Self, cast

import anyio
import anyio.to_thread

from codemode_bridge import _zygotes
from codemode_bridge._children import Child, ForkedChild, read_answer
from codemode_bridge._contract import CodeRunRequest, CodeRunResult, LayerReport, RunError, Usage
from codemode_bridge._pool import ChildPool
from codemode_bridge._processors import PROCESSORS
from codemode_bridge._session import Session
from codemode_bridge._spawn import SpawnedChild
from codemode_bridge._zygotes import HOUSE, ZygoteGone
from codemode_registry import CancelSignal, CodeModeError, RuntimeUnavailableError

Seal = Literal["required", "preferred"]
Start = Literal["fork", "spawn"]

# A zygote that was just started imports first.
_REPORT_SECONDS = 60.0
CLOSED = "runtime disposed"


class ProcessRuntime:
    """Runs each program in a child process of its own, which serves one run and dies."""

    language = "python"

    def __init__(self, *, warm: int = 2, seal: Seal | None = None, start: Start | None = None) -> None:
        """Nothing is started before the runtime is entered or first used.

        Args:
            warm: how many children wait for a program, ready; 0 starts each when it is needed.
            seal: "required": a child that is not sealed is never given a program; "preferred": it is. Default:
                "required" on Linux, "preferred" elsewhere.
            start: "fork": from the zygote; "spawn": an interpreter for each. Default: "fork" on Linux.
        """
        if type(warm) is not int or warm < 0:
            raise ValueError(f"warm must be a whole number from 0 on, not {warm!r}")
        if seal not in (None, "required", "preferred"):
            raise ValueError(f'seal must be "required" or "preferred", not {seal!r}')
        if start not in (None, "fork", "spawn"):
            raise ValueError(f'start must be "fork" or "spawn", not {start!r}')
        self._seal: Seal = seal or ("required" if sys.platform == "linux" else "preferred")
        self._start: Start = start or ("fork" if _zygotes.can_fork() else "spawn")
        self._pool = ChildPool(self._make_child, warm)
        self._lock = threading.Lock()
        self._leased = False
        self._closed = False
        self._closing = CancelSignal()
        self._unsealed_seen = False
        self._running = 0
        _OPEN.add(self)

    @property
    def isolation(self) -> str:
        """ "sealed-process", or "process" where children are not sealed."""
        sealed = self._seal == "required" or (sys.platform == "linux" and not self._unsealed_seen)
        return "sealed-process" if sealed else "process"

    # -- life ---------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._open()
        self._pool.refill()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End what runs (kind `abort`) and give every process and descriptor back. May be called again."""
        with self._lock:
            already, self._closed = self._closed, True
        self._closing.cancel(CLOSED)
        with anyio.CancelScope(shield=True):
            while self._running:  # noqa: ASYNC110 - runs end in any loop and thread
                await anyio.sleep(0.001)
            if not already:
                self._pool.close()
                with self._lock:
                    leased, self._leased = self._leased, False
                if leased:
                    await anyio.to_thread.run_sync(HOUSE.release)

    def _open(self) -> None:
        with self._lock:
            if self._closed:
                raise CodeModeError("this runtime is closed")
            if not self._leased and self._start == "fork":
                HOUSE.lease()
                self._leased = True

    def _make_child(self) -> Child:
        if self._start == "spawn":
            return SpawnedChild()
        zygote = HOUSE.zygote()
        try:
            return ForkedChild(zygote)
        except ZygoteGone as error:
            HOUSE.retire(zygote)
            raise ZygoteGone(zygote.words() or str(error)) from error

    def _forget(self) -> None:
        """In a forked copy of the host: start over, with nothing of the parent's."""
        self._pool.forget()
        self._lock = threading.Lock()
        self._leased = False
        self._running = 0

    # -- runs ---------------------------------------------------------------------------------------------------

    async def run(self, request: CodeRunRequest) -> CodeRunResult:
        """Run one program in a child of its own.

        Args:
            request: the program, what it may call, and its limits.

        Returns:
            What came of it; a failed run is a result with an error.

        Raises:
            RuntimeUnavailableError: no child can be had, or none that is sealed where that is required.
            CodeModeError: the runtime is closed.

        Cancellation: the child is killed and all calls are awaited before the cancellation goes on.
        """
        return await self._run(request, unrestricted=False)

    def expect_run(self) -> None:
        """A run will be asked for at once, as far as the caller knows: after a rest, a child is woken meanwhile."""
        if PROCESSORS.rested():
            self._pool.expect()

    async def _run(self, request: CodeRunRequest, *, unrestricted: bool) -> CodeRunResult:
        started = time.monotonic()
        self._open()
        refused = _refused(request)
        if refused is not None:
            return CodeRunResult(error=refused, usage=Usage())
        with self._lock:
            self._running += 1
        try:
            session = await self._driven(request, started, unrestricted)
            if session.lost:
                # What ended it, such as the end of its zygote, may be about to end those that wait as well.
                self._pool.clear()
                session = await self._driven(request, started, unrestricted)
            return session.result()
        finally:
            with self._lock:
                self._running -= 1

    async def _driven(self, request: CodeRunRequest, started: float, unrestricted: bool) -> Session:
        """Run the program once; -> the session, which is over."""
        child = await self._sealed_child()
        session = Session(
            child,
            request,
            started=started,
            closing=self._closing,
            meanwhile=self._pool.refill,
            unrestricted=unrestricted,
        )
        PROCESSORS.begin(child)
        try:
            await session.drive()
        finally:
            PROCESSORS.end(child)
        return session

    async def _sealed_child(self) -> Child:
        child = await self._pool.take()
        if not child.sealed:
            self._unsealed_seen = True
            if self._seal == "required":
                child.end()
                broken = [f"{one.name}: {one.why}" for one in await self.report() if not one.holds]
                raise RuntimeUnavailableError("a child cannot be sealed here: " + "; ".join(broken))
        return child

    # -- what holds ---------------------------------------------------------------------------------------------

    async def report(self) -> list[LayerReport]:
        """Each layer of the seal: whether it holds, what was tried, and why not.

        Raises:
            RuntimeUnavailableError: no child can be had to ask.
        """
        self._open()
        if not _zygotes.can_fork():
            return [LayerReport("seccomp", False, "nothing", f"no seal is known for {sys.platform}")]
        HOUSE.lease()  # A runtime that spawns holds none.
        try:
            layers = await _layers()
        finally:
            HOUSE.release()
        return [
            LayerReport(str(one["name"]), one["holds"] is True, str(one["tried"]), str(one["why"])) for one in layers
        ]


async def _layers() -> list[dict[str, object]]:
    reader, writer = os.pipe()
    try:
        try:
            zygote = HOUSE.zygote()
            zygote.report(writer)
        except ZygoteGone as error:
            raise RuntimeUnavailableError(str(error)) from error
        finally:
            os.close(writer)
        answer = await read_answer(reader, _REPORT_SECONDS)
    finally:
        os.close(reader)
    if not answer:
        raise RuntimeUnavailableError(zygote.words() or "the zygote does not answer")
    return cast("list[dict[str, object]]", json.loads(answer))


def _refused(request: CodeRunRequest) -> RunError | None:
    """What ends a run before it takes a child."""
    if request.cancel is not None and request.cancel.cancelled:
        return RunError("abort", request.cancel.reason or "cancelled")
    size = len(request.program.encode("utf-8", "surrogatepass"))
    if size > request.limits.source_bytes:
        return RunError("syntax", f"the program has {size} bytes; at most {request.limits.source_bytes} (source_bytes)")
    return None


_OPEN: weakref.WeakSet[ProcessRuntime] = weakref.WeakSet()


def _after_fork() -> None:
    for runtime in list(_OPEN):
        runtime._forget()  # pyright: ignore[reportPrivateUsage]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
