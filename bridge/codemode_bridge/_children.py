"""Children from the host's side: how one is had, and how it is ended for certain.

Rules of this module: a child belongs to no event loop. Its bridge is a raw non-blocking socket and its end is a signal,
so children that wait for a program are shared by all loops and threads of a runtime, and no task watches them. A child
that was taken is ended by its taker, whatever happens. `end` never fails, and waits for nothing but the kernel's end of
a killed process, where the host itself is its parent.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
from dataclasses import dataclass
from typing import Protocol

import anyio

from codemode_bridge._frames import FrameDecoder, encode
from codemode_bridge._processors import place
from codemode_bridge._wire import HostWire, Ready
from codemode_bridge._zygotes import HOUSE, ZygoteGone, ZygoteProcess

# How long a child may take until it says `ready`. Where an interpreter has to start first, that is a good part of a
# second, and many on a loaded machine; a zygote that forked before needs a few milliseconds.
START_SECONDS = 60.0
READY_SECONDS = 10.0
# How long the zygote may take to tell how a killed child ended.
_REAP_SECONDS = 2.0
_READY_BYTES = 4096
_WANTED = encode({"type": "wanted"})
# A wait status and `struct rusage` (getrusage(2)): user and system time, peak memory, 13 longs that nobody asks for.
_WAITED = struct.Struct("=i5q104x")
# Half a pair's kernel buffer: a long frame crosses in fewer wake-ups. The system's bound is applied silently.
_BUFFER_BYTES = 1024 * 1024


class ChildUnavailable(Exception):
    """A child did not come to be, or is not there any more; another may be."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child's process ended, as far as it is known."""

    status: int | None
    """As `os.wait`; None: unknown."""
    compute_seconds: float
    peak_memory_bytes: int


UNKNOWN_EXIT = Exit(None, 0.0, 0)


class Child(Protocol):
    """One child process, waiting or running."""

    bridge: socket.socket
    wire: HostWire
    pid: int
    sealed: bool

    def patience(self) -> float:
        """Seconds until it must be ready."""
        ...

    def came(self) -> None:
        """It is ready."""
        ...

    def keep_apart(self) -> None:
        """Have those that are forked from now on keep off the host's processor."""
        ...

    def spread(self) -> None:
        """Have this one, and those that are forked from now on, use all processors."""
        ...

    def end(self) -> None:
        """Kill it and forget it. May be called more than once."""
        ...

    async def exit(self) -> Exit:
        """Kill it and learn how it ended. Instead of `end`, once."""
        ...

    def blame(self) -> str:
        """Why it never became ready, as far as anybody wrote it down; closes the matter with its source."""
        ...


async def become_ready(child: Child) -> None:
    """Wait until a child waits for its program.

    Raises:
        ChildUnavailable: it died, or says nothing.
    """
    if child.wire.state == "idle":
        _still_there(child)
        return
    decoder = FrameDecoder(frame_bytes=_READY_BYTES, memory_bytes=_READY_BYTES)
    if _said_ready(child, decoder):
        return
    tell_wanted(child)
    patience = child.patience()
    with anyio.move_on_after(patience):
        while True:
            await anyio.wait_readable(child.bridge)
            if _said_ready(child, decoder):
                return
    raise ChildUnavailable(child.blame() or f"the child was not ready within {patience:g} s")


def tell_wanted(child: Child) -> None:
    """Let it know that its program will come at once: it does not rehearse, or, if it rests, wakes up."""
    child.wire.wanted_sent()
    with contextlib.suppress(OSError):  # It may be dead; reading says so.
        child.bridge.send(_WANTED)


def _said_ready(child: Child, decoder: FrameDecoder) -> bool:
    """Take what a child has said; whether it is ready.

    Raises:
        ChildUnavailable: it died, or says what a child does not say.
    """
    try:
        data = child.bridge.recv(_READY_BYTES)
    except BlockingIOError:
        return False
    except OSError:
        data = b""
    if not data:
        raise ChildUnavailable(child.blame() or "the child ended before it was ready")
    for body in decoder.feed(data):
        event = child.wire.receive(body)
        if isinstance(event, Ready):
            child.pid, child.sealed = event.pid, event.sealed
            child.came()
            _still_there(child)  # It may have been ready long ago.
            return True
    if (fault := decoder.fault()) is not None:
        raise ChildUnavailable(fault)
    return False


