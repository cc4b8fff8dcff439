"""Runs one attack in a forked process with small limits, and judges what came of it."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import time
from collections.abc import Callable
from typing import Any

from codemode_guest.dialect import ProgramRefused, is_module, is_user_class, is_user_instance, preload
from tests.dialect import driver
from tests.run_code.guest import drive, spec

MEMORY = 1 << 30
"""Bytes of address space that an attack may add to what the test process has mapped; then it gets MemoryError."""

_DATA = (str, bytes, int, float, bool, type(None), list, tuple, dict, set, frozenset, range, bytearray)


def suspicious(value: Any, depth: int = 0) -> str | None:
    """Say what in a value no program should have got hold of."""
    kind = type(value)
    if depth > 20:
        return None
    if kind is str:
        return "an attack reports success" if value.startswith("PWNED") else None
    if kind in (list, tuple, set, frozenset):
        return next((found for item in value if (found := suspicious(item, depth + 1))), None)
    if kind is dict:
        if "__builtins__" in value or "<getattr>" in value:
            return "a globals dict"
        return next((found for item in value.values() if (found := suspicious(item, depth + 1))), None)
    if kind in _DATA or is_module(value) or is_user_class(value) or is_user_instance(value):
        return None
    if kind.__name__ in ("OpaqueType", "Environment", "coroutine", "_TypeMeta") or isinstance(value, BaseException):
        return None
    return f"an object of type {kind.__name__}"


def attack(source: str, seconds: float = 4.0, *, guest: bool = False) -> str:
    """Run an attack; returns what happened: refused, error, value, killed, crashed, or breach.

    Args:
        source: the program.
        seconds: when it is killed.
        guest: run it by the child's own runner, with the real `tools`, and judge the frames that come of it.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _run(source, writer, _in_guest if guest else _in_dialect)
    os.close(writer)
    told = b""
    deadline = time.monotonic() + seconds
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            break
        part = os.read(reader, 65536)
        if not part:
            break
        told += part
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    if told:
        return told.decode(errors="replace")
    return "killed: time" if os.WTERMSIG(status) == signal.SIGKILL else f"crashed: {status}"


def _run(source: str, writer: int, run: Callable[[str], str]) -> None:
    """In the child: limits, the program, one line about it; never returns."""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # A worker of the test suite that has loaded much before must leave an attack as much room as a fresh one.
        with open("/proc/self/statm", "rb") as statm:
            most = int(statm.read().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (4, 4))
        text = run(source)
        os.write(writer, text[:4000].encode(errors="replace"))
    except MemoryError:
        os.write(writer, b"killed: memory")
    except BaseException as error:
        os.write(writer, f"internal: {type(error).__name__}: {error}"[:4000].encode(errors="replace"))
    finally:
        os._exit(0)


def _in_dialect(source: str) -> str:
    try:
        outcome = driver.run(source)
    except ProgramRefused as error:
        return f"refused: {error}"
    found = suspicious(outcome.value)
    if found is None and "PWNED" in outcome.text:
        found = "an attack printed success"
    if found is not None:
        return f"breach: {found}: {outcome.value!r}"
    if outcome.error is not None:
        return f"error: {outcome.error}: {outcome.message}"
    return f"value: {str(outcome.value)[:300] if type(outcome.value) is str else ''}"


def _in_guest(source: str) -> str:
    preload()
    tools = [spec("get_user", "user_id"), spec("github.create", "title")]
    run = drive(source, {str(each["name"]): lambda arguments: arguments for each in tools}, tools=tools)
    error = run.done["error"]
    known = {"log", "call", "cancel", "done"}
    told = json.dumps([run.done["value"], run.printed, run.calls, None if error is None else error["message"]])
    if not {frame["type"] for frame in run.frames} <= known or "PWNED" in told:
        return f"breach: {told}"
    return "value: " if error is None else f"error: {error['type']}: {error['message']}"
