"""Policies from a file are ordinary hooks: a denial stays, a question is asked, and nothing else changes."""

from __future__ import annotations

from codemode._policies import PolicyRules, install_policies
from codemode_registry import (
    Allow,
    ApprovalRequest,
    Deny,
    MemoryEventLog,
    Registry,
    Tool,
    ToolAnnotations,
    ToolCall,
)

READS = ToolAnnotations(read_only=True)


def registry_of(*names: str, answer: str = "allowed-once", asked: list[ApprovalRequest] | None = None) -> Registry:
    """A registry of tools that return their own name; those called `read...` say that they only read."""

    async def approver(request: ApprovalRequest) -> str:
        if asked is not None:
            asked.append(request)
        return answer

    registry = Registry(events=MemoryEventLog(), approver=approver)
    for full_name in names:
        namespace, _, name = full_name.rpartition(".")
        registry.register(
            Tool(
                name,
                "",
                lambda arguments, ctx, said=full_name: said,
                parameters={"type": "object"},
                namespace=namespace or None,
                annotations=READS if name.startswith("read") else ToolAnnotations(),
            )
        )
    return registry


async def outcome(registry: Registry, name: str) -> str:
    """`"ran"`, or the code of the failure."""
    result = await registry.call(name, {})
    return result.error.code if result.is_error else "ran"


async def test_the_first_list_that_matches_decides() -> None:
    asked: list[ApprovalRequest] = []
    registry = registry_of("fs.read", "fs.write", "fs.delete", "web.get", asked=asked)
    install_policies(registry, PolicyRules(allow=("fs.*",), deny=("*.delete",), ask=("fs.write", "*.delete")))
    assert await outcome(registry, "fs.read") == "ran"
    assert await outcome(registry, "fs.delete") == "DENIED"
    assert await outcome(registry, "web.get") == "DENIED", "a list of what is allowed is the whole list"
    assert asked == []
    assert await outcome(registry, "fs.write") == "ran"
    assert [request.tool_name for request in asked] == ["fs.write"]
    assert "ask 'fs.write'" in (asked[0].reason or "")


async def test_ask_unless_read_only_asks_about_everything_that_does_not_say_that_it_reads() -> None:
    asked: list[ApprovalRequest] = []
    registry = registry_of("a.read", "a.unknown", "a.known", answer="rejected", asked=asked)
    install_policies(registry, PolicyRules(allow=("a.known",), ask_unless_read_only=True))
    assert await outcome(registry, "a.read") == "ran"
    assert await outcome(registry, "a.known") == "ran"
    assert await outcome(registry, "a.unknown") == "APPROVAL_REJECTED"
    assert [request.tool_name for request in asked] == ["a.unknown"]


async def test_a_tool_that_contradicts_itself_is_no_read() -> None:
    asked: list[ApprovalRequest] = []
    registry = registry_of(asked=asked)
    both = ToolAnnotations(read_only=True, destructive=True)
    registry.register(Tool("both", "", lambda arguments, ctx: 1, parameters={"type": "object"}, annotations=both))
    install_policies(registry, PolicyRules(ask_unless_read_only=True))
    assert await outcome(registry, "both") == "ran"
    assert [request.tool_name for request in asked] == ["both"]


async def test_a_denial_cannot_be_approved_away_and_other_policies_stand() -> None:
    asked: list[ApprovalRequest] = []
    registry = registry_of("a.x", "a.y", asked=asked)

    @registry.pre_execute
    async def own(call: ToolCall, next):  # type: ignore[no-untyped-def]
        await next()
        return Deny("never y") if call.name == "a.y" else Allow()

    install_policies(registry, PolicyRules(deny=("a.x",), ask=("a.y",)))
    assert await outcome(registry, "a.x") == "DENIED"
    assert await outcome(registry, "a.y") == "DENIED"
    assert asked == []


async def test_disposed_rules_are_gone() -> None:
    registry = registry_of("a.x")
    installed = install_policies(registry, PolicyRules(deny=("*",)))
    assert await outcome(registry, "a.x") == "DENIED"
    installed.dispose()
    installed.dispose()
    assert await outcome(registry, "a.x") == "ran"


async def test_rules_of_a_scope_are_for_that_scope() -> None:
    registry = registry_of("a.x")
    scope = registry.scope("s")
    install_policies(registry, PolicyRules(deny=("*",)), scope=scope)
    assert await outcome(registry, "a.x") == "ran"
    assert (await registry.call("a.x", {}, scope=scope)).is_error


def test_run_code_is_met_only_by_its_own_name() -> None:
    rules = PolicyRules(allow=("fs.*",), deny=("*",), ask_unless_read_only=True)
    assert rules.verdict("run_code", read_only=False)[0] == "allow"
    assert PolicyRules(deny=("run_code",)).verdict("run_code", read_only=False)[0] == "deny"
    assert PolicyRules(ask=("run_code",)).verdict("run_code", read_only=False)[0] == "ask"
    assert PolicyRules(deny=("run_code*",)).verdict("x.run_code2", read_only=False)[0] == "allow"


def test_no_rules_are_no_rules() -> None:
    assert not PolicyRules()
    assert PolicyRules().verdict("x", read_only=False) == ("allow", "no rule")
