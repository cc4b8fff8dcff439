"""A run that waits for its client: it ends when nobody comes back, and there are never too many."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)

from codemode.mcp import _questions
from codemode.mcp._questions import Desk, Questioner

FORM = ElicitRequestFormParams(message="Really?", requested_schema={"type": "object", "properties": {}})


class Session:
    """As much of the SDK's session as a question needs."""

    client_capabilities = ClientCapabilities(elicitation=ElicitationCapability())
    can_send_request = False


class Context:
    """As much of the SDK's request context as the desk needs."""

    session = Session()
    protocol_version = "2026-07-28"
    request_id = 1


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    with anyio.fail_after(20.0):
        async with anyio.create_task_group() as tasks:
            yield Desk(tasks)
            tasks.cancel_scope.cancel()


class Run:
    """A run that asks once and remembers how it ended."""

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.action: str | None = None

    async def __call__(self, questioner: Questioner | None) -> CallToolResult:
        assert questioner is not None
        try:
            self.action = (await questioner.ask(FORM)).action
        finally:
            self.ended.set()
        return CallToolResult(content=[])


async def serve(at: Desk, run: Any, **back: Any) -> CallToolResult | InputRequiredResult:
    context: Any = Context()
    return await at.serve(context, {"a": 1}, run, state=back.get("state"), answers=back.get("answers"))


async def test_a_question_goes_out_and_its_answer_comes_back() -> None:
    async with desk() as at:
        run = Run()
        asked = await serve(at, run)
        assert isinstance(asked, InputRequiredResult)
        assert not run.ended.is_set()
        answers = {key: ElicitResult(action="accept", content={}) for key in asked.input_requests or {}}
        assert isinstance(await serve(at, run, state=asked.request_state, answers=answers), CallToolResult)
        assert run.action == "accept"


async def test_a_client_that_comes_back_without_an_answer_has_cancelled() -> None:
    async with desk() as at:
        run = Run()
        asked = await serve(at, run)
        assert isinstance(asked, InputRequiredResult)
        await serve(at, run, state=asked.request_state)
        assert run.action == "cancel"


async def test_a_run_whose_client_does_not_come_back_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_questions, "PARKED_SECONDS", 0.05)
    async with desk() as at:
        run = Run()
        asked = await serve(at, run)
        assert isinstance(asked, InputRequiredResult)
        await run.ended.wait()
        assert run.action is None
        with pytest.raises(MCPError, match="unknown or over"):
            await serve(at, run, state=asked.request_state)


async def test_too_many_waiting_runs_cost_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_questions, "MOST_PARKED", 2)
    async with desk() as at:
        runs = [Run() for _ in range(3)]
        for run in runs:
            await serve(at, run)
        await runs[0].ended.wait()
        assert [run.ended.is_set() for run in runs] == [True, False, False]


async def test_a_failure_of_the_run_is_the_calls_failure() -> None:
    async def failing(questioner: Questioner | None) -> CallToolResult:
        raise ValueError("broken")

    async with desk() as at:
        with pytest.raises(ValueError, match="broken"):
            await serve(at, failing)
