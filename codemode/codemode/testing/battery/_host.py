"""Attempts from the host's side: replayed and made-up tokens, calls that come late, logs and approvers that fail.

Each is a function over a fresh canary that returns what went wrong, or None. The checks of `_checks` are made besides.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from codemode._code_mode import CodeMode
from codemode.testing._runtime import FakeRuntime
from codemode.testing.battery._canary import SECRET, Canary
from codemode_bridge import Binding, BindingError, CodeRunRequest, CodeRunResult, CodeRuntime
from codemode_registry import CancelSignal, Event, JsonValue, MemoryEventLog, Registry, ToolRequest


@dataclass(frozen=True, slots=True)
class HostAttempt:
    """One thing that a host, or something inside it, might do."""

    name: str
    aims_at: str
    about: str
    attempt: Callable[[Canary, CodeRuntime], Awaitable[str | None]]


class HoldingLog(MemoryEventLog):
    """A log whose settle records take a while, and that notes what ran meanwhile."""

    def __init__(self, canary: Canary) -> None:
        super().__init__()
        self._canary = canary
        self.overtaken = False
        self.holding = 0

    async def append(self, type: str, data: dict[str, JsonValue]) -> Event:
        """Append; hold a settle record back until whatever would overtake it has had its chance."""
        if type == "tool/code-dispatch":
            mark = len(self._canary.ledger)
            self.holding += 1
            await anyio.sleep(0.05)
            self.holding -= 1
            self.overtaken = self.overtaken or len(self._canary.ledger) > mark
        return await super().append(type, data)


class FailingLog(MemoryEventLog):
    """A log that refuses records of one type."""

    def __init__(self, refused: str) -> None:
        super().__init__()
        self._refused = refused

    async def append(self, type: str, data: dict[str, JsonValue]) -> Event:
        """Append, or refuse."""
        if type == self._refused:
            raise OSError("the log is full")
        return await super().append(type, data)


async def _finished_token(canary: Canary, runtime: CodeRuntime) -> Any:
    async with CodeMode(canary.registry, scope=canary.scope, runtime=runtime) as cm:
        await cm.run("return await tools.open(n=1)")
    return canary.ledger.entries[-1].call


async def _ran_after(canary: Canary, parent: Any, name: str = "open") -> str | None:
    """Whether a call with this parent runs although the scope presents only run_code."""
    mark = len(canary.ledger)
    with canary.scope.present_as("code"):
        try:
            await canary.registry.call(name, {}, scope=canary.scope, parent=parent)
        except Exception:
            return None  # refused before it became a call: as good as a failure
    return f"{name} ran with {parent!r} as its parent" if canary.ledger.since(mark) else None


async def _replayed_token(canary: Canary, runtime: CodeRuntime) -> str | None:
    call = await _finished_token(canary, runtime)
    return await _ran_after(canary, call.token) or await _ran_after(canary, call.parent)


async def _made_up_token(canary: Canary, runtime: CodeRuntime) -> str | None:
    call = await _finished_token(canary, runtime)
    for made_up in (object(), "token", 7, True, type(call.token)(), call):
        if found := await _ran_after(canary, made_up):
            return found
    return None


async def _foreign_token(canary: Canary, runtime: CodeRuntime) -> str | None:
    other = Registry()
    outcome: list[str | None] = []

    @other.post_execute
    async def use_it_here(call: Any, result: Any, next: Any) -> Any:
        outcome.append(await _ran_after(canary, call.token))
        return await next()

    @other.tool
    def one() -> int:
        return 1

    await other.call("one")
    return outcome[0]


async def _direct_call(canary: Canary, runtime: CodeRuntime) -> str | None:
    async with CodeMode(canary.registry, scope=canary.scope, runtime=runtime) as cm:
        mark = len(canary.ledger)
        await cm.call("open", {"n": 1})
        await cm.call_batch([ToolRequest("open", {"n": 2}), ToolRequest("exclusive", {})])
    ran = canary.ledger.since(mark)
    return f"{len(ran)} direct calls ran in mode code" if ran else None


async def _direct_call_in_scope(canary: Canary, runtime: CodeRuntime) -> str | None:
    mark = len(canary.ledger)
    with canary.scope.present_as("code"):
        await canary.registry.call("open", {}, scope=canary.scope)
        await canary.registry.call_batch([ToolRequest("open", {})], scope=canary.scope)
        await canary.registry.call("open", {}, scope=canary.below)
    return "a direct call ran in a scope that presents only run_code" if canary.ledger.since(mark) else None


async def _direct_denied(canary: Canary, runtime: CodeRuntime) -> str | None:
    mark = len(canary.ledger)
    requests: list[tuple[str, dict[str, Any]]] = [
        ("guarded", {"amount": 99}),
        ("policed", {"key": "secret"}),
        ("hidden", {}),
        ("asked", {"key": "no"}),
    ]
    requests += [(name, {}) for name in ("raising_guard", "async_guard", "odd_guard", "raising_policy", "odd_policy")]
    for name, arguments in requests:
        await canary.registry.call(name, arguments, scope=canary.scope)
    await canary.registry.call_batch([ToolRequest(*request) for request in requests], scope=canary.scope)
    ran = canary.ledger.since(mark)
    return f"{ran[0].name} ran as a direct call" if ran else None


async def _late_binding(canary: Canary, runtime: CodeRuntime) -> str | None:
    kept: list[Mapping[str, Binding]] = []

    async def keep(request: CodeRunRequest) -> CodeRunResult:
        kept.append(request.bindings)
        return CodeRunResult()

    async with CodeMode(canary.registry, scope=canary.scope, runtime=FakeRuntime(keep)) as cm:
        await cm.run("return 1")
        mark = len(canary.ledger)
        try:
            await kept[0]["open"].call({"n": 1})
        except BindingError:
            pass
        else:
            return "a call that came after the run was answered"
    return "a call that came after the run ran" if canary.ledger.since(mark) else None


async def _bindings(canary: Canary, runtime: CodeRuntime) -> str | None:
    seen: list[set[str]] = []

    async def look(request: CodeRunRequest) -> CodeRunResult:
        seen.append(set(request.bindings))
        return CodeRunResult()

    async with CodeMode(canary.registry, scope=canary.scope, runtime=FakeRuntime(look)) as cm:
        await cm.run("return 1")
    wrong = seen[0] & {"hidden", "neighbour", "below", "run_code"}
    return f"a program was given {sorted(wrong)}" if wrong else None


async def _changed_in_the_host(canary: Canary, runtime: CodeRuntime) -> str | None:
    """The caller changes the arguments when the guards have passed them and the body has not begun."""
    arguments: dict[str, Any] = {"amount": 1}

    @canary.scope.around_execute
    async def change(call: Any, next: Any) -> Any:
        if call.name == "guarded":
            arguments["amount"] = 99
        return await next()

    async def run(request: CodeRunRequest) -> CodeRunResult:
        await request.bindings["guarded"].call(arguments)
        return CodeRunResult()

    async with CodeMode(canary.registry, scope=canary.scope, runtime=FakeRuntime(run)) as cm:
        await cm.run("return 1")
    changed = [ran for ran in canary.ledger.entries if ran.arguments != {"amount": 1}]
    return "a body saw other arguments than the guard" if changed else None


async def _failing_start(canary: Canary, runtime: CodeRuntime) -> str | None:
    log = FailingLog("tool/code-dispatch-start")
    async with CodeMode(canary.registry, scope=canary.scope, runtime=runtime, events=log) as cm:
        await cm.run("return await tools.open(n=1)")
    return "a body ran whose start could not be recorded" if canary.ledger.entries else None


async def _failing_settle(canary: Canary, runtime: CodeRuntime) -> str | None:
    log = FailingLog("tool/code-dispatch")
    async with CodeMode(canary.registry, scope=canary.scope, runtime=runtime, events=log) as cm:
        result = await cm.run("value = await tools.open(n=41)\nprint('value', value)\nreturn value")
    got = result.ok or "value" in " ".join(result.logs)
    return "a program got a value whose settle could not be recorded" if got else None


async def _overtaken_settle(canary: Canary, runtime: CodeRuntime) -> str | None:
    log = HoldingLog(canary)
    async with CodeMode(canary.registry, scope=canary.scope, runtime=runtime, events=log) as cm:
        await cm.run("for n in range(3):\n    await tools.open(n=n)")
    if log.holding:
        return "a run was over before its calls' settle records were written"
    return "a program went on before its call's settle record was written" if log.overtaken else None


async def _odd_approvers(canary: Canary, runtime: CodeRuntime) -> str | None:
    async def raises(request: Any) -> str:
        raise RuntimeError("nobody is there")

    def answers(answer: Any) -> Any:
        async def approver(request: Any) -> Any:
            return answer

        return approver

    for approver in (raises, *map(answers, (True, "allowed", "yes", None, 1, "ALLOWED-ONCE", "rejected", "cancelled"))):
        async with CodeMode(canary.registry, scope=canary.scope, runtime=runtime, approver=approver) as cm:
            await cm.run("return await tools.asked(key='yes')")
    return "an answer that is no grant was taken for one" if canary.ledger.entries else None


async def _never_ask(canary: Canary, runtime: CodeRuntime) -> str | None:
    canary.scope.set_approval_policy("never")
    async with CodeMode(canary.registry, scope=canary.scope, runtime=runtime) as cm:
        await cm.run("return await tools.asked(key='yes')")
    return "a call ran that nobody may be asked about" if canary.ledger.entries else None


async def _cancelled_run(canary: Canary, runtime: CodeRuntime) -> str | None:
    cancel = CancelSignal()
    async with (
        CodeMode(canary.registry, scope=canary.scope, runtime=runtime) as cm,
        anyio.create_task_group() as tasks,
    ):

        async def stop() -> None:
            await canary.waiting.wait()
            cancel.cancel("enough")

        tasks.start_soon(stop)
        with anyio.move_on_after(10):
            await cm.run("return await tools.slow()", cancel=cancel)
        tasks.cancel_scope.cancel()
    return "a body went on after its run was cancelled" if canary.completed else None


async def _wrapper_of_denied(canary: Canary, runtime: CodeRuntime) -> str | None:
    reached: list[str] = []

    @canary.scope.around_execute
    async def wrapper(call: Any, next: Any) -> Any:
        reached.append(call.name)
        first = await next()
        return await next() if call.name == "open" else first

    async with CodeMode(canary.registry, scope=canary.scope, runtime=runtime) as cm:
        await cm.run(
            "await tools.open(n=1)\n"
            "for name, args in (('guarded', {'amount': 99}), ('policed', {'key': 'secret'}), ('asked', {'key': 'no'})):\n"
            "    try:\n        await tools[name](args)\n    except ToolCallError:\n        pass"
        )
    denied = [name for name in reached if name not in ("open", "run_code")]
    return f"a wrapper was reached by {denied[0]}, which was denied" if denied else None


async def _secret_in_log(canary: Canary, runtime: CodeRuntime) -> str | None:
    async with CodeMode(canary.registry, scope=canary.scope, runtime=runtime) as cm:
        await cm.run("return [await tools.replaced()]")
        await cm.run("return [await tools.blocked()]")
    text = json.dumps([event.data for event in canary.log.events], default=str)
    return "the log's copy of a result holds a value that a review withheld" if SECRET in text else None


async def _two_runs(canary: Canary, runtime: CodeRuntime) -> str | None:
    async with CodeMode(canary.registry, scope=canary.scope, runtime=runtime) as cm:
        await cm.run("import json\nkept = await tools.open(n=7)\njson.kept = kept")
        result = await cm.run("import json\nreturn [getattr(json, 'kept', None), 'kept' in globals_of()]"
                              "\ndef globals_of():\n    return dir()")  # fmt: skip
        other = await cm.run("return kept")
    seen: Any = result.value
    return "a run sees what an earlier one left" if (seen and seen[0] is not None) or other.ok else None


HOST: tuple[HostAttempt, ...] = (
    HostAttempt("token.replayed", "mode", "Uses the tokens of a finished call as a parent.", _replayed_token),
    HostAttempt("token.made_up", "mode", "Uses things that are no token, or a new one, as a parent.", _made_up_token),
    HostAttempt("token.foreign", "mode", "Uses the living token of another registry as a parent.", _foreign_token),
    HostAttempt("mode.direct", "mode", "Calls tools directly, alone and in a batch, in mode code.", _direct_call),
    HostAttempt("mode.scope", "mode", "Does so in a scope that presents only run_code.", _direct_call_in_scope),
    HostAttempt("direct.denied", "guard", "Makes every denied call directly, alone and in a batch.", _direct_denied),
    HostAttempt("late.binding", "scope", "Keeps a program's binding and calls it after the run.", _late_binding),
    HostAttempt("scope.bindings", "restriction", "Looks at what a runtime is given to call.", _bindings),
    HostAttempt(
        "arguments.changed", "guard", "Changes arguments between the guards and the body.", _changed_in_the_host
    ),
    HostAttempt("log.no_start", "event log", "Makes a call whose start cannot be recorded.", _failing_start),
    HostAttempt("log.no_settle", "event log", "Makes a call whose end cannot be recorded.", _failing_settle),
    HostAttempt("log.overtaken", "event log", "Goes on while a settle record is being written.", _overtaken_settle),
    HostAttempt("approval.odd", "approval", "Has approvers that raise, or answer almost a grant.", _odd_approvers),
    HostAttempt("approval.never", "approval", "Asks where nobody may be asked.", _never_ask),
    HostAttempt("cancel.run", "timeout", "Cancels a run in the middle of a body.", _cancelled_run),
    HostAttempt("wrapper.denied", "guard", "Waits in a wrapper for calls that are denied.", _wrapper_of_denied),
    HostAttempt("log.secret", "review", "Looks for withheld values in the log.", _secret_in_log),
    HostAttempt("state.kept", "scope", "Leaves something for the next run to find.", _two_runs),
)
