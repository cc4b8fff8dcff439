"""One upstream server: a task that keeps its connection, and calls that are multiplexed over it.

Rules
- The task `run` owns the connection: it opens it, lists all pages, follows changes of the list, and opens it again
  with a growing pause when it is lost. Nothing that happens to a server leaves this task: another upstream, or the
  host, is never disturbed.
- `call` may be used by any number of tasks at once; the SDK multiplexes them. Cancelling the caller (a time-out of
  the pipeline is that, too) sends the protocol's cancellation to the server.
- A call is never sent twice unless the server is known not to have begun it (an HTTP session it has forgotten).
- States and who changes them: only `run`, through `_enter`; `NEXT` is the table of what is legal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
from mcp import Client, MCPError
from mcp.client import ClientRequestContext, IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    ElicitRequestParams,
    ElicitResult,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from codemode_registry import ToolContext, ToolError

from ._config import UpstreamConfig
from ._connection import Mode, Peer, connected, describe, worth_the_handshake
from ._elicitation import Elicitor
from ._json import JsonObject, is_object, list_or_empty, object_or_empty
from ._listing import ToolDefinition, read_listing
from ._open_calls import OpenCalls
from ._secrets import Redactor
from ._status import NEXT, State, UpstreamStatus
from ._wire import RAW

OPENING_SECONDS = 30.0
"""To start, negotiate and list. `npx` may have to fetch the server first; the SDK's own probe alone waits 10."""

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
"""Between attempts: doubled from the first to the longest, so that a dead server costs next to nothing."""

_STEADY_SECONDS = 5.0
"""A connection that stood this long was a good one: its loss starts the pauses anew, and the first try is at once."""

_CALL_WAITS_SECONDS = 15.0
"""How long a call waits for a connection that is being opened, before it says that the server is unavailable."""

_RETRY_SPACING_SECONDS = 1.0
"""A call wakes a sleeping upstream for a try at once, unless the last one failed only just now."""

_MOST_TOOLS = 10_000
"""A listing that never ends (a cursor that goes in circles) stops here."""


