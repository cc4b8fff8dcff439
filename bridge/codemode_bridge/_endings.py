"""How runs end that do not end by themselves: each limit and each death, in words.

Rules of this module: pure functions to `RunError`. A message says what happened, names the limit by the name that the
host set it with, and claims nothing that is not known.
"""

from __future__ import annotations

import logging
import os
import re
import signal
from dataclasses import replace
from typing import Literal

from codemode_bridge._children import Exit
from codemode_bridge._contract import RunError
from codemode_bridge._limits import Limits

_log = logging.getLogger("codemode.bridge")
_MIB = 1024 * 1024
_FAULT_FRAME = re.compile(r'File "<[^"]*>", line (\d+)')
_MEMORY_EXIT = 72  # codemode_guest._child: out of memory, and none left to say so.


def undone(clock: Literal["compute", "wall"], limit: float) -> RunError:
    """A clock ran out."""
    if clock == "compute":
        return RunError("timeout", f"compute budget exhausted: {limit:g} s of CPU time (compute_seconds)")
    return RunError("timeout", f"wall-clock ceiling reached: {limit:g} s (wall_seconds)")


def oversized(size: int, limit: int) -> RunError:
    """A frame's length alone says that it cannot be taken."""
    return RunError("output-limit", f"the program sent a value of {size} bytes; the bridge takes {limit}")


def flooded(why: str) -> RunError:
    """The protocol was broken too often."""
    return RunError("worker-exit", f"the child was ended: {why}")


def out_of_memory(error: RunError, limit: int) -> RunError:
    """The interpreter could not get memory, and the program did not catch it."""
    return replace(
        error,
        kind="worker-exit",
        message=f"out of memory: the program needs more than {size_text(limit)} (memory_bytes)",
    )


def stopped() -> RunError:
    """Somebody outside stopped the process before it did anything."""
    return RunError("worker-exit", "the child was stopped from outside (SIGSTOP) before it ran the program")


def died(fault: str | None, end: Exit | None = None, limits: Limits | None = None) -> RunError:
    """The child went away before it was done."""
    line = _line(fault)
    if fault is not None and fault.startswith("Fatal Python error: the child broke"):
        # The report names the host's files, which are none of the program's business.
        _log.error("a child broke:\n%s", fault)
        return RunError("worker-exit", f"the child broke: {fault.strip().splitlines()[-1].partition(':')[0]}")
    if end is None or end.status is None:
        return RunError("worker-exit", "the child ended before the program did", line=line)
    at = f" at line {line}" if line is not None else ""
    held = f"; it had {size_text(end.peak_memory_bytes)} resident" if end.peak_memory_bytes else ""
    if not os.WIFSIGNALED(end.status):
        code = os.WEXITSTATUS(end.status)
        if code == _MEMORY_EXIT and limits is not None:
            return out_of_memory(RunError("worker-exit", "", "MemoryError"), limits.memory_bytes)
        return RunError("worker-exit", f"the child exited with code {code} before completing{held}", line=line)
    number = os.WTERMSIG(end.status)
    if number == signal.SIGXCPU and limits is not None:
        return undone("compute", limits.compute_seconds)
    if number == signal.SIGSYS:
        why = "the child was killed by SIGSYS: it tried a forbidden system call"
    elif number == signal.SIGKILL and end.peak_memory_bytes and fault is None:
        why = "the child closed its bridge, or was killed by SIGKILL from outside (is the machine out of memory?)"
    else:
        why = f"the child was killed by {_signal_name(number)} ({signal.strsignal(number) or 'unknown signal'})"
    return RunError("worker-exit", f"{why}{at}{held}", line=line)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _line(fault: str | None) -> int | None:
    """The innermost line of the program in a fault's report; the program is no file, so its name has brackets."""
    found = _FAULT_FRAME.search(fault) if fault is not None else None
    return int(found[1]) if found is not None else None


def size_text(size: int) -> str:
    """A size for people."""
    return f"{size / _MIB:.0f} MiB" if size >= _MIB else f"{size} bytes"
