"""`to_mcp`: code mode as an MCP server of the official SDK.

Rules
- One server object serves any number of clients, over any transport, in both eras. Nothing of one client reaches
  another: a question goes to the client whose call it is about, found by the call's root id.
- A call of `run_code` is a run of `CodeMode`, so every policy, guard and limit of the host holds. Cancelling the
  request stops the run; the answer comes when its records are written.
- While a run lasts, a client that asked for progress hears from it every `HEARTBEAT_SECONDS`, so that no idle limit of
  the client ends it.
- When the menu changes, clients are told: on the stream that they listen to (2026-07-28), or by a notification.
"""

from __future__ import annotations

import difflib
import uuid
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, TypeVar

import anyio
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
)
from pydantic import BaseModel, ValidationError

from codemode._code_mode import CodeMode
from codemode_registry import (
    RUN_CODE,
    Approver,
    CodeModeError,
    RuntimeUnavailableError,
    ToolCall,
    ToolFailure,
)
from codemode_stubs import render_stubs, signature

from ._answers import Clean, answer, broken, failure, refused_run, run_answer, tool_answer
from ._elicitation import Elicitation, ElicitationAnswer
from ._menu import GET_TOOL_DOCS, SEARCH_TOOLS, DocsArguments, Menu, SearchArguments, menu, program_tools
from ._questions import Desk, Questioner, client_approver, forwarded
from ._search import search
from ._upstreams import McpUpstreams

HEARTBEAT_SECONDS = 0.5
"""Clients' idle limits start at about one second (in tests) and are commonly 60; a beat is a hundred bytes."""

_LIST_TTL_MS = 5 * 60 * 1000
"""How long a client may keep `tools/list`; a change is told anyhow."""

_TOLD_CLIENTS = 1024
"""Handshake-era connections that are told of a changed menu; beyond it the oldest is forgotten."""

_TELL_SECONDS = 1.0
"""A client that does not read is not waited for."""


def to_mcp(
    code_mode: CodeMode,
    *,
    upstreams: McpUpstreams | None = None,
    name: str = "codemode",
    instructions: str | None = None,
) -> Server[Any]:
    """Code mode as an MCP server: `run_code`, `search_tools`, `get_tool_docs`.

    Args:
        code_mode: open while the server runs.
        upstreams: the MCP servers behind its registry, if any: their questions are put to the client whose call it is,
            and their secrets are kept out of every answer.
        name: of the server.
        instructions: for the client's model; a short text on how to go about it by default.

    Returns:
        A server of the SDK: `await server.run(read, write, server.create_initialization_options())`, or
        `server.streamable_http_app()`.
    """
    return _Gateway(code_mode, upstreams, name, instructions or _INSTRUCTIONS).server


_INSTRUCTIONS = (
    f"Work through programs: `{RUN_CODE}` runs one Python program that calls many tools and returns what you need. "
    f"If its description does not show the stubs of the tools, find them with `{SEARCH_TOOLS}` and read them with "
    f"`{GET_TOOL_DOCS}` first."
)


