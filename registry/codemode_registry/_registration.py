"""The handle of everything that is registered: call it, leave its `with` block or `.dispose()` it to take it back."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self


class Registration:
    """Takes back one registration, once; later disposals do nothing and never touch a newer entry of the same name.

    As the result of a decorator it stands in the function's place: with arguments it calls the function.
    """

    __slots__ = ("__wrapped__", "_undo")

    def __init__(self, undo: Callable[[], None], wrapped: Callable[..., Any] | None = None) -> None:
        self._undo: Callable[[], None] | None = undo
        self.__wrapped__ = wrapped

    @property
    def active(self) -> bool:
        """Whether it was not disposed through this handle."""
        return self._undo is not None

    def dispose(self) -> None:
        """Take the registration back. Idempotent."""
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (args or kwargs) and self.__wrapped__ is not None:
            return self.__wrapped__(*args, **kwargs)
        self.dispose()
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dispose()
