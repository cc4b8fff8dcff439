"""Which exceptions a handler of a program catches.

A bare `except` and `except BaseException` catch what they catch in CPython, but for the cancellation of the program's
own tasks: honest code writes `except:` for errors, and a run that is cancelled or over time must end.  A handler that
names `asyncio.CancelledError` gets it.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final

_MISSING: Final = object()


def catch(kinds: Any = _MISSING) -> Any:
    """What `except kinds` matches against the exception that is being handled (`<catch>`)."""
    if kinds is _MISSING:
        kinds = BaseException
    error = sys.exc_info()[1]
    if not isinstance(error, asyncio.CancelledError):
        return kinds
    if type(kinds) is tuple:
        return tuple(kind for kind in _flat(kinds) if kind is not BaseException)
    return () if kinds is BaseException else kinds


def _flat(kinds: tuple[Any, ...]) -> list[Any]:
    out: list[Any] = []
    for kind in kinds:
        if type(kind) is tuple:
            out.extend(_flat(kind))
        else:
            out.append(kind)
    return out


def catch_star(kinds: Any) -> Any:
    """The same for `except*`, which splits a group."""
    if kinds is BaseException:
        return (Exception, SystemExit, KeyboardInterrupt, GeneratorExit)
    return kinds
