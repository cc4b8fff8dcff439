"""The zygote: a process that imported everything once and forks a child for each run.

Rules of this module: one thread, no event loop, no program text, nothing learned from a child. It obeys messages on its
control socket and ends when that socket does. A child is never reaped before the host asks for it, so its process id
cannot come to mean another process while the host may still send it a signal.

Control messages (one datagram each, ASCII words; descriptors ride along in order):

    fork N        <bridge>            fork child N on this bridge; the child itself says `ready` there
    bury N                            end it; nobody wants to know more
    reap N        <answer>            end it; write {"status", "cpu", "memory"} to the descriptor
    report        <answer>            write the layers of the seal to the descriptor
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import os
import select
import signal
import socket
import sys
from dataclasses import asdict
from typing import NoReturn

from codemode_guest import dialect
from codemode_guest._child import prepare
from codemode_guest._fork import bare_fork
from codemode_guest._packing import pack
from codemode_guest._syscalls import BRIDGE_FD

CONTROL_FD = 4
_MESSAGE = 4096
# Its rehearsal and its program.
_RUNS_OF_A_CHILD = 2
# How long a buried child may take to leave before it is looked at again. Teardown takes well under a millisecond.
_REAP_AGAIN_MS = 2
# While idle, the zygote looks now and then whether its host still lives: a process that the host forked may hold a
# copy of the control socket, and then its end is never seen.
_HOST_CHECK_MS = 5_000


class Zygote:
    """The state of the one zygote in this process."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._host = os.getppid()
        self._children: dict[int, int] = {}  # The host's number to the process id.
        self._dying: set[int] = set()
        with _place_of_bridges() as peer:
            self._nursery, self._layers = prepare(parent=os.getpid())
            self._kept = pack(lambda: self._nursery.warm_up(peer))
        dialect.lay_in(_RUNS_OF_A_CHILD)
        self._fork = bare_fork()

    def serve(self) -> None:
        """Obey until the control socket ends."""
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        while True:
            if not poller.poll(_REAP_AGAIN_MS if self._dying else _HOST_CHECK_MS):
                self._reap_dying()
                if os.getppid() != self._host:
                    return
                continue
            message, descriptors, _, _ = socket.recv_fds(self._control, _MESSAGE, 8)
            if not message:
                return
            self._obey(message.decode("ascii").split(), descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            self._reap_dying()

    def _obey(self, words: list[str], descriptors: list[int]) -> None:
        match words:
            case ["fork", number]:
                pid = self._fork()
                if pid == 0:
                    self._nursery.live(descriptors[0])
                self._children[int(number)] = pid
            case ["bury", number]:
                pid = self._kill(int(number))
                if pid:
                    self._dying.add(pid)
            case ["reap", number]:
                self._answer(descriptors[0], _wait(self._kill(int(number))))
            case ["report"]:
                self._answer(descriptors[0], [asdict(layer) for layer in self._layers])
            case _:
                pass  # Only the host speaks here; a word of a later version is not worth dying for.

    def _kill(self, number: int) -> int:
        """The host kills as well, and faster; this reaches the child that the host knows no process id of yet."""
        pid = self._children.pop(number, 0)
        if pid:
            os.kill(pid, signal.SIGKILL)
        return pid

    def end(self) -> None:
        """Kill and reap whatever is left, so that nothing is left behind."""
        for number in list(self._children):
            self._dying.add(self._kill(number))
        for pid in self._dying:
            os.waitpid(pid, 0)

    def _reap_dying(self) -> None:
        for pid in list(self._dying):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._dying.discard(pid)

    @staticmethod
    def _answer(descriptor: int, value: object) -> None:
        with contextlib.suppress(OSError):  # The host may not want to know any more.
            os.write(descriptor, json.dumps(value).encode())


def _wait(pid: int) -> dict[str, object]:
    if pid == 0:
        return {"status": None, "cpu": 0.0, "memory": 0}
    _, status, usage = os.wait4(pid, 0)
    return {"status": status, "cpu": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss * 1024}


def main() -> NoReturn:
    """Start on the inherited descriptors 3 (where bridges will be) and 4 (control)."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=CONTROL_FD)
    os.set_inheritable(CONTROL_FD, False)
    # A fault writes its report to the child's bridge: the host knows the words and never takes them for a frame.
    faulthandler.enable(file=BRIDGE_FD, all_threads=False)
    zygote = Zygote(control)
    gc.collect()
    gc.disable()
    gc.freeze()
    _silence()
    _yield_to_others()
    try:
        zygote.serve()
        zygote.end()
    finally:
        os._exit(0)


def _place_of_bridges() -> socket.socket:
    """A socket gets the descriptor of bridges, so that a child's objects can be made on it before there is a child.

    A child only puts its own bridge there; -> the socket's peer, for the warm-up.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours:
        os.dup2(ours.fileno(), BRIDGE_FD, inheritable=False)
    return theirs


def _silence() -> None:
    """From here on there is nobody to read what the zygote or a child writes to standard error."""
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None  # type: ignore[misc]
    os.dup2(1, 2)


def _yield_to_others() -> None:
    """Being woken to fork must not push the host or a program off its processor. Children are scheduled as usual."""
    if hasattr(os, "SCHED_BATCH"):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH | os.SCHED_RESET_ON_FORK, os.sched_param(0))
