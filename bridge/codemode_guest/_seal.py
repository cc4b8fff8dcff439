"""The seal: what takes a process's powers away, for the zygote once and for each child.

Rules of this module: every step answers with a `Layer` that says whether it holds and why not; nothing here decides
whether an unsealed child may run (the host does, by its `seal` setting). The zygote puts on what a fork inherits: the
descriptors' and files' limits, an unprivileged user, empty namespaces, no-new-privileges, not dumpable, Landlock. A
child adds what belongs to one process: its session, its death with the zygote, and the seccomp filter, last of all.

Raw system calls go through ctypes: the standard library has no prctl, seccomp or landlock.

Sources: prctl(2), seccomp(2), landlock(7), unshare(2), credentials(7).
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

from codemode_guest import _limits
from codemode_guest._seccomp import Filter
from codemode_guest._syscalls import ARCHITECTURES, Architecture

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_SET_MODE_FILTER = 1
_LANDLOCK_VERSION = 1
_CLONE_NEWUTS, _CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWNET = 0x04000000, 0x08000000, 0x10000000, 0x40000000
_CAP_KILL, _CAP_SETGID, _CAP_SETUID = 5, 6, 7
_NOBODY = 65534  # The kernel's overflow id: owns nothing on any ordinary system.

# Rights that Landlock can take away, by the ABI version that knows them (landlock(7)).
_LANDLOCK_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_LANDLOCK_NETWORK_SINCE, _LANDLOCK_SCOPES_SINCE = 4, 6
_LANDLOCK_BIND_AND_CONNECT = 0b11
_LANDLOCK_SIGNALS_AND_ABSTRACT_SOCKETS = 0b11


class SealError(Exception):
    """A step of a child's seal failed; the child ends without ever being ready."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of the seal, as `codemode doctor` shows it."""

    name: str
    holds: bool
    tried: str
    """What was done to put it on, or to prove it."""
    why: str
    """Why it does not hold, or a remark; may be empty."""
    required: bool = False
    """Without this layer the child does not count as sealed."""


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class Kernel:
    """The few raw calls that the seal needs, with errno turned into OSError."""

    def __init__(self, architecture: Architecture) -> None:
        self.architecture = architecture
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._syscall: Callable[..., int] = self._libc.syscall
        self._syscall.restype = ctypes.c_long

    def call(self, name: str, *arguments: object) -> int:
        """Make one system call by name.

        Raises:
            OSError: the kernel refused it.
        """
        return self.prepared(name, *arguments)()

    def prepared(self, name: str, *arguments: object) -> Callable[[], int]:
        """A system call that is ready to be made: converting its arguments costs a child more than the call."""
        call, number = self._syscall, ctypes.c_long(self.architecture.numbers[name])
        converted = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]

        def made() -> int:
            result = call(number, *converted)
            if result == -1:
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code), name)
            return result

        return made

    def prctl(self, option: int, value: int) -> None:
        self.call("prctl", option, value, 0, 0, 0)


def kernel() -> Kernel | None:
    """The running kernel, or None where the seal cannot be put on at all."""
    architecture = ARCHITECTURES.get(os.uname().machine) if sys.platform == "linux" else None
    if architecture is None or sys.maxsize < 2**32 or sys.byteorder != "little":
        return None
    return Kernel(architecture)


def _attempt(name: str, tried: str, step: Callable[[], str | None], *, required: bool = False) -> Layer:
    try:
        remark = step()
    except (OSError, ValueError) as error:
        return Layer(name, False, tried, str(error), required)
    return Layer(name, True, tried, remark or "", required)


def _effective_capabilities() -> int:
    with open("/proc/self/status", "rb") as status:
        for line in status:
            if line.startswith(b"CapEff:"):
                return int(line.split()[1], 16)
    return 0


def _empty_namespaces(system: Kernel) -> str | None:
    """No interface, no IPC object: what a forgotten system call could still reach is not there."""
    flags = _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWUTS
    try:
        system.call("unshare", flags)
    except PermissionError:
        system.call("unshare", flags | _CLONE_NEWUSER)
        return "inside a user namespace"
    return None


