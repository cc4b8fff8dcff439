"""A call that a runtime awaits itself, in a task of its own: for bindings that cannot be submitted to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from codemode_bridge._contract import BindingError, Reply


class AwaitedCall:
    """One call on its way, as `Submitted`."""

    __slots__ = ("_awaitable", "_reply", "_scope")

    def __init__(self, awaitable: Awaitable[Any], reply: Reply) -> None:
        self._awaitable = awaitable
        self._reply = reply
        self._scope = anyio.CancelScope()

    def withdraw(self) -> None:
        """The program gave it up."""
        self._scope.cancel()

    def drop(self) -> None:
        """The run is over; a coroutine that never began is told so."""
        close: Callable[[], None] | None = getattr(self._awaitable, "close", None)
        if close is not None:
            close()

    async def run(self) -> None:
        """Await it and tell how it ended; to be run in a task."""
        with self._scope:
            try:
                value = await self._awaitable
            except BindingError as error:
                self._reply(None, error.message)
            except Exception as error:
                self._reply(None, foreign(error))
            else:
                self._reply(value, None)


def foreign(error: Exception) -> str:
    """A binding's own failure, which is the host's: the program learns its class and text and goes on."""
    return f"{type(error).__name__}: {error}"
