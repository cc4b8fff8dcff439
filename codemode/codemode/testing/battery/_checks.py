"""What must hold after every attempt, whatever it tried. Each check names what broke it.

The checks look at three witnesses that do not depend on the pipeline's own opinion: the bodies that really ran, the
log, and what the program and the model saw.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from codemode._result import RunResult
from codemode.testing.battery._canary import SECRET, Canary, forbidden, scope_name
from codemode.testing.battery._ledger import Ran
from codemode_registry import Event


def problems(canary: Canary, result: RunResult, entries: list[Ran], events: Sequence[Event]) -> list[str]:
    """Everything that one run did or saw and must not have."""
    outer = result.calls[0].sub_call_id.partition(":code:")[0] if result.calls else _outer(events)
    found = [f"{what} ran, which may not" for what in forbidden(entries)]
    found += [f"{name} came to its end after its timeout" for name in canary.completed]
    found += _ancestry(entries, outer)
    found += records(entries, events)
    found += _approvals(entries, events)
    if SECRET in json.dumps([result.value, result.logs, result.text, str(result.error)], default=str):
        found.append("the program or the model saw a value that was withheld")
    return found


def _outer(events: Sequence[Event]) -> str:
    return next((str(event.data["call_id"]) for event in events if event.type == "code/run-start"), "")


def _ancestry(entries: Sequence[Ran], outer: str) -> list[str]:
    found: list[str] = []
    for ran in entries:
        call = ran.call
        if call.parent is None:
            found.append(f"{ran.name} ran without its parent's token")
        if call.root_call_id != outer:
            found.append(f"{ran.name} ran under the root {call.root_call_id!r}, not {outer!r}")
        if scope_name(call.scope) != "canary":
            found.append(f"{ran.name} ran in the scope {scope_name(call.scope)!r}, not the program's")
        if not call.call_id.startswith(f"{outer}:code:"):
            found.append(f"{ran.name} ran under the id {call.call_id!r}")
    return found


def records(entries: Sequence[Ran], events: Sequence[Event]) -> list[str]:
    """Each body has one start record before it and each start one settle, all before the run's end."""
    starts = [event for event in events if event.type == "tool/code-dispatch-start"]
    settles = [event for event in events if event.type == "tool/code-dispatch"]
    ends = [event for event in events if event.type == "code/run-end"]
    started = [str(event.data["sub_call_id"]) for event in starts]
    settled = [str(event.data["sub_call_id"]) for event in settles]
    found = [f"{ran.name} ran without a start record" for ran in entries if ran.call.call_id not in started]
    found += [f"{name} was started twice" for name in set(started) if started.count(name) > 1]
    found += [f"{name} has {settled.count(name)} settle records" for name in started if settled.count(name) != 1]
    first = {str(event.data["sub_call_id"]): event.seq for event in starts}
    found += [
        f"{event.data['sub_call_id']} settled before it started"
        for event in settles
        if event.seq < first.get(str(event.data["sub_call_id"]), 0)
    ]
    if len(ends) != 1:
        found.append(f"the run has {len(ends)} end records")
    elif any(event.seq > ends[0].seq for event in (*starts, *settles)):
        found.append("a call was recorded after the run's end")
    return found


def _approvals(entries: Sequence[Ran], events: Sequence[Event]) -> list[str]:
    asked = {str(event.data["id"]): str(event.data["call_id"]) for event in events if event.type == "approval/asked"}
    granted = [
        asked.get(str(event.data["id"]))
        for event in events
        if event.type == "approval/decided" and event.data["outcome"] == "allowed-once"
    ]
    return [
        f"{ran.name} ran with {granted.count(ran.call.call_id)} grants of its own"
        for ran in entries
        if ran.name == "asked" and granted.count(ran.call.call_id) != 1
    ]
