"""A run that has to ask its client something, in both eras of the protocol.

Rules
- Handshake era: the server sends the client a request and waits; the run goes on inside the client's call.
- 2026-07-28: a server sends no requests. The call is answered with what is asked (`input_required`), and the client
  calls again with the answers and a state that only it knows. Meanwhile the run waits, in a task of the gateway's own.
- A run that waits for a client that does not come back is cancelled after `PARKED_SECONDS`.
- Whoever asks sees only `Questioner.ask`.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio
from anyio.abc import TaskGroup
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic_core import to_json

from codemode_registry import ApprovalRequest, Approver

from ._elicitation import Elicitation, ElicitationAnswer

PARKED_SECONDS = 900.0
"""How long a person may think about a question between two calls of the client."""

MOST_PARKED = 256
"""Runs that wait for a client. Each holds a child process; more would be an attack or a fault."""

_SHOWN_ARGUMENT_CHARS = 2_000
"""Of a call's arguments in a question to a person."""

_EMPTY_FORM: dict[str, Any] = {"type": "object", "properties": {}}
"""A form with nothing to fill in: its accept and decline are the answer."""

_DRAIN_SECONDS = 10.0
"""How long a cancelled run is waited for, so that its records are written before the request ends."""

Start = Callable[["Questioner"], Awaitable[CallToolResult]]


class Questioner(Protocol):
    """Somebody who can be asked."""

    async def ask(self, params: ElicitRequestParams) -> ElicitResult:
        """Puts a question and waits for the answer.

        Raises:
            MCPError: it cannot be put, or the client refused to show it.
        """
        ...


def can_elicit(session: ServerSession, params: ElicitRequestParams | None = None) -> bool:
    """Whether the client says that it can put a question (of this kind) to a person."""
    capabilities = session.client_capabilities
    offered = capabilities.elicitation if capabilities is not None else None
    if offered is None:
        return False
    if isinstance(params, ElicitRequestURLParams):
        return offered.url is not None
    return offered.form is not None or offered.url is None  # an empty offer means forms (2025-06-18)


@dataclass(frozen=True, slots=True)
class DirectQuestioner:
    """Handshake era: a request on the channel of the client's own call."""

    session: ServerSession
    request_id: Any

    async def ask(self, params: ElicitRequestParams) -> ElicitResult:
        if not can_elicit(self.session, params):
            return ElicitResult(action="decline")
        if isinstance(params, ElicitRequestFormParams):
            return await self.session.elicit_form(params.message, params.requested_schema, self.request_id)
        return await self.session.elicit_url(
            params.message, params.url, params.elicitation_id or secrets.token_hex(8), self.request_id
        )


async def forwarded(question: Elicitation, questioner: Questioner) -> ElicitationAnswer:
    """The client's answer to a question of an upstream, which is put as the upstream put it."""
    message = f"{question.server}: {question.message}"
    if question.url is not None:
        params: Any = ElicitRequestURLParams(message=message, url=question.url, elicitation_id=secrets.token_hex(16))
    else:
        params = ElicitRequestFormParams(message=message, requested_schema=dict(question.schema or _EMPTY_FORM))
    result = await questioner.ask(params)
    return ElicitationAnswer(result.action, result.content)


def client_approver(questioner: Questioner) -> Approver:
    """An approver that is the client's user: yes and no are the form's accept and decline."""

    async def approve(request: ApprovalRequest) -> str:
        shown = to_json(request.arguments, indent=2).decode()
        if len(shown) > _SHOWN_ARGUMENT_CHARS:
            shown = f"{shown[:_SHOWN_ARGUMENT_CHARS]}... ({len(shown)} characters)"
        reason = f"\nReason: {request.reason}" if request.reason else ""
        message = f"Allow this call of {request.tool_name}?{reason}\nArguments: {shown}"
        try:
            result = await questioner.ask(ElicitRequestFormParams(message=message, requested_schema=_EMPTY_FORM))
        except MCPError:
            return "unavailable"
        return {"accept": "allowed-once", "decline": "rejected"}.get(result.action, "cancelled")

    return approve


@dataclass(slots=True)
class _Question:
    params: ElicitRequestParams
    answered: anyio.Event = field(default_factory=anyio.Event)
    answer: ElicitResult | None = None


