"""Computing under the dialect: the workloads of `tests.dialect.bench`, and those of them that a peer can run."""

from __future__ import annotations

import math
import textwrap
import time
import warnings
from collections.abc import Callable
from typing import Any

from codemode_guest.dialect import compile_program, make_globals
from tests.bench.measuring import BASELINE, OURS, Row, Sample, geometric_mean, interleaved
from tests.bench.peers import Peer
from tests.bench.settings import Settings
from tests.dialect.bench import TYPICAL, WORKLOADS, measure
from tests.dialect.driver import Text, ToolCallError, Tools


def compute(settings: Settings) -> list[Row]:
    """CPU time of each workload over that of plain CPython: the best of several on each side, in turn."""
    repeat = settings.count(7, 3)
    ours: dict[str, float] = {}
    theirs: dict[str, dict[str, float]] = {peer.name: {} for peer in settings.peers}
    unable: dict[str, int] = dict.fromkeys(theirs, 0)
    rows: list[Row] = []
    for name, source in WORKLOADS.items():
        plain, dialect = measure(source, repeat)
        ours[name] = dialect / plain
        rows.append(_row(name, OURS, dialect / plain))
        for peer in settings.peers:
            spent = _of_peer(peer, source, 1 if settings.quick else 2)
            if spent is None:
                unable[peer.name] += 1
            else:
                theirs[peer.name][name] = spent / plain
                rows.append(_row(name, peer.name, spent / plain))
    title = "compute, geometric mean of all workloads"
    mean = geometric_mean(ours.values())
    summary = [
        Row(
            title,
            OURS,
            "x CPython",
            mean,
            max(ours.values()),
            min(ours.values()),
            len(ours),
            target=1.10,
            target_p99=1.4,
        )
    ]
    for peer_name, ratios in theirs.items():
        if ratios:
            note = f"{unable[peer_name]} of {len(ours)} workloads do not run; codemode on the rest: "
            note += f"{geometric_mean(ours[name] for name in ratios):.2f}"
            peer_mean = geometric_mean(ratios.values())
            row = Row(
                title,
                peer_name,
                "x CPython",
                peer_mean,
                max(ratios.values()),
                min(ratios.values()),
                len(ratios),
                note=note,
            )
            row.ours_to_it = geometric_mean(ours[name] for name in ratios) / peer_mean
            summary.append(row)
    return [*summary, *rows]


def _row(workload: str, subject: str, ratio: float) -> Row:
    return Row("compute, each workload", f"{workload}: {subject}", "x CPython", ratio, ratio, ratio, 1)


def _of_peer(peer: Peer, source: str, repeat: int) -> float | None:
    """Best seconds, or None where the peer cannot run it or gives another answer."""
    program = _as_expression(source)
    clock = time.thread_time if peer.in_host else time.perf_counter
    best = math.inf
    try:
        for _ in range(repeat):
            began = clock()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                peer.run(program)
            best = min(best, clock() - began)
    except Exception:
        return None
    return best


def _as_expression(source: str) -> str:
    """The workload with its `return` as a last expression, which is how peers give a value."""
    *before, last = source.strip().split("\n")
    return "\n".join([*before, last.removeprefix("return ")])


def compiling(settings: Settings) -> list[Row]:
    """Milliseconds from a text to code, and of what a run needs besides."""
    rows: list[Row] = []
    body = textwrap.indent(TYPICAL.replace("return {", "result = {"), "    ")
    long = "\n".join(f"async def part_{n}():\n{body}" for n in range(10))
    for lines, source in ((30, TYPICAL), (300, long)):
        plain = _wrapped(source)
        samples: list[Sample] = [
            _timed(OURS, lambda source=source: compile_program(source)),
            _timed(BASELINE, lambda plain=plain: compile(plain, "<program>", "exec")),
        ]
        for peer in settings.peers:
            step = peer.compile(plain)
            if step is not None and _works(step):
                samples.append(_timed(peer.name, step))
        readings = interleaved(f"compile a program of {lines} lines (CPU)", "ms", samples, settings.count(15, 5))
        rows += readings.rows(target=2.0 if lines == 30 else None)
    program = compile_program(TYPICAL)
    samples = [_timed(OURS, lambda: make_globals(program, tools=Tools(), tool_call_error=ToolCallError, stdout=Text()))]
    rows += interleaved("the names of a run (CPU)", "ms", samples, settings.count(50, 10)).rows()
    return rows


def _wrapped(source: str) -> str:
    return "async def main():\n" + textwrap.indent(source, "    ")


def _works(step: Callable[[], object]) -> bool:
    try:
        step()
    except Exception:
        return False
    return True


def _timed(subject: str, action: Callable[[], Any]) -> Sample:
    def sample() -> dict[str, list[float]]:
        began = time.thread_time()
        action()
        return {subject: [(time.thread_time() - began) * 1000]}

    return sample
