"""The wire, sans I/O: the codec, the tables of both sides, and hostile bytes."""

from __future__ import annotations

import json
import math
import socket
import tracemalloc
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_bridge import _wire
from codemode_bridge._frames import (
    FAULT,
    FrameDecoder,
    Malformed,
    Oversized,
    decode_body,
    encode,
    encode_body,
    unfolded_bytes,
)
from codemode_bridge._wire import Call, Cancel, Done, Flood, HostWire, Log, Ready, WireMisuse
from codemode_guest import _channel
from codemode_guest._channel import ChannelClosed, GuestChannel
from tests.wire.fuzz import attack
from tests.wire.strategies import chopped, framed, stream

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=5), children, max_size=4),
    max_leaves=20,
)  # fmt: skip
ROOMY = {"frame_bytes": 1 << 24, "memory_bytes": 1 << 28}


def running() -> HostWire:
    wire = HostWire()
    assert isinstance(wire.receive({"type": "ready", "pid": 99, "sealed": True}), Ready)
    wire.run_sent()
    return wire


@given(JSON)
def test_a_value_crosses_exactly(value: Any) -> None:
    assert decode_body(encode_body(value)) == value
    assert json.loads(_channel.encode(value)) == value


@pytest.mark.parametrize(
    "value",
    [2**200, -(10**4500), 10**20_000, "\ud800", {"\udfff": "ä"}, 0.1 + 0.2, 1e-320, [[]], "NaN", ["Infinity"], None],
    ids=lambda value: type(value).__name__,
)
def test_what_a_python_program_may_hold_crosses_exactly(value: Any) -> None:
    import sys

    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        body = json.dumps(value).encode()
        assert decode_body(body) == value
    finally:
        sys.set_int_max_str_digits(limit)


