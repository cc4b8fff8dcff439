"""Where in a program the transformer is: the stack of function and class scopes around a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(slots=True)
class Scope:
    """One function, lambda, class, or the program itself."""

    kind: Literal["program", "function", "lambda", "class"]
    name: str
    is_async: bool = False
    first_parameter: str | None = None


class ScopeStack:
    """The scopes around the present node, the program's own first."""

    __slots__ = ("_scopes",)

    def __init__(self) -> None:
        self._scopes: list[Scope] = [Scope("program", "<main>", is_async=True)]

    def enter(self, scope: Scope) -> None:
        """Go into a scope."""
        self._scopes.append(scope)

    def leave(self) -> None:
        """Go out of the innermost scope."""
        self._scopes.pop()

    @property
    def inner(self) -> Scope:
        """The innermost scope of any kind; a class body counts as itself."""
        return self._scopes[-1]

    @property
    def in_class(self) -> bool:
        """Whether the node stands directly in a class body."""
        return self._scopes[-1].kind == "class"

    @property
    def class_name(self) -> str | None:
        """The class whose private names (`__x`) are meant here."""
        return next((scope.name for scope in reversed(self._scopes) if scope.kind == "class"), None)

    def method(self) -> Scope | None:
        """The innermost function, if it is inside a class: where `super()` without arguments means something."""
        inner = self._scopes[-1]
        return inner if inner.kind in ("function", "lambda") and self.class_name is not None else None
