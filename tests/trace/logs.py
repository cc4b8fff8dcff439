"""Event logs for the tests of the trace: the records a real run writes, at any length and with any content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from codemode_registry import Event

BEGAN = 1_790_000_000_000
PROGRAM = """\
rows = []
for page in range(3):
    rows += await tools.search(page=page)
return len(rows)
"""


class Writer:
    """Numbers and times records as a log does."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def append(self, at: int, kind: str, **data: Any) -> int:
        """Add a record `at` milliseconds after the beginning."""
        self.events.append(Event(len(self.events) + 1, BEGAN + at, kind, data))
        return len(self.events)


def run_log(
    calls: int,
    *,
    result: str = "row",
    failing: Sequence[int] = (),
    denied: Sequence[int] = (),
    unsettled: Sequence[int] = (),
    code: str = PROGRAM,
    call_id: str = "outer",
    description: str = "count the rows",
) -> list[Event]:
    """The events of one run with that many sub-calls, from 1; those named fail, are denied, or never settle."""
    log = Writer()
    log.append(0, "tool/call", call_id=call_id, root_call_id=call_id, name="run_code", arguments={"code": code})
    log.append(
        1,
        "code/run-start",
        call_id=call_id,
        run_id=f"run-{call_id}",
        code_sha256="0" * 64,
        description=description,
        tools=["search"],
        limits={"max_calls": 1000},
        isolation="sealed-process",
    )
    for n in range(1, calls + 1):
        at = 2 + 5 * n
        same = {
            "root_call_id": call_id,
            "parent_call_id": call_id,
            "sub_call_id": f"{call_id}:code:{n}",
            "name": "search",
            "arguments": {"page": n},
            "line": 3,
        }
        start = log.append(at, "tool/code-dispatch-start", **same)
        if n in denied:
            log.append(
                at, "approval/asked", id=f"q{n}", tool_name="search", call_id=same["sub_call_id"], reason="costly"
            )
            log.append(at + 1, "approval/decided", id=f"q{n}", outcome="rejected")
        if n in unsettled:
            continue
        code_of = {**dict.fromkeys(failing, "TOOL_ERROR"), **dict.fromkeys(denied, "APPROVAL_REJECTED")}.get(n)
        log.append(
            at + 4,
            "tool/code-dispatch",
            **same,
            start_seq=start,
            is_error=code_of is not None,
            content=[{"type": "text", "text": f"{result} {n}"}],
            timing={"queued": 0.5, "before": 0.25, "body": 3.0, "after": 0.25},
            **({"error": {"message": f"no page {n}", "code": code_of, "name": code_of}} if code_of else {}),
        )
    end = 10 + 5 * calls
    usage = {"wall_seconds": end / 1000, "compute_seconds": 0.01, "peak_memory_bytes": 20 << 20, "calls": calls}
    log.append(end, "code/run-end", call_id=call_id, run_id=f"run-{call_id}", status="ok", usage=usage)
    content = [{"type": "text", "text": f"{calls}"}]
    log.append(end + 1, "tool/result", call_id=call_id, call_seq=1, is_error=False, content=content)
    return log.events