class ParkedRun:
    """2026-07-28: a run that outlives the client's call while it waits for an answer."""

    def __init__(self, start: Start, session: ServerSession, arguments: Mapping[str, Any] | None) -> None:
        self.arguments = arguments
        """What the call was made with; the client must repeat it."""
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()
        self._start = start
        self._session = session
        self._questions: dict[str, _Question] = {}
        self._count = 0
        self._result: CallToolResult | None = None
        self._error: Exception | None = None
        self._news = anyio.Event()

    async def run(self) -> None:
        """The run itself; a task of the gateway."""
        try:
            with self.scope:
                self._result = await self._start(self)
        except Exception as error:
            self._error = error
        finally:
            self.done.set()
            self._news.set()

    async def ask(self, params: ElicitRequestParams) -> ElicitResult:
        if not can_elicit(self._session, params):
            return ElicitResult(action="decline")
        self._count += 1
        key, question = f"question-{self._count}", _Question(params)
        self._questions[key] = question
        self._news.set()
        try:
            await question.answered.wait()
        finally:
            self._questions.pop(key, None)
        return question.answer or ElicitResult(action="cancel")

    async def news(self) -> CallToolResult | dict[str, ElicitRequestParams]:
        """The result, or the questions that are open, whichever comes first."""
        while True:
            if self.done.is_set():
                if self._error is not None:
                    raise self._error
                return self._result or CallToolResult(content=[], is_error=True)
            if self._questions:
                return {key: question.params for key, question in self._questions.items()}
            await self._news.wait()
            self._news = anyio.Event()

    def answer(self, answers: Mapping[str, Any]) -> None:
        """Takes what the client brought; an open question without an answer counts as cancelled."""
        for key, question in list(self._questions.items()):
            found = answers.get(key)
            question.answer = found if isinstance(found, ElicitResult) else None
            question.answered.set()
            del self._questions[key]

    async def stop(self) -> None:
        """Cancels the run and waits for its end."""
        self.scope.cancel()
        with anyio.move_on_after(_DRAIN_SECONDS, shield=True):
            await self.done.wait()


class Desk:
    """Where runs wait whose clients have a question to answer.

    Args:
        tasks: the gateway's own task group, in which runs of the 2026-07-28 era live.
    """

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._parked: dict[str, ParkedRun] = {}

    async def serve(
        self,
        ctx: ServerRequestContext[Any, Any],
        arguments: Mapping[str, Any] | None,
        start: Callable[[Questioner | None], Awaitable[CallToolResult]],
        *,
        state: str | None,
        answers: Mapping[str, Any] | None,
    ) -> CallToolResult | InputRequiredResult:
        """Runs `start` with somebody to ask, as the client's era has it.

        Args:
            state, answers: what the client brought back from an earlier `input_required`, if it did.

        Cancellation: the run is stopped and its records written before this ends.
        """
        session = ctx.session
        if state is None and not can_elicit(session):
            return await start(None)
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            asked = DirectQuestioner(session, ctx.request_id) if session.can_send_request else None
            return await start(asked)
        if state is None:
            run = ParkedRun(start, session, arguments)
            self._tasks.start_soon(run.run)
        else:
            run = self._resume(state, arguments)
            run.answer(answers or {})
        try:
            news = await run.news()
        except anyio.get_cancelled_exc_class():
            await run.stop()
            raise
        if isinstance(news, CallToolResult):
            return news
        return InputRequiredResult(
            input_requests={key: ElicitRequest(params=params) for key, params in news.items()},
            request_state=self._park(run),
        )

    def _park(self, run: ParkedRun) -> str:
        state = secrets.token_urlsafe(32)
        if len(self._parked) >= MOST_PARKED:
            self._parked.pop(next(iter(self._parked))).scope.cancel()
        self._parked[state] = run
        self._tasks.start_soon(self._expire, state, run)
        return state

    async def _expire(self, state: str, run: ParkedRun) -> None:
        with anyio.move_on_after(PARKED_SECONDS):
            await run.done.wait()
        if self._parked.get(state) is run:
            del self._parked[state]
            run.scope.cancel()

    def _resume(self, state: str, arguments: Mapping[str, Any] | None) -> ParkedRun:
        run = self._parked.get(state)
        if run is None or run.arguments != arguments:
            raise MCPError(INVALID_PARAMS, "this request state is unknown or over: call run_code anew")
        del self._parked[state]
        return run
