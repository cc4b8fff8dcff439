"""The zygote: a process that imported everything once and forks a child for each run.

Rules of this module: one thread, no event loop, no program text, nothing learned from a child. It obeys messages on its
control socket and ends when that socket does. A child is never reaped before the host asks for it, so its process id
cannot come to mean another process while the host may still send it a signal.

Control messages (one datagram each: a letter and a number; a descriptor rides along):

    f N    <bridge>    fork child N on this bridge; the child itself says `ready` there
    b N                end it; nobody wants to know more
    r N    <answer>    end it; write its wait status and `struct rusage`, as wait4(2) gives them, to the descriptor;
                       nothing where there is no such child
    p 0    <answer>    write the layers of the seal to the descriptor, in JSON

The loop spares memory: what the zygote writes to after a fork is copied, and a large page falls to pieces at the first
such write (`_memory`). So whatever the loop touches was made last, and it calls nothing that anybody else holds.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import json
import os
import select
import socket
import struct
import sys
from dataclasses import asdict
from typing import NoReturn

from codemode_guest import _memory, dialect
from codemode_guest._child import prepare
from codemode_guest._syscalls import BRIDGE_FD

CONTROL_FD = 4
_FORK, _BURY, _REAP, _REPORT = b"fbrp"
# Bytes of a message, and of the descriptor that comes with it.
_MESSAGE, _RIGHTS = 32, socket.CMSG_SPACE(4)
# Bytes of a wait status, and of `struct rusage`: 18 longs on every Linux.
_STATUS, _USAGE = 4, 18 * 8
# Its rehearsal and its program.
_RUNS_OF_A_CHILD = 2
# How long a buried child may take to leave before it is looked at again. Teardown takes well under a millisecond.
_REAP_AGAIN_MS = 2
# While idle, the zygote looks now and then whether its host still lives: a process that the host forked may hold a
# copy of the control socket, and then its end is never seen.
_HOST_CHECK_MS = 5_000


class Zygote:
    """The one zygote in this process."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        with _place_of_bridges() as peer:
            self._nursery, layers = prepare(parent=os.getpid())
            _memory.warm_up(lambda: self._nursery.warm_up(peer), *self._nursery.only_in_children())
        self._report = json.dumps([asdict(layer) for layer in layers]).encode()
        dialect.lay_in(_RUNS_OF_A_CHILD)

    def serve(self) -> None:
        """Obey until the control socket ends; no child is left then.

        Called by way of `_memory.apart`.
        """
        host = os.getppid()
        # PyDLL: the GIL stays taken over a fork, and the child's only thread goes on holding it. What CPython does
        # after a fork repairs what other threads may have held: work for nothing here, and 200 pages in every child.
        libc = ctypes.PyDLL(None)
        fork, getppid, close, write = libc.fork, libc.getppid, libc.close, libc.write
        kill, waitpid, wait4 = libc.kill, libc.waitpid, libc.wait4
        end = ctypes.create_string_buffer(_STATUS + _USAGE)
        usage = ctypes.c_void_p(ctypes.addressof(end) + _STATUS)
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        poll, receive = poller.poll, self._control.recvmsg
        descriptor_of = struct.Struct("i").unpack
        children: dict[int, int] = {}  # The host's number to the process id.
        take = children.pop
        dying: set[int] = set()
        doom, forget = dying.add, dying.discard
        idle = _HOST_CHECK_MS + 0  # A number of our own.
        while True:
            if not poll(_REAP_AGAIN_MS if dying else idle):
                if getppid() != host:
                    break
            else:
                message, rights, _, _ = receive(_MESSAGE, _RIGHTS)
                if not message:
                    break
                order, number = message[0], int(message[1:])
                descriptor = descriptor_of(rights[0][2])[0] if rights else -1
                if order == _FORK:
                    pid = fork()
                    if pid == 0:
                        self._nursery.live(descriptor)
                    if pid > 0:  # Else there is no room for a process: closing its bridge says so.
                        children[number] = pid
                elif order == _REPORT:
                    write(descriptor, self._report, len(self._report))
                else:
                    # The host kills as well, and faster; this reaches the child that it knows no process id of yet.
                    pid = take(number, 0)
                    if pid:
                        kill(pid, 9)
                        if order == _BURY:
                            doom(pid)
                        else:
                            wait4(pid, end, 0, usage)
                            write(descriptor, end, _STATUS + _USAGE)
                if descriptor >= 0:
                    close(descriptor)
            if dying:
                for pid in list(dying):
                    if waitpid(pid, None, 1):  # WNOHANG
                        forget(pid)
        for pid in children.values():
            kill(pid, 9)
        for pid in [*dying, *children.values()]:
            waitpid(pid, None, 0)


def main() -> NoReturn:
    """Start on the inherited descriptors 3 (where bridges will be) and 4 (control)."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=CONTROL_FD)
    os.set_inheritable(CONTROL_FD, False)
    # A fault writes its report to the child's bridge: the host knows the words and never takes them for a frame.
    faulthandler.enable(file=BRIDGE_FD, all_threads=False)
    zygote = Zygote(control)
    _silence()
    _yield_to_others()
    _memory.settle()
    gc.disable()
    gc.freeze()
    try:
        _memory.apart(Zygote.serve)(zygote)
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
