"""What a tool is. Nothing here runs one.

Rules
- A `Tool` is what its author wrote; it is borrowed, not copied: a body or a renderer that is replaced is used at the
  next call. Names and schemas are fixed when it is registered.
- Nothing is checked before registration; `ready()` checks everything then, and raises `RegistrationError`.
- The body, the renderer, the timeout, the classifier and the output schema never reach the model's tool list.
"""

# pyright: reportUnnecessaryIsInstance=false
# Callers need not be type-checked: what comes in is looked at.

from __future__ import annotations

import copy
import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

from ._call import ApprovalRequest, ToolCall
from ._callback import answer, check_fits
from ._cancel import CancelSignal
from ._errors import RegistrationError
from ._json import FrozenDict, freeze, thaw
from ._logging import LOGGER
from ._schema import Schema

RUN_CODE = "run_code"
"""The reserved name: the tool that runs programs."""

MAX_NAME = 128
"""Characters of a tool's name or a namespace; MCP clients commonly stop at 128."""

MAX_TIMEOUT = 10_000_000.0
"""Seconds (about four months): beyond it, event loops' clocks are not to be trusted with a deadline."""

ConcurrencySafe: TypeAlias = "bool | Callable[[Mapping[str, Any]], bool]"


@dataclass(frozen=True, slots=True)
class ToolAnnotations:
    """Hints about a tool, as MCP has them. They grant nothing by themselves; policies may read them."""

    title: str | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


class CallPort(Protocol):
    """What a body may do to its call; the pipeline's side of `ToolContext`."""

    def defer(self, message: object) -> None:
        """Keep a context for the result."""
        ...

    def conclude(self) -> None:
        """Ask to end the turn."""
        ...

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell the observers."""
        ...

    async def ask(self, reason: str, through: Callable[[ApprovalRequest], Awaitable[str]] | None) -> str:
        """Ask a human; the outcome."""
        ...

    async def warn(self, source: str, message: str) -> None:
        """Append a warning."""
        ...


class ToolContext:
    """What a body gets beside its arguments. Its methods work detached, and do nothing once the call is settled.

    A parameter annotated `ToolContext` is filled in and is no part of the schema.
    """

    __slots__ = ("_port", "call", "cancel")

    def __init__(self, call: ToolCall, cancel: CancelSignal, port: CallPort) -> None:
        self.call = call
        """The call; `call.token` is the `parent` of calls that this body makes."""
        self.cancel = cancel
        """Set when the body should stop: the caller, a wrapper or the timeout."""
        self._port = port

    def defer_context(self, message: str | Mapping[str, Any]) -> None:
        """Add a message to the conversation after this call: a JSON object, or a user message's text.

        Raises:
            TypeError: it is neither.
        """
        self._port.defer(message)

    def conclude_turn(self) -> None:
        """Ask to end the model's turn, if the call succeeds."""
        self._port.conclude()

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the registry's `on_progress` observers how far the call is. Never raises for their sake."""
        self._port.progress(done, total, message)

    async def ask(self, reason: str, *, through: Callable[[ApprovalRequest], Awaitable[str]] | None = None) -> str:
        """Ask a human about this call while its (async) body runs: logged, and under the approval policy in force.

        Args:
            reason: What is asked.
            through: Asks in place of the approver in force.

        Returns:
            `"allowed-once"`, `"rejected"`, `"cancelled"` or `"unavailable"`; only the first is a yes.
        """
        return await self._port.ask(reason, through)

    async def warn(self, source: str, message: str) -> None:
        """Append a `warning` event about this call, and log it."""
        await self._port.warn(source, message)


_CALLBACKS: Mapping[str, tuple[str, ...]] = {
    "render": ("arguments", "value"),
    "presentation_meta": ("arguments", "value"),
    "finalize_content": ("call", "result"),
    "present_call": ("arguments",),
    "present_result": ("arguments", "result"),
}
"""What each is called with."""


