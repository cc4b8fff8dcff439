"""The caller's half of a battery: attempts derived from what is registered, held against direct calls.

For each tool that a direct call was refused: every form of the same call from a program, and the same frames from a
child with a broken dialect. For each tool that the scope cannot see: every spelling of its name. For each call that
ran: the same value, the same number of questions. For each rule: did it ever speak.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from codemode._code_mode import CodeMode
from codemode._result import RunResult
from codemode.testing._approver import ScriptedApprover
from codemode.testing.battery._baseline import Outcome, baseline, chain_of, every_tool, hides, value_of
from codemode.testing.battery._checks import records
from codemode.testing.battery._forgeries import RAW, BrokenDialect
from codemode.testing.battery._ledger import Ledger, Ran, probed
from codemode.testing.battery._report import Finding, evidence_of
from codemode_bridge import CodeRuntime, Limits, ProcessRuntime
from codemode_registry import MemoryEventLog, Registry, Scope, ToolSuccess, thaw

MAX_REFUSED = 12
"""Refused samples of one tool that are tried from programs; each is tried in every form."""
MAX_ALLOWED = 4
"""Allowed samples of one tool whose value and questions are compared."""
_LIMITS = Limits(wall_seconds=60.0, max_calls=100_000, source_bytes=8 * 1024 * 1024)

_WAYS = """\
import asyncio, functools, json
cases = json.loads({cases!r})
async def tried(make):
    try:
        await make()
    except Exception:
        pass
def ways(name, args):
    tool = tools[name]
    yield lambda: tool(args)
    yield lambda: tools[name](args)
    yield functools.partial(tool, args)
    if all(isinstance(key, str) for key in args):
        yield lambda: tool(**args)
    async def raced():
        await asyncio.gather(*(tool(args) for _ in range(5)), return_exceptions=True)
    yield raced
    async def late():
        changing = dict(args)
        call = asyncio.create_task(tool(changing))
        await asyncio.sleep(0)
        changing.clear()
        await call
    yield late
for name, args in cases:
    for way in ways(name, args):
        await tried(way)
return len(cases)
"""
_HIDDEN = """\
import json
tried = 0
for name in json.loads({names!r}):
    short = name.rpartition(".")[2]
    for spelling in (name, short, name.upper(), name + " ", "global." + name, name.replace("_", "-"), name + "\\u200b"):
        for find in (lambda: tools[spelling], lambda: getattr(tools, spelling)):
            tried += 1
            try:
                await find()({{}})
            except Exception:
                pass
return tried
"""
_FRAMES = "send(*(call(n, name, args, approved=True, mode='native') for n, (name, args) in enumerate({cases}, 1)))"
_COMPARED = """\
import json
seen = []
for name, args in json.loads({cases!r}):
    try:
        seen.append(["got", await tools[name](args)])
    except Exception as error:
        seen.append(["error", str(error)])
