"""The host's hold on zygotes: starting one, speaking to it, replacing it, ending it.

Rules of this module: the standard library's small modules only, so that a zygote can be on its way while the host still
imports pydantic and trio (`begin`). No event loop and no thread: every call is one short system call under a lock, so
all loops, threads and runtimes of a process share one zygote. Answers come over a descriptor that was sent along with
the question, never over a shared socket that somebody would have to read for all.

A zygote lives while somebody holds a lease or one of its children lives. A forked copy of the host forgets everything.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import fcntl
import importlib.machinery
import itertools
import os
import signal
import socket
import sys
import threading
import time
from typing import Final

from codemode_bridge._processors import place

_BRIDGE_FD, _CONTROL_FD = 3, 4
# The string hash seed is the zygote's, so a zygote does not serve for ever.
FORKS_PER_ZYGOTE: Final = 1000
# The next zygote is started this many forks earlier: it needs a few hundred milliseconds until it can fork.
_START_AHEAD = 50
# How long an ended zygote may take to bury its children and leave.
_LEAVE_SECONDS = 2.0
_STDERR_BYTES = 8192


class ZygoteGone(Exception):
    """The zygote does not take messages any more: it died, or it is stuck."""


def can_fork() -> bool:
    """Whether this system forks children safely."""
    return sys.platform == "linux"


def guest_command(mode: str) -> list[str]:
    """The command line of a guest interpreter: isolated, without site, with just the folders that it imports from."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders: list[str] = []
    for package in ("codemode_guest", "RestrictedPython"):
        spec = importlib.machinery.PathFinder.find_spec(package, [here, *sys.path])
        if spec is None or not spec.submodule_search_locations:
            raise ZygoteGone(f"the package {package} cannot be found")
        folder = os.path.dirname(os.path.abspath(next(iter(spec.submodule_search_locations))))
        if folder not in folders:
            folders.append(folder)
    start = f"import sys; sys.path += {folders!r}; from codemode_guest.__main__ import main; main({mode!r})"
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", start]


