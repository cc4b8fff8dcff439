"""Spans are made of the log's records, and neither loses the other."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from codemode import CodeMode, Event, JsonValue, MemoryEventLog, Registry
from codemode.otel import SpanLog

PROGRAM = """
await tools.double(n=4)
try:
    await tools.double(n=13)
except ToolCallError as error:
    print(error.message)
"""


class Tracing:
    """A registry whose spans are kept in memory."""

    def __init__(self, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.log = SpanLog(tracer_provider=self.provider, **options)
        self.registry = Registry(events=self.log)
        self.inside: list[int] = []

        @self.registry.tool
        async def double(n: int) -> int:
            """Twice as much."""
            self.inside.append(trace.get_current_span().get_span_context().span_id)
            if n == 13:
                raise ValueError("no thirteen")
            return 2 * n

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_a_run_is_a_span_with_one_below_it_for_each_call() -> None:
    tracing = Tracing()
    async with CodeMode(tracing.registry) as cm:
        result = await cm.run(PROGRAM)
    assert result.ok
    first, second, run = tracing.spans
    assert run.name == "execute_tool run_code"
    assert (first.name, second.name) == ("execute_tool double", "execute_tool double")
    assert run.context is not None
    assert {span.parent.span_id for span in (first, second) if span.parent} == {run.context.span_id}
    assert attributes(first) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "double",
        "gen_ai.tool.call.id": result.calls[0].sub_call_id,
        "gen_ai.tool.type": "function",
        "codemode.program.line": 2,
    }
    assert attributes(run)["codemode.run.id"] == result.run_id
    assert attributes(run)["codemode.run.status"] == "ok"
    assert attributes(run)["codemode.usage.calls"] == 2


async def test_a_failed_call_is_a_span_in_error_with_its_code() -> None:
    tracing = Tracing()
    await tracing.registry.call("double", {"n": 13})
    (span,) = tracing.spans
    assert span.status.status_code is StatusCode.ERROR
    assert attributes(span)["error.type"] == "TOOL_ERROR"


async def test_what_a_body_does_is_below_the_span_of_its_call_once_attached() -> None:
    tracing = Tracing()
    await tracing.registry.call("double", {"n": 1})
    with tracing.log.attach(tracing.registry):
        await tracing.registry.call("double", {"n": 2})
    plain, attached = tracing.spans
    assert attached.context is not None
    assert tracing.inside == [0, attached.context.span_id]
    assert plain.status.status_code is StatusCode.UNSET


async def test_arguments_and_results_are_on_a_span_only_where_asked_for() -> None:
    for capture in (False, True):
        tracing = Tracing(capture_content=capture)
        await tracing.registry.call("double", {"n": 21})
        content = {
            key: value for key, value in attributes(tracing.spans[0]).items() if key.startswith("gen_ai.tool.call.")
        }
        content.pop("gen_ai.tool.call.id")
        assert content == (
            {"gen_ai.tool.call.arguments": json.dumps({"n": 21}), "gen_ai.tool.call.result": "42"} if capture else {}
        )


async def test_the_log_below_keeps_every_record_and_its_failure_is_the_callers() -> None:
    kept = MemoryEventLog()
    assert SpanLog(kept).inner is kept
    log = SpanLog(kept)
    event = await log.append("tool/call", {"call_id": "c", "name": "x"})
    assert kept.events == [event]

    class Full:
        async def append(self, type: str, data: dict[str, JsonValue]) -> Event:
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        await SpanLog(Full()).append("tool/call", {})


async def test_a_record_that_makes_no_span_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    log = SpanLog()
    assert (await log.append("tool/call", {})).seq == 1
    assert "no span for a tool/call record" in caplog.text


def test_nothing_of_opentelemetry_is_imported_while_it_is_off() -> None:
    program = (
        "import sys; from codemode import Registry, run_sync; run_sync(Registry(), 'return 1');"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
