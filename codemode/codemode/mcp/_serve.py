"""Runs the gateway: over standard input and output, or over streamable HTTP.

Rules
- Over stdio the protocol owns fd 0 and 1; the SDK points both elsewhere meanwhile, so a stray print of a tool cannot
  break a message.
- Over HTTP the server is uvicorn, which the SDK brings along, so that loop is asyncio's; everything else of ours runs
  on either.
- No authentication is built in: an address that others can reach is for a reverse proxy to guard, and is warned of.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from ._stdin import taken_stdin

PATH = "/mcp"

_BACKLOG = 128
"""Connections that wait to be accepted; uvicorn's own figure is for public sites."""

_GOODBYE_SECONDS = 2
"""How long requests in flight may end by themselves when the server is stopped."""


async def serve_stdio(server: Server[Any]) -> None:
    """Serves one client over standard input and output, until it closes them.

    Args:
        server: from `to_mcp`.

    Cancellation: ends the requests in flight and returns.
    """
    with taken_stdin() as lines:
        source: Any = lines
        async with stdio_server(stdin=source) as (read, write):
            await server.run(read, write, server.create_initialization_options())


async def serve_http(
    server: Server[Any],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    on_listening: Callable[[str], None] | None = None,
) -> None:
    """Serves any number of clients over streamable HTTP at `/mcp`, until the process is told to stop.

    Args:
        server: from `to_mcp`.
        host: the address to listen on. Requests for other host names are refused on a loopback address (DNS rebinding).
        port: 0 picks a free one.
        on_listening: called with the URL once requests are taken.

    Cancellation: stops listening, ends the requests in flight, returns. Needs an asyncio loop.

    Raises:
        OSError: the address cannot be listened on.
    """
    security = None if is_loopback(host) else TransportSecuritySettings(enable_dns_rebinding_protection=False)
    listener = _listen(host, port)
    try:
        app = server.streamable_http_app(streamable_http_path=PATH, host=host, transport_security=security)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=_GOODBYE_SECONDS, ws="none")
        http = _Uvicorn(config, lambda: on_listening(_url(listener)) if on_listening is not None else None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(http.stop_when_cancelled)
            with anyio.CancelScope(shield=True):
                await http.serve(sockets=[listener])
            tasks.cancel_scope.cancel()
    finally:
        listener.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


class _Uvicorn(uvicorn.Server):
    """uvicorn, stopped by cancellation instead of by signals: the command has more to close than this server."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def stop_when_cancelled(self) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
