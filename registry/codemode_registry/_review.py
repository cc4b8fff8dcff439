"""Stage 8: reviews over a frozen result.

Rules
- `Accept` replaces the value (validated, rendered again) or the content (a program still gets the value), never both.
- `Block` turns any result into a failure whose content is the feedback as given; the body's contexts are dropped.
- Contexts keep their order: body, wrapper, review.
- Whatever a review raises, or returns beside these two, fails the call; the value is withheld.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ._decisions import UNSET, Accept, Block, Verdict
from ._dispatch import canonical, unknown
from ._layers import Hook
from ._result import CallError, ToolFailure, ToolResult, ToolSuccess, as_content, as_contexts, text_of
from ._run import Run, with_contexts

_ACCEPT = Accept()
BLOCKED = "tool result blocked by a review"
"""The message of a block whose feedback has no text."""


async def review(run: Run, reviews: list[Hook], result: ToolResult) -> ToolResult:
    """Let the reviews decide on a result.

    Raises:
        Exception: whatever a review raised, or that its verdict cannot be followed.
    """
    verdict = await _ask(run, reviews, 0, result)
    contexts = as_contexts(verdict.contexts)
    if isinstance(verdict, Block):
        content = as_content(verdict.feedback)
        return ToolFailure(CallError(text_of(content, BLOCKED), "BLOCKED", "BLOCKED"), content, None, contexts)
    if verdict.value is not UNSET and verdict.content is not UNSET:
        raise ValueError("a review cannot replace both the value and the content of a result")
    if verdict.value is not UNSET:
        result = _with_value(run, result, verdict.value)
    elif verdict.content is not UNSET:
        result = replace(result, content=as_content(verdict.content))
    return replace(result, contexts=(*result.contexts, *contexts)) if contexts else result


async def _ask(run: Run, reviews: list[Hook], index: int, result: ToolResult) -> Verdict:
    if index == len(reviews):
        return _ACCEPT

    async def inside() -> Verdict:
        return await _ask(run, reviews, index + 1, result)

    verdict: Any = await reviews[index].fn(run.call, result, inside)
    if type(verdict) is not Accept and type(verdict) is not Block:
        raise TypeError(f'a review of tool "{run.call.name}" answered {verdict!r:.80}; it must be Accept or Block')
    return verdict


def _with_value(run: Run, result: ToolResult, value: object) -> ToolResult:
    if isinstance(result, ToolFailure):
        raise ValueError("a review cannot replace the value of a failed result")
    tool = run.resolve()
    if tool is None:
        return with_contexts(unknown(run), result.contexts)
    made = canonical(run, tool, value, dump=False)
    if isinstance(made, ToolFailure):
        return with_contexts(made, result.contexts)
    return ToolSuccess(made.value, made.content, made.meta, result.contexts, result.concludes_turn)
