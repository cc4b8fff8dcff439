"""The product's own half of a battery: all attempts on canaries, whose truth is known.

It proves the pipeline that the caller's rules stand on. Each attempt has a canary of its own: none excuses another.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from codemode._code_mode import CodeMode
from codemode._result import RunResult
from codemode.testing.battery._canary import SECRET, Canary
from codemode.testing.battery._checks import problems
from codemode.testing.battery._forgeries import FORGERIES, BrokenDialect, Forgery
from codemode.testing.battery._host import HOST, HostAttempt
from codemode.testing.battery._programs import PROGRAMS, ProgramAttempt
from codemode.testing.battery._report import Finding, evidence_of
from codemode_bridge import CodeRuntime, Limits, ProcessRuntime
from codemode_registry import Event

RUN_SECONDS = 20.0
"""No attempt needs more; one that hangs is a finding, not a hang of the battery."""


async def pipeline_findings(runtime: ProcessRuntime, *, only: Sequence[str] | None = None) -> list[Finding]:
    """Make every attempt on the pipeline.

    Args:
        runtime: where programs run, with the dialect and without.
        only: the names of the attempts to make; all where None.
    """
    findings: list[Finding] = []
    with _quiet():
        for program in PROGRAMS:
            if only is None or program.name in only:
                findings.append(await _program(program, runtime))
        for forgery in FORGERIES:
            if only is None or forgery.name in only:
                findings.append(await _forgery(forgery, runtime))
        for attempt in HOST:
            if only is None or attempt.name in only:
                findings.append(await _host(attempt, runtime))
    return findings


@contextmanager
def _quiet() -> Generator[None]:
    """Guards that raise and logs that are full are what the canaries are for: nobody need be warned of them."""
    logger = logging.getLogger("codemode.registry")

    def silent(record: logging.LogRecord) -> bool:
        return False

    logger.addFilter(silent)
    try:
        yield
    finally:
        logger.removeFilter(silent)


async def _program(row: ProgramAttempt, runtime: CodeRuntime) -> Finding:
    canary = Canary()
    result = await _run(canary, runtime, row.program, row.limits)
    found = problems(canary, result, canary.ledger.entries, canary.log.events)
    if row.limits is not None and len(canary.ledger) > row.limits.max_calls:
        found.append(f"{len(canary.ledger)} bodies ran where {row.limits.max_calls} calls are allowed")
    if not found and not row.came_to(result):
        found.append(f"the program did not come to what it must: {result.text[:300]}")
    return _finding(row.name, row.aims_at, row.about, row.program, found, canary.log.events)


async def _forgery(row: Forgery, runtime: ProcessRuntime) -> Finding:
    canary = Canary()
    result = await _run(canary, BrokenDialect(runtime), row.code, row.limits)
    found = problems(canary, result, canary.ledger.entries, canary.log.events)
    if row.limits is not None and len(canary.ledger) > row.limits.max_calls:
        found.append(f"{len(canary.ledger)} bodies ran where {row.limits.max_calls} calls are allowed")
    if row.name == "frames.after_done" and canary.ledger.entries:
        found.append("a body ran for a call that came after the program's end")
    again = await _run(canary, runtime, "return await tools.open(n=1)", None)
    if not again.ok:
        found.append(f"the next program did not run: {again.text[:200]}")
    return _finding(row.name, row.aims_at, row.about, row.code, found, canary.log.events)


async def _host(row: HostAttempt, runtime: CodeRuntime) -> Finding:
    canary = Canary()
    try:
        wrong = await row.attempt(canary, runtime)
    except Exception as error:
        wrong = f"the attempt broke the host: {type(error).__name__}: {error}"
    found = [wrong] if wrong else []
    if SECRET in json.dumps([event.data for event in canary.log.events], default=str):
        found.append("a withheld value is in the log")
    tried = (row.attempt.__doc__ or row.about).strip()
    return _finding(row.name, row.aims_at, row.about, tried, found, canary.log.events)


async def _run(canary: Canary, runtime: CodeRuntime, program: str, limits: Limits | None) -> RunResult:
    chosen = limits if limits is not None else Limits(wall_seconds=RUN_SECONDS)
    async with CodeMode(canary.registry, scope=canary.scope, runtime=runtime, limits=chosen) as cm:
        return await cm.run(program)


def _finding(name: str, aims_at: str, about: str, tried: str, found: Sequence[str], events: Sequence[Event]) -> Finding:
    return Finding(
        attempt=name,
        aims_at=aims_at,
        about=about,
        tried=tried,
        verdict="bypass" if found else "held",
        happened="; ".join(dict.fromkeys(found)) or "it got nothing",
        evidence=evidence_of(events),
    )
