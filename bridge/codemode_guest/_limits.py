"""Resource limits that the kernel keeps for a child, besides what the host watches from outside.

Rules of this module: limits only ever go down, soft and hard together. `restrain` is for all children and is put on in
the zygote; `confine` is for one run and is put on by the child when it learns its run's figures, before the program's
text is looked at.
"""

from __future__ import annotations

import math
import resource

# Descriptors of a child: 0 to 2 on /dev/null and the bridge. The zygote has its control socket besides and receives
# one or two at a time; 64 leaves it room and is still nothing to live on.
_OPEN_FILES = 64
# The host ends a run by the CPU clock to the millisecond; the kernel's own limit counts whole seconds and only has to
# catch a child whose host hangs.
_CPU_GRACE_SECONDS = 2


def lower(kind: int, value: int) -> None:
    """Lower one limit, soft and hard; one that is lower already stays."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def restrain() -> None:
    """What no child ever needs: core dumps, files to write, many descriptors, locked memory, message queues.

    Raises:
        OSError: the kernel refused a limit.
    """
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_FSIZE, 0)
    lower(resource.RLIMIT_NOFILE, _OPEN_FILES)
    lower(resource.RLIMIT_MEMLOCK, 0)
    if hasattr(resource, "RLIMIT_MSGQUEUE"):
        lower(resource.RLIMIT_MSGQUEUE, 0)


def address_space() -> int:
    """The bytes of address space that this process has mapped already (0 where the kernel does not say)."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def confine(*, memory_bytes: int, compute_seconds: float, base: int) -> None:
    """Put one run's limits in force: `memory_bytes` more than the interpreter's own `base`, and a CPU backstop.

    Raises:
        OSError: the kernel refused a limit.
    """
    if base:  # Where the size of an empty child is unknown (macOS), a limit would only break the interpreter.
        lower(resource.RLIMIT_AS, base + memory_bytes)
    lower(resource.RLIMIT_CPU, math.ceil(compute_seconds) + _CPU_GRACE_SECONDS)
