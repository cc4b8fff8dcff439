"""Asking a callback that must be sync.

A coroutine is no answer: it is closed, so that nothing stays behind that was never awaited, and what gave it is named.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def answer(what: str, callback: Callable[..., Any], *arguments: Any) -> Any:
    """What the callback says.

    Raises:
        TypeError: it is async.
    """
    said: Any = callback(*arguments)
    if inspect.isawaitable(said):
        close = getattr(said, "close", None) or getattr(said, "cancel", None)
        if callable(close):
            close()
        raise TypeError(f"{what} must be a sync function")
    return said