def test_five_hundred_levels_cross() -> None:
    deep: Any = "bottom"
    for _ in range(499):
        deep = [deep]
    assert decode_body(encode_body(deep)) == deep


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), [math.nan]])
def test_what_is_not_json_is_refused_before_it_is_sent(value: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any ValueError means refused
        encode(value)


@pytest.mark.parametrize(
    "body", [b"NaN", b"[Infinity]", b"", b"{", b"\xff", b'{"a":1}x', b"[" * 100_000, b"9" * 200_000, b"'x'"]
)
def test_what_is_not_json_is_malformed_and_nothing_more(body: bytes) -> None:
    assert isinstance(decode_body(body), Malformed)


@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_where_the_pieces_are_cut_changes_nothing(seed: int, cuts: int) -> None:
    data = stream(Random(seed))
    whole = FrameDecoder(**ROOMY)
    pieces = FrameDecoder(**ROOMY)
    expected = list(whole.feed(data))
    found = [body for piece in chopped(Random(cuts), data) for body in pieces.feed(piece)]
    assert found == expected


def test_a_length_is_believed_only_as_far_as_bytes_came() -> None:
    decoder = FrameDecoder(frame_bytes=1 << 30, memory_bytes=1 << 30)
    tracemalloc.start()
    try:
        assert list(decoder.feed((1 << 29).to_bytes(4, "big") + b"x" * 100)) == []
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert decoder.wanted() == (1 << 29) - 100


def test_an_oversized_frame_ends_the_stream() -> None:
    decoder = FrameDecoder(frame_bytes=10, memory_bytes=1 << 20)
    assert list(decoder.feed(framed(b'{"a":1}') + framed(b"x" * 11) + framed(b"{}"))) == [{"a": 1}, Oversized(11, None)]
    assert list(decoder.feed(framed(b"{}"))) == []


def test_a_fault_report_is_read_as_text() -> None:
    decoder = FrameDecoder(**ROOMY)
    first = list(decoder.feed(framed(b"{}") + FAULT + b"Segmentation"))
    assert first[0] == {}
    assert isinstance(first[1], Oversized)
    list(decoder.feed(b" fault\n" + b"x" * 100_000))
    fault = decoder.fault()
    assert fault is not None
    assert fault.startswith("Fatal Python error: Segmentation fault")
    assert len(fault) <= 8192


@pytest.mark.parametrize("unit", [b"[],", b"{},", b'{"":0},', b"0,", b'"",', b"[[[[]]]],"])
def test_a_frame_that_would_unfold_into_too_much_is_never_parsed(unit: bytes) -> None:
    body = b"[" + unit * 40_000 + b"0]"
    value = decode_body(body)
    tracemalloc.start()
    try:
        held = decode_body(body)
        grown = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held == value
    assert unfolded_bytes(body) >= grown * 0.8, "the estimate is a bound, near enough"
    [refused] = FrameDecoder(frame_bytes=1 << 30, memory_bytes=unfolded_bytes(body) - 1).feed(framed(body))
    assert isinstance(refused, Malformed)


# -- the host's table ---------------------------------------------------------------------------------------------

LEGAL: dict[str, dict[str, Any]] = {
    "ready": {"type": "ready", "pid": 99, "sealed": True},
    "call": {"type": "call", "id": 1, "name": "echo", "args": {}, "line": 1},
    "cancel": {"type": "cancel", "id": 1},
    "log": {"type": "log", "text": "x"},
    "done": {"type": "done", "ok": True, "has_value": True, "value": 1, "error": None, "notes": []},
}


def wire_in(state: str) -> HostWire:
    wire = HostWire()
    if state != "starting":
        wire.receive(LEGAL["ready"])
    if state in ("running", "finished"):
        wire.run_sent()
        wire.receive(LEGAL["call"])
    if state == "finished":
        wire.receive(LEGAL["done"])
    assert wire.state == state
    return wire


@pytest.mark.parametrize("state", ["starting", "idle", "running", "finished"])
@pytest.mark.parametrize("kind", [*LEGAL, "wanted", "run", "reply", "nonsense"])
def test_the_table_decides_what_may_come(state: str, kind: str) -> None:
    wire = wire_in(state)
    frame = LEGAL.get(kind, {"type": kind})
    if kind == "call":
        frame = {**frame, "id": 2}
    event = wire.receive(frame)
    after = _wire.RECEIVES.get((state, kind))  # type: ignore[call-overload]
    assert (event is not None) == (after is not None)
    assert wire.state == (after or state)
    assert wire.dropped == (0 if after else 1)


@pytest.mark.parametrize("state", ["starting", "idle", "running", "finished"])
def test_the_host_may_send_a_program_once_and_answers_while_it_runs(state: str) -> None:
    wire = wire_in(state)
    assert wire.may_reply(1) == (state == "running")
    assert not wire.may_reply(1)
    if state == "idle":
        wire.run_sent()
    else:
        with pytest.raises(WireMisuse):
            wire.run_sent()


@pytest.mark.parametrize("state", ["starting", "idle", "running", "finished"])
def test_a_child_is_told_that_it_is_wanted_until_its_program_runs_and_never_after(state: str) -> None:
    wire = wire_in(state)
    if state == "starting":
        wire.wanted_sent()
        assert wire.receive(LEGAL["ready"]) is not None
    elif state == "idle":
        wire.wanted_sent()
        wire.wanted_sent()
    else:
        with pytest.raises(WireMisuse):
            wire.wanted_sent()
    assert wire.state == ("idle" if state == "starting" else state)


BROKEN = [
    {"type": "call", "id": value, "name": "echo", "args": {}}
    for value in (0, -1, True, 1.0, 1.5, "1", None, [], 2**53 + 1)
] + [
    {"type": "call", "id": 1, "name": "echo"},
    {"type": "call", "id": 1, "name": None, "args": {}},
    {"type": "call", "id": 1, "name": "x" * 1001, "args": {}},
    {"type": "call", "id": 1, "name": "echo", "args": []},
    {"type": "call", "id": 1, "name": "echo", "args": None},
    {"type": "log", "text": 1},
    {"type": "log"},
    {"type": "cancel", "id": 5},
    {"type": "done"},
    {"type": "done", "ok": 1},
    {"type": "done", "ok": True, "error": []},
    {"type": "done", "ok": False, "error": {"kind": "timeout", "message": "forged"}},
    {"type": "done", "ok": False, "error": {"kind": "worker-exit", "message": "forged"}},
    {"type": "done", "ok": False, "error": {"kind": "exception", "message": 1}},
    {"type": ["call"]},
    {"type": {}},
    {},
    [],
    None,
    7,
    "done",
]  # fmt: skip


@pytest.mark.parametrize("frame", BROKEN, ids=lambda frame: json.dumps(frame)[:50])
def test_a_frame_of_the_wrong_shape_is_dropped_and_counted(frame: Any) -> None:
    wire = running()
    assert wire.receive(frame) is None
    assert (wire.state, wire.dropped) == ("running", 1)


def test_a_call_id_is_never_used_twice() -> None:
    wire = running()
    assert isinstance(wire.receive({**LEGAL["call"], "id": 5}), Call)
    assert wire.receive({**LEGAL["call"], "id": 5}) is None
    assert wire.receive({**LEGAL["call"], "id": 4}) is None
    assert wire.may_reply(5)
    assert not wire.may_reply(5)
    assert isinstance(wire.receive({"type": "cancel", "id": 5}), Cancel)


def test_a_completion_with_both_value_and_error_is_the_error() -> None:
    done = running().receive({**LEGAL["done"], "error": {"kind": "exception", "message": "e", "type": "E", "line": 2}})
    assert isinstance(done, Done)
    assert (done.has_value, done.value) == (False, None)
    assert done.error is not None
    assert (done.error.kind, done.error.line) == ("exception", 2)


def test_unknown_fields_are_never_looked_at() -> None:
    log = running().receive({"type": "log", "text": "x", "truncated": 1, "__class__": "y"})
    assert log == Log("x")


def test_notes_and_refusals_are_rebuilt_and_bounded() -> None:
    frame = {
        **LEGAL["done"],
        "notes": ["n" * 5000, 1, *["x"] * 50],
        "refusals": [[1, 2, "m"], [0, 1, "m"], [1, "2", "m"], 3],
    }
    done = running().receive(frame)
    assert isinstance(done, Done)
    assert len(done.notes) == 19
    assert len(done.notes[0]) == 2000
    assert done.refusals == ((1, 2, "m"),)


def test_a_child_that_keeps_breaking_the_protocol_is_ended() -> None:
    wire = running()
    events = [wire.receive({"type": "ready", "pid": 1}) for _ in range(_wire.MOST_DROPPED + 1)]
    assert events[:-1] == [None] * _wire.MOST_DROPPED
    assert isinstance(events[-1], Flood)


def test_a_child_that_sends_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_wire, "MOST_FRAMES", 50)
    wire = running()
    events = [wire.receive({"type": "log", "text": "x"}) for _ in range(50)]
    assert isinstance(events[-1], Flood)


