"""System call numbers and the seal's verdict on each: one table per architecture.

Rules of this module: data only. `_seccomp` turns a table into BPF, `_seal` decides when it is applied. A call that
stands in no table is refused with EPERM, so a new kernel's new call is closed until somebody opens it here.

Sources: Linux `arch/x86/entry/syscalls/syscall_64.tbl` and `scripts/syscall.tbl` (the generic numbers of aarch64),
`include/uapi/linux/audit.h` for the architecture tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

BRIDGE_FD = 3
"""The one descriptor of a child that leads anywhere: its end of the bridge."""


class Check(Enum):
    """A condition on the arguments of a call; the call is refused with EPERM where it does not hold."""

    NOT_EXECUTABLE = "the protection (argument 2) has no PROT_EXEC bit"
    OWN_PROCESS = "argument 0 is the child's own process id"
    SELF_BY_ZERO = "argument 0 is 0, which means the caller"
    BRIDGE_WITHOUT_ADDRESS = "argument 0 is the bridge and argument 4, the address, is null"


# What a running CPython needs once everything is imported. The hot calls stand first: the filter is read in order.
ALLOWED: tuple[tuple[str, Check | None], ...] = (
    ("recvfrom", None),
    ("sendto", Check.BRIDGE_WITHOUT_ADDRESS),
    ("poll", None),
    ("ppoll", None),
    ("read", None),
    ("write", None),
    ("mmap", Check.NOT_EXECUTABLE),
    ("munmap", None),
    ("brk", None),
    ("mremap", None),
    ("madvise", None),
    ("mprotect", Check.NOT_EXECUTABLE),
    ("futex", None),
    ("clock_gettime", None),
    ("clock_nanosleep", None),
    ("clock_getres", None),
    ("gettimeofday", None),
    ("time", None),
    ("nanosleep", None),
    ("getrandom", None),
    ("close", None),
    ("rt_sigaction", None),
    ("rt_sigprocmask", None),
    ("rt_sigreturn", None),
    ("sigaltstack", None),
    ("restart_syscall", None),
    ("sched_yield", None),
    ("getpid", None),
    ("gettid", None),
    # abort() and the fault report raise their signal on the process itself; nobody else can be named.
    ("tgkill", Check.OWN_PROCESS),
    # The child puts its own memory and CPU limits in force when it learns them, and can only ever lower them.
    ("prlimit64", Check.SELF_BY_ZERO),
    ("exit", None),
    ("exit_group", None),
)

# Nobody comes here by mistake: the process is killed (SIGSYS) instead of being told no.
FATAL: tuple[str, ...] = (
    "execve",
    "execveat",
    "fork",
    "vfork",
    "clone",
    "clone3",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "pidfd_getfd",
    "bpf",
    "userfaultfd",
    "init_module",
    "finit_module",
    "kexec_load",
    "kexec_file_load",
)


@dataclass(frozen=True, slots=True)
class Architecture:
    """One machine's numbering."""

    machine: str
    """As `os.uname().machine` says it."""
    audit: int
    """AUDIT_ARCH_*: what seccomp reports; any other value means a foreign calling convention."""
    highest: int | None
    """Numbers from here on belong to another convention (x32) and are fatal; None: there is none."""
    numbers: dict[str, int]
    """Name to number, for every call that this product names anywhere: allowed, fatal or tried by the proof."""


_SINCE_5_0 = {  # Numbers from 424 on are the same on every architecture.
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "fsopen": 430, "pidfd_open": 434, "clone3": 435, "close_range": 436, "openat2": 437,
    "pidfd_getfd": 438, "landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446,
    "memfd_secret": 447,
}  # fmt: skip