class Tool:
    """A tool in its raw form.

    Args:
        name: 1 to 128 characters, no control characters. The full name is `namespace.name`.
        description: For the model.
        execute: `async execute(arguments, ctx) -> JsonValue`, or a sync function, which runs in a thread.
        parameters: JSON Schema of the arguments, an object.
        output: JSON Schema of the canonical value; None is any JSON.
        namespace: Groups tools: `tools.<namespace>.<name>` in a program.
        concurrency_safe: True, or a function of the arguments that returns True, where the call may overlap others.
        timeout: Seconds; None is the registry's default.
        render: `render(arguments, value) -> str | list[block]`: what the model reads.
        presentation_meta: `presentation_meta(arguments, value) -> JsonValue`, for user interfaces.
        finalize_content: `finalize_content(call, result) -> list[block] | None`: the tool's last word on the content.
        present_call: `present_call(arguments) -> dict | None`, for user interfaces.
        present_result: `present_result(arguments, result) -> dict | None`, for user interfaces.
        annotations: Hints.
    """

    __slots__ = (
        "_flavour",
        "_input",
        "_output",
        "_present_call",
        "_present_result",
        "annotations",
        "concurrency_safe",
        "description",
        "execute",
        "finalize_content",
        "name",
        "namespace",
        "output",
        "parameters",
        "presentation_meta",
        "render",
        "timeout",
    )

    def __init__(
        self,
        name: str,
        description: str,
        execute: Callable[..., Any],
        *,
        parameters: Mapping[str, Any],
        output: Mapping[str, Any] | bool | None = None,
        namespace: str | None = None,
        concurrency_safe: ConcurrencySafe = False,
        timeout: float | None = None,
        render: Callable[..., Any] | None = None,
        presentation_meta: Callable[..., Any] | None = None,
        finalize_content: Callable[..., Any] | None = None,
        present_call: Callable[..., Any] | None = None,
        present_result: Callable[..., Any] | None = None,
        annotations: ToolAnnotations = ToolAnnotations(),
    ) -> None:
        self.name = name
        self.description = description
        self.execute = execute
        self.parameters: Mapping[str, Any] = parameters
        self.output: Mapping[str, Any] | bool | None = output
        self.namespace = namespace
        self.concurrency_safe: ConcurrencySafe = concurrency_safe
        self.timeout = timeout
        self.render = render
        self.presentation_meta = presentation_meta
        self.finalize_content = finalize_content
        self._present_call = present_call
        self._present_result = present_result
        self.annotations = annotations
        self._input: Schema | None = None
        self._output: Schema | None = None
        self._flavour: tuple[object, bool] | None = None

    @property
    def full_name(self) -> str:
        """`namespace.name`, or the name alone."""
        return f"{self.namespace}.{self.name}" if self.namespace is not None else self.name

    @property
    def present_call(self) -> Callable[..., Any] | None:
        """The presenter of a call, made safe for replays: None for arguments that do not fit, and where it raises."""
        return self._softly(self._present_call)

    @property
    def present_result(self) -> Callable[..., Any] | None:
        """The presenter of a result, made safe for replays as `present_call` is."""
        return self._softly(self._present_result)

    def _softly(self, present: Callable[..., Any] | None) -> Callable[..., Any] | None:
        if not callable(present):
            return None

        def presented(arguments: Any, *rest: Any) -> Any:
            try:
                frozen = freeze(arguments, loose=True)
                if type(frozen) is not FrozenDict or not self.input_schema.is_valid(frozen):
                    return None
                card = answer("a presenter", present, frozen, *rest)
            except Exception:
                LOGGER.debug("a presenter of %s raised", self.full_name, exc_info=True)
                return None
            return cast("Any", card) if isinstance(card, dict) else None

        return presented

    @property
    def input_schema(self) -> Schema:
        """The compiled parameters."""
        if self._input is None:
            self.ready()
        assert self._input is not None
        return self._input

    @property
    def output_schema(self) -> Schema | None:
        """The compiled output; None is any JSON."""
        return self._output

    def ready(self) -> None:
        """Check the tool and compile its schemas.

        Raises:
            RegistrationError: something is wrong with it; the text names the tool and the place.
        """
        check_name(self.name, "a tool's name")
        if self.namespace is not None:
            check_name(self.namespace, f"tool {self.name!r}: its namespace")
        what = f"tool {self.full_name!r}"
        if not isinstance(self.description, str):
            raise RegistrationError(f"{what}: its description must be a string")
        if not callable(self.execute):
            raise RegistrationError(f"{what}: it has no body (execute must be callable)")
        check_timeout(self.timeout, f"{what}: timeout")
        if not isinstance(self.concurrency_safe, bool) and not callable(self.concurrency_safe):
            raise RegistrationError(f"{what}: concurrency_safe must be a bool or a function of the arguments")
        if callable(self.concurrency_safe):
            check_fits(f"{what}: its classifier", self.concurrency_safe, ("arguments",))
        for hook, parameters in _CALLBACKS.items():
            written = getattr(self, f"_{hook}" if hook.startswith("present_") else hook)
            if written is None:
                continue
            if not callable(written):
                raise RegistrationError(f"{what}: {hook} must be callable")
            check_fits(f"{what}: {hook}", written, parameters)
        if not isinstance(self.annotations, ToolAnnotations):
            raise RegistrationError(f"{what}: annotations must be ToolAnnotations")
        if self._input is None:
            parameters = self._compile_parameters(what)
            self._output = None if self.output is None else Schema(self.output, f"{what}: output")
            self._input = parameters
            self.parameters = parameters.source
            self.output = None if self._output is None else self._output.source

    def _compile_parameters(self, what: str) -> Any:
        if not isinstance(self.parameters, Mapping):
            raise RegistrationError(f"{what}: parameters must be a JSON Schema (a dict)")
        kind = self.parameters.get("type", "object")
        if kind != "object":
            raise RegistrationError(f"{what}: parameters must describe an object, not {kind!r}")
        return Schema(self.parameters, f"{what}: parameters")

    def in_namespace(self, namespace: str) -> Tool:
        """A copy of this tool under another namespace."""
        renamed = copy.copy(self)
        renamed.namespace = namespace
        return renamed

    def schema_entry(self) -> dict[str, Any]:
        """What the model's tool list has of it: a detached copy."""
        return {"name": self.full_name, "description": self.description, "input_schema": thaw(self.parameters)}

    def __repr__(self) -> str:
        return f"<Tool {self.full_name}>"


def check_name(name: object, what: str) -> None:
    """Refuse what cannot be a tool's or a namespace's name.

    Raises:
        RegistrationError: it is no string, empty, too long, or has control characters or surrogates.
    """
    if not isinstance(name, str) or not name:
        raise RegistrationError(f"{what} must be a string of 1 to {MAX_NAME} characters, not {name!r:.80}")
    if len(name) > MAX_NAME:
        raise RegistrationError(f"{what} is longer than {MAX_NAME} characters: {name[:40]!r}…")
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in name):
        raise RegistrationError(f"{what} has a control character or a surrogate: {name!r}")


def check_timeout(timeout: object, what: str) -> None:
    """Refuse a timeout that is not a positive, finite number of seconds.

    Raises:
        RegistrationError: it is not.
    """
    if timeout is None:
        return
    fits = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if not fits or not 0 < timeout <= MAX_TIMEOUT:  # type: ignore[operator]  # no NaN passes
        raise RegistrationError(f"{what} must be a positive, finite number of seconds, not {timeout!r}")