def _still_there(child: Child) -> None:
    """A waiting child may have been killed meanwhile; nothing was sent to it, so nothing is lost."""
    try:
        data = child.bridge.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return
    except OSError:
        data = b""
    raise ChildUnavailable("the waiting child died" if not data else "the waiting child spoke")


def bridge_pair() -> tuple[socket.socket, socket.socket]:
    """Our end, which never blocks, and the child's."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ours.setblocking(False)
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
    return ours, theirs


class ForkedChild:
    """A child of the zygote."""

    __slots__ = ("_ended", "_number", "_spread", "_zygote", "bridge", "pid", "sealed", "wire")

    def __init__(self, zygote: ZygoteProcess) -> None:
        """Ask for it; it is on its way when this returns.

        Raises:
            ZygoteGone: the zygote does not take the order.
        """
        ours, theirs = bridge_pair()
        try:
            self._number = zygote.fork(theirs.fileno())
        except ZygoteGone:
            ours.close()
            raise
        finally:
            theirs.close()
        self._zygote = zygote
        self._ended = False
        self._spread = False
        self.bridge = ours
        self.wire = HostWire()
        self.pid = 0
        self.sealed = False

    def patience(self) -> float:
        """A zygote that forked before is quick, or stuck."""
        return READY_SECONDS if self._zygote.proven else START_SECONDS

    def came(self) -> None:
        """Its zygote works."""
        self._zygote.proven = True

    def keep_apart(self) -> None:
        """Have those that are forked from now on keep off the host's processor."""
        self._zygote.keep_apart()

    def spread(self) -> None:
        """Have this one, and those that are forked from now on, use all processors."""
        self._zygote.spread()
        if self._zygote.was_apart and not self._spread and not self._ended:
            self._spread = place(self.pid, apart=False)

    def _kill(self) -> bool:
        if self._ended:
            return False
        self._ended = True
        # The zygote reaps nobody before it is asked to, so this process id is still the child's.
        if self.pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGKILL)
        self.bridge.close()
        return True

    def end(self) -> None:
        """Kill it and forget it."""
        if self._kill():
            self._zygote.bury(self._number)

    async def exit(self) -> Exit:
        """Kill it and learn how it ended."""
        if not self._kill():
            return UNKNOWN_EXIT
        reader, writer = os.pipe()
        try:
            try:
                self._zygote.reap(self._number, writer)
            except ZygoteGone:
                return UNKNOWN_EXIT
            finally:
                os.close(writer)
            return _exit_from(await read_answer(reader, _REAP_SECONDS))
        finally:
            os.close(reader)

    def blame(self) -> str:
        """What the zygote wrote. It serves nobody any more: a fork takes milliseconds, so it is dead or stuck."""
        HOUSE.retire(self._zygote)
        return self._zygote.words()


async def read_answer(descriptor: int, seconds: float) -> bytes:
    """All that is written to a descriptor until its other end is closed; empty if that takes too long."""
    os.set_blocking(descriptor, False)
    pieces: list[bytes] = []
    with anyio.move_on_after(seconds):
        while True:
            try:
                data = os.read(descriptor, 65536)
            except BlockingIOError:
                await anyio.wait_readable(descriptor)
                continue
            if not data:
                return b"".join(pieces)
            pieces.append(data)
    return b""


def _exit_from(answer: bytes) -> Exit:
    """What wait4(2) said of it."""
    if len(answer) != _WAITED.size:
        return UNKNOWN_EXIT
    status, seconds, microseconds, system_seconds, system_microseconds, peak_kib = _WAITED.unpack(answer)
    return Exit(status, seconds + system_seconds + (microseconds + system_microseconds) / 1e6, peak_kib * 1024)