class _Server(Server[Any]):
    """The SDK's server, which says in the handshake era too that its tool list may change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        return super().create_initialization_options(
            notification_options or NotificationOptions(tools_changed=True), experimental_capabilities, extensions
        )


class _Gateway:
    def __init__(self, code_mode: CodeMode, upstreams: McpUpstreams | None, name: str, instructions: str) -> None:
        self._code_mode = code_mode
        self._upstreams = upstreams
        self._clean = Clean(upstreams.redact) if upstreams is not None else Clean()
        self._menu: Menu | None = None
        self._progress: dict[str, str] = {}
        self._questioners: dict[str, Questioner] = {}
        self._sessions: OrderedDict[int, tuple[object, ServerSession]] = OrderedDict()
        self._bus = InMemorySubscriptionBus()
        self._changed = anyio.Event()
        self._desk: Desk | None = None
        self.server = _Server(
            name,
            version=version("codemode-runtime"),
            title="codemode",
            instructions=instructions,
            cache_hints={"tools/list": CacheHint(ttl_ms=_LIST_TTL_MS, scope="private")},
            lifespan=self._lifespan,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._bus),
        )

    @asynccontextmanager
    async def _lifespan(self, server: Server[Any]) -> AsyncGenerator[dict[str, Any]]:
        """What lives as long as the server: the desk of waiting runs, and the watch on the registry."""
        registry = self._code_mode.registry
        watches = (registry.on_change(self._note_change), registry.on_progress(self._note_progress))
        if self._upstreams is not None:
            self._upstreams.ask_through(self._put_to_client)
        try:
            async with anyio.create_task_group() as tasks:
                self._desk = Desk(tasks)
                tasks.start_soon(self._announce)
                try:
                    yield {}
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            self._desk = None
            for watch in watches:
                watch.dispose()
            if self._upstreams is not None:
                self._upstreams.ask_through(None)

    async def _list_tools(
        self, ctx: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        client = ctx.session.client_params
        if client is not None and ctx.session.can_send_request:
            self._sessions[id(client)] = (client, ctx.session)
            while len(self._sessions) > _TOLD_CLIENTS:
                self._sessions.popitem(last=False)
        return ListToolsResult(tools=list(self._current_menu().tools))

    async def _call_tool(
        self, ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        arguments: dict[str, Any] = params.arguments or {}
        try:
            if params.name == SEARCH_TOOLS:
                return self._search_tools(arguments)
            if params.name == GET_TOOL_DOCS:
                return self._get_tool_docs(arguments)
            return await self._ask_and_run(ctx, params, arguments)
        except MCPError:
            raise
        except RuntimeUnavailableError as error:
            return failure(self._clean(f"no program can be run: {error}"))
        except CodeModeError as error:
            return failure(self._clean(str(error)))
        except Exception as error:
            return broken(params.name if params.name == RUN_CODE else "the call", error)

    async def _ask_and_run(
        self, ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams, arguments: dict[str, Any]
    ) -> CallToolResult | InputRequiredResult:
        desk = self._desk
        assert desk is not None
        call_id = f"mcp-{uuid.uuid4().hex}"

        async def start(questioner: Questioner | None) -> CallToolResult:
            if questioner is None:
                return await self._run(params.name, arguments, call_id, None)
            self._questioners[call_id] = questioner
            try:
                return await self._run(params.name, arguments, call_id, client_approver(questioner))
            finally:
                del self._questioners[call_id]

        self._progress[call_id] = "running"
        try:
            return await _with_heartbeat(
                ctx,
                lambda seconds: f"{self._clean(self._progress[call_id])} ({seconds:.0f}s)",
                lambda: desk.serve(
                    ctx,
                    {"name": params.name, "arguments": arguments},
                    start,
                    state=params.request_state,
                    answers=params.input_responses,
                ),
            )
        finally:
            del self._progress[call_id]

    async def _run(
        self, name: str, arguments: dict[str, Any], call_id: str, approver: Approver | None
    ) -> CallToolResult:
        code, description = arguments.get("code"), arguments.get("description")
        is_run = name == RUN_CODE and self._code_mode.mode != "native"
        if is_run and (surplus := [key for key in arguments if key not in _RUN_PARAMETERS]):
            return refused_run(_surplus(surplus))
        if is_run and isinstance(code, str) and isinstance(description, str) and description.strip():
            run = await self._code_mode.run(code, description=description, call_id=call_id, approver=approver)
            return run_answer(run, self._clean)
        result = await self._code_mode.call(name, arguments, call_id=call_id, approver=approver)
        if is_run and isinstance(result, ToolFailure):
            return refused_run(self._clean(result.error.message))
        return tool_answer(result, self._clean)

    def _search_tools(self, arguments: Mapping[str, Any]) -> CallToolResult:
        wanted = _read(SearchArguments, arguments, SEARCH_TOOLS)
        if isinstance(wanted, str):
            return failure(wanted)
        matches = search(wanted.query, program_tools(self._code_mode), limit=wanted.limit)
        found = [match.tool for match in matches]
        if not found:
            text = f"No tool fits {wanted.query!r}. An empty query lists all tools."
        elif wanted.detail == "stubs":
            text = render_stubs(found, form="prompt")
        else:
            text = "\n".join(f"{tool.full_name}: {signature(tool)}\n    {_gist(tool.description)}" for tool in found)
        return answer([{"type": "text", "text": text}])

    def _get_tool_docs(self, arguments: Mapping[str, Any]) -> CallToolResult:
        wanted = _read(DocsArguments, arguments, GET_TOOL_DOCS)
        if isinstance(wanted, str):
            return failure(wanted)
        tools = {tool.full_name: tool for tool in program_tools(self._code_mode)}
        names = [name.removeprefix("tools.") for name in wanted.names]
        missing = [name for name in names if name not in tools]
        if missing:
            return failure("; ".join(_unknown(name, list(tools)) for name in missing))
        return answer(
            [{"type": "text", "text": render_stubs([tools[name] for name in dict.fromkeys(names)], form="prompt")}]
        )

    def _put_to_client(self, question: Elicitation) -> Awaitable[ElicitationAnswer] | None:
        """An upstream's question goes to the client whose call it is about, as the upstream put it."""
        questioner = self._questioners.get(question.call.root_call_id)
        return None if questioner is None else forwarded(question, questioner)

    def _current_menu(self) -> Menu:
        if self._menu is None:
            self._menu = menu(self._code_mode)
        return self._menu

    def _note_change(self) -> None:
        self._menu = None
        self._changed.set()

    def _note_progress(self, call: ToolCall, done: float, total: float | None, message: str | None) -> None:
        if call.root_call_id in self._progress:
            amount = f"{done:g}" if total is None else f"{done:g} of {total:g}"
            self._progress[call.root_call_id] = f"{call.name}: {message or amount}"

    async def _announce(self) -> None:
        """Tells clients of a changed menu, once for any number of changes at a time."""
        told = self._current_menu()
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            now = self._current_menu()
            if now == told:
                continue
            told = now
            await self._bus.publish(ToolsListChanged())
            for _, session in list(self._sessions.values()):
                with anyio.move_on_after(_TELL_SECONDS):
                    await session.send_tool_list_changed()


