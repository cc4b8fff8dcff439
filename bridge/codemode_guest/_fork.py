"""fork(2) for a process with one thread, without what CPython does after it in the child.

`os.fork` lets every module that asked for it repair itself in the child: `threading`, `logging` and `random` make locks
and seeds anew, and the interpreter its own. That repairs what other threads may have held. A zygote has one thread,
which holds nothing, so all of it is work for nothing: over 200 pages copied and half a millisecond in every child.

What it leaves to the caller: `random.seed()`, or all children draw the same numbers.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable


def bare_fork() -> Callable[[], int]:
    """-> a function that forks as `os.fork` does: 0 in the child, its process id in the parent.

    Raises (the function):
        OSError: the system has no room for another process.
    """
    # PyDLL, not CDLL: the GIL stays taken over the call, and the child's only thread goes on holding it.
    fork: Callable[[], int] = ctypes.PyDLL(None, use_errno=True).fork

    def forked() -> int:
        pid = fork()
        if pid < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), "fork")
        return pid

    return forked
