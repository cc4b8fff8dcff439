"""Cancellation that a caller, a wrapper or a human can ask for.

Rules
- A signal is set once, with a reason, from any thread, and never unset.
- It knows no event loop: whoever waits brings its own way back into its loop (`LoopDoor`).
- A signal made of others (`CancelSignal.any`) holds them; they hold it weakly, so a long-lived signal that thousands of
  short ones follow does not grow.
"""

from __future__ import annotations

import threading
import weakref
from _thread import RLock
from collections.abc import Callable
from typing import Any

import anyio

from ._loops import asyncio_loop


class LoopDoor:
    """A way back into the event loop that was running when it was made; usable from any thread."""

    __slots__ = ("_post", "_thread", "in_asyncio", "time")

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._post: Callable[..., Any]
        self.time: Callable[[], float]
        """The loop's clock; unlike anyio's it can be read in a callback, where no task runs."""
        loop = asyncio_loop()
        if loop is None:
            import trio  # whose loop runs

            self.in_asyncio = False
            self._post = trio.lowlevel.current_trio_token().run_sync_soon
            self.time = trio.current_time
        else:
            self.in_asyncio = True
            self._post = loop.call_soon_threadsafe
            self.time = loop.time

    def call(self, fn: Callable[..., Any], *args: Any) -> None:
        """Run `fn` in the loop: now where we are in its thread, else soon. A loop that is gone ignores it."""
        if threading.get_ident() == self._thread:
            fn(*args)
        else:
            self.post(fn, *args)

    def post(self, fn: Callable[..., Any], *args: Any) -> None:
        """Run `fn` in the loop at its next step. A loop that is gone ignores it."""
        try:
            self._post(fn, *args)
        except RuntimeError:  # asyncio's own; trio's RunFinishedError is one too
            return


class CancelSignal:
    """Says that a call is no longer wanted. Set once, by anyone who holds it, from any thread.

    `wait()` returns when the signal is set; cancelling the waiter leaves the signal alone.
    """

    __slots__ = ("__weakref__", "_followers", "_listeners", "_lock", "_reason", "_sources")

    def __init__(self) -> None:
        self._reason: str | None = None
        self._lock = RLock()  # a signal handler may cancel while its own thread is in here
        self._listeners: dict[object, Callable[[], None]] | None = None
        self._followers: set[weakref.ref[CancelSignal]] | None = None
        self._sources: tuple[CancelSignal, ...] = ()

    @property
    def cancelled(self) -> bool:
        """True once `cancel` was called here or on a signal that this one follows."""
        return self._reason is not None

    @property
    def reason(self) -> str | None:
        """The reason that came first; None while the signal is not set."""
        return self._reason

    def cancel(self, reason: str = "cancelled") -> None:
        """Set the signal. Only the first call counts."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = str(reason)
            listeners = list((self._listeners or {}).values())
            followers = list(self._followers or ())
            self._listeners = self._followers = None
        for known in followers:
            follower = known()
            if follower is not None:
                follower.cancel(reason)
        for listener in listeners:
            listener()

    async def wait(self) -> str:
        """Wait until the signal is set; the reason."""
        if self._reason is None:
            event = anyio.Event()
            forget = self._when_set(event.set)
            try:
                await event.wait()
            finally:
                forget()
        return self._reason or ""

    def _when_set(self, tell: Callable[[], object]) -> Callable[[], None]:
        """Call `tell` once in the running loop when the signal is set; -> how to take that back."""
        door = LoopDoor()
        return self._listen(lambda: door.call(tell))

    @staticmethod
    def any(*signals: CancelSignal) -> CancelSignal:
        """A signal that is set as soon as one of these is, with its reason. Setting it sets none of them."""
        fused = CancelSignal()
        fused._sources = signals
        for signal in signals:
            signal._followed_by(fused)
        return fused

    def _followed_by(self, follower: CancelSignal) -> None:
        with self._lock:
            if self._reason is None:
                if self._followers is None:
                    self._followers = set()
                self._followers.add(weakref.ref(follower, self._followers.discard))
                return
        follower.cancel(self._reason or "cancelled")

    def _listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` once when the signal is set (at once where it is); -> how to take that back."""
        key = object()
        with self._lock:
            if self._reason is None:
                if self._listeners is None:
                    self._listeners = {}
                self._listeners[key] = listener
                listener_due = False
            else:
                listener_due = True
        if listener_due:
            listener()

        def forget() -> None:
            with self._lock:
                if self._listeners is not None:
                    self._listeners.pop(key, None)

        return forget

    def __repr__(self) -> str:
        return f"<CancelSignal {'cancelled: ' + self._reason if self._reason is not None else 'open'}>"
