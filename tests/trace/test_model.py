"""What a log says becomes runs and calls, whatever state the log is in."""

from __future__ import annotations

import random

import pytest

from codemode.trace import read_trace, render_page, render_tree
from codemode_registry import Event
from tests.trace.logs import BEGAN, PROGRAM, run_log


def test_a_run_is_read_with_its_program_its_calls_and_its_answer() -> None:
    (run,) = read_trace(run_log(3)).runs
    assert (run.status, run.code, run.text, run.description) == ("ok", PROGRAM, "3", "count the rows")
    assert [call.sub_call_id for call in run.calls] == ["outer:code:1", "outer:code:2", "outer:code:3"]
    first = run.calls[0]
    assert (first.name, first.arguments, first.line, first.status) == ("search", {"page": 1}, 3, "done")
    assert (first.started, first.ended) == (BEGAN + 7, BEGAN + 11)
    assert first.timing == {"queued": 0.5, "before": 0.25, "body": 3.0, "after": 0.25}


def test_failures_denials_and_calls_without_an_end_are_told_apart() -> None:
    (run,) = read_trace(run_log(4, failing=[2], denied=[3], unsettled=[4])).runs
    assert [call.status for call in run.calls] == ["done", "failed", "denied", "unknown"]
    assert run.calls[1].error == "no page 2"
    (question,) = run.calls[2].approvals
    assert (question.outcome, question.reason, question.decided) == ("rejected", "costly", question.asked + 1)
    assert run.calls[3].ended is None


def test_a_log_that_ends_in_the_middle_of_a_run_shows_it_unfinished() -> None:
    events = run_log(3)
    for length in range(len(events) + 1):
        trace = read_trace(events[:length])
        if length >= 2:
            assert trace.runs[0].status == ("ok" if length >= len(events) - 1 else "unfinished")
        assert trace.unread == 0


def test_several_runs_in_one_log_stay_apart() -> None:
    mixed = [*run_log(2, call_id="a"), *run_log(5, call_id="b")]
    random.Random(7).shuffle(rest := [event for event in mixed if event.type != "code/run-start"])
    runs = read_trace([*[event for event in mixed if event.type == "code/run-start"], *rest]).runs
    assert {run.call_id: len(run.calls) for run in runs} == {"a": 2, "b": 5}


def test_a_record_that_makes_no_sense_is_counted_and_disturbs_nothing() -> None:
    broken = [
        Event(1, 0, "tool/code-dispatch", {"parent_call_id": "nobody", "sub_call_id": "x"}),
        Event(2, 0, "code/run-start", {}),
        Event(3, 0, "something/new", {"a": 1}),
        Event(4, 0, "code/run-end", {"call_id": ["outer"]}),
    ]
    trace = read_trace([*broken, *run_log(1)])
    assert trace.unread == 4
    assert [run.status for run in trace.runs] == ["ok"]


ODD = [None, True, [], {}, "x", -1, 10**400, 1e300, {"code": [], "message": {}}, {"queued": 10**400, "body": "x"}]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd)[:20])
def test_a_field_that_holds_anything_at_all_disturbs_nothing(odd: object) -> None:
    events = run_log(3, failing=[2], denied=[3])
    for at, event in enumerate(events):
        for name in event.data:
            changed = Event(event.seq, event.time, event.type, {**event.data, name: odd})
            trace = read_trace([*events[:at], changed, *events[at + 1 :]])
            assert "</html>" in render_page(trace)
            assert isinstance(render_tree(trace), str)


def test_a_warning_is_shown_with_the_run_that_it_is_about() -> None:
    events = run_log(1)
    events.insert(3, Event(99, BEGAN, "warning", {"source": "registry", "message": "slow", "call_id": "outer:code:1"}))
    events.append(Event(100, BEGAN, "warning", {"source": "mcp", "message": "down"}))
    trace = read_trace(events)
    assert trace.runs[0].warnings == ("registry: slow",)
    assert trace.warnings == ("mcp: down",)