def guest_environment() -> dict[str, str]:
    """What the dynamic linker of an unusual installation needs; the guest clears even that."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}


def launch(mode: str, descriptor: int, target: int) -> tuple[int, int]:
    """Start a guest whose descriptor `target` is ours at `descriptor`; its pid and its standard error.

    Raises:
        OSError: the interpreter cannot be started.
    """
    reader, writer = os.pipe()
    sources: list[int] = []
    try:
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        sources = [_high(one) for one in (null, writer, descriptor)]
        os.close(null)
        null, errors, bridge = sources
        places = [(null, 0), (null, 1), (errors, 2), (null, _BRIDGE_FD), (bridge, target)]
        actions = [(os.POSIX_SPAWN_DUP2, source, place) for source, place in places]
        command = guest_command(mode)
        pid = os.posix_spawn(command[0], command, guest_environment(), file_actions=actions, setsigdef=_SIGNALS)
    except BaseException:
        os.close(reader)
        raise
    finally:
        for one in (writer, *sources):
            os.close(one)
    os.set_blocking(reader, False)
    return pid, reader


# A host may ignore these, and ignoring is inherited.
_SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGXCPU]


def _high(descriptor: int) -> int:
    """A copy out of the way of the numbers that a guest uses, so that no step of a spawn overwrites a later source."""
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)


class ZygoteProcess:
    """One zygote, from the host's side."""

    def __init__(self) -> None:
        """Start it; it takes messages at once, and answers when it is up.

        Raises:
            ZygoteGone: it cannot be started.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.pid, self._stderr = launch("zygote", theirs.fileno(), _CONTROL_FD)
        except OSError as error:
            ours.close()
            raise ZygoteGone(f"the interpreter {sys.executable} cannot be started: {error}") from error
        finally:
            theirs.close()
        ours.setblocking(False)
        self._control = ours
        self._lock = threading.Lock()
        self.forks = 0
        self.children = 0
        """Children that were asked for and not buried or reaped yet."""
        self.proven = False
        """A child of it was ready."""
        self.apart = self.was_apart = False
        """It keeps off the host's processor, or did so once: then a child of it may."""
        self.retired = False
        self.killed = False
        self._ended = False
        self._words = ""
        self._numbers = itertools.count(1)

    def fork(self, bridge: int) -> int:
        """Ask for a child on `bridge`; the number by which the zygote knows it.

        Raises:
            ZygoteGone: nobody takes the message.
        """
        with self._lock:
            number = next(self._numbers)
            self._send(b"f%d" % number, bridge)
            self.forks += 1
            self.children += 1
            return number

    def bury(self, number: int) -> None:
        """A child is to be killed and forgotten."""
        with self._lock:
            self.children -= 1
            with contextlib.suppress(ZygoteGone):
                self._send(b"b%d" % number)

    def reap(self, number: int, answer: int) -> None:
        """A child is to be killed and its end told to `answer`.

        Raises:
            ZygoteGone: nobody takes the message.
        """
        with self._lock:
            self.children -= 1
            self._send(b"r%d" % number, answer)

    def report(self, answer: int) -> None:
        """The layers of the seal are to be told to `answer`.

        Raises:
            ZygoteGone: nobody takes the message.
        """
        with self._lock:
            self._send(b"p0", answer)

    def keep_apart(self) -> None:
        """Have it, and what it forks from now on, keep off the host's processor (see `_processors`)."""
        with self._lock:
            # One that has just started may be about to change its user: then we could not take this back.
            if self.proven and not self.apart and not self._ended:
                self.apart = self.was_apart = place(self.pid, apart=True)

    def spread(self) -> None:
        """Have it, and what it forks from now on, use all processors."""
        with self._lock:
            if self.apart and not self._ended:
                self.apart = not place(self.pid, apart=False)

    def _send(self, message: bytes, descriptor: int | None = None) -> None:
        if self._ended:
            raise ZygoteGone("the zygote was ended")
        rights = [] if descriptor is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
        try:
            self._control.sendmsg([message], rights)
        except BlockingIOError:
            raise ZygoteGone("the zygote takes no messages") from None
        except OSError as error:
            raise ZygoteGone(f"the zygote died ({error})") from error

    def words(self) -> str:
        """What it wrote to standard error before it was up: why it could not start."""
        with self._lock, contextlib.suppress(OSError):
            if not self._ended:
                self._words += os.read(self._stderr, _STDERR_BYTES).decode("utf-8", "replace")
        return self._words.strip()

    def kill(self) -> None:
        """End it now, and its children with it."""
        self.killed = True
        with self._lock, contextlib.suppress(OSError):
            if not self._ended:
                os.kill(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Let it bury its children and leave; afterwards it is gone for certain."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            self._control.close()
            if self.forks == 0:  # It may be importing still, and has nobody to bury.
                with contextlib.suppress(OSError):
                    os.kill(self.pid, signal.SIGKILL)
        try:
            deadline = time.monotonic() + _LEAVE_SECONDS
            pause = 0.0005
            while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
                if time.monotonic() > deadline:
                    os.kill(self.pid, signal.SIGKILL)
                    os.waitpid(self.pid, 0)
                    break
                time.sleep(pause)
                pause = min(pause * 1.5, 0.01)
        except (ChildProcessError, ProcessLookupError):
            pass  # Somebody else in this process waits for all children.
        os.close(self._stderr)

    def forget(self) -> None:
        """In a forked copy of the host: it is the parent's."""
        self._ended = True
        self._lock = threading.Lock()
        self._control.close()
        os.close(self._stderr)


class ZygoteHouse:
    """All zygotes of this process: the one that serves, those that may only finish, and who needs them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._current: ZygoteProcess | None = None
        self._next: ZygoteProcess | None = None
        self._retired: list[ZygoteProcess] = []
        self._leases = 0

    def begin(self) -> None:
        """Start a zygote that nobody needs yet. Failing is left to whoever needs it."""
        with self._lock, contextlib.suppress(ZygoteGone):
            if self._current is None and can_fork():
                self._current = ZygoteProcess()

    def lease(self) -> None:
        """Keep a zygote alive until `release`."""
        with self._lock:
            self._leases += 1

    def release(self) -> None:
        """The last one to go ends what is there."""
        with self._lock:
            self._leases -= 1
            if self._leases > 0:
                return
            ending = self._take_all()
        for zygote in ending:
            zygote.end()

    def zygote(self) -> ZygoteProcess:
        """The one that serves.

        Raises:
            ZygoteGone: none can be started.
        """
        with self._lock:
            zygote = self._current
            if zygote is not None and zygote.forks >= FORKS_PER_ZYGOTE:
                self._retire(zygote)
                zygote = self._current
            if zygote is None:
                zygote = self._current = ZygoteProcess()
            elif zygote.forks >= FORKS_PER_ZYGOTE - _START_AHEAD and self._next is None:
                self._next = ZygoteProcess()
            # One that was killed buries nobody any more, whatever is counted of its children.
            idle = [one for one in self._retired if one.killed or one.children <= 0]
            self._retired = [one for one in self._retired if one not in idle]
        for one in idle:
            one.end()
        return zygote

    def retire(self, zygote: ZygoteProcess) -> None:
        """This one is dead or stuck: no new child of it, and no old one either."""
        with self._lock:
            self._retire(zygote)
        zygote.kill()

    def _retire(self, zygote: ZygoteProcess) -> None:
        if zygote is self._current:
            self._current, self._next = self._next, None
        if not zygote.retired:
            zygote.retired = True
            self._retired.append(zygote)

    def _take_all(self) -> list[ZygoteProcess]:
        taken = [one for one in (self._current, self._next, *self._retired) if one is not None]
        self._current = self._next = None
        self._retired = []
        return taken

    def end(self) -> None:
        """When the host ends: end everything."""
        for zygote in self._take_all():
            zygote.end()

    def forget(self) -> None:
        """In a forked copy of the host: everything is the parent's."""
        for zygote in self._take_all():
            zygote.forget()
        self._lock = threading.Lock()
        self._leases = 0


HOUSE = ZygoteHouse()
atexit.register(HOUSE.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=HOUSE.forget)


def begin() -> None:
    """Start a zygote now, because a program is likely to be run soon. Costs about a millisecond; never raises."""
    HOUSE.begin()
