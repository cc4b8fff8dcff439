"""A registry whose rules are known to the last detail, so that any way around one of them shows.

The truth about it stands in `may_run`, written independently of the pipeline: a body that ran although the truth says
that it may not, a secret that a program saw, a call without its records, is a bypass whatever the pipeline believes.

| tool | its rule |
|---|---|
| open, exclusive | none |
| guarded | a guard denies amounts over 50 |
| policed | a policy denies keys that begin with "secret" |
| asked | a policy asks; the human allows the key "yes" once, and rejects the rest |
| asked_guarded | the human allows it, and a guard denies it all the same |
| hidden | a restriction takes it from the scope |
| neighbour, below | registered in another scope; in a scope below |
| raising_guard, async_guard, odd_guard | their guard raises, is async, answers True: all of that denies |
| raising_policy, odd_policy | their policy raises, answers "yes": all of that denies |
| blocked, replaced | a review blocks the secret, or puts "clean" in its place |
| mistyped | its value breaks its output schema, so nobody gets it |
| slow | times out after 50 ms |
| nesting | its body calls `guarded` with 99, as its own sub-call |
| typed | takes an integer from 0 to 9 and nothing else |
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import anyio

from codemode.testing.battery._ledger import Ledger, Ran
from codemode_registry import (
    Accept,
    Allow,
    ApprovalRequest,
    Ask,
    Block,
    Decision,
    Deny,
    MemoryEventLog,
    Registry,
    Scope,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
)

SECRET = "canary-secret-5f0c2b"
"""No program may ever see this text."""

_NUMBER = {"type": "integer"}
_TEXT = {"type": "string"}
_OBJECT: Mapping[str, Any] = {"type": "object", "additionalProperties": False}


def _object(**properties: Any) -> dict[str, Any]:
    return {**_OBJECT, "properties": properties, "required": list(properties)}


SCHEMAS: Mapping[str, dict[str, Any]] = {
    "open": {**_OBJECT, "properties": {"n": _NUMBER}},
    "exclusive": {**_OBJECT, "properties": {"n": _NUMBER}},
    "guarded": _object(amount={"type": "number"}),
    "policed": _object(key=_TEXT),
    "asked": _object(key=_TEXT),
    "asked_guarded": _object(),
    "hidden": _object(),
    "raising_guard": _object(),
    "async_guard": _object(),
    "odd_guard": _object(),
    "raising_policy": _object(),
    "odd_policy": _object(),
    "blocked": _object(),
    "replaced": _object(),
    "mistyped": _object(),
    "slow": _object(),
    "nesting": _object(),
    "typed": _object(n={"type": "integer", "minimum": 0, "maximum": 9}),
}
_NEVER = frozenset(
    (
        "asked_guarded",
        "hidden",
        "neighbour",
        "below",
        "raising_guard",
        "async_guard",
        "odd_guard",
        "raising_policy",
        "odd_policy",
    )
)
_SECRETIVE = frozenset(("blocked", "replaced"))


def may_run(name: str, arguments: Any) -> bool:
    """The truth: whether this body may run for a call from the canary's scope."""
    if name in _NEVER or name not in SCHEMAS:
        return False
    given = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
    if name == "guarded":
        amount = given.get("amount")
        return isinstance(amount, int | float) and amount <= 50
    if name == "policed":
        return not str(given.get("key", "secret")).startswith("secret")
    if name == "asked":
        return bool(given.get("key") == "yes")
    if name == "typed":
        return type(given.get("n")) is int and 0 <= given["n"] <= 9 and len(given) == 1
    return True


class Canary:
    """One such registry, with its log, its approver and what really ran."""

    def __init__(self) -> None:
        self.log = MemoryEventLog()
        self.ledger = Ledger()
        self.completed: list[str] = []
        """Names of slow bodies that came to their end, which they must not."""
        self.waiting = anyio.Event()
        """Set when a slow body is in the middle."""
        self.registry = Registry(events=self.log, approver=self._approve, drain_seconds=1.0)
        for name, schema in SCHEMAS.items():
            self.registry.register(self._tool(name, schema))
        self.scope = self.registry.scope("canary")
        self.scope.restrict(deny=["hidden"])
        self.neighbour = self.registry.scope("neighbour")
        self.neighbour.register(self._tool("neighbour", _object()))
        self.below = self.scope.scope("below")
        self.below.register(self._tool("below", _object()))
        self._rules(self.registry)

    def _tool(self, name: str, schema: dict[str, Any]) -> Tool:
        async def execute(arguments: Mapping[str, Any], ctx: ToolContext) -> Any:
            self.ledger.write(tool, arguments, ctx)
            if name == "slow":
                self.waiting.set()
                await anyio.sleep(5)
                self.completed.append(name)
            elif name == "nesting":
                result = await self.registry.call("guarded", {"amount": 99}, scope=self.scope, parent=ctx.call.token)
                return result.is_error
            return SECRET if name in _SECRETIVE else dict(arguments) or name

        tool = Tool(
            name,
            f"The battery's tool {name}.",
            execute,
            parameters=schema,
            output=_NUMBER if name == "mistyped" else None,
            concurrency_safe=name != "exclusive",
            timeout=0.05 if name == "slow" else None,
        )
        return tool

    def _rules(self, registry: Registry) -> None:
        registry.pre_execute(_policy)
        registry.guard(_guard)
        registry.post_execute(_review)

    async def _approve(self, request: ApprovalRequest) -> str:
        if request.tool_name == "asked_guarded" or request.arguments.get("key") == "yes":
            return "allowed-once"
        return "rejected"


async def _policy(call: ToolCall, next: Callable[[], Awaitable[Decision]]) -> Decision:
    if call.name == "policed" and str(call.arguments["key"]).startswith("secret"):
        return Deny("the policy denies it")
    if call.name in ("asked", "asked_guarded"):
        return Ask("the policy asks")
    if call.name == "raising_policy":
        raise RuntimeError("the policy broke")
    if call.name == "odd_policy":
        odd: Any = "yes"
        return odd  # type: ignore[no-any-return]  # what a mistaken policy does
    inner = await next()
    return inner if isinstance(inner, Deny | Ask) else Allow()


def _guard(call: ToolCall) -> Any:
    if call.name == "guarded" and call.arguments["amount"] > 50:
        return "the guard denies it"
    if call.name == "asked_guarded":
        return "the guard denies it after all"
    if call.name == "raising_guard":
        raise RuntimeError("the guard broke")
    if call.name == "async_guard":
        return _never()
    return True if call.name == "odd_guard" else None


async def _never() -> None:
    """What an async guard returns: nobody awaits it."""


async def _review(call: ToolCall, result: ToolResult, next: Callable[[], Awaitable[Any]]) -> Any:
    if call.name == "blocked" and not result.is_error:
        return Block("the review blocks it")
    if call.name == "replaced" and not result.is_error:
        return Accept(value="clean")
    return await next()


def forbidden(entries: list[Ran]) -> list[str]:
    """The bodies that ran and may not have, in words."""
    return [f"{ran.name}({ran.arguments})" for ran in entries if not may_run(ran.name, ran.arguments)]


def scope_name(scope: Scope | None) -> str | None:
    """A scope's name, or None for the global one."""
    return None if scope is None else scope.name
