"""The road of every call, stage by stage. There is no second way to a tool's body.

    begin      0   arguments are JSON, 0b not cancelled yet, 0c not collapsed by the presentation mode
    (record)       the start record is appended
    decide     1   arguments fit the schema, 2 policies, 3 guards, 4 a human where a policy asked, guards again
    dispatch   5   wrappers around 6 the body and 7 its canonical value          (_dispatch)
    review     8   accept, replace, block                                        (_review)
    publish    9   the tool's last word on the content
    (record)       the settle record is appended
    publish    10  observers see the very object that the caller gets

Rules
- Each stage gives a result (the call is decided) or None (go on). Only `execute` knows the order.
- It fails closed: whatever a policy, guard, wrapper or review does that it should not is a PIPELINE_ERROR, and no
  review sees such a call (`run.hard`).
- No exception of theirs leaves here. Cancellation of the caller's own task does, and so do KeyboardInterrupt and
  SystemExit: after the body was awaited and the settle record was appended.
"""

# pyright: reportPrivateUsage=false
# The modules of this package are one unit; what is private is private to it.

# pyright: reportUnnecessaryIsInstance=false, reportUnnecessaryComparison=false
# Callers need not be type-checked: what comes in is looked at.

from __future__ import annotations

import logging
import time
from contextlib import AbstractContextManager
from typing import Any, Protocol, cast

import anyio

from ._approval import ask
from ._body import leaves_the_call
from ._callback import answer
from ._decisions import Allow, Ask, Decision, Deny
from ._dispatch import aborted_success, check_arguments, dispatch
from ._errors import describe
from ._json import NotJsonError
from ._layers import Hook
from ._logging import LOGGER
from ._loops import sync_failures
from ._result import CallError, ToolFailure, ToolResult, ToolSuccess, as_content
from ._review import review
from ._run import Run
from ._tool import RUN_CODE


class Turn(Protocol):
    """A call's place in an ordered stream of calls, which has let it start; absent for a call on its own."""

    def leave(self) -> None:
        """The ordered work before the body is over: the next call may start where the rules allow it."""
        ...

    async def settle(self) -> None:
        """Wait for the turn to be reviewed and settled."""
        ...

    def asking(self) -> AbstractContextManager[None]:
        """Held open while a human is asked: other calls may settle."""
        ...

    def done(self) -> None:
        """The call is over."""
        ...


async def execute(run: Run, turn: Turn | None = None) -> ToolResult:
    """Take one call down the whole road.

    Cancellation: the caller's is passed on after the drain and the settle record.
    """
    try:
        try:
            result = await _travel(run, turn)
        except Exception as error:  # our own bug: it fails this call closed and leaves as a result like everything else
            result = await _unplanned(run, turn, f"internal error: {describe(error)}", error)
        except BaseException as error:  # a policy, wrapper or review let out a cancellation that nobody asked for
            if leaves_the_call(error):
                raise
            result = await _unplanned(run, turn, describe(error), error)
        return await publish(run, result)
    except GeneratorExit:
        raise
    except BaseException:
        with anyio.CancelScope(shield=True):
            await _abandoned(run, turn)
        raise
    finally:
        run.core._ended(run)
        if turn is not None:
            turn.done()


async def _unplanned(run: Run, turn: Turn | None, message: str, error: BaseException) -> ToolResult:
    """A stage ended in a way that it should not: the call fails closed, and settles in its turn like any other."""
    result = hard(run, message, error)
    if turn is not None:
        turn.leave()
        await turn.settle()
    return result


async def _travel(run: Run, turn: Turn | None) -> ToolResult:
    result = begin(run)
    run.marks[1] = time.perf_counter()
    try:
        run.started = True  # also when cancelled in the middle: the record may be there, and must get its pair
        await run.audit.started(run.call)
    except Exception as error:
        run.started = False
        result = hard(run, f"the event log refused the call's start: {describe(error)}", error)
    if result is None:
        result = await decide(run, turn)
    run.marks[2] = run.marks[3] = time.perf_counter()
    if turn is not None:
        turn.leave()
    if result is None:
        try:
            result = await dispatch(run)
        except Exception as error:
            result = hard(run, describe(error), error)
        run.marks[3] = time.perf_counter()
    if turn is not None:
        await turn.settle()
    return result if run.hard else await _reviewed(run, result)


