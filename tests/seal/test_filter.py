"""The seccomp program of each architecture, run by a small interpreter of BPF: the table and the program agree."""

from __future__ import annotations

import struct

import pytest

from codemode_guest._seal_proof import fatal_probes, refused_probes
from codemode_guest._seccomp import ALLOW, KILL, REFUSE, Filter
from codemode_guest._syscalls import AARCH64, ALLOWED, ARCHITECTURES, FATAL, X86_64, Architecture, Check

PID = 4242
HARMLESS: dict[Check | None, tuple[int, ...]] = {
    None: (),
    Check.NOT_EXECUTABLE: (0, 4096, 3),
    Check.OWN_PROCESS: (PID,),
    Check.SELF_BY_ZERO: (0,),
    Check.BRIDGE_WITHOUT_ADDRESS: (3, 1, 1, 0, 0),
}
HARMFUL: dict[Check, list[tuple[int, ...]]] = {
    Check.NOT_EXECUTABLE: [(0, 4096, 4), (0, 4096, 7)],
    Check.OWN_PROCESS: [(1,), (PID + 1,), (0,)],
    Check.SELF_BY_ZERO: [(1,), (1 << 32,), (PID,)],
    Check.BRIDGE_WITHOUT_ADDRESS: [(0, 1, 1, 0, 0), (3, 1, 1, 0, 1), (3, 1, 1, 0, 1 << 32)],
}


def verdict(code: bytes, number: int, audit: int, arguments: tuple[int, ...] = ()) -> int:
    """Run the program on one call."""
    filled = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<IIQ6Q", number, audit, 0, *filled)
    accumulator, at = 0, 0
    while True:
        operation, if_true, if_false, operand = struct.unpack_from("=HBBI", code, at * 8)
        at += 1
        match operation:
            case 0x20:
                [accumulator] = struct.unpack_from("<I", data, operand)
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x45:
                at += if_true if accumulator & operand else if_false
            case 0x06:
                return int(operand)
            case _:
                raise AssertionError(f"operation {operation:#x}")


def code_for(architecture: Architecture) -> bytes:
    """The filter as it is put on by the process PID."""
    one = Filter(architecture)
    one.allow_own_process(PID)
    return bytes(one.code)


@pytest.fixture(params=[X86_64, AARCH64], ids=lambda one: one.machine)
def architecture(request: pytest.FixtureRequest) -> Architecture:
    found: Architecture = request.param
    return found


def test_each_call_gets_the_verdict_of_its_table(architecture: Architecture) -> None:
    code = code_for(architecture)
    allowed = dict(ALLOWED)
    for name, number in architecture.numbers.items():
        harmless = HARMLESS[allowed.get(name)]
        expected = ALLOW if name in allowed else KILL if name in FATAL else REFUSE
        assert verdict(code, number, architecture.audit, harmless) == expected, name


def test_each_condition_refuses_what_breaks_it(architecture: Architecture) -> None:
    code = code_for(architecture)
    for name, check in ALLOWED:
        if check is not None:
            for arguments in HARMFUL[check]:
                assert verdict(code, architecture.numbers[name], architecture.audit, arguments) == REFUSE, name


def test_what_no_table_names_is_refused(architecture: Architecture) -> None:
    code = code_for(architecture)
    named = set(architecture.numbers.values())
    for number in range(600):
        if number not in named:
            assert verdict(code, number, architecture.audit) == REFUSE


def test_a_foreign_convention_is_fatal(architecture: Architecture) -> None:
    code = code_for(architecture)
    for audit in (0x40000003, 0, architecture.audit ^ 1):
        assert verdict(code, architecture.numbers["read"], audit) == KILL
    if architecture is X86_64:
        assert verdict(code, 0x40000000, architecture.audit) == KILL


def test_no_number_stands_for_two_calls(architecture: Architecture) -> None:
    assert len(set(architecture.numbers.values())) == len(architecture.numbers)


def test_the_proof_tries_nothing_that_is_allowed() -> None:
    unconditional = {name for name, check in ALLOWED if check is None}
    for probe in refused_probes(1):
        assert probe.call not in unconditional
        assert probe.call not in FATAL
        assert all(probe.call in one.numbers for one in ARCHITECTURES.values()), probe.call
    for probe in fatal_probes(1):
        assert probe.call in FATAL
