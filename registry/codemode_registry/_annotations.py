"""Reading a function: its signature, its annotations resolved to types, whether calling it gives a coroutine.

Rules: annotations are resolved as Python does; those that name classes local to the function that registers are
looked up where the decorator stands. Nothing is guessed.
"""

# pyright: reportPrivateUsage=false
# `sys._getframe` is the only way to the frame of the caller.

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

from ._errors import RegistrationError
from ._tool import ToolContext

_OURS = __name__.partition(".")[0]


def unwrapped(function: Callable[..., Any]) -> Any:
    """The function or method that runs in the end."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isfunction(function) or inspect.ismethod(function):
        return function
    return getattr(function, "__call__", function)  # noqa: B004 - the method, not whether there is one


def is_async_callable(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine: async functions, methods, partials and objects with an async `__call__`."""
    return inspect.iscoroutinefunction(unwrapped(function))


def read_signature(function: Callable[..., Any], what: str) -> tuple[inspect.Signature, dict[str, Any]]:
    """The signature and the resolved annotations.

    Raises:
        RegistrationError: one of them cannot be had.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise RegistrationError(f"{what}: its signature cannot be read: {error}") from None
    target = inspect.unwrap(unwrapped(function))
    target = getattr(target, "__func__", target)
    try:
        hints = typing.get_type_hints(target, include_extras=True)
    except NameError:
        try:  # a class that is local to the function which registers: look where the decorator stands
            hints = typing.get_type_hints(target, localns=_caller_names(), include_extras=True)
        except Exception as error:
            raise RegistrationError(f"{what}: an annotation cannot be resolved: {error}") from None
    except Exception as error:
        raise RegistrationError(f"{what}: an annotation cannot be resolved: {error}") from None
    return signature, hints


def _caller_names() -> dict[str, Any]:
    """The local names of the code that registers, inner ones first."""
    frame: types.FrameType | None = sys._getframe(1)
    names: dict[str, Any] = {}
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] != _OURS:
            for name, value in frame.f_locals.items():
                names.setdefault(name, value)
            if frame.f_code.co_name == "<module>":
                break
        frame = frame.f_back
    return names


def is_context(annotation: object) -> bool:
    """Whether a parameter of this annotation is filled in with the `ToolContext`."""
    if annotation is ToolContext:
        return True
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return is_union and ToolContext in typing.get_args(annotation)
