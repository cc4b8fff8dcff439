"""What a host has to send to a child and the child has not taken yet.

Rules of this module: nothing here waits but `drain`, and nothing raises for what a child does. A frame that does not
fit the socket's buffer is kept and sent by `drain`, in a task that the owner starts when it is asked to. Frames never
overtake one another.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable

import anyio

# While so much waits to be taken by the child, nothing more is read from it: a child that asks and never listens
# fills its own memory, not the host's.
_MOST_UNSENT = 4 * 1024 * 1024
# A frame that is not small is not worth copying to go with others.
_SMALL = 16 * 1024


class Outbox:
    """The frames on their way to one child."""

    __slots__ = ("_bridge", "_bytes", "_held", "_need_drain", "_room", "_soon", "_unsent", "closed")

    def __init__(
        self, bridge: socket.socket, need_drain: Callable[[], None], soon: Callable[[Callable[[], None]], None]
    ) -> None:
        """`need_drain` is called when `drain` is to be run in a task; never while it runs. `soon` calls in the loop."""
        self._bridge = bridge
        self._soon = soon
        self._held: list[bytes] = []
        self._need_drain = need_drain
        self._unsent: deque[memoryview] = deque()
        self._bytes = 0
        self._room: anyio.Event | None = None
        self.closed = False
        """Nothing more is sent."""

    def send(self, frame: bytes) -> None:
        """Send a frame, or keep what does not go out yet."""
        if self._held:
            self._release()
        if self._unsent:
            self._keep(memoryview(frame))
            return
        try:
            sent = self._bridge.send(frame)
        except BlockingIOError:
            sent = 0
        except OSError:
            return  # The child is gone; reading says so.
        if sent < len(frame):
            self._keep(memoryview(frame)[sent:])
            self._need_drain()

    def send_soon(self, frame: bytes) -> None:
        """Send a frame at the loop's next step, with the others of this one: each send may wake the child."""
        if len(frame) > _SMALL:
            self.send(frame)
            return
        self._held.append(frame)
        if len(self._held) == 1:
            self._soon(self._release)

    def _release(self) -> None:
        held, self._held = self._held, []
        if held and not self.closed:
            self.send(b"".join(held))

    def _keep(self, rest: memoryview) -> None:
        self._unsent.append(rest)
        self._bytes += len(rest)

    @property
    def full(self) -> bool:
        """So much is kept that the child must take some before more is read from it."""
        return self._bytes > _MOST_UNSENT

    async def room(self) -> None:
        """Wait until it is not full."""
        self._room = anyio.Event()
        await self._room.wait()

    async def drain(self) -> None:
        """Send what is kept, as the child takes it."""
        while self._unsent and not self.closed:
            await anyio.wait_writable(self._bridge)
            self._flush()
            if self._room is not None and not self.full:
                self._room.set()

    def _flush(self) -> None:
        try:
            while self._unsent and not self.closed:
                first = self._unsent[0]
                sent = self._bridge.send(first)
                self._bytes -= sent
                if sent == len(first):
                    self._unsent.popleft()
                else:
                    self._unsent[0] = first[sent:]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent.clear()
            self._bytes = 0
