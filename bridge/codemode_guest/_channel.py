"""The child's end of the bridge: frames over one stream socket, and the table of what is legal when.

Rules of this module: a frame is four bytes of big-endian length and that many bytes of UTF-8 JSON. Writing blocks until
the whole frame is out, and meanwhile takes in what the host sends, so that two full socket buffers never wait for each
other. The host is trusted as far as its bytes go, but a frame that is not legal in the state is dropped, not an error.
Everything that a frame needs is bound here at import, before any program could touch it.

Diagram (drawn from `_SENDS` and `_RECEIVES`):

    new --ready--> waiting --(wanted), (run)--> running --call, cancel, log / (reply)--> running --done--> finished
"""

from __future__ import annotations

import gc
import json
import select
import socket
import sys
from collections.abc import Callable
from json.scanner import make_scanner
from typing import cast

_SENDS: dict[tuple[str, str], str] = {
    ("new", "ready"): "waiting",
    ("running", "call"): "running",
    ("running", "cancel"): "running",
    ("running", "log"): "running",
    ("running", "done"): "finished",
}
_RECEIVES: dict[tuple[str, str], str] = {
    ("waiting", "wanted"): "waiting",
    ("waiting", "run"): "running",
    ("running", "reply"): "running",
}

_HEADER = 4
# One read. A whole ordinary reply fits; a longer frame is read straight into a buffer of its own size.
_READ = 65536

_plain = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False).encode
_escaped = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False, check_circular=False).encode
_scan: Callable[[str, int], tuple[object, int]] = make_scanner(json.JSONDecoder())  # type: ignore[arg-type]  # pyright: ignore


def _scan_long_integers(text: str) -> object:
    """Parse with no limit on an integer's digits; None for what is no JSON. The time counts as the program's."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return _scan(text, 0)[0]
    except (ValueError, StopIteration, RecursionError):
        return None
    finally:
        sys.set_int_max_str_digits(before)


def _scan_long(text: str) -> tuple[object, int]:
    """A long text without the collector, which would look at the growing value again and again: half of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _scan(text, 0)
    finally:
        if collecting:
            gc.enable()


class ChannelClosed(Exception):
    """The host is gone, or this run is over: nothing can be sent any more."""


def encode(value: object) -> bytes:
    """JSON text in UTF-8. A lone surrogate has no UTF-8 form, so text that holds one is escaped instead."""
    try:
        return _plain(value).encode()
    except UnicodeEncodeError:
        return _escaped(value).encode()


def framed(body: bytes) -> bytes:
    """One whole frame."""
    return len(body).to_bytes(_HEADER, "big") + body


class GuestChannel:
    """One child's bridge."""

    __slots__ = ("_frames", "_pending", "_socket", "on_frame", "state")

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._pending = b""  # The beginning of a frame that has not arrived whole.
        self._frames: list[dict[str, object]] = []  # Arrived while a write was blocked.
        self.state = "new"
        self.on_frame: Callable[[dict[str, object]], None] | None = None
        """Called on the loop for each `reply`."""

    # -- out ----------------------------------------------------------------------------------------------------

    def send(self, kind: str, fields: dict[str, object]) -> None:
        """Write one whole frame.

        Raises:
            ChannelClosed: the host is gone, or the frame is not legal now (after `done`, nothing is).
        """
        # Encoded first: where memory runs out in that, another frame may still be sent.
        body = encode({"type": kind, **fields})
        self._step(kind)
        self._write(body)

    def send_raw(self, json_text: bytes) -> None:
        """Write one whole frame whose JSON is ready: a `call` always, or the `done` that ends the run.

        Raises:
            ChannelClosed: as `send`.
        """
        self._step("done" if json_text.startswith(b'{"type":"done"') else "call")
        self._write(json_text)

    def _step(self, kind: str) -> None:
        after = _SENDS.get((self.state, kind))
        if after is None:
            raise ChannelClosed(f"{kind!r} cannot be sent when the run is {self.state}")
        self.state = after

    def _write(self, body: bytes) -> None:
        if len(body) > _READ:  # Not copied: a big value may be most of the memory there is.
            self._put(len(body).to_bytes(_HEADER, "big"))
            self._put(body)
        else:
            self._put(framed(body))

    def _put(self, data: bytes) -> None:
        try:
            sent = self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise ChannelClosed("the host is gone") from error
        if sent < len(data):
            self._write_rest(memoryview(data)[sent:])

    def _write_rest(self, rest: memoryview) -> None:
        poller = select.poll()
        poller.register(self._socket.fileno(), select.POLLIN | select.POLLOUT)
        try:
            while rest:
                events = poller.poll()[0][1]
                if events & select.POLLOUT:
                    rest = rest[self._socket.send(rest, socket.MSG_DONTWAIT) :]
                elif events & select.POLLIN:
                    self._frames += self._arrived(wait=False)
                else:
                    raise ChannelClosed("the host is gone")
        except OSError as error:
            raise ChannelClosed("the host is gone") from error

    # -- in -----------------------------------------------------------------------------------------------------

    def read(self, *, wait: bool = True) -> list[dict[str, object]]:
        """The legal frames that are there; with `wait`, at least one read is made however long it takes.

        Raises:
            ChannelClosed: the host closed the bridge.
        """
        if self._frames:
            frames, self._frames = self._frames, []
            return frames
        return self._arrived(wait=wait)

    def _arrived(self, *, wait: bool) -> list[dict[str, object]]:
        """What one read of the socket gives."""
        try:
            data = self._socket.recv(_READ, 0 if wait else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        except OSError as error:
            raise ChannelClosed("the host is gone") from error
        if not data:
            raise ChannelClosed("the host closed the bridge")
        if self._pending:
            data = self._pending + data
            self._pending = b""
        return self._split(data)

    def _split(self, data: bytes) -> list[dict[str, object]]:
        frames: list[dict[str, object]] = []
        start, end = 0, len(data)
        while end - start >= _HEADER:
            size = int.from_bytes(data[start : start + _HEADER], "big")
            body = start + _HEADER
            if body + size <= end:
                self._accept(data[body : body + size], frames)
                start = body + size
            elif size > _READ:
                self._accept(self._long_frame(data[body:], size), frames)
                return frames
            else:
                break
        self._pending = data[start:]
        return frames

    def _long_frame(self, head: bytes, size: int) -> bytearray:
        """The rest of a long frame, read where it will lie: no piece is copied twice."""
        buffer = bytearray(size)
        buffer[: len(head)] = head
        view = memoryview(buffer)
        have = len(head)
        while have < size:
            try:
                count = self._socket.recv_into(view[have:])
            except OSError as error:
                raise ChannelClosed("the host is gone") from error
            if count == 0:
                raise ChannelClosed("the host closed the bridge")
            have += count
        return buffer

    def _accept(self, body: bytes | bytearray, frames: list[dict[str, object]]) -> None:
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return
        try:
            frame, _ = _scan(text, 0) if len(text) <= _READ else _scan_long(text)
        except ValueError:
            # Python refuses integers of more than 4,300 digits in text; a tool's value may hold one, exactly.
            frame = _scan_long_integers(text)
        except (StopIteration, RecursionError):
            return
        if type(frame) is not dict:
            return
        frame = cast("dict[str, object]", frame)
        after = _RECEIVES.get((self.state, str(frame.get("type"))))
        if after is not None:
            self.state = after
            frames.append(frame)
