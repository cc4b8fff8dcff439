"""The calls that are open on one connection, and whose question it is when the server asks one.

Rules
- In the 2026-07-28 protocol, and over HTTP, a question arrives in the task of its call, or with its context. Over stdio
  in the handshake era it only names the connection: then it belongs to the one caller that has calls open, or nobody.
- Whatever goes wrong with a question declines it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from codemode_registry import ToolContext

from ._elicitation import DECLINED, Elicitation, Elicitor, put, whose

_own_call: ContextVar[ToolContext | None] = ContextVar("codemode_mcp_own_call", default=None)
"""The call whose task this is, or on whose behalf the transport works."""


class OpenCalls:
    """The open calls of a server.

    Args:
        server: its name.
        problem: called with words for a question that could not be put.
    """

    def __init__(self, server: str, problem: Callable[[str], None]) -> None:
        self._server = server
        self._problem = problem
        self._calls: dict[int, tuple[ToolContext, str]] = {}

    @contextmanager
    def open(self, ctx: ToolContext, tool: str) -> Generator[None]:
        """Holds a call open; `tool` is the server's name of what is called."""
        token = _own_call.set(ctx)
        self._calls[id(ctx)] = (ctx, tool)
        try:
            yield
        finally:
            del self._calls[id(ctx)]
            _own_call.reset(token)

    async def ask(self, params: ElicitRequestParams, elicitor: Elicitor | None) -> ElicitResult:
        """Puts a question of the server to whoever answers for the call that it is about."""
        ctx = _own_call.get()
        if ctx is None or id(ctx) not in self._calls:
            ctx = whose([open_call for open_call, _ in self._calls.values()])
        if ctx is None:
            self._problem("it asked a question that belongs to no single open call; declined")
            return ElicitResult(action="decline")
        form = params if isinstance(params, ElicitRequestFormParams) else None
        question = Elicitation(
            server=self._server,
            tool_name=f"{self._server}.{self._calls[id(ctx)][1]}",
            message=params.message,
            call=ctx.call,
            schema=form.requested_schema if form is not None else None,
            url=None if isinstance(params, ElicitRequestFormParams) else params.url,
        )
        try:
            answer = await put(question, ctx, elicitor)
        except Exception as error:
            self._problem(f"its question could not be put: {error}; declined")
            answer = DECLINED
        filled_in = form is not None and answer.action == "accept"
        return ElicitResult(action=answer.action, content=dict(answer.content or {}) if filled_in else None)