_RUN_PARAMETERS = ("code", "description")
_T = TypeVar("_T")
_Model = TypeVar("_Model", bound=BaseModel)


async def _with_heartbeat(
    ctx: ServerRequestContext[Any, Any], words: Callable[[float], str], body: Callable[[], Awaitable[_T]]
) -> _T:
    """`body`, with progress meanwhile for a client that asked for it (else the SDK drops it).

    What is reported is seconds since the start, which only grow. A failure comes out as it is, not in a group.
    """

    async def beat() -> None:
        started = anyio.current_time()
        while True:
            seconds = anyio.current_time() - started
            await ctx.session.report_progress(round(seconds, 3), None, words(seconds))
            await anyio.sleep(HEARTBEAT_SECONDS)

    outcome: list[_T] = []
    failed: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(beat)
        try:
            outcome.append(await body())
        except Exception as error:
            failed = error
        tasks.cancel_scope.cancel()
    if failed is not None:
        raise failed
    return outcome[0]


def _read(model: type[_Model], arguments: Mapping[str, Any], tool: str) -> _Model | str:
    """The arguments of one of our own tools, or what is wrong with them."""
    try:
        return model.model_validate(dict(arguments))
    except ValidationError as error:
        wrong = [
            f"{'.'.join(map(str, item['loc']))}: {item['msg'].lower()}" for item in error.errors(include_input=False)
        ]
        return f"{tool} cannot take these arguments: {'; '.join(wrong)}; it takes {', '.join(model.model_fields)}"


def _surplus(keys: list[str]) -> str:
    """Words for arguments that run_code does not have."""
    words: list[str] = []
    for key in keys:
        near = difflib.get_close_matches(key, _RUN_PARAMETERS, n=1)
        words.append(f"it has no parameter {key!r}{f' (did you mean {near[0]!r}?)' if near else ''}")
    return f"invalid arguments for {RUN_CODE}: {'; '.join(words)}; it takes code (text) and description (text)"


def _gist(description: str) -> str:
    """The first sentence or line, on one line."""
    line = description.strip().split("\n", 1)[0].strip()
    end = line.find(". ")
    return line[: end + 1] if end > 0 else line


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    near = near or [full for full in known if full.rpartition(".")[2] == name.rpartition(".")[2]][:3]
    hint = f"did you mean {', '.join(near)}?" if near else f"find it with {SEARCH_TOOLS}"
    return f"there is no tool {name!r}; {hint}"