X86_64 = Architecture(
    machine="x86_64",
    audit=0xC000003E,
    highest=0x40000000,
    numbers={
        "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8,
        "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14,
        "rt_sigreturn": 15, "ioctl": 16, "access": 21, "pipe": 22, "select": 23, "sched_yield": 24, "mremap": 25,
        "madvise": 28, "shmget": 29, "shmat": 30, "dup": 32, "dup2": 33, "pause": 34, "nanosleep": 35,
        "setitimer": 38, "getpid": 39, "socket": 41, "connect": 42, "accept": 43, "sendto": 44, "recvfrom": 45,
        "sendmsg": 46, "recvmsg": 47, "bind": 49, "listen": 50, "socketpair": 53, "setsockopt": 54, "clone": 56,
        "fork": 57, "vfork": 58, "execve": 59, "exit": 60, "wait4": 61, "kill": 62, "uname": 63, "semget": 64,
        "msgget": 68, "fcntl": 72, "truncate": 76, "getdents": 78, "getcwd": 79, "chdir": 80, "rename": 82,
        "mkdir": 83, "creat": 85, "link": 86, "unlink": 87, "symlink": 88, "readlink": 89, "chmod": 90,
        "chown": 92, "gettimeofday": 96, "getrusage": 98, "sysinfo": 99, "ptrace": 101, "getuid": 102,
        "syslog": 103, "setuid": 105, "getppid": 110, "setsid": 112, "sigaltstack": 131, "personality": 135,
        "sched_setaffinity": 203, "prctl": 157, "setrlimit": 160, "chroot": 161, "mount": 165, "umount2": 166,
        "swapon": 167, "reboot": 169, "sethostname": 170, "init_module": 175, "quotactl": 179, "gettid": 186,
        "tkill": 200, "time": 201, "futex": 202, "sched_getaffinity": 204, "io_setup": 206, "getdents64": 217,
        "restart_syscall": 219, "timer_create": 222, "clock_settime": 227, "clock_gettime": 228,
        "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "tgkill": 234, "mq_open": 240,
        "kexec_load": 246, "waitid": 247, "add_key": 248, "request_key": 249, "keyctl": 250, "inotify_init1": 294,
        "openat": 257, "mkdirat": 258, "newfstatat": 262, "unlinkat": 263, "renameat": 264, "readlinkat": 267,
        "faccessat": 269, "ppoll": 271, "unshare": 272, "splice": 275, "signalfd4": 289, "eventfd2": 290,
        "epoll_create1": 291, "pipe2": 293, "timerfd_create": 283, "rt_sigqueueinfo": 129,
        "rt_tgsigqueueinfo": 297, "perf_event_open": 298, "fanotify_init": 300, "prlimit64": 302,
        "name_to_handle_at": 303, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
        "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "seccomp": 317, "getrandom": 318,
        "memfd_create": 319, "kexec_file_load": 320, "bpf": 321, "execveat": 322, "userfaultfd": 323,
        "membarrier": 324, "statx": 332, **_SINCE_5_0,
    },
)  # fmt: skip

AARCH64 = Architecture(
    machine="aarch64",
    audit=0xC00000B7,
    highest=None,
    numbers={
        "io_setup": 0, "getcwd": 17, "eventfd2": 19, "epoll_create1": 20, "dup": 23, "fcntl": 25,
        "inotify_init1": 26, "ioctl": 29, "mkdirat": 34, "unlinkat": 35, "renameat": 38, "umount2": 39, "mount": 40,
        "truncate": 45, "faccessat": 48, "chdir": 49, "chroot": 51, "openat": 56, "close": 57, "pipe2": 59,
        "quotactl": 60, "getdents64": 61, "lseek": 62, "read": 63, "write": 64, "ppoll": 73, "signalfd4": 74,
        "splice": 76, "readlinkat": 78, "newfstatat": 79, "fstat": 80, "timerfd_create": 85, "personality": 92,
        "exit": 93, "exit_group": 94, "waitid": 95, "unshare": 97, "futex": 98, "nanosleep": 101,
        "setitimer": 103, "kexec_load": 104, "init_module": 105, "timer_create": 107, "clock_settime": 112,
        "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115, "syslog": 116, "ptrace": 117,
        "sched_setaffinity": 122, "sched_getaffinity": 123, "sched_yield": 124, "restart_syscall": 128,
        "kill": 129, "tkill": 130, "tgkill": 131, "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135,
        "rt_sigqueueinfo": 138, "rt_sigreturn": 139, "reboot": 142, "setuid": 146, "setsid": 157, "uname": 160,
        "sethostname": 161, "setrlimit": 164, "getrusage": 165, "prctl": 167, "gettimeofday": 169, "getpid": 172,
        "getppid": 173, "getuid": 174, "gettid": 178, "sysinfo": 179, "mq_open": 180, "msgget": 186, "semget": 190,
        "shmget": 194, "shmat": 196, "socket": 198, "socketpair": 199, "bind": 200, "listen": 201, "accept": 202,
        "connect": 203, "sendto": 206, "recvfrom": 207, "setsockopt": 208, "sendmsg": 211, "recvmsg": 212,
        "brk": 214, "munmap": 215, "mremap": 216, "add_key": 217, "request_key": 218, "keyctl": 219, "clone": 220,
        "execve": 221, "mmap": 222, "swapon": 224, "mprotect": 226, "madvise": 233, "rt_tgsigqueueinfo": 240,
        "perf_event_open": 241, "wait4": 260, "prlimit64": 261, "fanotify_init": 262, "name_to_handle_at": 264,
        "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
        "finit_module": 273, "seccomp": 277, "getrandom": 278, "memfd_create": 279, "bpf": 280, "execveat": 281,
        "userfaultfd": 282, "membarrier": 283, "statx": 291, "kexec_file_load": 294, **_SINCE_5_0,
    },
)  # fmt: skip

ARCHITECTURES: dict[str, Architecture] = {one.machine: one for one in (X86_64, AARCH64)}