return seen
"""


async def own_findings(
    registry: Registry, scope: Scope | None, runtime: ProcessRuntime, examples: Mapping[str, Sequence[Any]]
) -> list[Finding]:
    """Make every attempt that follows from what is registered.

    Args:
        registry: the caller's; no body of its tools runs.
        scope: whose view a program has.
        runtime: where programs run.
        examples: arguments by full name, tried before the battery's own samples.
    """
    unknown = set(examples) - {tool.full_name for tool in registry.tools(scope)}
    if unknown:
        raise ValueError(f"examples name no tool that the scope sees: {', '.join(sorted(unknown))}")
    ledger = Ledger()
    tools = every_tool(registry)
    values = {id(tool): value_of(tool) for tool in tools}
    with probed(tools, ledger, lambda tool: values[id(tool)]):
        outcomes = await baseline(registry, scope, ledger, examples)
        bench = _Bench(registry, scope, runtime, ledger)
        findings = [await bench.refused(name, given) for name, given in _by_tool(outcomes, refused=True)]
        findings += [await bench.compared(name, given) for name, given in _by_tool(outcomes, refused=False)]
        hidden = sorted({tool.full_name for tool in tools} - {tool.full_name for tool in registry.tools(scope)})
        if hidden:
            findings.append(await bench.hidden(hidden))
    return [*findings, *_leaks(outcomes), *_rules(registry, scope, outcomes)]


def _by_tool(outcomes: Iterable[Outcome], *, refused: bool) -> list[tuple[str, list[Outcome]]]:
    grouped: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.refused is refused:
            grouped.setdefault(outcome.name, []).append(outcome)
    return [(name, given[: MAX_REFUSED if refused else MAX_ALLOWED]) for name, given in grouped.items()]


class _Bench:
    """Runs programs over the caller's registry and writes down what ran."""

    def __init__(self, registry: Registry, scope: Scope | None, runtime: ProcessRuntime, ledger: Ledger) -> None:
        self.registry = registry
        self.scope = scope
        self.runtime = runtime
        self.ledger = ledger

    async def _run(
        self, runtime: CodeRuntime, program: str, approver: ScriptedApprover
    ) -> tuple[RunResult, list[Ran], MemoryEventLog]:
        mark, log = len(self.ledger), MemoryEventLog()
        async with CodeMode(
            self.registry, scope=self.scope, runtime=runtime, limits=_LIMITS, events=log, approver=approver
        ) as cm:
            result = await cm.run(program, description="an attempt of the bypass battery")
        return result, self.ledger.since(mark), log

    async def refused(self, name: str, given: Sequence[Outcome]) -> Finding:
        """Every form of calls that were refused directly."""
        cases = [[outcome.name, outcome.arguments] for outcome in given]
        program = _WAYS.format(cases=json.dumps(cases))
        result, ran, log = await self._run(self.runtime, program, ScriptedApprover())
        raw = RAW + _FRAMES.format(cases=repr(cases)) + "\nreturn listen()"
        _, forged, forged_log = await self._run(BrokenDialect(self.runtime), raw, ScriptedApprover())
        about = (
            f"Calls {name} from programs and by forged frames, with {len(given)} arguments that are refused directly."
        )
        refused = [outcome.arguments for outcome in given]
        wrong = [f"{entry.name}({json.dumps(entry.arguments)}) ran" for entry in ran if entry.arguments in refused]
        wrong += [f"{entry.name}({json.dumps(entry.arguments)}) ran by a forged frame" for entry in forged]
        if not wrong and (stopped := _stopped(result)):
            return _unmade(f"own.refused.{name}", about, program, stopped)
        wrong += [*records(ran, log.events), *records(forged, forged_log.events)]
        codes = ", ".join(sorted({outcome.code for outcome in given}))
        return _finding(f"own.refused.{name}", codes, about, program, wrong, log)

    async def compared(self, name: str, given: Sequence[Outcome]) -> Finding:
        """The value that a program gets, and the questions that it costs, against the direct call's."""
        cases = [[outcome.name, outcome.arguments] for outcome in given]
        approver = ScriptedApprover(otherwise="rejected")
        program = _COMPARED.format(cases=json.dumps(cases))
        about = f"Compares what a program and a direct call get from {name}."
        result, ran, log = await self._run(self.runtime, program, approver)
        if stopped := _stopped(result):
            return _unmade(f"own.compared.{name}", about, program, stopped)
        wrong = records(ran, log.events)
        seen = cast("list[tuple[str, Any]]", result.value)
        for outcome, (kind, value) in zip(given, seen, strict=True):
            direct = outcome.result
            if not isinstance(direct, ToolSuccess) and kind == "got":
                wrong.append(f"a program got a value where the direct call failed ({outcome.code})")
            elif isinstance(direct, ToolSuccess) and kind == "got" and value != thaw(direct.value):
                wrong.append("a program got another value than the direct call's canonical one")
        asked = len(approver.requests)
        if asked:
            wrong.append(f"{asked} calls asked only when a program made them")
        aims_at = "approval" if asked else "review"
        return _finding(f"own.compared.{name}", aims_at, about, program, wrong, log)

    async def hidden(self, names: Sequence[str]) -> Finding:
        """Tools that exist and that this scope cannot see."""
        program = _HIDDEN.format(names=json.dumps(names))
        _, ran, log = await self._run(self.runtime, program, ScriptedApprover(otherwise="allowed-once"))
        frames: list[list[Any]] = [[name, {}] for name in names]
        raw = RAW + _FRAMES.format(cases=repr(frames)) + "\nreturn listen()"
        _, forged, _ = await self._run(BrokenDialect(self.runtime), raw, ScriptedApprover(otherwise="allowed-once"))
        wrong = [f"{entry.name} ran, which the scope cannot see" for entry in (*ran, *forged) if entry.name in names]
        about = f"Calls {len(names)} tools that this scope cannot see, under many spellings and by forged frames."
        return _finding("own.hidden", "restriction", about, program, wrong, log)


