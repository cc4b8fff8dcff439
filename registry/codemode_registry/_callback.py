"""Callbacks: whether one can be called at all, which is asked when it is registered, and asking one that must be sync.

A coroutine is no answer: it is closed, so that nothing stays behind that was never awaited, and what gave it is named.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ._errors import RegistrationError


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


def check_fits(what: str, callback: Callable[..., Any], parameters: tuple[str, ...]) -> None:
    """Refuse a callback that these arguments can never be given to; what is not known for certain passes.

    Its own signature counts, not that of a function which it wraps, nor one that it merely claims.

    Args:
        what: as the message begins.
        callback: any callable.
        parameters: what it is called with, by position.

    Raises:
        RegistrationError: every call of it would fail.
    """
    try:
        if getattr(callback, "__signature__", None) is not None:
            return
        signature = inspect.signature(callback, follow_wrapped=False)
    except Exception:  # it has none, as some built-ins, or tells none
        return
    try:
        signature.bind(*parameters)
    except TypeError as error:
        taken = f"{getattr(callback, '__name__', type(callback).__name__)}{signature}"
        given = ", ".join(parameters)
        raise RegistrationError(f"{what} is called with ({given}), and {taken:.200} is not: {error}") from None
