"""Policies that a file can say: allow, deny and ask by name, and ask unless read-only. Ordinary hooks, nothing more.

The rules, for a tool's full name, first match wins
1. `deny`: denied, by a guard, so no other policy and no approval can undo it.
2. `ask`: a human is asked.
3. `allow`: not asked here.
4. otherwise, with `ask_unless_read_only`: asked, unless the tool says that it only reads.
5. otherwise, if there is an `allow` list: denied. A list of what is allowed is the whole list.
6. otherwise: allowed.

Patterns are shell-style (`fs.*`, `github.delete_*`), matched with case against the full name. `run_code` itself is met
only by a pattern that says exactly `run_code`: rules are about the tools that a program calls.

Only this file's question is added: what other policies of the registry decide (a denial, a question) stands.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from codemode_registry import RUN_CODE, Allow, Ask, Decision, Registry, Scope, Tool, ToolCall

Verdict = Literal["allow", "deny", "ask", "unlisted"]


@dataclass(frozen=True, slots=True)
class PolicyRules:
    """Policies as a project file says them."""

    allow: tuple[str, ...] = ()
    """Patterns that pass without a question."""
    deny: tuple[str, ...] = ()
    """Patterns that are refused for good."""
    ask: tuple[str, ...] = ()
    """Patterns that a human is asked about."""
    ask_unless_read_only: bool = False
    """Ask about every tool that matches no list and does not say that it only reads."""

    def __bool__(self) -> bool:
        return bool(self.allow or self.deny or self.ask or self.ask_unless_read_only)

    def verdict(self, name: str, *, read_only: bool) -> tuple[Verdict, str]:
        """What the rules say about a tool: the verdict, and the rule that gave it."""
        lists: tuple[tuple[Verdict, tuple[str, ...]], ...]
        lists = (("deny", self.deny), ("ask", self.ask), ("allow", self.allow))
        for verdict, patterns in lists:
            for pattern in patterns:
                if _matches(name, pattern):
                    return verdict, f"{verdict} {pattern!r}"
        if name == RUN_CODE:
            return "allow", RUN_CODE
        if self.ask_unless_read_only:
            return ("allow", "read-only") if read_only else ("ask", "not read-only")
        return ("unlisted", "not in the allow list") if self.allow else ("allow", "no rule")


def _matches(name: str, pattern: str) -> bool:
    return name == pattern if RUN_CODE in (name, pattern) else fnmatch.fnmatchcase(name, pattern)


def reads_only(tool: Tool) -> bool:
    """Whether a tool says that it only reads, and does not say the contrary as well."""
    return tool.annotations.read_only is True and tool.annotations.destructive is not True


class InstalledPolicies:
    """Rules that are in force on a registry, until `dispose()`."""

    def __init__(self, registrations: tuple[Callable[[], object], ...]) -> None:
        self._registrations = registrations

    def dispose(self) -> None:
        """Take the rules away; more than once is as good as once."""
        for dispose in self._registrations:
            dispose()


def install_policies(registry: Registry, rules: PolicyRules, *, scope: Scope | None = None) -> InstalledPolicies:
    """Put rules in force on a registry, or on one scope of it.

    Args:
        registry: the registry; its own hooks stay in force beside these.
        rules: the rules.
        scope: only for this scope and what is below it.
    """
    target = registry if scope is None else scope

    def read_only(call: ToolCall) -> bool:
        tool = registry.get(call.name, call.scope)
        return tool is not None and reads_only(tool)

    def refuse(call: ToolCall) -> str | None:
        verdict, rule = rules.verdict(call.name, read_only=read_only(call))
        return f"{call.name} is denied (project policy: {rule})" if verdict in ("deny", "unlisted") else None

    async def question(call: ToolCall, next: Callable[[], Awaitable[Decision]]) -> Decision:
        decision = await next()
        verdict, rule = rules.verdict(call.name, read_only=read_only(call))
        if verdict == "ask" and isinstance(decision, Allow):
            return Ask(f"project policy: {rule}")
        return decision

    return InstalledPolicies((target.guard(refuse).dispose, target.pre_execute(question, prepend=True).dispose))
