"""A world for one program: its tools as real tools of a real registry, what they saw, and the event log.

Tools are raw `Tool`s with exactly the schemas of the case; the body comes from `behaviours.py`, found by the tool's
name and its prose. A body runs as a coroutine, so that a program's calls are not slowed by threads. Only the public
names of `codemode` are used.

One `ProcessRuntime` is shared by all worlds of a test process (each run still has a child of its own), and each world
runs on one of the two event loops, picked by the case's id, so that both are used all over.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable
from typing import Any

import anyio

from codemode import (
    CancelSignal,
    CodeMode,
    Event,
    Limits,
    MemoryEventLog,
    ProcessRuntime,
    Registry,
    RunResult,
    Tool,
    ToolAnnotations,
    ToolContext,
)
from tests.cases.behaviours import find_body
from tests.cases.given import Case, Json, same

Body = Callable[["World", Mapping[str, Json], ToolContext], Json | Awaitable[Json]]

PATIENCE = 30.0
"""Seconds after which a world that should have ended is given up."""

LIMITS = Limits(compute_seconds=10.0, wall_seconds=20.0)

CUT_WORDS = ("left out", "truncated", "omitted", "not shown")
"""One of these stands where text was cut for the model."""

_runtime: list[ProcessRuntime] = []


def shared_runtime() -> ProcessRuntime:
    """The runtime of this test process; made at first use, closed by the session fixture."""
    if not _runtime:
        _runtime.append(ProcessRuntime(warm=2))
    return _runtime[0]


def close_shared_runtime() -> None:
    """End the shared runtime's processes."""
    while _runtime:
        anyio.run(_runtime.pop().aclose)


def backend_of(name: str) -> str:
    """The event loop that this name is run on: fixed for the name, even over all names."""
    return ("asyncio", "trio")[zlib.crc32(name.encode()) % 2]


@dataclass
class Visit:
    """One execution of a tool's body: when it ran (seconds of the monotonic clock) and how it went."""

    name: str
    arguments: dict[str, Json]
    started: float
    ended: float | None = None
    cancelled: bool = False


