"""What the pipeline costs: one call without hooks, where its time goes, and the price of freezing and validating.

Run `python -m tests.bench.pipeline`. Figures are CPU time of this process, the best of several interleaved repetitions:
a shared machine only ever adds to them. To reach: a call with a memory log in 60 us; a 1 MB argument frozen and
validated in 3x the time of `json.loads` of its text (both without the garbage collector, as timeit does).
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio

from codemode_registry import (
    Accept,
    Allow,
    CallStream,
    EventLog,
    JsonlEventLog,
    MemoryEventLog,
    NativeAudit,
    Registry,
    Tool,
    ToolCall,
    ToolResult,
    freeze,
)

CALLS = 2000
REPEAT = 5
Row = tuple[str, float, str]


def _registry(events: EventLog | None) -> Registry:
    registry = Registry(events=events)

    async def raw(arguments: Any, ctx: Any) -> int:
        return 1

    async def typed(n: int, name: str = "x") -> int:
        return n

    registry.register(Tool("raw", "", raw, parameters={"type": "object", "properties": {"n": {"type": "integer"}}}))
    registry.tool(typed)
    registry.register(Tool("thread", "", lambda arguments, ctx: 1, parameters={"type": "object"}))
    return registry


def _with_hooks(registry: Registry) -> Registry:
    @registry.pre_execute
    async def policy(call: ToolCall, next: Any) -> Any:
        return Allow()

    @registry.around_execute
    async def wrapper(call: ToolCall, next: Any) -> ToolResult:
        return await next()  # type: ignore[no-any-return]

    @registry.post_execute
    async def review(call: ToolCall, result: ToolResult, next: Any) -> Any:
        return Accept()

    registry.guard(lambda call: None)
    registry.on_result(lambda call, result: None)
    return registry


async def _sequential(registry: Registry, name: str, count: int = CALLS) -> float:
    begun = time.process_time()
    for n in range(count):
        result = await registry.call(name, {"n": n})
        assert not result.is_error
    return (time.process_time() - begun) / count


async def _stream(registry: Registry, gathered: bool) -> float:
    tool = registry.get("raw")
    assert tool is not None
    tool.concurrency_safe = gathered
    audit = NativeAudit(registry.events)
    stream = CallStream(registry, scope=None, max_parallel=10, settle_order="finish", audit=audit)
    begun = time.process_time()
    async with stream:
        for n in range(CALLS):
            ticket = stream.submit("raw", {"n": n}, call_id=str(n))
            if not gathered:
                await ticket.wait()
    return (time.process_time() - begun) / CALLS


async def _calls(folder: Path) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for label, log in (
        ("no log", None),
        ("memory log", MemoryEventLog()),
        ("JSONL log", JsonlEventLog(folder / "log")),
    ):
        registry = _registry(log)
        found.append((f"call, raw tool, {label}", await _sequential(registry, "raw")))
        found.append((f"call, typed tool, {label}", await _sequential(registry, "typed")))
        if isinstance(log, JsonlEventLog):
            await log.aclose()
    found.append(
        ("call, sync tool (a thread), memory log", await _sequential(_registry(MemoryEventLog()), "thread", 300))
    )
    found.append(
        ("call, one hook of each kind, memory log", await _sequential(_with_hooks(_registry(MemoryEventLog())), "raw"))
    )
    found.append(("stream, one after the other", await _stream(_registry(MemoryEventLog()), False)))
    found.append(("stream, all submitted, 10 at once", await _stream(_registry(MemoryEventLog()), True)))
    return found


def _arguments() -> dict[str, tuple[Any, dict[str, Any]]]:
    """About 1 MB of JSON each, with a schema that looks at all of it."""
    integer, number, string = {"type": "integer"}, {"type": "number"}, {"type": "string"}
    record = {
        "type": "object",
        "properties": {"id": integer, "name": string, "tags": {"items": string}, "score": number},
    }
    return {
        "records": (
            [{"id": n, "name": f"name {n}", "tags": ["a", "b", "c"], "score": n / 7} for n in range(15_000)],
            {"type": "array", "items": record},
        ),
        "numbers": ([n / 7 for n in range(55_000)], {"type": "array", "items": number}),
        "strings": ([f"line number {n}" for n in range(55_000)], {"type": "array", "items": string}),
        "matrix": (
            [[n, n + 1, n + 2] for n in range(45_000)],
            {"type": "array", "items": {"type": "array", "items": integer}},
        ),
    }


def _best(*timed: Callable[[], Any]) -> list[float]:
    best = [float("inf")] * len(timed)
    gc.disable()
    try:
        for _ in range(REPEAT):
            for index, function in enumerate(timed):
                begun = time.process_time()
                function()
                best[index] = min(best[index], time.process_time() - begun)
    finally:
        gc.enable()
    return best


def freezing() -> list[Row]:
    """Freeze and validate 1 MB, as a ratio to json.loads of its text."""
    rows: list[Row] = []
    for label, (value, schema) in _arguments().items():
        arguments = {"rows": value}
        text = json.dumps(arguments)
        tool = Tool("t", "", len, parameters={"type": "object", "properties": {"rows": schema}})
        tool.ready()

        def both(tool: Tool = tool, arguments: Any = arguments) -> None:
            assert tool.input_schema.is_valid(freeze(arguments))

        loads, frozen = _best(lambda text=text: json.loads(text), both)
        rows.append((f"freeze + validate {len(text) / 1e6:.1f} MB of {label}", frozen / loads, "x json.loads"))
    return rows


def calls(backends: Sequence[str] = ("trio", "asyncio")) -> list[Row]:
    """Microseconds of one call, by kind and by backend."""
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(REPEAT):
            for backend in backends:
                for label, seconds in anyio.run(_calls, Path(folder), backend=backend):
                    name = f"{label} [{backend}]"
                    best[name] = min(best.get(name, float("inf")), seconds)
    return [(name, seconds * 1e6, "us") for name, seconds in sorted(best.items())]


def main() -> int:
    """Print the table."""
    for name, figure, unit in (*calls(), *freezing()):
        print(f"{name:<66} {figure:8.1f} {unit}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
