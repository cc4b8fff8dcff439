"""Hostile bytes and frames, from a seeded generator: the fuzzer and the property tests draw from the same well."""

from __future__ import annotations

import json
from random import Random
from typing import Any

_KINDS = ["ready", "call", "cancel", "log", "done", "run", "reply", "", "CALL", "__class__", None, 7, [], {}]
_NAMES = ["echo", "", "x" * 2000, "__class__", "constructor", "a.b", "\ud800", "ä😀", 0, None]
_NUMBERS: list[Any] = [0, 1, 2, -1, 2**31, 2**53, 2**53 + 1, 2**80, 1.0, 1.5, -0.0, True, False, None, "1", [1], {}]
_TEXTS: list[Any] = ["", "a", "a\nb", "\x00\x1f", "\ud800", "😀" * 10, "x" * 300, 1, None, ["a"], {"a": 1}]
_VALUES: list[Any] = [None, True, 1, 2.5, "v", [1, [2, {"a": None}]], {"k": {"k": {}}}, [[]] * 20, 2**200, "\ud800"]


def body(random: Random) -> bytes:
    """One JSON text that looks like a frame, or does not."""
    pick = random.choice
    frame: dict[str, Any] = {"type": pick(_KINDS)}
    for field, pool in (
        ("id", _NUMBERS), ("pid", _NUMBERS), ("name", _NAMES), ("args", _VALUES), ("line", _NUMBERS), ("text", _TEXTS),
        ("ok", _NUMBERS), ("has_value", _NUMBERS), ("value", _VALUES), ("notes", _VALUES), ("sealed", _NUMBERS),
        ("refusals", _VALUES), ("extra", _VALUES),
    ):  # fmt: skip
        if random.random() < 0.4:
            frame[field] = pick(pool)
    if random.random() < 0.3:
        error = {"kind": pick(["exception", "timeout", "abort", 1]), "message": pick(_TEXTS), "type": pick(_TEXTS)}
        frame["error"] = pick([None, {}, [], {**error, "line": pick(_NUMBERS), "traceback": pick(_TEXTS)}])
    text = json.dumps(pick([frame, frame, frame, [frame], frame["type"], pick(_VALUES)]))
    return text.encode()


def valid(random: Random, call_id: int) -> bytes:
    """One frame that a running child may send."""
    frames: list[dict[str, Any]] = [
        {"type": "call", "id": call_id, "name": "echo", "args": {"v": random.choice(_VALUES)}, "line": 3},
        {"type": "log", "text": random.choice(["a", "line\n", "ä" * 50])},
        {"type": "cancel", "id": max(1, call_id - 1)},
    ]
    return json.dumps(random.choice(frames)).encode()


def framed(text: bytes) -> bytes:
    """With its length in front."""
    return len(text).to_bytes(4, "big") + text


def stream(random: Random) -> bytes:
    """Bytes as a hostile child may write them: frames, torn frames, wrong lengths, noise."""
    pieces: list[bytes] = []
    for call_id in range(1, random.randrange(2, 8)):
        text = valid(random, call_id) if random.random() < 0.5 else body(random)
        match random.randrange(10):
            case 0:
                pieces.append(random.randbytes(random.randrange(20)))
            case 1:
                pieces.append(random.choice([0, 1, len(text) + 1, 2**16, 2**31, 2**32 - 1]).to_bytes(4, "big") + text)
            case 2:
                torn = bytearray(framed(text))
                torn[random.randrange(len(torn))] ^= 1 << random.randrange(8)
                pieces.append(bytes(torn))
            case 3:
                pieces.append(framed(text)[: random.randrange(len(text) + 4)])
            case 4:
                pieces.append(
                    framed(random.choice([b"{", b"[" * 5000, b"1e999", b"NaN", b'{"a":1}x', b"\xff", b"9" * 5000]))
                )
            case _:
                pieces.append(framed(text))
    return b"".join(pieces)


def chopped(random: Random, data: bytes) -> list[bytes]:
    """The same bytes in pieces."""
    cuts = sorted(random.randrange(len(data) + 1) for _ in range(random.randrange(6)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
