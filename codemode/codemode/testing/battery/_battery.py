"""A battery, from beginning to end: the caller's own rules first, then the pipeline that they stand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from codemode.testing.battery._own import own_findings
from codemode.testing.battery._pipeline import pipeline_findings
from codemode.testing.battery._report import BatteryReport
from codemode_bridge import ProcessRuntime
from codemode_registry import Registry, Scope


async def bypass_battery(
    registry: Registry,
    scope: Scope | None = None,
    *,
    examples: Mapping[str, Sequence[Any]] | None = None,
    pipeline: bool = True,
    runtime: ProcessRuntime | None = None,
) -> BatteryReport:
    """Try to get past every guard, policy, restriction, approval and review of a registry from inside programs.

    No tool runs: while the battery lasts, every body is replaced by one that writes down that it ran. Policies, guards
    and reviews do run, on sample calls; a rule with side effects has them. Nothing else may use the registry meanwhile.

    Args:
        registry: whose rules are tried.
        scope: whose view programs have; None for the global one.
        examples: arguments that rules should refuse, by the tool's full name; tried before the battery's own samples.
        pipeline: also make the attempts on the pipeline itself, over a registry whose rules are known.
        runtime: where programs run; a sealed child each, of a runtime of its own, where None.

    Returns:
        One finding for each attempt. `report.ok`, `report.text`, `report.raise_for_bypass()`.

    Raises:
        RuntimeUnavailableError: no sealed child can be had.
        ValueError: `examples` names a tool that the scope does not see.
    """
    if runtime is None:
        async with ProcessRuntime() as own:
            return await bypass_battery(registry, scope, examples=examples, pipeline=pipeline, runtime=own)
    findings = await own_findings(registry, scope, runtime, examples or {})
    if pipeline:
        findings += await pipeline_findings(runtime)
    return BatteryReport(tuple(findings))