def _stopped(result: RunResult) -> str | None:
    """Why an attempt's program did not get to its end; None where it did."""
    return None if result.ok else result.text[:300]


def _unmade(name: str, about: str, tried: str, why: str) -> Finding:
    return Finding(
        attempt=name,
        aims_at="run_code",
        about=about,
        tried=tried,
        verdict="unexercised",
        happened=f"the attempt could not be made; does a rule refuse run_code itself? {why}",
    )


def _leaks(outcomes: Iterable[Outcome]) -> list[Finding]:
    """Reviews that change what the model reads, and leave the value to every program."""
    found: dict[str, Finding] = {}
    for outcome in outcomes:
        if outcome.name not in found and hides(outcome):
            found[outcome.name] = Finding(
                attempt=f"own.content_only.{outcome.name}",
                aims_at="review",
                about="A review that takes text out of a result must take it out of the value as well.",
                tried=f"return await tools[{outcome.name!r}]({json.dumps(outcome.arguments)})",
                verdict="bypass",
                happened=(
                    "the review replaced the content and kept the value: the model does not see it, "
                    "a program does; use Accept(value=...) or Block(...)"
                ),
            )
    return list(found.values())


def _rules(registry: Registry, scope: Scope | None, outcomes: Sequence[Outcome]) -> list[Finding]:
    """Guards and policies that no sample made speak, about which nothing is known."""
    calls = [outcome.call for outcome in outcomes if outcome.call is not None]
    findings: list[Finding] = []
    chain = chain_of(registry, scope)
    for guard in [hook.fn for layer in chain for hook in layer.guards]:
        spoke = sum(_speaks(guard, call) for call in calls)
        findings.append(_spoken("guard", guard, spoke, len(calls)))
    if any(layer.policies for layer in chain):
        spoke = sum(outcome.asked or outcome.code == "DENIED" for outcome in outcomes)
        for policy in [hook.fn for layer in chain for hook in layer.policies]:
            findings.append(_spoken("policy", policy, spoke, len(outcomes)))
    return findings


def _speaks(guard: Callable[..., Any], call: Any) -> bool:
    try:
        said = guard(call)
    except Exception:
        return True  # a guard that raises denies
    if hasattr(said, "close"):
        said.close()
    return said is not None


def _spoken(kind: str, rule: Callable[..., Any], spoke: int, calls: int) -> Finding:
    name = getattr(rule, "__qualname__", type(rule).__name__).rpartition(".")[2]
    return Finding(
        attempt=f"own.{kind}.{name}",
        aims_at=kind,
        about=f"Whether the {kind} {name} ever refuses or asks, over the battery's sample calls.",
        tried=f"{calls} direct calls with sample arguments",
        verdict="held" if spoke else "unexercised",
        happened=f"it spoke on {spoke} of {calls} calls"
        if spoke
        else f"it let all {calls} sample calls pass; give examples={{tool: [arguments]}} that it should refuse",
    )


def _finding(name: str, aims_at: str, about: str, tried: str, wrong: Sequence[str], log: MemoryEventLog) -> Finding:
    return Finding(
        attempt=name,
        aims_at=aims_at,
        about=about,
        tried=tried,
        verdict="bypass" if wrong else "held",
        happened="; ".join(list(dict.fromkeys(wrong))[:5]) or "it got nothing that a direct call does not get",
        evidence=evidence_of(log.events),
    )
