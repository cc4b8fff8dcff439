"""The raw pipe: what crossing to another process and back costs with nothing around it.

A child of plain CPython and this process speak JSON over a socket pair, four bytes of length before each text,
blocking on both sides. No loop, no validation, no log, no seal: the floor that the bridge is measured against.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import warnings
from typing import Any

_HEADER = 4


def _send(sock: socket.socket, value: Any) -> None:
    body = json.dumps(value, separators=(",", ":")).encode()
    sock.sendall(len(body).to_bytes(_HEADER, "big") + body)


def _receive(sock: socket.socket) -> Any:
    size = int.from_bytes(_exactly(sock, _HEADER), "big")
    return json.loads(_exactly(sock, size))


def _exactly(sock: socket.socket, size: int) -> bytearray:
    buffer = bytearray(size)
    view = memoryview(buffer)
    have = 0
    while have < size:
        got = sock.recv_into(view[have:])
        if not got:
            raise EOFError("the other end is gone")
        have += got
    return buffer


class RawPipe:
    """A child that calls back, or receives a value, on request."""

    def __init__(self) -> None:
        self._sock, theirs = socket.socketpair()
        for end in (self._sock, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1024 * 1024)
        command = [sys.executable, "-I", "-S", __file__, str(theirs.fileno())]
        self._child = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()

    def __enter__(self) -> RawPipe:
        return self

    def __exit__(self, *exc: object) -> None:
        self._sock.close()
        self._child.kill()
        self._child.wait()

    def calls(self, count: int) -> float:
        """The child makes so many calls, one after the other; seconds, as the child measures them."""
        _send(self._sock, {"calls": count})
        while True:
            frame = _receive(self._sock)
            if "seconds" in frame:
                return float(frame["seconds"])
            arguments = frame["args"]
            _send(self._sock, {"id": frame["id"], "value": arguments["a"] + arguments["b"]})

    def cpu_of_calls(self, count: int) -> float:
        """CPU seconds of both sides for so many calls."""
        before = time.process_time()
        theirs = -self._cpu()
        self.calls(count)
        theirs += self._cpu()
        return time.process_time() - before + theirs

    def cpu_of_receiving(self, value: Any) -> float:
        """CPU seconds of both sides for one value."""
        before = time.process_time()
        theirs = -self._cpu()
        self.receive(value)
        theirs += self._cpu()
        return time.process_time() - before + theirs

    def _cpu(self) -> float:
        _send(self._sock, {"cpu": True})
        return float(_receive(self._sock))

    def receive(self, value: Any) -> float:
        """The child takes a list of rows and adds up their field `n`; seconds until the sum is here."""
        began = time.perf_counter()
        _send(self._sock, {"rows": value})
        total = _receive(self._sock)
        spent = time.perf_counter() - began
        assert isinstance(total, int)
        return spent


def _serve(sock: socket.socket) -> None:
    while True:
        try:
            order = _receive(sock)
        except EOFError:
            return
        if "cpu" in order:
            _send(sock, time.process_time())
            continue
        if "rows" in order:
            _send(sock, sum(row["n"] for row in order["rows"]))
            continue
        began = time.perf_counter()
        total = 0
        for number in range(order["calls"]):
            _send(sock, {"type": "call", "id": number, "name": "add", "args": {"a": total, "b": 1}})
            total = _receive(sock)["value"]
        _send(sock, {"seconds": time.perf_counter() - began})


def fork_and_wait() -> float:
    """Seconds to fork this process, leave at once, and wait for it."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # This process has threads; the child does nothing.
        pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return time.perf_counter() - began


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
