"""OpenTelemetry spans of runs and calls (extra `[otel]`).

A span needs nothing that the event log does not already say, so this is an event log too: `SpanLog` passes each record
on to the log it wraps and then opens, marks or ends a span. The record comes first and its failure is the caller's; a
failure of a span or an exporter is logged and disturbs nobody. Importing `codemode` never imports this module, and
only this module imports `opentelemetry`.

Source: OpenTelemetry's semantic conventions for generative AI, the span "execute_tool" and its attributes
`gen_ai.operation.name`, `gen_ai.tool.name`, `gen_ai.tool.call.id`, `gen_ai.tool.type`, `error.type`, and the opt-in
`gen_ai.tool.call.arguments` and `gen_ai.tool.call.result`. What the conventions do not name is under `codemode.`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

from codemode_registry import Event, EventLog, JsonValue, MemoryEventLog, Registration, Registry, ToolCall, ToolResult

logger = logging.getLogger("codemode.otel")

# How much of an argument or a result is put on a span where that is asked for: attribute limits of common backends
# lie between 4 and 32 KiB, and a span is no place for the log's full copy.
CONTENT_CHARS = 8_192


class SpanLog:
    """An event log that also makes spans: one for each call of a model, one below it for each call of its program.

    Args:
        inner: the log that keeps the records; a `MemoryEventLog` where none is given.
        tracer_provider: where spans go; OpenTelemetry's global provider where none is given.
        capture_content: put arguments and result text on the spans, cut to `CONTENT_CHARS`. Off by default, as the
            conventions ask: they may hold what a tracing backend should not.
    """

    def __init__(
        self,
        inner: EventLog | None = None,
        *,
        tracer_provider: TracerProvider | None = None,
        capture_content: bool = False,
    ) -> None:
        self.inner: EventLog = MemoryEventLog() if inner is None else inner
        self._tracer = trace.get_tracer("codemode", tracer_provider=tracer_provider)
        self._capture = capture_content
        self._open: dict[str, Span] = {}
        self._by_type: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "tool/call": self._call,
            "tool/result": self._result,
            "tool/code-dispatch-start": self._sub_call,
            "tool/code-dispatch": self._sub_result,
            "code/run-start": self._run_start,
            "code/run-end": self._run_end,
            "approval/asked": self._asked,
        }

    async def append(self, type: str, data: dict[str, JsonValue]) -> Event:
        """Append to the wrapped log, then tell the span of what the record says.

        Raises:
            Exception: whatever the wrapped log raises; then there is no span either.
        """
        event = await self.inner.append(type, data)
        record = self._by_type.get(type)
        if record is not None:
            try:
                record(data)
            except Exception:
                logger.exception("no span for a %s record", type)
        return event

    def attach(self, registry: Registry) -> Registration:
        """Make a call's span the current one while the tool's body runs, so that what the body does is below it.

        Args:
            registry: the registry whose tools run inside their spans; it should use this log.

        Returns:
            The registration of the wrapper; disposing it takes the wrapper away.
        """

        async def inside_its_span(call: ToolCall, next: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
            span = self._open.get(call.call_id)
            if span is None:
                return await next()
            with trace.use_span(span, end_on_exit=False, record_exception=False, set_status_on_exception=False):
                return await next()

        return registry.around_execute(inside_its_span)

    def _begin(self, call_id: str, data: Mapping[str, Any], parent: Span | None) -> None:
        name = str(data["name"])
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.type": "function",
        }
        if "line" in data:
            attributes["codemode.program.line"] = data["line"]
        if self._capture and "arguments" in data:
            attributes["gen_ai.tool.call.arguments"] = json.dumps(data["arguments"], ensure_ascii=False)[:CONTENT_CHARS]
        context = None if parent is None else trace.set_span_in_context(parent)
        self._open[call_id] = self._tracer.start_span(
            f"execute_tool {name}", context=context, kind=SpanKind.INTERNAL, attributes=attributes
        )

    def _end(self, call_id: str, data: Mapping[str, Any]) -> None:
        span = self._open.pop(call_id, None)
        if span is None:
            return
        if self._capture:
            texts = [str(block["text"]) for block in data.get("content", ()) if "text" in block]
            span.set_attribute("gen_ai.tool.call.result", "\n".join(texts)[:CONTENT_CHARS])
        if data.get("is_error"):
            error: Mapping[str, Any] = data.get("error") or {}
            span.set_attribute("error.type", str(error.get("code", "_OTHER")))
            span.set_status(Status(StatusCode.ERROR, str(error.get("message", "")) if self._capture else None))
        span.end()

    def _call(self, data: Mapping[str, Any]) -> None:
        self._begin(str(data["call_id"]), data, None)

    def _result(self, data: Mapping[str, Any]) -> None:
        self._end(str(data["call_id"]), data)

    def _sub_call(self, data: Mapping[str, Any]) -> None:
        self._begin(str(data["sub_call_id"]), data, self._open.get(str(data["parent_call_id"])))

    def _sub_result(self, data: Mapping[str, Any]) -> None:
        self._end(str(data["sub_call_id"]), data)

    def _run_start(self, data: Mapping[str, Any]) -> None:
        span = self._open.get(str(data["call_id"]))
        if span is not None:
            span.set_attribute("codemode.run.id", str(data["run_id"]))
            span.set_attribute("codemode.run.isolation", str(data.get("isolation", "")))
            span.set_attribute("codemode.program.sha256", str(data.get("code_sha256", "")))

    def _run_end(self, data: Mapping[str, Any]) -> None:
        span = self._open.get(str(data["call_id"]))
        if span is not None:
            span.set_attribute("codemode.run.status", str(data["status"]))
            usage: Mapping[str, Any] = data.get("usage") or {}
            for name, value in usage.items():
                span.set_attribute(f"codemode.usage.{name}", value)

    def _asked(self, data: Mapping[str, Any]) -> None:
        span = self._open.get(str(data["call_id"]))
        if span is not None:
            span.add_event("codemode.approval.asked", {"codemode.approval.id": str(data["id"])})
