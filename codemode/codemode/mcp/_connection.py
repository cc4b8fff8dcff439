"""Opens one connection to one server: the transport, the negotiation of the protocol, and words for what went wrong.

Rules
- Cancel scopes nest strictly, so the whole life of a connection is one `async with`; a deadline on opening it is the
  deadline of the scope around it, moved to infinity once the connection stands.
- Era `auto`: the SDK probes for 2026-07-28 and falls back to the handshake. Some handshake servers close the stream
  on anything but `initialize`; those get a second connection that starts with it.
- What an error says is for people: which server, which program or URL, what to look at. Secrets are taken out by the
  caller, who knows them all.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal, cast

import httpx2
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.session import ElicitationFnT, MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation
from pydantic import ValidationError

from ._config import UpstreamConfig
from ._last_words import LastWords
from ._wire import WatchedTransport

Mode = Literal["auto", "legacy"]

_HTTP_CONNECT_SECONDS = 30.0
"""As the SDK: a TLS handshake to a sleepy host is slow, a dead host should not hold a call for minutes."""

_HTTP_SILENCE_SECONDS = 300.0
"""As the SDK: a response stream may be quiet that long; servers that need longer send progress or comments."""

_MAX_EVENT_BYTES = 64 * 1024 * 1024
"""One SSE event holds a whole result; the SDK's default of 1 MiB would lose an image or a file. As our output limit."""


@dataclass(slots=True)
class Peer:
    """What is noticed about the other end while a connection is opened; kept for the error message."""

    last_words: LastWords | None = None
    http_status: int | None = None
    """The last status of 400 or above."""


@asynccontextmanager
async def connected(
    config: UpstreamConfig,
    peer: Peer,
    *,
    mode: Mode,
    on_end: Callable[[], None],
    on_message: MessageHandlerFnT,
    on_elicit: ElicitationFnT,
) -> AsyncGenerator[Client]:
    """A negotiated client for the server of `config`, open while the context is.

    Args:
        peer: filled in as things are learnt.
        mode: `auto`, or `legacy` for servers that cannot stand the probe.
        on_end: called when the server's side of the stream is over.
        on_message: gets the server's notifications.
        on_elicit: answers the server's questions to a human.
    """
    async with AsyncExitStack() as stack:
        if config.url is not None:
            client = await stack.enter_async_context(_http_client(config, peer))
            transport: Any = streamable_http_client(config.url, http_client=client, max_sse_event_size=_MAX_EVENT_BYTES)
        else:
            peer.last_words = await stack.enter_async_context(LastWords())
            transport = stdio_client(_process(config), errlog=peer.last_words.file)
        yield await stack.enter_async_context(
            Client(
                WatchedTransport(transport, on_end),
                mode=mode,
                cache=None,
                client_info=Implementation(name="codemode", version=version("codemode-runtime")),
                message_handler=on_message,
                elicitation_callback=on_elicit,
            )
        )


def _process(config: UpstreamConfig) -> StdioServerParameters:
    return StdioServerParameters(
        command=config.command or "",
        args=list(config.args),
        env=config.env or None,
        cwd=config.cwd,
        encoding_error_handler="replace",
    )


def _http_client(config: UpstreamConfig, peer: Peer) -> httpx2.AsyncClient:
    async def note_status(response: httpx2.Response) -> None:
        if response.status_code >= 400:
            peer.http_status = response.status_code

    silence = max(_HTTP_SILENCE_SECONDS, config.timeout or 0.0)
    return httpx2.AsyncClient(
        headers=config.headers,
        timeout=httpx2.Timeout(_HTTP_CONNECT_SECONDS, read=silence),
        event_hooks={"response": [note_status]},
    )


def first_cause(error: BaseException) -> BaseException:
    """The error inside the groups that task groups make of it."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def worth_the_handshake(error: BaseException) -> bool:
    """Whether a failed opening may be the fault of the probe, so that the plain handshake should be tried."""
    return isinstance(first_cause(error), MCPError)


def describe(error: BaseException, config: UpstreamConfig, peer: Peer) -> str:
    """Why a connection could not be opened or ended, in one line. Not redacted yet."""
    cause = first_cause(error)
    last_words = peer.last_words.text if peer.last_words is not None else ""
    match cause:
        case FileNotFoundError() | NotADirectoryError():
            text = f"cannot start {config.command!r}: " + (
                "its working directory does not exist"
                if config.cwd is not None and str(cause.filename) == str(config.cwd)
                else "no such program"
            )
        case PermissionError():
            text = f"cannot start {config.command!r}: not allowed"
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            text = f"cannot connect to {config.endpoint}"
        case httpx2.HTTPError():
            text = f"{config.endpoint}: {type(cause).__name__}"
        case MCPError():
            text = cause.message
        case ValidationError():
            text = "it sent what is no valid answer of the protocol"
        case TimeoutError():
            text = str(cause) or "timed out"
        case _:
            text = f"{type(cause).__name__}: {cause}"
    if peer.http_status is not None and config.url is not None:
        text = f"{config.endpoint} answered with HTTP status {peer.http_status}"
    return f"{text} ({last_words})" if last_words else text
