"""Bytes to frames and back, with no socket: the codec of the wire.

Rules of this module: a frame is four bytes of big-endian length and that many bytes of UTF-8 JSON. What arrives is
hostile: a length is believed only as far as bytes really came, a body is parsed only if what it would unfold into fits
the run's memory, and whatever is wrong with a body is one answer, `Malformed`. Nothing here raises on any input.

The codec is pydantic_core's. It refuses some JSON that a Python program may hold (integers of more than 4,300 digits,
nesting over 200, lone surrogates), so what it refuses is tried again with the standard library's.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json, to_json

from codemode_registry import known_text

HEADER = 4
# The report of a fault (faulthandler) comes over the bridge as text. Read as a length, its first word is 1.18 GB,
# over any frame bound there can be.
FAULT = b"Fatal Python error: "
_FAULT_BYTES = 8192
# What a JSON body may unfold into: bytes of Python objects for a container, and for a member of one.
_CONTAINER_BYTES, _MEMBER_BYTES = 72, 40
# Below this a body is parsed without being weighed: 64 KiB of the worst JSON is 7 MB of objects.
_UNWEIGHED = 65536
_DIGITS = 4300  # int() and str() of Python refuse more; see `_whole`.
_MOST_DIGITS = 100_000


@dataclass(frozen=True, slots=True)
class Malformed:
    """A body that is no JSON object of the wire."""

    why: str


@dataclass(frozen=True, slots=True)
class Oversized:
    """The stream cannot go on: the next frame is longer than any may be, or it is a fault's report."""

    size: int
    fault: str | None


def encode(value: object) -> bytes:
    """One frame.

    Raises:
        ValueError: the value is not JSON (NaN, a foreign object, nesting without end).
    """
    return framed(encode_body(value))


def framed(body: bytes) -> bytes:
    """One frame of a body that is encoded already."""
    return len(body).to_bytes(HEADER, "big") + body


def encode_reply(call_id: int, value: object) -> bytes:
    """The frame that gives a call its value. A value whose JSON text is known (frozen, so it still holds) is not
    written a second time.

    Raises:
        ValueError: the value is not JSON.
    """
    text = known_text(value)
    if text is not None:
        with contextlib.suppress(UnicodeEncodeError):  # A lone surrogate has no UTF-8 form.
            body = b'{"type":"reply","id":%d,"ok":true,"value":%b}' % (call_id, text.encode())
            return framed(body)
    return encode({"type": "reply", "id": call_id, "ok": True, "value": value})


def encode_body(value: object) -> bytes:
    """JSON text of a value.

    Raises:
        ValueError: the value is not JSON.
    """
    try:
        # "strings" would write NaN as text; the constant cannot be told from it later, so ask for what we can refuse.
        body = to_json(value, inf_nan_mode="constants", by_alias=False)
    except (ValueError, RecursionError):
        return _encode_slowly(value)
    return _encode_slowly(value) if b"NaN" in body or b"Infinity" in body else body


def _encode_slowly(value: object) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error


def decode_body(body: bytes | bytearray) -> Any:
    """A JSON value, or `Malformed`."""
    try:
        return from_json(body, allow_inf_nan=False, cache_strings="keys")
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(body, parse_int=_whole, parse_constant=_no_constant)
    except (ValueError, RecursionError, MemoryError) as error:
        return Malformed(str(error)[:200])


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _whole(text: str) -> int:
    """An integer of any honest size; halves keep the work far under int()'s square."""
    if len(text) <= _DIGITS:
        return int(text)
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"an integer of {len(text)} digits")
    if text.startswith("-"):
        return -_whole(text[1:])
    low = len(text) // 2
    high: int = _whole(text[:-low])
    return high * int(10**low) + _whole(text[-low:])


def unfolded_bytes(body: bytes | bytearray) -> int:
    """At most what the objects of a JSON text can take, from its punctuation alone (a few GB/s)."""
    containers = body.count(b"[") + body.count(b"{")
    return len(body) + containers * _CONTAINER_BYTES + (body.count(b",") + body.count(b":")) * _MEMBER_BYTES


class FrameDecoder:
    """Takes bytes as they come and gives frames."""

    __slots__ = ("_buffer", "_ended", "_frame_bytes", "_memory_bytes", "last_size")

    def __init__(self, *, frame_bytes: int, memory_bytes: int) -> None:
        """`frame_bytes` bounds a body's text, `memory_bytes` what it may unfold into."""
        self._buffer = bytearray()
        self._frame_bytes = frame_bytes
        self._memory_bytes = memory_bytes
        self._ended = False
        self.last_size = 0
        """Bytes of the body that was given last."""

    def wanted(self) -> int:
        """Bytes that the frame being received still lacks (0: no frame has begun)."""
        if len(self._buffer) < HEADER or self._ended:
            return 0
        return max(0, HEADER + int.from_bytes(self._buffer[:HEADER], "big") - len(self._buffer))

    def feed(self, data: bytes) -> Iterator[Any]:
        """Decoded bodies, `Malformed` and at the end perhaps one `Oversized`, after which everything is ignored."""
        if self._ended:
            if self._buffer.startswith(FAULT) and len(self._buffer) < _FAULT_BYTES:
                self._buffer += data
            return
        if not self._buffer and len(data) >= HEADER:  # The ordinary case: one whole frame, or several.
            start = 0
            while len(data) - start >= HEADER:
                end = start + HEADER + int.from_bytes(data[start : start + HEADER], "big")
                if end > len(data):
                    break
                if end - start - HEADER > self._frame_bytes:
                    break
                yield self._body(data[start + HEADER : end])
                start = end
            data = data[start:]
        self._buffer += data
        yield from self._buffered()

    def fault(self) -> str | None:
        """The text of a fault's report, as far as it came."""
        if self._ended and self._buffer.startswith(FAULT):
            return self._buffer[:_FAULT_BYTES].decode("utf-8", "replace")
        return None

    def _buffered(self) -> Iterator[Any]:
        buffer = self._buffer
        while len(buffer) >= HEADER:
            size = int.from_bytes(buffer[:HEADER], "big")
            if size > self._frame_bytes:
                self._ended = True
                yield Oversized(size, self.fault())
                return
            if len(buffer) < HEADER + size:
                return
            if len(buffer) == HEADER + size:
                del buffer[:HEADER]
                self._buffer = bytearray()
                yield self._body(buffer)
                return
            body = bytes(buffer[HEADER : HEADER + size])
            del buffer[: HEADER + size]
            yield self._body(body)

    def _body(self, body: bytes | bytearray) -> Any:
        self.last_size = len(body)
        if len(body) > _UNWEIGHED and unfolded_bytes(body) > self._memory_bytes:
            return Malformed("the frame would unfold into more memory than the run may use")
        return decode_body(body)