def _become_nobody() -> str | None:
    """Root gives up root. The host must still be able to kill what it started, so it needs CAP_KILL for this."""
    if os.geteuid() != 0:
        return "the host's own unprivileged user"
    capabilities = _effective_capabilities()
    missing = [bit for bit in (_CAP_KILL, _CAP_SETGID, _CAP_SETUID) if not capabilities >> bit & 1]
    if missing:
        raise PermissionError(f"root without the capabilities {missing} stays root; the filter still holds")
    os.setgroups([])
    os.setresgid(_NOBODY, _NOBODY, _NOBODY)
    os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    return f"user and group {_NOBODY}"


def _landlock(system: Kernel) -> str | None:
    version = system.call("landlock_create_ruleset", None, 0, _LANDLOCK_VERSION)
    files = max(rights for since, rights in _LANDLOCK_FILES.items() if since <= version)
    network = _LANDLOCK_BIND_AND_CONNECT if version >= _LANDLOCK_NETWORK_SINCE else 0
    scopes = _LANDLOCK_SIGNALS_AND_ABSTRACT_SOCKETS if version >= _LANDLOCK_SCOPES_SINCE else 0
    ruleset = _Ruleset(files, network, scopes)
    # The structure grew with the versions, and an old kernel refuses bytes that it does not know.
    size = 8 if version < _LANDLOCK_NETWORK_SINCE else 16 if version < _LANDLOCK_SCOPES_SINCE else 24
    descriptor = system.call("landlock_create_ruleset", ctypes.byref(ruleset), size, 0)
    try:
        system.call("landlock_restrict_self", descriptor, 0)
    finally:
        os.close(descriptor)
    return f"version {version}, no rule: every path is closed"


def seal_zygote(system: Kernel | None) -> list[Layer]:
    """Put on everything that children inherit. The caller has imported all it will ever need."""
    layers = [
        _attempt("environment", "clear the environment and leave the working directory", _empty_surroundings),
        _attempt(
            "resource-limits", "setrlimit CORE, FSIZE, NOFILE, MEMLOCK, MSGQUEUE", _limits.restrain, required=True
        ),
    ]
    if system is None:
        reason = f"no seal is known for {sys.platform} on {os.uname().machine}"
        return [*layers, Layer("seccomp", False, "look up the table of system calls", reason, required=True)]
    return [
        *layers,
        _attempt("namespaces", "unshare network, IPC and UTS", lambda: _empty_namespaces(system)),
        _attempt("user", "setresuid to nobody where the host is root", _become_nobody),
        _attempt(
            "no-new-privileges",
            "prctl PR_SET_NO_NEW_PRIVS",
            lambda: system.prctl(_PR_SET_NO_NEW_PRIVS, 1),
            required=True,
        ),
        _attempt("not-dumpable", "prctl PR_SET_DUMPABLE 0", lambda: system.prctl(_PR_SET_DUMPABLE, 0), required=True),
        _attempt("landlock", "restrict the process to no path, port or foreign process", lambda: _landlock(system)),
    ]


def _empty_surroundings() -> None:
    os.environ.clear()
    sys.argv[:] = [""]
    os.chdir("/")


class ChildSeal:
    """What each child puts on after the fork. Made once, in the zygote, so that a child only makes system calls."""

    def __init__(self, system: Kernel, *, parent: int | None) -> None:
        """`parent` is the process to die with; None for a spawned child.

        A spawned child's parent is a thread of the host, and the kernel counts the thread's end as the parent's death.
        """
        self._filter = Filter(system.architecture)
        self._parent = parent
        code = self._filter.code
        program = _Filter(self._filter.length, ctypes.addressof((ctypes.c_char * len(code)).from_buffer(code)))
        self._die_with_parent = system.prepared("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        self._put_filter_on = system.prepared("seccomp", _SECCOMP_SET_MODE_FILTER, 0, ctypes.byref(program))

    def apply(self) -> None:
        """Seal the calling process for good.

        Raises:
            SealError: the zygote is gone already.
            OSError: a step was refused.
        """
        if os.getsid(0) != os.getpid():
            os.setsid()
        if self._parent is not None:
            self._die_with_parent()
            if os.getppid() != self._parent:
                raise SealError("the zygote died before its child was sealed")
        self._filter.allow_own_process(os.getpid())
        self._put_filter_on()
