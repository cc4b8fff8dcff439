"""A small assembler: the table of `_syscalls` becomes a classic BPF program for seccomp.

Rules of this module: pure functions from tables to bytes, no system call. The program checks the architecture first,
then the number, then arguments; what no rule names is EPERM. Every branch ends in its own return, so the accumulator
never has to be loaded twice and no jump is longer than one rule.

A program is assembled once, in the zygote. The one thing that differs between children, their own process id, is a
slot that `Filter.allow_own_process` fills in.

Source: Linux `Documentation/userspace-api/seccomp_filter.rst`, `include/uapi/linux/{filter,seccomp}.h`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from errno import EPERM

from codemode_guest._syscalls import ALLOWED, BRIDGE_FD, FATAL, Architecture, Check

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_IF_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_IF_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_IF_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | EPERM
KILL = 0x80000000  # SECCOMP_RET_KILL_PROCESS: all threads, by SIGSYS

# Offsets in struct seccomp_data. Both machines are little-endian: the low half of an argument comes first.
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_PROT_EXEC = 4


@dataclass(frozen=True, slots=True)
class Instruction:
    """One `struct sock_filter`."""

    code: int
    operand: int
    if_true: int = 0
    if_false: int = 0
    own_pid: bool = False
    """The operand is the process id of the child that will run under the filter."""


def _low(argument: int) -> int:
    return _ARGUMENTS + 8 * argument


def _require_zero(argument: int) -> list[Instruction]:
    """Both halves of the argument are 0, or the call is refused."""
    halves: list[Instruction] = []
    for offset in (_low(argument), _low(argument) + 4):
        halves += [Instruction(_LOAD, offset), Instruction(_IF_EQUAL, 0, 1, 0), Instruction(_RETURN, REFUSE)]
    return halves


_CHECKS: dict[Check, list[Instruction]] = {
    Check.NOT_EXECUTABLE: [
        Instruction(_LOAD, _low(2)),
        Instruction(_IF_ANY_BIT, _PROT_EXEC, 0, 1),
        Instruction(_RETURN, REFUSE),
    ],
    # The kernel takes process ids and descriptors as 32-bit integers, so the low half is all there is.
    Check.OWN_PROCESS: [
        Instruction(_LOAD, _low(0)),
        Instruction(_IF_EQUAL, 0, 1, 0, own_pid=True),
        Instruction(_RETURN, REFUSE),
    ],
    Check.SELF_BY_ZERO: _require_zero(0),
    Check.BRIDGE_WITHOUT_ADDRESS: [
        Instruction(_LOAD, _low(0)),
        Instruction(_IF_EQUAL, BRIDGE_FD, 1, 0),
        Instruction(_RETURN, REFUSE),
        *_require_zero(4),
    ],
}


def _rule(number: int, verdict: list[Instruction]) -> list[Instruction]:
    return [Instruction(_IF_EQUAL, number, 0, len(verdict)), *verdict]


def instructions(architecture: Architecture) -> Iterator[Instruction]:
    """The filter of one architecture, in order."""
    yield Instruction(_LOAD, _ARCHITECTURE)
    yield Instruction(_IF_EQUAL, architecture.audit, 1, 0)
    yield Instruction(_RETURN, KILL)
    yield Instruction(_LOAD, _NUMBER)
    if architecture.highest is not None:
        yield Instruction(_IF_AT_LEAST, architecture.highest, 0, 1)
        yield Instruction(_RETURN, KILL)
    numbers = architecture.numbers
    for name, check in ALLOWED:
        if name in numbers:  # The generic table has no `poll`, `time` and the like.
            body = [] if check is None else _CHECKS[check]
            yield from _rule(numbers[name], [*body, Instruction(_RETURN, ALLOW)])
    for name in FATAL:
        if name in numbers:
            yield from _rule(numbers[name], [Instruction(_RETURN, KILL)])
    yield Instruction(_RETURN, REFUSE)


class Filter:
    """An assembled filter, kept as the bytes that the kernel reads."""

    __slots__ = ("_pid_slots", "code", "length")

    def __init__(self, architecture: Architecture) -> None:
        program = list(instructions(architecture))
        self.length = len(program)
        self.code = bytearray(
            b"".join(struct.pack("=HBBI", one.code, one.if_true, one.if_false, one.operand) for one in program)
        )
        """The program, for no process yet."""
        self._pid_slots = [index * 8 + 4 for index, one in enumerate(program) if one.own_pid]

    def allow_own_process(self, pid: int) -> None:
        """Make it the program of the process `pid`, in place: a child is the only user of its copy."""
        for offset in self._pid_slots:
            struct.pack_into("=I", self.code, offset, pid)
