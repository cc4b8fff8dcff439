"""The body of a typed tool at work: arguments of its own types in, canonical JSON out.

Rules
- The schema has accepted the arguments before; what pydantic still refuses is a violation like any other.
- Only pydantic's core is needed here. What is made of pydantic proper (`_typed`) is loaded when a function is made a
  tool, so a host whose tools are all raw never loads it.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# What comes in is looked at, not trusted to a type.

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, PydanticUndefined, ValidationError

from ._explain import Violation, shown
from ._json import join_path, thaw
from ._tool import ToolContext

if TYPE_CHECKING:
    from pydantic import TypeAdapter


class OutputError(Exception):
    """What the function returned cannot be dumped to JSON."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function."""

    name: str
    adapter: TypeAdapter[Any]
    required: bool
    default: Any = PydanticUndefined
    """A default that we pass, because the function's own is a pydantic `Field`."""
    factory: Callable[[], Any] | None = None
    description: str | None = None
    is_open: bool = True
    """Its type lets JSON through as it is: then the function gets a copy that it may change."""


@dataclass(slots=True)
class TypedBody:
    """The body of a typed tool. Callable like a raw one, so that it can be tested alone."""

    function: Callable[..., Any]
    parameters: dict[str, Parameter]
    positional: tuple[str, ...]
    context: str | None
    returns: TypeAdapter[Any]
    is_async: bool
    returns_open: bool = True
    """Some part of the result has no type of its own."""

    def convert(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[Violation]]:
        """(the function's arguments, what is wrong with them). The schema has accepted the arguments already."""
        converted: dict[str, Any] = {}
        problems: list[Violation] = []
        for name, value in arguments.items():
            parameter = self.parameters[name]
            plain = thaw(value) if parameter.is_open and isinstance(value, (dict, list)) else value
            try:
                converted[name] = parameter.adapter.validator.validate_python(plain)
            except ValidationError as error:
                try:  # strict models take from JSON what they refuse from Python objects
                    converted[name] = parameter.adapter.validator.validate_json(json.dumps(plain))
                except (ValidationError, ValueError):
                    problems += _problems(name, error)
            except (TypeError, ValueError, AssertionError) as error:
                problems.append(Violation(name, f"{error}, got {shown(value)}"))
        return converted, problems

    def call(self, converted: Mapping[str, Any], context: ToolContext) -> Any:
        """Call the function (a coroutine for an async one)."""
        keywords = dict(converted)
        for parameter in self.parameters.values():
            if parameter.name not in keywords and not parameter.required:
                if parameter.factory is not None:
                    keywords[parameter.name] = parameter.factory()
                elif parameter.default is not PydanticUndefined:
                    keywords[parameter.name] = parameter.default
        if self.context is not None:
            keywords[self.context] = context
        if not self.positional:
            return self.function(**keywords)
        values: list[Any] = []
        for name in self.positional:
            if name not in keywords:
                break
            values.append(keywords.pop(name))
        return self.function(*values, **keywords)

    def dump(self, value: object) -> Any:
        """The canonical JSON of what the function returned.

        Raises:
            OutputError: it has no JSON form.
        """
        if type(value) in (str, int, bool, type(None)):
            return value
        try:
            dumped = self.returns.dump_python(value, mode="json", by_alias=True, warnings=False)
            lost = self.returns_open and _any_leaf(dumped, _is_null) and self._lost_number(value)
        except (PydanticSerializationError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise OutputError(f"{error}") from error
        if lost:
            raise OutputError("it holds NaN or an infinity, which are not JSON")
        return dumped

    def _lost_number(self, value: object) -> bool:
        """Whether a null of the JSON form was a NaN or an infinity: pydantic writes them so where a type is open."""
        return _any_leaf(self.returns.dump_python(value, by_alias=True, warnings=False), _is_lost)

    def __call__(self, arguments: Mapping[str, Any], context: ToolContext) -> Any:
        converted, problems = self.convert(arguments)
        if problems:
            raise ValueError("; ".join(map(str, problems)))
        return self.call(converted, context)


def _is_null(leaf: object) -> bool:
    return leaf is None


def _is_lost(leaf: object) -> bool:
    return isinstance(leaf, float) and not isfinite(leaf)


def _any_leaf(value: Any, test: Callable[[object], bool]) -> bool:
    """Whether some leaf of nested containers passes the test."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            stack.extend(item.values())
        elif isinstance(item, (list, tuple, set, frozenset)):
            stack.extend(item)
        elif test(item):
            return True
    return False


def _problems(name: str, error: ValidationError) -> list[Violation]:
    found: dict[str, Violation] = {}
    for detail in error.errors(include_url=False):
        path = name
        for step in detail["loc"]:
            if isinstance(step, int) or (step.isidentifier() and not step.startswith("function-")):
                path = join_path(path, step)
        text = detail["msg"].removeprefix("Input ").removeprefix("Value error, ").removeprefix("Assertion failed, ")
        found.setdefault(path, Violation(path, f"{text}, got {shown(thaw(detail['input']))}"))
    return list(found.values())