async def _abandoned(run: Run, turn: Turn | None) -> None:
    """The caller's own task is being cancelled: the records are written all the same."""
    if run.result is not None:
        return
    if not run.settled:
        if turn is not None:
            turn.leave()
            await turn.settle()
        result: ToolResult = run.aborted()
        if run.failure is not None:  # it says more; the reviews have their word, in bounded time
            with anyio.move_on_after(run.core.drain_seconds):
                result = await _reviewed(run, run.failure)
        await publish(run, result)


# ---- stage 0: begin ----


def begin(run: Run) -> ToolResult | None:
    """Token, captured finalizer, lossless arguments, pre-abort, collapse."""
    call = run.call
    run.core._started(run)
    tool = run.resolve()
    collapsed = call.parent is None and call.name != RUN_CODE and tool is not None and run.presentation() == "code"
    run.tool = tool
    if tool is not None and (not collapsed or call.cancel.cancelled or run.lossy is not None):
        run.finalize = tool.finalize_content
    refusal = run.refusal or run.core._refusal(run)
    if refusal is not None:
        return hard(run, f'the call of tool "{call.name}" was refused: {refusal}')
    if run.lossy is not None:
        return final(run, f'invalid arguments for tool "{call.name}": {run.lossy}', "INVALID_ARGS")
    if call.cancel.cancelled:
        run.hard = True
        return run.aborted()
    if collapsed:
        text = (
            f'unknown tool "{call.name}": it is not called directly here. Call {RUN_CODE} with a program that does: '
            f"await {program_spelling(call.name)}(...). Only {RUN_CODE} can be called directly."
        )
        return final(run, text, "UNKNOWN_TOOL")
    return None


def program_spelling(name: str) -> str:
    """How a program reaches a tool of this full name."""
    parts = name.split(".")
    return f"tools.{name}" if all(part.isidentifier() for part in parts) else f"tools[{name!r}]"


def final(run: Run, message: str, code: str) -> ToolFailure:
    """A failure that goes straight to finalize: nothing else of the pipeline sees the call."""
    run.hard = True
    return ToolFailure.of(message, code=code)


def hard(run: Run, message: str, error: BaseException | None = None) -> ToolFailure:
    """A failure of the pipeline itself: PIPELINE_ERROR; no review sees it."""
    run.hard = True
    if error is not None:
        LOGGER.warning(
            "the pipeline failed the call of %s: %s",
            run.call.name,
            message,
            exc_info=error,
            extra={"tool": run.call.name, "call_id": run.call.call_id},
        )
    name = type(error).__name__ if error is not None else "PIPELINE_ERROR"
    return ToolFailure.of(message, code="PIPELINE_ERROR", name=name)


# ---- stages 1 to 4: decide ----


async def decide(run: Run, turn: Turn | None) -> ToolResult | None:
    """Arguments, policies, guards, approval. None: the body may run."""
    run.tool = run.resolve()
    problem = check_arguments(run, run.tool) if run.tool is not None else None
    if problem is not None:
        return problem
    decision: Decision = _ALLOW
    policies = run.hooks("policies")
    try:
        if policies:
            decision = await _policies(run, list(policies), 0)
        if type(decision) is Deny:
            return ToolFailure.of(decision.reason or f'tool "{run.call.name}" was denied', code="DENIED")
        denied = _guards(run)
        if denied is None and type(decision) is Ask and run.tool is not None:
            denied = await ask(run, decision.reason, _pauses(run, turn)) or _guards(run)
    except Exception as error:
        return hard(run, describe(error), error)
    if denied is None and run.call.cancel.cancelled:
        return run.aborted()
    return denied


_ALLOW = Allow()