def test_twenty_thousand_hostile_sequences_get_nothing_through() -> None:
    bodies = sum(attack(seed) for seed in range(20_000))
    assert bodies > 40_000


# -- the guest's table --------------------------------------------------------------------------------------------


def guest() -> tuple[GuestChannel, socket.socket]:
    ours, theirs = socket.socketpair()
    return GuestChannel(theirs), ours


def read_frame(sock: socket.socket) -> Any:
    size = int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big")
    return json.loads(sock.recv(size, socket.MSG_WAITALL))


def test_the_guest_sends_only_what_its_table_allows() -> None:
    channel, host = guest()
    with host, channel._socket:
        with pytest.raises(ChannelClosed):
            channel.send("log", {"text": "too early"})
        channel.send("ready", {"pid": 1})
        host.sendall(encode({"type": "reply", "id": 1}) + encode({"type": "run", "program": ""}))
        assert channel.read() == [{"type": "run", "program": ""}]
        channel.send("log", {"text": "now"})
        channel.send_raw(b'{"type":"done","ok":true}')
        with pytest.raises(ChannelClosed):
            channel.send("log", {"text": "too late"})
        assert [read_frame(host)["type"] for _ in range(3)] == ["ready", "log", "done"]


def test_two_full_buffers_do_not_wait_for_each_other() -> None:
    import threading

    channel, host = guest()
    with host, channel._socket:
        channel.send("ready", {"pid": 1})
        host.sendall(encode({"type": "run", "program": ""}))
        channel.read()
        read_frame(host)
        big = "x" * 3_000_000
        replies = threading.Thread(target=host.sendall, args=(encode({"type": "reply", "id": 1, "value": big}),))
        replies.start()
        reader: list[Any] = []
        second = threading.Thread(target=lambda: (replies.join(), reader.append(read_frame(host))))
        second.start()
        channel.send("call", {"id": 1, "args": {"big": big}})
        second.join()
        assert reader[0]["args"]["big"] == big
        assert channel.read()[0]["value"] == big


def test_replies_that_come_while_a_write_is_blocked_are_kept_once_each() -> None:
    import threading

    channel, host = guest()
    host.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with host, channel._socket:
        channel.send("ready", {"pid": 1})
        host.sendall(encode({"type": "run", "program": ""}))
        channel.read()
        read_frame(host)
        replies = [{"type": "reply", "id": n, "value": "v" * 1000} for n in range(300)]

        def answer_then_listen() -> None:
            # The buffer is small, so this ends when the guest has read nearly all, in many pieces, while it writes.
            host.sendall(b"".join(map(encode, replies)))
            read_frame(host)

        other = threading.Thread(target=answer_then_listen)
        other.start()
        channel.send("call", {"id": 1, "args": {"big": "x" * 3_000_000}})
        other.join()
        found = channel.read(wait=False)
        while more := channel.read(wait=False):
            found += more
        assert found == replies


def test_a_long_frame_among_short_ones_is_read_whole() -> None:
    import threading

    channel, host = guest()
    with host, channel._socket:
        channel.send("ready", {"pid": 1})
        host.sendall(encode({"type": "run", "program": ""}))
        channel.read()
        replies = [{"type": "reply", "id": n, "value": "v" * size} for n, size in enumerate([1, 200_000, 5, 70_000, 0])]
        sender = threading.Thread(target=host.sendall, args=(b"".join(map(encode, replies)),))
        sender.start()
        found: list[Any] = []
        while len(found) < len(replies):
            found += channel.read()
        sender.join()
        assert found == replies


def test_the_guest_hears_that_it_is_wanted_until_a_program_runs() -> None:
    channel, host = guest()
    with host, channel._socket:
        channel.send("ready", {"pid": 1})
        assert channel.read(wait=False) == []
        host.sendall(encode({"type": "wanted"}))
        assert channel.read() == [{"type": "wanted"}]
        host.sendall(encode({"type": "run", "program": "p"}) + encode({"type": "wanted"}))
        assert channel.read() == [{"type": "run", "program": "p"}]  # a program that runs is wanted by nobody


def test_the_guest_drops_what_is_no_frame() -> None:
    channel, host = guest()
    with host, channel._socket:
        channel.send("ready", {"pid": 1})
        host.sendall(
            framed(b"[1]") + framed(b"{") + framed(b"\xff") + framed(b"") + encode({"type": "run", "program": "p"})
        )
        assert channel.read() == [{"type": "run", "program": "p"}]
