"""Things that plain CPython in a sealed child tries, as if the dialect were broken.

Rules of this file: each text is the body of an async function that comes to its end only if the attempt SUCCEEDED. Held
means that it raised or that the child died; `test_seal` looks at nothing else. `HELPERS` stands before each.
"""

# ruff: noqa: E501 - the texts are programs, one a line

from __future__ import annotations

HELPERS = """\
import os, sys
def syscall(number, *arguments):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
"""

HOSTILE: dict[str, str] = {
    # files
    "read a file": "open('/etc/passwd').read()",
    "write a file": "open('/tmp/codemode-broke-out', 'w').write('x')",
    "create through os": "os.open('/tmp/codemode-broke-out', os.O_CREAT | os.O_WRONLY)",
    "list a folder": "os.listdir('/')",
    "scan a folder": "list(os.scandir('/tmp'))",
    "look at a file": "os.stat('/etc/passwd')",
    "make a folder": "os.mkdir('/tmp/codemode-broke-out')",
    "remove a file": "os.unlink('/tmp/codemode-broke-out-not-there')\n",
    "rename": "os.rename('/tmp', '/tmp2')",
    "link": "os.symlink('/etc/passwd', '/tmp/codemode-link')",
    "read a link": "os.readlink('/proc/self/exe')",
    "change a mode": "os.chmod('/tmp', 0o777)",
    "where am I": "os.getcwd()",
    "change folder": "os.chdir('/tmp')",
    "import from disk": "import sqlite3",
    "a device": "os.open('/dev/null', os.O_RDWR)",
    "open by handle": "syscall(304, -100, None, 0)",
    "openat2": "import ctypes\nsyscall(437, -100, b'/', ctypes.create_string_buffer(24), 24)",
    "truncate": "os.truncate('/tmp/x', 0)",
    "a named pipe": "os.mkfifo('/tmp/codemode-fifo')",
    "extended attributes": "os.getxattr('/', 'user.x')",
    "free space": "os.statvfs('/')",
    # /proc
    "own memory": "open('/proc/self/mem', 'rb').read(1)",
    "own maps": "open('/proc/self/maps').read()",
    "environment of init": "open('/proc/1/environ').read()",
    "command lines": "open('/proc/1/cmdline').read()",
    "the kernel's messages": "syscall(103, 3, None, 0)\nopen('/dev/kmsg')",
    # network
    "a TCP socket": "import socket\nsocket.socket()",
    "a UDP socket": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "a local socket": "import socket\nsocket.socket(socket.AF_UNIX)",
    "a netlink socket": "import socket\nsocket.socket(16, socket.SOCK_RAW)",
    "a raw socket": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "a packet socket": "import socket\nsocket.socket(17, socket.SOCK_RAW)",
    "a vsock": "import socket\nsocket.socket(40, socket.SOCK_STREAM)",
    "a connection": "import socket\nsocket.create_connection(('127.0.0.1', 80), 1)",
    "a name": "import socket\nsocket.getaddrinfo('localhost', 80)\nsocket.gethostbyname('example.org')\nopen('/etc/hosts')",
    "a socket pair": "import socket\nsocket.socketpair()",
    "bind the bridge": "import socket\nsocket.socket(fileno=3).bind('\\0codemode')",
    "listen on the bridge": "import socket\nsocket.socket(fileno=3).listen()",
    "connect the bridge": "import socket\nsocket.socket(1, 1, 0, fileno=3).connect('\\0other')",
    "send to an address": "import ctypes\nsyscall(44, 3, b'x', 1, 0, ctypes.create_string_buffer(110), 110)",
    "pass a descriptor": "import socket\nsocket.send_fds(socket.socket(1, 1, 0, fileno=3), [b'x'], [3])",
    "take a descriptor": "import socket\nsocket.recv_fds(socket.socket(1, 1, 0, fileno=3), 1, 1)",
    "socket options": "import socket\nsocket.socket(1, 1, 0, fileno=3).setsockopt(1, 8, 1 << 30)",
    # processes and threads
    "fork": "os.fork()",
    "fork by number": "syscall(57)",
    "vfork": "syscall(58)",
    "clone3": "import ctypes\nsyscall(435, ctypes.create_string_buffer(88), 88)",
    "exec": "os.execv('/bin/true', ['true'])",
    "execveat": "syscall(322, -100, b'/bin/true', None, None, 0)",
    "a shell": "if os.system('true') != 0: raise OSError('no shell')",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "subprocess": "import subprocess\nsubprocess.run(['true'])",
    "a thread": "import threading\nt = threading.Thread(target=int)\nt.start()\nt.join()",
    "a raw thread": "import _thread\n_thread.start_new_thread(int, ())",
    "wait for others": "os.waitpid(-1, 0)",
    # signals
    "kill init": "os.kill(1, 0)",
    "kill the parent": "os.kill(os.getppid() if os.getppid() > 1 else 1, 9)",
    "kill everyone": "os.kill(-1, 0)",
    "kill the own group": "os.killpg(0, 0)",
    "tkill": "syscall(200, 1, 0)",
    "tgkill another": "syscall(234, 1, 1, 0)",
    "queue a signal": "import ctypes\nsyscall(129, 1, 0, ctypes.create_string_buffer(128))",
    "a handle on a process": "os.pidfd_open(1)",
    "a handle on itself": "os.pidfd_open(os.getpid())",
    "an alarm": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 100)",
    "a posix timer": "import ctypes\nsyscall(222, 0, None, ctypes.create_string_buffer(8))",
    # memory
    "memory as a file": "os.memfd_create('x')",
    "secret memory": "syscall(447, 0)",
    "shared memory": "from multiprocessing import shared_memory\nshared_memory.SharedMemory(create=True, size=10)",
    "system V memory": "syscall(29, 0, 4096, 0o1600)",
    "a semaphore": "syscall(64, 0, 1, 0o1600)",
    "a message queue": "syscall(68, 0, 0o1600)",
    "executable memory": "import mmap\nmmap.mmap(-1, 4096, prot=7)",
    "make memory executable": "import mmap, ctypes\nm = mmap.mmap(-1, 4096)\nsyscall(10, ctypes.addressof(ctypes.c_char.from_buffer(m)), 4096, 5)",
    "a library": "import ctypes\nctypes.CDLL('libresolv.so.2')",
    "other memory": "import ctypes\nsyscall(310, 1, ctypes.create_string_buffer(16), 1, ctypes.create_string_buffer(16), 1, 0)",
    "page faults": "syscall(323, 0)",
    # descriptors
    "copy a descriptor": "os.dup(3)",
    "dup2": "os.dup2(3, 9)",
    "fcntl": "import fcntl\nfcntl.fcntl(3, 1)",
    "ioctl": "import fcntl\nfcntl.ioctl(3, 0x541B, b'0000')",
    "type into the terminal": "import fcntl\nfcntl.ioctl(0, 0x5412, b'x')",
    "a pipe": "os.pipe()",
    "epoll": "import select\nselect.epoll()",
    "an event descriptor": "os.eventfd(0)",
    "a timer descriptor": "syscall(283, 0, 0)",
    "a signal descriptor": "import ctypes\nsyscall(289, -1, ctypes.create_string_buffer(8), 8, 0)",
    "watch files": "syscall(294, 0)",
    "watch all files": "syscall(300, 0, 0)",
    "splice": "syscall(275, 3, None, 1, None, 1, 0)",
    "another event loop": "import asyncio\nasyncio.SelectorEventLoop()",
    "an inherited descriptor": "import os\nfor n in range(4, 256):\n    try:\n        os.read(n, 0)\n    except OSError as e:\n        assert e.errno == 9\n    else:\n        break\nelse:\n    raise OSError('none')",
    # powers
    "become root": "os.setuid(0)\nif os.getuid() == 0: raise OSError('was root in a namespace of its own')",
    "dumpable again": "syscall(157, 4, 1, 0, 0, 0)",
    "a new filter": "syscall(317, 0, 0, None)",
    "a new name": "syscall(157, 15, b'innocent', 0, 0, 0)",
    "namespaces": "syscall(272, 0x10000000)",
    "join a namespace": "syscall(308, 3, 0)",
    "mount": "syscall(165, b'none', b'/', b'tmpfs', 0, None)",
    "unmount": "syscall(166, b'/', 2)",
    "new mounts": "syscall(430, b'tmpfs', 0)",
    "chroot": "os.chroot('/')",
    "personality": "syscall(135, 0x0040000)",
    "trace the parent": "syscall(101, 16, 1, 0, 0)",
    "trace itself": "syscall(101, 0, 0, 0, 0)",
    "bpf": "syscall(321, 0, None, 0)",
    "performance counters": "import ctypes\nsyscall(298, ctypes.create_string_buffer(128), 0, -1, -1, 0)",
    "io_uring": "import ctypes\nsyscall(425, 4, ctypes.create_string_buffer(120))",
    "asynchronous io": "import ctypes\nsyscall(206, 4, ctypes.create_string_buffer(8))",
    "keys": "syscall(250, 0, -3, 0)",
    "kernel modules": "syscall(313, 3, b'', 0)",
    "another kernel": "syscall(246, 0, 0, None, 0)",
    "reboot": "syscall(169, 0xfee1dead, 672274793, 0, None)",
    "the host's name": "import socket\nsocket.sethostname('x')",
    "read the host's name": "os.uname()",
    "the clock": "import time\ntime.clock_settime(0, 0)",
    "limits of others": "import resource\nresource.prlimit(1, resource.RLIMIT_NOFILE, (1, 1))",
    "more memory": "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "more files": "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))",
    "other processors": "os.sched_setaffinity(1, {0})",
    "which processors": "os.sched_getaffinity(0)",
    "how the machine is": "syscall(99, b'x' * 128)",
    "a foreign calling convention": "syscall(0x40000000 + 39)",
}