def _pauses(run: Run, turn: Turn | None) -> list[AbstractContextManager[None]]:
    pauses = [run.audit.asking(run.call)]
    if turn is not None:
        pauses.append(turn.asking())
    return pauses


async def _policies(run: Run, policies: list[Hook], index: int) -> Decision:
    if index == len(policies):
        return _ALLOW

    async def inside() -> Decision:
        return await _policies(run, policies, index + 1)

    decision: Any = await policies[index].fn(run.call, inside)
    if type(decision) is Allow:
        return decision
    if type(decision) is Deny and isinstance(decision.reason, str):
        return decision
    if type(decision) is Ask and (decision.reason is None or isinstance(decision.reason, str)):
        return decision
    raise TypeError(f'a policy for tool "{run.call.name}" answered {decision!r:.80}; it must be Allow, Deny or Ask')


def _guards(run: Run) -> ToolFailure | None:
    """The guards' word, global first. Tables are read live: what a guard adds is heard in this pass."""
    for layer in run.layer.chain:
        for hook in layer.guards:
            said = answer("a guard", hook.fn, run.call)
            if said is None:
                continue
            if isinstance(said, str):
                return ToolFailure.of(said or f'a guard denied tool "{run.call.name}"', code="DENIED")
            # False as well: who writes `return False` means to deny.
            raise TypeError(f"a guard answered {said!r:.80}; it must be a string, which denies, or None")
    return None


# ---- stage 8: review ----


async def _reviewed(run: Run, result: ToolResult) -> ToolResult:
    reviews = run.hooks("reviews")
    if not reviews:
        return result
    try:
        result = await review(run, list(reviews), result)
    except Exception as error:
        return hard(run, describe(error), error)
    if run.call.cancel.cancelled and type(result) is ToolSuccess:
        return aborted_success(run, result)
    return result


# ---- stages 9 and 10: publish ----


async def publish(run: Run, result: ToolResult) -> ToolResult:
    """Finalize, append the settle record, tell the observers."""
    if run.settled:
        raise RuntimeError("a call was published twice")
    run.settled = True
    if run.finalize is not None:
        result = _finalized(run, result)
    run.marks[4] = time.perf_counter()
    if run.started:
        try:
            if run.instant:
                await run.audit.settled(run.call, result, run.timing())
            else:
                with anyio.CancelScope(shield=True):
                    await run.audit.settled(run.call, result, run.timing())
        except Exception as error:
            result = hard(run, f"the event log refused the call's result: {describe(error)}", error)
    run.result = result
    observers = run.hooks("results")
    if observers:
        for hook in list(observers):
            await _notify(run, hook, result)
    if LOGGER.isEnabledFor(logging.DEBUG):
        _trace(run, result)
    return result


def _finalized(run: Run, result: ToolResult) -> ToolResult:
    finalize = cast("Any", run.finalize)
    try:
        content = answer("finalize_content", finalize, run.call, result)
        if content is None:
            return result
        content = as_content(content)
    except sync_failures() as error:
        text = f"finalize_content: {error}" if isinstance(error, NotJsonError) else describe(error)
        return hard(run, text, error)
    if isinstance(result, ToolSuccess):
        return ToolSuccess(result.value, content, result.meta, result.contexts, result.concludes_turn)
    return ToolFailure(result.error, content, result.meta, result.contexts)


async def _notify(run: Run, hook: Hook, result: ToolResult) -> None:
    try:
        answer("an on_result observer", hook.fn, run.call, result)
    except sync_failures() as error:  # sync code is told of no cancellation
        await run.warn("on_result", f'an observer of tool "{run.call.name}" failed: {describe(error)}')


def _trace(run: Run, result: ToolResult) -> None:
    timing = run.timing()
    error: CallError | None = result.error if isinstance(result, ToolFailure) else None
    LOGGER.debug(
        "%s %s in %.2f ms",
        run.call.name,
        "ok" if error is None else error.code,
        timing.before + timing.body + timing.after,
        extra={"tool": run.call.name, "call_id": run.call.call_id, "code": None if error is None else error.code},
    )
