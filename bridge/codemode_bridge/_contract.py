"""The seam between a host and whatever runs programs: `CodeRuntime` and its values.

Rules of this module: values and a protocol, no behaviour. A run that fails is a `CodeRunResult` with an error, never an
exception; `run` raises only where no run can be had at all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Protocol, Self, runtime_checkable

from codemode_bridge._limits import Limits
from codemode_registry import CancelSignal, JsonValue

ErrorKind = Literal[
    "syntax", "exception", "timeout", "abort", "worker-exit", "invalid-output", "output-limit", "denied"
]


class BindingError(Exception):
    """Raised by a binding: the program gets a ToolCallError with this message."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


Reply = Callable[[JsonValue, str | None], None]
"""How a call that was submitted ended: its value and None, or the message of the program's ToolCallError."""


class Submitted(Protocol):
    """A call on its way."""

    def withdraw(self) -> None:
        """The program gave it up."""
        ...


@dataclass(frozen=True, slots=True)
class Binding:
    """One thing that a program can call."""

    name: str
    """The full name, as `call` frames carry it."""
    parameters: tuple[str, ...]
    """In the order of positional arguments."""
    call: Callable[..., Awaitable[Any]]
    """`call(arguments)`, called in the order of the program's calls on the run's loop. What it returns is awaited in a
    task of its own, which is cancelled when the program gives the call up or the run ends. Raises BindingError for the
    program's ToolCallError."""
    namespace: str | None = None
    """Where the program finds it: `tools.<namespace>.<method>`."""
    method: str = ""
    """How the program spells it; empty: as `name`."""
    signature: str = ""
    """One line, for the program's TypeErrors."""
    submit: Callable[[Mapping[str, Any], int | None, Reply], Submitted] | None = None
    """The same without a task: `submit(arguments, line, reply)`, where `line` is the program's. `reply` is called once,
    later, on the run's loop. May raise BindingError. Calls that are open when the run ends are for whoever made the
    binding to end. A runtime may use this one instead of `call`."""


class WallPause(Protocol):
    """Where the host says that a human is being asked, so that the wall clock stands still."""

    def hold(self) -> AbstractContextManager[None]:
        """Stop the clock for the time of a `with` block; blocks may overlap."""
        ...

    def paused(self) -> float:
        """Seconds that the clock has stood still so far."""
        ...


@dataclass(frozen=True, slots=True)
class CodeRunRequest:
    """One program to run."""

    program: str
    bindings: Mapping[str, Binding] = field(default_factory=dict[str, Binding])
    limits: Limits = field(default_factory=Limits)
    cancel: CancelSignal | None = None
    """Ends the run with kind `abort`."""
    on_log: Callable[[str], None] | None = None
    """Called with each piece of printed text as it comes."""
    pause: WallPause | None = None
    check_only: bool = False
    """Compile the program and say what is refused; run nothing."""


@dataclass(frozen=True, slots=True)
class RunError:
    """Why a run failed."""

    kind: ErrorKind
    message: str
    type: str | None = None
    """Name of the exception's class."""
    line: int | None = None
    """The innermost line of the program, from 1."""
    traceback: str | None = None
    """Frames of the program only."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run used."""

    wall_seconds: float = 0.0
    compute_seconds: float = 0.0
    peak_memory_bytes: int = 0
    """Resident, the interpreter's own included."""
    calls: int = 0


@dataclass(frozen=True, slots=True)
class CodeRunResult:
    """What came of a run."""

    value: JsonValue = None
    has_value: bool = False
    logs: tuple[str, ...] = ()
    """Printed lines without their ends."""
    error: RunError | None = None
    notes: tuple[str, ...] = ()
    usage: Usage | None = None
    refusals: tuple[tuple[int, int, str], ...] = ()
    """What the dialect refused: line and column from 1, and the message."""


@dataclass(frozen=True, slots=True)
class LayerReport:
    """One layer of the seal."""

    name: str
    holds: bool
    tried: str
    why: str


@runtime_checkable
class CodeRuntime(Protocol):
    """Runs programs."""

    @property
    def language(self) -> str:
        """ "python"."""
        ...

    @property
    def isolation(self) -> str:
        """What holds a program: "sealed-process", "process", ..."""
        ...

    async def run(self, request: CodeRunRequest) -> CodeRunResult:
        """Run one program.

        Raises:
            RuntimeUnavailableError: no run can be had.

        Cancellation: the program is ended and its calls are awaited before the cancellation goes on.
        """
        ...

    async def aclose(self) -> None:
        """End what runs (kind `abort`) and give everything back."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
