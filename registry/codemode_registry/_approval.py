"""Asking a human about one call.

Rules
- Each question is logged twice, `approval/asked` and `approval/decided`, also where nobody could be asked.
- One question, one grant, for this call only. Only the exact answer `allowed-once` allows; no approver, one that
  raises and any other answer are `unavailable`, which denies.
- The call's cancel signal closes the question; a late answer is ignored.
"""

# pyright: reportPrivateUsage=false
# The modules of this package are one unit; what is private is private to it.

from __future__ import annotations

import itertools
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Literal, TypeAlias

import anyio

from ._call import ApprovalRequest
from ._cancel import LoopDoor
from ._logging import LOGGER
from ._result import ToolFailure

if TYPE_CHECKING:
    from ._run import Run

Approver: TypeAlias = Callable[[ApprovalRequest], Awaitable[str]]
"""Asks a human: `allowed-once`, `rejected`, `cancelled` or `unavailable`."""

ApprovalPolicy: TypeAlias = Literal["ask", "never"]
"""Whether questions are asked at all."""

OUTCOMES = frozenset({"allowed-once", "rejected", "cancelled", "unavailable"})

_PREFIX = uuid.uuid4().hex[:8]
_NUMBERS = itertools.count(1)


async def ask(run: Run, reason: str | None, pauses: list[AbstractContextManager[None]]) -> ToolFailure | None:
    """Ask about a call; None where it may go on.

    Args:
        run: The call.
        reason: Why it is asked, for the human.
        pauses: Held open while the human thinks.
    """
    outcome = await question(run, reason, run.approver, pauses)
    return _refusal(run, outcome, reason)


async def question(
    run: Run, reason: str | None, approver: Approver | None, pauses: list[AbstractContextManager[None]]
) -> str:
    """Put one question and log it; the outcome.

    Args:
        run: The call it is about.
        reason: For the human.
        approver: Who is asked.
        pauses: Held open while the human thinks.
    """
    number = f"approval-{_PREFIX}-{next(_NUMBERS)}"
    call = run.call
    asked = {"id": number, "tool_name": call.name, "call_id": call.call_id}
    await run.log("approval/asked", asked if reason is None else {**asked, "reason": reason})
    try:
        outcome = await _outcome(run, reason, approver, pauses)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await run.log("approval/decided", {"id": number, "outcome": "cancelled"})
        raise
    await run.log("approval/decided", {"id": number, "outcome": outcome})
    LOGGER.info("approval of %s: %s", call.name, outcome, extra={"tool": call.name, "call_id": call.call_id})
    return outcome


async def _outcome(
    run: Run, reason: str | None, approver: Approver | None, pauses: list[AbstractContextManager[None]]
) -> str:
    call = run.call
    if call.cancel.cancelled:
        return "cancelled"
    if run.layer.approval_policy() == "never":
        return "rejected"
    if approver is None:
        return "unavailable"
    request = ApprovalRequest(call.name, call.call_id, call.arguments, reason, call.scope, call.cancel)
    answer: object = "unavailable"
    door = LoopDoor()
    with ExitStack() as held:
        for pause in pauses:
            held.enter_context(pause)
        scope = anyio.CancelScope()
        forget = call.cancel._listen(lambda: door.call(scope.cancel))
        try:
            with scope:
                answer = await approver(request)
        except Exception:
            LOGGER.warning("the approver raised; the call is denied", exc_info=True, extra={"call_id": call.call_id})
        finally:
            forget()
    if request.cancel.cancelled:
        return "cancelled"
    if type(answer) is str and answer in OUTCOMES:
        return answer
    LOGGER.warning(
        "the approver answered %.80r, which is none of %s; the call is denied",
        answer,
        ", ".join(sorted(OUTCOMES)),
        extra={"call_id": call.call_id},
    )
    return "unavailable"


def _refusal(run: Run, outcome: str, reason: str | None) -> ToolFailure | None:
    name = run.call.name
    why = f" ({reason})" if reason else ""
    if outcome == "allowed-once" and not run.call.cancel.cancelled:
        return None
    if run.call.cancel.cancelled and outcome in ("allowed-once", "cancelled"):
        return run.aborted()
    if outcome == "rejected":
        if run.layer.approval_policy() == "never":
            text = f'tool "{name}" needs approval{why}, which the approval policy "never" refuses without asking'
        else:
            text = f'the user rejected tool "{name}"{why}'
        return ToolFailure.of(text, code="APPROVAL_REJECTED")
    if outcome == "cancelled":
        return ToolFailure.of(f'approval for tool "{name}" was cancelled{why}', code="APPROVAL_CANCELLED")
    text = f'tool "{name}" needs approval{why}, and no approver is available'
    return ToolFailure.of(text, code="APPROVAL_UNAVAILABLE")
