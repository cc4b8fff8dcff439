"""The child's event loop: asyncio's own, over a selector that knows one socket.

Rules of this module: no descriptor is opened (a sealed child could not), no thread is woken, no signal is watched. An
idle loop is a blocking read of the bridge: a sub-call's answer costs one system call, not epoll and then a read.

`BaseEventLoop` asks two things of a subclass: `_selector.select(timeout)` and `_process_events(list)`. They are the
same from Python 3.4 on, and `tests/bridge` holds them.
"""

from __future__ import annotations

import asyncio
import math
import select
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Protocol, cast

Frames = list[dict[str, object]]


class FrameSource(Protocol):
    """What a loop needs of the bridge."""

    on_frame: Callable[[dict[str, object]], None] | None
    """Called for each frame that comes in."""

    def read(self, *, wait: bool = True) -> Frames:
        """The frames that are there."""
        ...


class _BridgeSelector:
    """What the loop waits on."""

    def __init__(self, channel: FrameSource, descriptor: int) -> None:
        self._channel = channel
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def select(self, timeout: float | None) -> Frames:
        if timeout is None:
            return self._channel.read()
        if self._channel.on_frame is None and timeout <= 0:
            return []  # No program runs yet, and its `run` frame is not for the loop.
        # Looked for first: a frame that came while a write was blocked is not in the socket any more.
        frames = self._channel.read(wait=False)
        if not frames and timeout > 0 and self._poll.poll(math.ceil(timeout * 1000)):
            return self._channel.read(wait=False)
        return frames


class GuestLoop(asyncio.BaseEventLoop):
    """An asyncio loop for one program."""

    def __init__(self, channel: FrameSource, descriptor: int) -> None:
        super().__init__()
        self._channel = channel
        self._selector = _BridgeSelector(channel, descriptor)

    def run_until_complete(self, future: Generator[Any, None, Any] | Awaitable[Any]) -> Any:
        """Run to the end of a future, past what asyncio hands out of the loop beside storing it.

        A SystemExit in a task or callback of a program ends that task, as any other error does, not the child.
        """
        task: asyncio.Future[Any] = asyncio.ensure_future(cast("Awaitable[Any]", future), loop=self)
        while True:
            try:
                return super().run_until_complete(task)
            except (SystemExit, KeyboardInterrupt):
                if task.done():
                    raise

    def _process_events(self, event_list: Frames) -> None:
        on_frame = self._channel.on_frame
        if on_frame is not None:
            for frame in event_list:
                on_frame(frame)

    def _write_to_self(self) -> None:
        """Another thread would wake the loop here; a child has one thread."""