class Upstream:
    """A server's connection and what it offers.

    Args:
        name: its name in the configuration; the tools' namespace.
        config: how to reach it.
        redactor: knows the secrets of all servers.
        on_change: called when its tools or its state changed.
        on_problem: called with words for what was put right or left out.
        elicitor: gives whoever is asked first when the server asks something in the middle of a call.
    """

    def __init__(
        self,
        name: str,
        config: UpstreamConfig,
        *,
        redactor: Redactor,
        on_change: Callable[[Upstream], None],
        on_problem: Callable[[Upstream, str], None],
        elicitor: Callable[[], Elicitor | None],
    ) -> None:
        self.name = name
        self.config = config
        self.redactor = redactor
        self.definitions: tuple[ToolDefinition, ...] = ()
        self._on_change = on_change
        self._on_problem = on_problem
        self._elicitor = elicitor
        self._state: State = "disabled" if config.disabled else "starting"
        self._error: str | None = None
        self._failures = 0
        self._refusals = 0
        self._failed_at = float("-inf")
        self._client: Client | None = None
        self._identity: tuple[str | None, str | None] = (None, None)
        self._open_calls = OpenCalls(name, self._said_wrong)
        self._entered = anyio.Event()
        self._wake = anyio.Event()
        self._signal = anyio.Event()
        self._ended = False
        self._stale = False

    @property
    def state(self) -> State:
        """Where its connection is now."""
        return self._state

    @property
    def error(self) -> str | None:
        """Why it is down; redacted."""
        return self._error

    def status(self) -> UpstreamStatus:
        """A snapshot for reports."""
        protocol, server = self._identity
        return UpstreamStatus(
            name=self.name,
            state=self._state,
            transport=self.config.transport,
            endpoint=self.redactor.text(self.config.endpoint),
            tools=tuple(definition.name for definition in self.definitions),
            error=self._error,
            protocol=protocol,
            server=server,
            attempts=self._failures,
        )

    async def run(self) -> None:
        """Keeps the connection until cancelled.

        Cancellation: the connection is closed and the server's process ended before this returns.
        """
        while self._state != "disabled":
            opened_at = anyio.current_time()
            error, stood = await self._attempt()
            now = anyio.current_time()
            steady = stood and now - opened_at >= _STEADY_SECONDS
            self._failures = 0 if steady else self._failures + 1
            self._refusals = 0 if stood else self._refusals + 1
            self._failed_at = now
            self._enter("down", error)
            if not steady:
                pause = min(_FIRST_PAUSE_SECONDS * 2.0 ** (self._failures - 1), _LONGEST_PAUSE_SECONDS)
                with anyio.move_on_after(pause):
                    await self._wake.wait()
            self._wake = anyio.Event()
            self._enter("starting", error)

    async def settled(self) -> None:
        """Returns when the first attempt is over, whatever came of it."""
        while self._state == "starting" and self._failures == 0:
            await self._entered.wait()

    async def call(self, tool: str, arguments: JsonObject, *, ctx: ToolContext, progress: ProgressFnT) -> JsonObject:
        """Calls a tool.

        Args:
            tool: the server's own name of it.
            arguments: plain JSON.
            ctx: of the pipeline's call that this is the body of.
            progress: gets (done, total, message).

        Returns:
            The result object as the server sent it, secrets taken out of it.

        Raises:
            ToolError: unavailable, closed in the middle, or refused by the server.

        Cancellation: the server is told, then the cancellation goes on.
        """
        for last in (False, True):
            client = await self._ready()
            try:
                with self._open_calls.open(ctx, tool):
                    result = await client.call_tool(tool, arguments, progress_callback=progress)
            except MCPError as error:
                if error.code == INVALID_REQUEST and error.message == "Session terminated" and not last:
                    self._lose(client)
                    continue
                raise ToolError(self.redactor.text(self._refusal(client, error))) from None
            except ValidationError:
                raise ToolError(f"MCP server {self.name!r} sent no valid result for {tool!r}") from None
            except Exception as error:  # the SDK has many; none may carry a secret out
                raise ToolError(self.redactor.text(f"MCP server {self.name!r}: {error}")) from None
            return object_or_empty(self.redactor.value((result.meta or {}).get(RAW)))
        raise AssertionError("unreachable")

    async def reach(self) -> None:
        """Tries to reach the server, if it is not up.

        Raises:
            ToolError: it is unavailable; says why.
        """
        await self._ready()

    def _refusal(self, client: Client, error: MCPError) -> str:
        """The words for a call that the protocol answered with an error."""
        if error.code == CONNECTION_CLOSED:
            self._lose(client)
            return (
                f"MCP server {self.name!r} closed the connection during the call; "
                "whether the call took effect is unknown"
            )
        if error.code == URL_ELICITATION_REQUIRED:
            asked = list_or_empty(object_or_empty(error.data).get("elicitations"))
            urls = [str(item.get("url")) for item in asked if is_object(item)]
            return f"{error.message}: a person must open {', '.join(urls)} first"
        return error.message or f"MCP server {self.name!r} refused the call (code {error.code})"

    async def _ready(self) -> Client:
        if self._state == "disabled":
            raise ToolError(f"MCP server {self.name!r} is switched off in its configuration")
        refusals = self._refusals
        with anyio.move_on_after(_CALL_WAITS_SECONDS):
            while self._client is None:
                if self._state == "down":
                    recent = anyio.current_time() - self._failed_at < _RETRY_SPACING_SECONDS
                    if self._refusals > refusals or (recent and self._refusals):
                        break
                    self._wake.set()
                await self._entered.wait()
        if self._client is None:
            why = self._error or "it has not answered yet"
            raise ToolError(f"MCP server {self.name!r} is unavailable: {why}")
        return self._client

    async def _attempt(self) -> tuple[str, bool]:
        """One connection, from opening to its end: (why it ended, whether it ever stood)."""
        why, stood, mode_matters = await self._connection("auto")
        if mode_matters and self.config.url is None:
            why, stood, _ = await self._connection("legacy")
        return self.redactor.text(why), stood

    async def _connection(self, mode: Mode) -> tuple[str, bool, bool]:
        """(why it ended, whether it ever stood, whether it may have failed because of `mode`)."""
        peer = Peer()
        stood = mode_matters = False
        self._ended = self._stale = False
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + OPENING_SECONDS) as scope:
                async with connected(
                    self.config,
                    peer,
                    mode=mode,
                    on_end=self._note_end,
                    on_message=self._on_message,
                    on_elicit=self._on_elicit,
                ) as client:
                    await self._list(client)
                    scope.deadline = float("inf")
                    stood = True
                    self._stand(client)
                    await self._follow(client)
            why = "the server closed the connection" if stood else f"no answer within {OPENING_SECONDS:g}s"
            last_words = peer.last_words.text if peer.last_words is not None else ""
            why = f"{why} ({last_words})" if last_words else why
        except Exception as error:
            why = describe(error, self.config, peer)
            mode_matters = not stood and worth_the_handshake(error)
        finally:
            self._client = None
        return why, stood, mode_matters

    def _stand(self, client: Client) -> None:
        server = client.server_info
        self._identity = (client.protocol_version, f"{server.name} {server.version}".strip() if server else None)
        self._client = client
        self._enter("up", None)

    async def _follow(self, client: Client) -> None:
        """Lists anew whenever the server says so, until the connection ends."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen, client)
            while not self._ended:
                if self._stale:
                    self._stale = False
                    await self._relist(client)
                    continue
                await self._signal.wait()
                self._signal = anyio.Event()
            tasks.cancel_scope.cancel()

    async def _listen(self, client: Client) -> None:
        """2026-07-28: changes come on a stream that has to be asked for; earlier they come by themselves."""
        tools = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
            return
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    self._note_stale()  # what changed between the listing and now was told to nobody
                    pause = _FIRST_PAUSE_SECONDS
                    async for _ in changes:
                        self._note_stale()
            except ListenNotSupportedError:
                return
            except MCPError as error:
                if error.code == METHOD_NOT_FOUND:
                    return
            except (SubscriptionLost, TimeoutError):
                pass
            await anyio.sleep(pause)
            pause = min(pause * 2.0, _LONGEST_PAUSE_SECONDS)

    async def _relist(self, client: Client) -> None:
        try:
            with anyio.fail_after(OPENING_SECONDS):
                await self._list(client)
        except (MCPError, ValidationError, TimeoutError) as error:
            words = describe(error, self.config, Peer())
            self._said_wrong(f"its changed tool list could not be read: {words}")
        else:
            self._on_change(self)

    async def _list(self, client: Client) -> None:
        """Reads every page of the tool list into `definitions`."""
        entries: list[Any] = []
        cursors: set[str] = set()
        cursor: str | None = None
        while True:
            try:
                page = await client.list_tools(cursor=cursor)
            except MCPError as error:
                if error.code == METHOD_NOT_FOUND and cursor is None:
                    break
                raise
            entries += [(tool.meta or {}).get(RAW) for tool in page.tools]
            cursor = page.next_cursor
            if not cursor:
                break
            if cursor in cursors or len(entries) >= _MOST_TOOLS:
                self._said_wrong("its tool list does not end; what was read until then is used")
                break
            cursors.add(cursor)
        self.definitions, dropped = read_listing(self.redactor.value(entries))
        for problem in dropped:
            self._said_wrong(problem)

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._note_stale()
        elif isinstance(message, Exception):
            self._said_wrong("it sent something that is no message of the protocol (a stray print, perhaps); ignored")

    async def _on_elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return await self._open_calls.ask(params, self._elicitor())

    def _said_wrong(self, message: str) -> None:
        self._on_problem(self, self.redactor.text(message))

    def _enter(self, state: State, error: str | None) -> None:
        assert state in NEXT[self._state], f"{self._state} -> {state}"
        self._state, self._error = state, error
        entered, self._entered = self._entered, anyio.Event()
        entered.set()
        self._on_change(self)

    def _lose(self, client: Client) -> None:
        """The connection is of no use any more; `run` opens another."""
        if self._client is client:
            self._client = None
            self._note_end()

    def _note_end(self) -> None:
        self._ended = True
        self._signal.set()

    def _note_stale(self) -> None:
        self._stale = True
        self._signal.set()
