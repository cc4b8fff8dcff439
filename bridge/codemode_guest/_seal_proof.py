"""The proof of the seal: a sealed process tries what must fail, and somebody outside looks at what happened.

Rules of this module: real system calls with arguments that would work in an unsealed process, made by real sealed
children, once for each zygote. A refused call must come back with EPERM; a fatal one must kill its process with
SIGSYS. Nothing is believed because it was configured.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from errno import EPERM
from functools import partial

from codemode_guest._seal import ChildSeal, Kernel, Layer

_PATH = b"/"
_PROC = b"/proc/self/status"
_AT_FDCWD = -100
_AF_UNIX, _AF_INET, _AF_NETLINK, _SOCK_STREAM, _SOCK_RAW = 1, 2, 16, 1, 3
_PROT_READ_WRITE, _PROT_EXEC, _MAP_PRIVATE_ANONYMOUS = 3, 4, 0x22
_SIGCHLD = 17


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing that must not work."""

    title: str
    call: str
    arguments: tuple[object, ...]


def refused_probes(zygote: int) -> list[Probe]:
    """What a sealed child is told no to."""
    buffer = ctypes.create_string_buffer(256)
    one = ctypes.c_long(1)
    return [
        Probe("open a file", "openat", (_AT_FDCWD, _PATH, os.O_RDONLY, 0)),
        Probe("read /proc", "openat", (_AT_FDCWD, _PROC, os.O_RDONLY, 0)),
        Probe("open by openat2", "openat2", (_AT_FDCWD, _PATH, buffer, 24)),
        Probe("look at a path", "newfstatat", (_AT_FDCWD, _PATH, buffer, 0)),
        Probe("make a folder", "mkdirat", (_AT_FDCWD, b"/tmp/codemode-seal", 0o700)),
        Probe("change the folder", "chdir", (_PATH,)),
        Probe("change the root", "chroot", (_PATH,)),
        Probe("mount", "mount", (b"none", _PATH, b"tmpfs", 0, None)),
        Probe("a network socket", "socket", (_AF_INET, _SOCK_STREAM, 0)),
        Probe("a raw socket", "socket", (_AF_INET, _SOCK_RAW, 1)),
        Probe("a local socket", "socket", (_AF_UNIX, _SOCK_STREAM, 0)),
        Probe("a netlink socket", "socket", (_AF_NETLINK, _SOCK_RAW, 0)),
        Probe("connect", "connect", (3, buffer, 16)),
        Probe("a socket pair", "socketpair", (_AF_UNIX, _SOCK_STREAM, 0, buffer)),
        Probe("pass a descriptor", "sendmsg", (3, buffer, 0)),
        Probe("receive a descriptor", "recvmsg", (3, buffer, 0)),
        Probe("ioctl", "ioctl", (3, 0x541B, buffer)),
        Probe("fcntl", "fcntl", (3, 1, 0)),
        Probe("copy a descriptor", "dup", (3,)),
        Probe("a pipe", "pipe2", (buffer, 0)),
        Probe("epoll", "epoll_create1", (0,)),
        Probe("memory as a file", "memfd_create", (b"seal", 0)),
        Probe("shared memory", "shmget", (0, 4096, 0o1600)),
        Probe("executable memory", "mmap", (None, 4096, _PROT_READ_WRITE | _PROT_EXEC, _MAP_PRIVATE_ANONYMOUS, -1, 0)),
        Probe("signal the zygote", "kill", (zygote, 0)),
        Probe("signal a group", "kill", (0, 0)),
        Probe("signal a thread of the zygote", "tgkill", (zygote, zygote, 0)),
        Probe("signal by descriptor", "pidfd_open", (zygote, 0)),
        Probe("limits of the zygote", "prlimit64", (zygote, 7, None, buffer)),
        Probe("prctl", "prctl", (4, 1, 0, 0, 0)),
        Probe("another namespace", "unshare", (0x10000000,)),
        Probe("io_uring", "io_uring_setup", (1, buffer)),
        Probe("performance counters", "perf_event_open", (buffer, 0, -1, -1, 0)),
        Probe("the kernel's keys", "keyctl", (0, -3, 0)),
        Probe("the clock", "clock_settime", (0, buffer)),
        Probe("a timer", "timer_create", (0, None, ctypes.byref(one))),
        Probe("the machine's name", "uname", (buffer,)),
    ]


def fatal_probes(zygote: int) -> list[Probe]:
    """What ends the process that tries it."""
    arguments = (ctypes.c_char_p * 2)(b"/bin/true", None)
    return [
        Probe("run a program", "execve", (b"/bin/true", arguments, None)),
        Probe("make a process", "clone", (_SIGCHLD, 0, 0, 0, 0)),
        Probe("trace the zygote", "ptrace", (16, zygote, 0, 0)),
    ]


def _open_after_all(system: Kernel, probes: list[Probe]) -> list[str]:
    """The titles of the probes that were not refused."""
    got_through: list[str] = []
    for probe in probes:
        if probe.call not in system.architecture.numbers:
            continue
        try:
            system.call(probe.call, *probe.arguments)
        except OSError as error:
            if error.errno == EPERM:
                continue
        got_through.append(probe.title)
    return got_through


def _survives(system: Kernel, probe: Probe) -> str:
    return "alive" if _open_after_all(system, [probe]) else "told no"


def _in_child(seal: ChildSeal, body: Callable[[], str]) -> tuple[str, int]:
    """Run `body` in a sealed child; what it says, and how it ended (as `os.wait`)."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            seal.apply()
            os.write(writer, body().encode() or b"-")
        except BaseException as error:
            os.write(writer, f"the seal failed: {error}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    try:
        said = os.read(reader, 4096).decode()
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(reader)
    return said, status


def prove(seal: ChildSeal, system: Kernel) -> list[Layer]:
    """Try everything and say what holds. The caller is the zygote, before its first real child."""
    zygote = os.getpid()
    refused, fatal = refused_probes(zygote), fatal_probes(zygote)
    said, status = _in_child(seal, lambda: ", ".join(_open_after_all(system, refused)))
    tried = "in a sealed child: " + ", ".join(probe.title for probe in refused)
    holds = said == "-" and status == 0
    layers = [Layer("seccomp", holds, tried, "" if holds else f"not refused: {said} (status {status})", True)]
    survived: list[str] = []
    for probe in fatal:
        said, status = _in_child(seal, partial(_survives, system, probe))
        if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS):
            survived.append(f"{probe.title} ({said or 'no word'}, status {status})")
    tried = "in a sealed child each, which it must kill: " + ", ".join(probe.title for probe in fatal)
    layers.append(Layer("seccomp-kill", not survived, tried, "; ".join(survived), True))
    return layers