class World:
    """A registry with a case's tools, and the record of what happened to them."""

    def __init__(
        self,
        case: Case | str,
        tools: Iterable[Mapping[str, Json]] | None = None,
        *,
        bodies: Mapping[str, Body] | None = None,
        timeouts: Mapping[str, float] | None = None,
        events: Any = None,
        approver: Any = None,
        register: bool = True,
        **options: Any,
    ) -> None:
        """Build the registry.

        Args:
            case: the given case, or the text of a program of one's own.
            tools: tools in the form of the data file; those of the case by default.
            bodies: bodies by tool name, before those of `behaviours.py`.
            timeouts: seconds, by tool name.
            events: an event log to use in place of a memory log.
            approver: the registry's approver.
            register: whether the tools are registered at once.
            options: further arguments of `Registry`.
        """
        self.name = case.id if isinstance(case, Case) else case
        self.program = case.program if isinstance(case, Case) else case
        self.events = MemoryEventLog() if events is None else events
        self.registry = Registry(events=self.events, approver=approver, **options)
        self.visits: list[Visit] = []
        self.open = 0
        self.peak = 0
        self.state: dict[str, Json] = {}
        self.session = "s1"
        specs = (case.tools if isinstance(case, Case) else ()) if tools is None else tuple(tools)
        self.tools = {
            spec["name"]: self._tool(
                spec, None if bodies is None else bodies.get(spec["name"]), (timeouts or {}).get(spec["name"])
            )
            for spec in specs
            if spec["name"] not in self._unfit(specs)
        }
        if register:
            for tool in self.tools.values():
                self.registry.register(tool)

    @staticmethod
    def _unfit(specs: Iterable[Mapping[str, Json]]) -> set[str]:
        """Tools whose schema is no schema at all: their cases register them by hand."""
        return {spec["name"] for spec in specs if spec["output"].get("type") == "strange"}

    def _tool(self, spec: Mapping[str, Json], body: Body | None, timeout: float | None) -> Tool:
        name, prose = spec["name"], spec.get("behaviour", "")
        parallel = "read-only" in prose or "parallel" in prose
        return Tool(
            name=name,
            description=spec.get("description") or f"Test tool {name}.",
            execute=partial(self._execute, body, name, prose),
            parameters=spec["parameters"],
            output=spec["output"] or None,
            concurrency_safe=parallel,
            timeout=timeout,
            annotations=ToolAnnotations(read_only=True) if "read-only" in prose else ToolAnnotations(),
        )

    async def _execute(
        self, body: Body | None, name: str, prose: str, arguments: Mapping[str, Json], ctx: ToolContext
    ) -> Json:
        visit = Visit(name, dict(arguments), time.monotonic())
        self.visits.append(visit)
        self.open += 1
        self.peak = max(self.peak, self.open)
        try:
            value = (body or find_body(name, prose))(self, arguments, ctx)
            return await value if isawaitable(value) else value
        except anyio.get_cancelled_exc_class():
            visit.cancelled = True
            raise
        finally:
            self.open -= 1
            visit.ended = time.monotonic()

    def ran(self, name: str) -> list[dict[str, Json]]:
        """The arguments of each execution of the tool's body, in order."""
        return [visit.arguments for visit in self.visits if visit.name == name]

    def of(self, *types: str) -> list[Event]:
        """The events of these types, in order."""
        return [event for event in self.events.events if event.type in types]

    def starts(self) -> list[dict[str, Json]]:
        """The data of each sub-call's start record."""
        return [event.data for event in self.of("tool/code-dispatch-start")]

    def settles(self) -> list[dict[str, Json]]:
        """The data of each sub-call's settle record."""
        return [event.data for event in self.of("tool/code-dispatch")]

    def assert_paired(self) -> None:
        """Each start has exactly one settle, and the log is numbered without a gap."""
        assert sorted(data["sub_call_id"] for data in self.starts()) == sorted(
            data["sub_call_id"] for data in self.settles()
        )
        assert [event.seq for event in self.events.events] == list(range(1, len(self.events.events) + 1))

    def run(self, program: str | None = None, *, limits: Limits = LIMITS, **options: Any) -> RunResult:
        """Run the program (the case's own by default) in a child, from start to end."""
        return self.drive(partial(self._run, program, limits, options))

    def drive(self, body: Callable[[], Awaitable[Any]]) -> Any:
        """Run an async function on this world's event loop, with a bound on its time."""

        async def bounded() -> Any:
            with anyio.fail_after(PATIENCE):
                return await body()

        return anyio.run(bounded, backend=backend_of(self.name))

    def run_with_cancel(
        self, signal: CancelSignal, program: str | None = None, *, limits: Limits = LIMITS
    ) -> RunResult:
        """Run a program that the caller can cancel."""

        async def main() -> RunResult:
            async with self.code_mode(limits=limits) as code_mode:
                return await self.run_in(code_mode, program, cancel=signal)

        return self.drive(main)

    async def _run(self, program: str | None, limits: Limits, options: Mapping[str, Any]) -> RunResult:
        async with self.code_mode(limits=limits, **options) as code_mode:
            return await self.run_in(code_mode, program)

    async def run_in(self, code_mode: CodeMode, program: str | None = None, **options: Any) -> RunResult:
        """Run the program in an open CodeMode."""
        text = self.program if program is None else program
        assert text is not None
        return await code_mode.run(text, **options)

    def code_mode(self, *, limits: Limits = LIMITS, runtime: Any = None, **options: Any) -> CodeMode:
        """A CodeMode over this registry and the shared runtime."""
        return CodeMode(self.registry, limits=limits, runtime=runtime or shared_runtime(), **options)

    def value(self, program: str | None = None, **options: Any) -> Json:
        """The value of a program that must succeed."""
        result = self.run(program, **options)
        assert result.ok, result.text
        assert result.error is None
        return result.value


def tool(
    name: str, parameters: Mapping[str, Json] | None = None, output: Json = None, behaviour: str = ""
) -> dict[str, Json]:
    """A tool in the form of the data file; each parameter that does not end in `?` is required."""
    given = dict(parameters or {})
    return {
        "name": name,
        "parameters": {
            "type": "object",
            "properties": {key.removesuffix("?"): schema for key, schema in given.items()},
            "required": [key for key in given if not key.endswith("?")],
            "additionalProperties": False,
        },
        "output": output or {},
        "behaviour": behaviour,
    }


def assert_same(left: Json, right: Json) -> None:
    """The two values are the same JSON text."""
    assert same(left, right), f"{left!r} is not {right!r}"


@dataclass
class ScriptedHuman:
    """An approver that gives the next of its answers, and keeps what it was asked."""

    answers: list[str]
    asked: list[Any] = field(default_factory=list)

    async def __call__(self, request: Any) -> str:
        self.asked.append(request)
        return self.answers[min(len(self.asked), len(self.answers)) - 1]
