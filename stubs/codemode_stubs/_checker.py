"""Checking a program against the stubs of its tools, with ty.

What lives here: `TypeChecker`, which keeps one language server and the stub modules it has been given, and the
process-wide one. Why kept: a cold ty takes 50 ms before its first answer and 2 ms after it. How it is cleaned up: at
exit the server is told to end, and it ends by itself when this process dies; its folder goes with it.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from ._check_stub import CheckStub
from ._diagnostic import Diagnostic
from ._findings import Finding, Teller, expects_a_dict, passes_a_dict, read_findings
from ._program_text import ProgramText, frame
from ._tool import ToolLike
from ._ty_server import TyServer, file_uri

#: How many stub modules one server may see before it is replaced: ty keeps what it has read of each.
MAX_STUBS = 64
#: How many sets of tools keep their rendered text.
_KEPT_SETS = 8


_PREFIX = "codemode-check-"
#: Age of a folder that nobody uses any more: each check touches its own.
_STALE_SECONDS = 24 * 3600.0


class TypeChecker:
    """Checks programs; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: TyServer | None = None
        self._folder: str | None = None
        self._written: set[str] = set()
        self._sets: dict[tuple[int, ...], tuple[tuple[ToolLike, ...], CheckStub]] = {}

    def check(self, program: str, tools: Sequence[ToolLike], *, modules: Iterable[str] = ()) -> list[Diagnostic]:
        """The mistakes of a program that its types show.

        Args:
            program: its text, without a fence.
            tools: what the program can call.
            modules: modules that it may use without importing them.

        Raises:
            CheckUnavailableError: ty is missing or does not answer.
        """
        listed = tuple(modules)
        with self._lock:
            stub = self._stub(tools)
            findings, framed = self._findings(program, stub.text("all"), listed)
            if any(finding.code == "no-matching-overload" for finding in findings):
                findings = self._explained(framed, program, stub, listed, findings)
        return Teller(stub.owners, stub.signature, framed).tell(findings)

    def warm_up(self) -> None:
        """Starts the server, so that the next check finds it ready."""
        with self._lock:
            self._findings("pass", CheckStub(()).text("all"), ())

    def close(self) -> None:
        """Ends the server and removes its folder; the next check starts anew."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        server, folder = self._server, self._folder
        self._server = self._folder = None
        self._written.clear()
        if server is not None:
            server.close()
            if folder is not None and server.pid == os.getpid():
                shutil.rmtree(folder, ignore_errors=True)

    def _stub(self, tools: Sequence[ToolLike]) -> CheckStub:
        """The same tools have the same stub: they are immutable, and keeping them keeps their ids from being reused."""
        key = tuple(map(id, tools))
        known = self._sets.get(key)
        if known is None:
            while len(self._sets) >= _KEPT_SETS:
                del self._sets[next(iter(self._sets))]
            known = self._sets[key] = (tuple(tools), CheckStub(tools))
        return known[1]

    def _findings(self, program: str, stub: str, modules: tuple[str, ...]) -> tuple[list[Finding], ProgramText]:
        server, folder = self._ready()
        name = "stubs_" + hashlib.sha256(stub.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        if name not in self._written:
            if len(self._written) >= MAX_STUBS:
                self._close()
                server, folder = self._ready()
            (Path(folder) / f"{name}.pyi").write_text(stub, encoding="utf-8")
            self._written.add(name)
        framed = frame(program, name, modules)
        uri = file_uri(str(Path(folder) / "program.py"))
        os.utime(folder)
        document = {"uri": uri, "languageId": "python", "version": 1, "text": framed.text}
        server.notify("textDocument/didOpen", {"textDocument": document})
        try:
            report: Any = server.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        finally:
            if server.alive:
                server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        answer = cast("dict[str, Any]", report) if isinstance(report, dict) else {}
        items = cast("list[dict[str, Any]]", answer.get("items", []))
        return read_findings(items, framed), framed

    def _ready(self) -> tuple[TyServer, str]:
        if self._server is not None and not (self._server.alive and self._folder and Path(self._folder).is_dir()):
            self._close()  # it died, this is a fork, or somebody cleaned up the place for temporary files
        if self._server is None or self._folder is None:
            _sweep()
            self._folder = tempfile.mkdtemp(prefix=_PREFIX)
            try:
                self._server = TyServer(self._folder)
            except BaseException:
                shutil.rmtree(self._folder, ignore_errors=True)
                self._folder = None
                raise
        return self._server, self._folder

    def _explained(
        self, framed: ProgramText, program: str, stub: CheckStub, modules: tuple[str, ...], findings: list[Finding]
    ) -> list[Finding]:
        """ty says of a call that fits no form only that; asked about one form at a time it says why."""
        by_names, _ = self._findings(program, stub.text("names"), modules)
        by_dict, _ = self._findings(program, stub.text("dict"), modules)
        broken = [finding for finding in findings if finding.code == "no-matching-overload"]
        # What else ty says inside such a call is its opinion of the first form alone.
        explained = [finding for finding in findings if not any(finding.inside(call) for call in broken)]
        for call in broken:
            first = [other for other in by_names if other.inside(call)]
            second = [other for other in by_dict if other.inside(call)]
            if expects_a_dict(first) or (second and passes_a_dict(call, framed)):
                explained.extend(second)
            else:
                explained.extend(first or [call])
        return explained


def _sweep() -> None:
    """Removes the folders of processes that were killed; a day old, so that no living one loses its own."""
    oldest = time.time() - _STALE_SECONDS
    for place in Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
        with contextlib.suppress(OSError):
            if place.stat().st_mtime < oldest:
                shutil.rmtree(place, ignore_errors=True)


_shared: TypeChecker | None = None
_shared_lock = threading.Lock()


def shared_checker() -> TypeChecker:
    """The checker of this process, made on first use and ended at exit."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = TypeChecker()
            atexit.register(_close_shared)
        return _shared


def _close_shared() -> None:
    if _shared is not None:
        with contextlib.suppress(Exception):
            _shared.close()
