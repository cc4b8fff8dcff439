"""The battery on registries of one's own: it finds what leaks, passes what holds, and runs nobody's tools."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from codemode import Accept, Allow, Ask, Decision, Deny, ProcessRuntime, Registry, Scope, Tool
from codemode.testing import BatteryReport, bypass_battery
from codemode.testing.battery._forgeries import FORGERIES
from codemode.testing.battery._host import HOST
from codemode.testing.battery._pipeline import pipeline_findings
from codemode.testing.battery._programs import PROGRAMS

Next = Callable[[], Awaitable[Any]]


class Shop:
    """A registry with tools whose bodies must never run while it is audited."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.registry = Registry()

        @self.registry.tool
        async def refund(order: int, euros: float) -> str:
            """Pay an order back."""
            self.ran.append("refund")
            return "done"

        @self.registry.tool
        def read(path: str) -> dict[str, str]:
            """Read a file."""
            self.ran.append("read")
            return {}

    async def audit(self, scope: Scope | None = None, **options: Any) -> BatteryReport:
        return await bypass_battery(self.registry, scope, pipeline=False, **options)


async def test_rules_that_hold_are_held() -> None:
    shop = Shop()

    @shop.registry.guard
    def small(call: Any) -> str | None:
        return "too much" if call.name == "refund" and call.arguments["euros"] > 50 else None

    @shop.registry.pre_execute
    async def below(call: Any, next: Next) -> Decision:
        return Deny("absolute") if call.name == "read" and call.arguments["path"].startswith("/") else await next()

    report = await shop.audit()
    assert report.ok, report.text
    assert report.unexercised == ()
    assert {finding.attempt for finding in report.findings} == {
        "own.refused.refund",
        "own.refused.read",
        "own.compared.refund",
        "own.compared.read",
        "own.guard.small",
        "own.policy.below",
    }
    report.raise_for_bypass()


async def test_a_rule_that_trusts_programs_is_a_bypass() -> None:
    shop = Shop()

    @shop.registry.guard
    def only_the_model(call: Any) -> str | None:
        return "too much" if call.parent is None and call.name == "refund" and call.arguments["euros"] > 50 else None

    report = await shop.audit()
    (finding,) = report.bypasses
    assert (finding.attempt, finding.verdict) == ("own.refused.refund", "bypass")
    assert "refund" in finding.happened
    assert {event["type"] for event in finding.evidence} >= {"tool/code-dispatch-start", "code/run-end"}
    with pytest.raises(AssertionError, match=r"own\.refused\.refund"):
        report.raise_for_bypass()


async def test_a_policy_that_trusts_programs_is_a_bypass() -> None:
    shop = Shop()

    @shop.registry.pre_execute
    async def ask_the_model_only(call: Any, next: Next) -> Decision:
        return Ask("sure?") if call.parent is None and call.name != "run_code" else Allow()

    assert {finding.attempt for finding in (await shop.audit()).bypasses} == {"own.refused.refund", "own.refused.read"}


async def test_content_that_is_replaced_while_the_value_is_kept_is_a_leak() -> None:
    shop = Shop()

    @shop.registry.post_execute
    async def redact(call: Any, result: Any, next: Next) -> Any:
        return Accept(content="[redacted]") if not result.is_error else await next()

    report = await shop.audit()
    assert {finding.attempt for finding in report.bypasses} == {"own.content_only.refund", "own.content_only.read"}


async def test_a_value_that_is_replaced_is_no_leak() -> None:
    shop = Shop()

    @shop.registry.post_execute
    async def redact(call: Any, result: Any, next: Next) -> Any:
        return Accept(value="[redacted]") if call.name == "refund" and not result.is_error else await next()

    report = await shop.audit()
    assert report.ok, report.text


async def test_tools_that_the_scope_cannot_see_stay_out_of_reach() -> None:
    shop = Shop()
    scope = shop.registry.scope("agent")
    scope.restrict(deny=["refund"])
    other = shop.registry.scope("other")
    other.register(Tool("theirs", "Not ours.", lambda arguments, ctx: 1, parameters={"type": "object"}))
    report = await shop.audit(scope)
    assert report.ok, report.text
    (finding,) = [finding for finding in report.findings if finding.attempt == "own.hidden"]
    assert "2 tools" in finding.about


async def test_a_rule_that_no_sample_wakes_is_said_to_be_unknown_until_an_example_does() -> None:
    shop = Shop()

    @shop.registry.guard
    def order_4711(call: Any) -> str | None:
        return "that one stays" if call.name == "refund" and call.arguments["order"] == 4711 else None

    assert [finding.attempt for finding in (await shop.audit()).unexercised] == ["own.guard.order_4711"]
    report = await shop.audit(examples={"refund": [{"order": 4711, "euros": 1.0}]})
    assert report.ok
    assert report.unexercised == ()


async def test_no_body_runs_and_everything_is_put_back() -> None:
    shop = Shop()
    scope = shop.registry.scope("agent")
    scope.present_as("code")
    bodies = [tool.execute for tool in shop.registry.tools()]
    await shop.audit(scope)
    assert shop.ran == []
    assert [tool.execute for tool in shop.registry.tools()] == bodies
    assert (await shop.registry.call("refund", {"order": 1, "euros": 1.0}, scope=scope)).error.code == "UNKNOWN_TOOL"
    assert (await shop.registry.call("refund", {"order": 1, "euros": 1.0})).value == "done"


async def test_an_example_for_no_tool_is_an_error() -> None:
    with pytest.raises(ValueError, match="nobody"):
        await Shop().audit(examples={"nobody": [{}]})


async def test_a_report_is_a_table_and_json() -> None:
    report = await Shop().audit()
    assert (
        report.text.splitlines()[0]
        == f"{len(report.findings)} attempts: {len(report.findings)} held, 0 got past, 0 rules never spoke"
    )
    assert json.loads(json.dumps(report.to_json()))["ok"] is True


async def test_the_pipeline_holds_against_every_attempt() -> None:
    async with ProcessRuntime() as runtime:
        findings = await pipeline_findings(runtime)
    assert len(findings) == len({finding.attempt for finding in findings}) >= 40
    assert [(finding.attempt, finding.happened) for finding in findings if finding.verdict != "held"] == []


def test_each_attempt_says_what_it_does() -> None:
    rows = [*PROGRAMS, *FORGERIES, *HOST]
    assert all(row.about.endswith(".") and len(row.about) > 20 for row in rows)
    assert {row.aims_at for row in rows} >= {
        "guard",
        "policy",
        "approval",
        "restriction",
        "mode",
        "review",
        "event log",
    }


async def test_a_rule_that_refuses_every_program_is_no_proof_of_anything() -> None:
    shop = Shop()

    @shop.registry.guard
    def trips_over_run_code(call: Any) -> str | None:
        return "too much" if call.arguments["euros"] > 50 else None

    report = await shop.audit()
    assert report.ok
    assert "own.compared.refund" in {finding.attempt for finding in report.unexercised}
    assert "run_code" in report.text
