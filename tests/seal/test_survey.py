"""Every system call there could be, really made by a sealed child of its own: the kernel answers what the tables say.

The filter's program is tried in `test_filter`, without a kernel. Here each call that is not open to all is made with
arguments that hurt nobody if it gets through, each in a child that has done nothing else: one that is killed hides no
other. EPERM from a call that the kernel itself would refuse to this child proves less than EPERM where it would say
something else; most of these it would not refuse.
"""

from __future__ import annotations

import platform
from errno import ENXIO, EPERM

import anyio
import pytest

from codemode_bridge import CodeRunResult, Limits, ProcessRuntime, run_unrestricted
from codemode_guest._syscalls import ALLOWED, ARCHITECTURES, FATAL, Architecture
from tests.seal.test_filter import HARMFUL

pytestmark = pytest.mark.skipif(platform.machine() not in ARCHITECTURES, reason="no table of this machine's calls")

BEYOND = 600
"""Past the last number of any kernel so far, with the ones that x86 keeps for its other convention (512 to 547)."""
AT_ONCE = 4
"""Children at the same time: two on each of two processors."""

UNFILTERED = {335: "uretprobe", 336: "uprobe"} if platform.machine() == "x86_64" else {}
"""Calls that a new kernel asks no filter about: for its own trampolines alone, and useless from anywhere else.

Source: Linux `seccomp_uprobe_exception` in kernel/seccomp.c; `sys_uretprobe` and `sys_uprobe` in
arch/x86/kernel/uprobes.c.
"""

TRY = """\
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
answer = libc.syscall(*[ctypes.c_long(each) for each in {call}])
return [answer, ctypes.get_errno()]
"""

Call = tuple[int, ...]
"""A number and up to six arguments."""


def calls_and_verdicts(here: Architecture) -> dict[Call, str]:
    """What is tried, and what must come of it."""
    allowed = {here.numbers[name]: check for name, check in ALLOWED if name in here.numbers}
    fatal = {here.numbers[name] for name in FATAL if name in here.numbers}
    tried: dict[Call, str] = {
        (number, 0, 0, 0, 0, 0, 0): "killed" if number in fatal else "refused"
        for number in range(BEYOND)
        if number not in allowed
    }
    for number, check in allowed.items():
        if check is not None:
            tried |= {(number, *arguments): "refused" for arguments in HARMFUL[check]}
    if here.highest is not None:
        tried |= {(here.highest + number, 0, 0, 0, 0, 0, 0): "killed" for number in (0, 1, 39, 59, 512, 520)}
    return tried


def verdict(number: int, result: CodeRunResult) -> str:
    """How the attempt ended."""
    if number in UNFILTERED and (result.value == [-1, ENXIO] or "SIGILL" in str(result.error)):
        return "refused"
    if result.error is None:
        return "refused" if result.value == [-1, EPERM] else f"came back with {result.value}"
    return "killed" if "SIGSYS" in result.error.message else str(result.error)


@pytest.fixture
def anyio_backend() -> str:
    """Which loop waits for the children changes nothing for them."""
    return "trio"


async def test_every_call_gets_the_verdict_of_the_tables(runtime: ProcessRuntime) -> None:
    here = ARCHITECTURES[platform.machine()]
    expected = calls_and_verdicts(here)
    left = iter(expected)
    found: dict[Call, str] = {}

    async def try_them() -> None:
        for call in left:
            code, limits = TRY.format(call=call), Limits(wall_seconds=20)
            found[call] = verdict(call[0], await run_unrestricted(code, runtime=runtime, limits=limits))

    async with anyio.create_task_group() as tasks:
        for _ in range(AT_ONCE):
            tasks.start_soon(try_them)
    names = {number: name for name, number in here.numbers.items()}
    wrong = {(names.get(call[0]), call): found[call] for call in expected if found[call] != expected[call]}
    assert wrong == {}
