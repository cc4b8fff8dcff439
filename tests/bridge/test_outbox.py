"""What is on its way to a child: in order, whole, and bounded."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio

from codemode_bridge._outbox import Outbox


class Owner:
    """Stands for a session: keeps what it is asked to do."""

    def __init__(self, bridge: socket.socket) -> None:
        self.drains = 0
        self.due: list[Callable[[], None]] = []
        self.outbox = Outbox(bridge, self.need_drain, self.due.append)

    def need_drain(self) -> None:
        self.drains += 1

    def step(self) -> None:
        """The loop's next step."""
        due, self.due[:] = list(self.due), []
        for release in due:
            release()


@contextmanager
def pair() -> Iterator[tuple[Owner, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        yield Owner(ours), theirs


def test_frames_that_may_wait_go_together_at_the_next_step() -> None:
    with pair() as (owner, child):
        for frame in (b"1", b"2", b"3"):
            owner.outbox.send_soon(frame)
        assert len(owner.due) == 1
        owner.step()
        assert child.recv(100) == b"123"
        owner.outbox.send_soon(b"4")
        assert len(owner.due) == 1
        owner.step()
        assert child.recv(100) == b"4"


def test_no_frame_overtakes_another() -> None:
    with pair() as (owner, child):
        owner.outbox.send_soon(b"1")
        owner.outbox.send(b"2")
        owner.outbox.send_soon(b"3")
        owner.outbox.send_soon(b"4" * 20_000)
        owner.outbox.send_soon(b"5")
        owner.step()
        owner.step()
        assert child.recv(50_000) == b"123" + b"4" * 20_000 + b"5"


def test_nothing_is_sent_after_the_run_is_over() -> None:
    with pair() as (owner, child):
        owner.outbox.send_soon(b"late")
        owner.outbox.closed = True
        owner.step()
        child.setblocking(False)
        try:
            found = child.recv(10)
        except BlockingIOError:
            found = b""
        assert found == b""


async def test_what_does_not_fit_is_drained_in_order_and_reported_as_full() -> None:
    with pair() as (owner, child):
        frames = [bytes([65 + number]) * 3_000_000 for number in range(4)]
        for frame in frames:
            owner.outbox.send(frame)
        owner.outbox.send_soon(b"last")
        owner.step()
        assert owner.drains == 1
        assert owner.outbox.full
        arrived = bytearray()

        async def read() -> None:
            while len(arrived) < 12_000_004:
                await anyio.wait_readable(child)
                arrived.extend(child.recv(1 << 20))

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(read)
                group.start_soon(owner.outbox.room)
                await owner.outbox.drain()
        assert not owner.outbox.full
        assert bytes(arrived) == b"".join(frames) + b"last"


async def test_a_child_that_is_gone_frees_who_waits_for_room() -> None:
    with pair() as (owner, child):
        owner.outbox.send(b"x" * 8_000_000)
        assert owner.outbox.full
        child.close()
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(owner.outbox.room)
                await anyio.wait_all_tasks_blocked()
                await owner.outbox.drain()
