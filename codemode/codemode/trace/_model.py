"""From an event log to runs: what happened, in the order and at the times the log says.

What lives here: the reading of events into frozen values. What must not: anything that draws. A log is evidence, often
of a run that went wrong, so nothing in it is assumed: a record that is torn, repeated, out of place or of an unknown
type never raises; it is left out or counted in `Trace.unread`. A call with a start and no settle stays in the picture
with the status "unknown", because "it began and nobody knows how it ended" is what a reader must see.

Source of the records: the table of events in the design (`code/run-start` to `warning`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from codemode_registry import ABORTED_CODES, DENIED_CODES, Event

SubCallStatus = Literal["done", "failed", "denied", "aborted", "unknown"]

STAGES = ("queued", "before", "body", "after")


@dataclass(frozen=True, slots=True)
class Approval:
    """One question that was put to somebody about a call."""

    asked: int
    """When it was asked, epoch milliseconds."""
    decided: int | None
    """When it was answered, epoch milliseconds; None where the log ends before the answer."""
    outcome: str
    """The answer as logged, or "open"."""
    reason: str | None
    """Why it was asked, as the policy said."""


@dataclass(frozen=True, slots=True)
class SubCall:
    """One call that a program made."""

    sub_call_id: str
    name: str
    arguments: Any
    status: SubCallStatus
    started: int
    """Epoch milliseconds of the start record."""
    ended: int | None
    """Epoch milliseconds of the settle record; None where there is none."""
    line: int | None
    """The program's line of the call, 1-based, where the log knows it."""
    timing: Mapping[str, float]
    """Milliseconds in each of `STAGES`, as far as logged."""
    content: tuple[Any, ...]
    """What the log keeps of the result: content blocks."""
    error: str | None
    code: str | None
    """The failure's code, e.g. "DENIED"."""
    scope: str | None
    approvals: tuple[Approval, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One program, from `code/run-start` to `code/run-end`."""

    run_id: str
    call_id: str
    description: str
    code: str | None
    """The program's text, taken from the outer call's arguments; None where that record is missing."""
    status: str
    """"ok", the error's kind, or "unfinished" where the log ends before the run."""
    error: Mapping[str, Any] | None
    """`kind`, `message` and `line`, as logged."""
    started: int
    ended: int | None
    isolation: str | None
    tools: tuple[str, ...]
    limits: Mapping[str, Any]
    usage: Mapping[str, Any]
    calls: tuple[SubCall, ...]
    text: str
    """What the model saw: the text blocks of the outer result."""
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that a log tells of programs."""

    runs: tuple[Run, ...]
    warnings: tuple[str, ...]
    """Warnings that belong to no run."""
    unread: int
    """Records that could not be understood."""


@dataclass(slots=True)
class _OpenRun:
    """A run while its records are still being read."""

    start: Event
    end: Event | None = None
    starts: dict[str, Event] = field(default_factory=dict[str, Event])
    settles: dict[str, Event] = field(default_factory=dict[str, Event])
    warnings: list[str] = field(default_factory=list[str])


class _Reader:
    """Sorts events by the run and the call they speak of; one method per type of record."""

    def __init__(self) -> None:
        self.outer_calls: dict[str, Event] = {}
        self.outer_results: dict[str, Event] = {}
        self.runs: dict[str, _OpenRun] = {}
        self.asked: dict[str, list[Event]] = {}
        self.decided: dict[str, Event] = {}
        self.warnings: list[str] = []
        self.unread = 0
        self.by_type = {
            "tool/call": self.tool_call,
            "tool/result": self.tool_result,
            "code/run-start": self.run_start,
            "code/run-end": self.run_end,
            "tool/code-dispatch-start": self.dispatch_start,
            "tool/code-dispatch": self.dispatch,
            "approval/asked": self.approval_asked,
            "approval/decided": self.approval_decided,
            "warning": self.warning,
        }

    def read(self, event: Event) -> None:
        record = self.by_type.get(event.type)
        if record is None:
            self.unread += 1
            return
        try:
            record(event)
        except (KeyError, TypeError, ValueError):
            self.unread += 1

    def tool_call(self, event: Event) -> None:
        self.outer_calls[_text(event.data["call_id"])] = event

    def tool_result(self, event: Event) -> None:
        self.outer_results[_text(event.data["call_id"])] = event

    def run_start(self, event: Event) -> None:
        self.runs[_text(event.data["call_id"])] = _OpenRun(event)

    def run_end(self, event: Event) -> None:
        self.runs[_text(event.data["call_id"])].end = event

    def dispatch_start(self, event: Event) -> None:
        self.runs[_text(event.data["parent_call_id"])].starts[_text(event.data["sub_call_id"])] = event

    def dispatch(self, event: Event) -> None:
        self.runs[_text(event.data["parent_call_id"])].settles[_text(event.data["sub_call_id"])] = event

    def approval_asked(self, event: Event) -> None:
        self.asked.setdefault(_text(event.data["call_id"]), []).append(event)

    def approval_decided(self, event: Event) -> None:
        self.decided[str(event.data["id"])] = event

    def warning(self, event: Event) -> None:
        text = f"{event.data.get('source', 'codemode')}: {event.data['message']}"
        call = str(event.data.get("call_id", ""))
        run = self.runs.get(call) or self.runs.get(call.partition(":code:")[0])
        (self.warnings if run is None else run.warnings).append(text)

    def approvals(self, call_id: str) -> tuple[Approval, ...]:
        questions: list[Approval] = []
        for asked in self.asked.get(call_id, ()):
            answer = self.decided.get(str(asked.data.get("id")))
            questions.append(
                Approval(
                    asked=asked.time,
                    decided=None if answer is None else answer.time,
                    outcome="open" if answer is None else str(answer.data.get("outcome")),
                    reason=_optional_text(asked.data.get("reason")),
                )
            )
        return tuple(questions)

    def run(self, call_id: str, open_run: _OpenRun) -> Run:
        start, end = open_run.start.data, open_run.end
        outer = self.outer_calls.get(call_id)
        arguments = outer.data.get("arguments") if outer is not None else None
        code = _mapping(arguments).get("code")
        result = self.outer_results.get(call_id)
        error = end.data.get("error") if end is not None else None
        return Run(
            run_id=str(start.get("run_id", "")),
            call_id=call_id,
            description=str(start.get("description", "")),
            code=_optional_text(code),
            status="unfinished" if end is None else str(end.data.get("status", "unknown")),
            error=error if isinstance(error, Mapping) else None,
            started=open_run.start.time,
            ended=None if end is None else end.time,
            isolation=_optional_text(start.get("isolation")),
            tools=tuple(str(name) for name in _list(start.get("tools"))),
            limits=_mapping(start.get("limits")),
            usage=_mapping(end.data.get("usage")) if end is not None else {},
            calls=tuple(self.sub_call(event, open_run.settles.get(name)) for name, event in open_run.starts.items()),
            text="\n".join(_texts(result.data.get("content"))) if result is not None else "",
            warnings=tuple(open_run.warnings),
        )

    def sub_call(self, start: Event, settle: Event | None) -> SubCall:
        data = start.data
        call_id = str(data["sub_call_id"])
        error = _mapping(settle.data.get("error") if settle is not None else None)
        line = data.get("line")
        timing = _mapping(settle.data.get("timing") if settle is not None else None)
        return SubCall(
            sub_call_id=call_id,
            name=str(data.get("name", "")),
            arguments=data.get("arguments"),
            status=_status(settle, _optional_text(error.get("code"))),
            started=start.time,
            ended=None if settle is None else settle.time,
            line=line if isinstance(line, int) and not isinstance(line, bool) else None,
            timing={stage: ms for stage in STAGES if (ms := _milliseconds(timing.get(stage))) is not None},
            content=tuple(_list(settle.data.get("content"))) if settle is not None else (),
            error=_optional_text(error.get("message")),
            code=_optional_text(error.get("code")),
            scope=_optional_text(data.get("scope")),
            approvals=self.approvals(call_id),
        )


def read_trace(events: Iterable[Event]) -> Trace:
    """Read the runs out of a log's events.

    Args:
        events: the records in log order, e.g. `read_events(path)` or `MemoryEventLog().events`.

    Returns:
        The runs in the order in which they began, with whatever the log holds of each.
    """
    reader = _Reader()
    for event in events:
        reader.read(event)
    return Trace(
        runs=tuple(reader.run(call_id, run) for call_id, run in reader.runs.items()),
        warnings=tuple(reader.warnings),
        unread=reader.unread,
    )


def _status(settle: Event | None, code: str | None) -> SubCallStatus:
    if settle is None:
        return "unknown"
    if not settle.data.get("is_error"):
        return "done"
    if code in DENIED_CODES:
        return "denied"
    return "aborted" if code in ABORTED_CODES else "failed"


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"an id is text, not {type(value).__name__}")
    return value


def _optional_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _milliseconds(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:  # a whole number that no clock counted
        return None


def _list(value: Any) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _texts(content: Any) -> list[str]:
    return [str(block["text"]) for block in map(_mapping, _list(content)) if "text" in block]
