"""All upstream servers of one configuration, and the registries that see their tools.

Rules
- One task an upstream; what happens to one never reaches another, or the host.
- A registry's view follows the server: a changed list registers and disposes just what changed. A server that is down
  keeps its tools (each call says that it is unavailable, and tries again), so that a prompt does not flicker.
- Entering waits until each server has answered or failed once, but not for long; the slow ones come in later.
- Nothing configured (environment, headers, user info) leaves in a log record, an event, an error or a stub.
"""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup

from codemode_registry import CodeModeError, Registry, Scope

from ._attachment import McpAttachment
from ._config import ConfigSource, load_config
from ._elicitation import Elicitor
from ._secrets import RedactingFilter, redactor_for
from ._status import UpstreamStatus
from ._upstream import Upstream

STARTUP_SECONDS = 15.0
"""How long entering waits for slow servers. A client's own start-up limit is 30 to 60 s; ours must leave room."""

_CHATTY_LOGGERS = (
    "client",
    "httpx2",
    "mcp.client.client",
    "mcp.client.session",
    "mcp.client.stdio",
    "mcp.client.streamable_http",
    "mcp.shared.jsonrpc_dispatcher",
)
"""Loggers of the SDK and its HTTP client whose records quote messages and URLs."""


class McpUpstreams:
    """Upstream MCP servers: connects to all of them, and gives their tools to registries.

    Args:
        config: path of an `mcpServers` JSON file, or its content.
        elicitor: who is asked when a server wants to know something in the middle of a call. Without one (or where it
            answers None) the approver of the registry that the call came through is asked; without that, declined.
        startup_seconds: how long entering waits for servers that have neither answered nor failed yet.

    Raises:
        McpConfigError: the configuration is wrong.

    Use as an async context manager, in one task; leaving ends the connections and the servers' processes.
    """

    def __init__(
        self, config: ConfigSource, *, elicitor: Elicitor | None = None, startup_seconds: float = STARTUP_SECONDS
    ) -> None:
        configs = load_config(config)
        self._redactor = redactor_for(configs.values())
        self._filter = RedactingFilter(self._redactor)
        self._elicitor = elicitor
        self._startup_seconds = startup_seconds
        self._attachments: list[McpAttachment] = []
        self._problems: list[tuple[str, str]] = []
        self._tasks: TaskGroup | None = None
        self._upstreams = [
            Upstream(
                name,
                server,
                redactor=self._redactor,
                on_change=self._changed,
                on_problem=self._problem,
                elicitor=lambda: self._elicitor,
            )
            for name, server in configs.items()
        ]

    async def __aenter__(self) -> Self:
        if self._tasks is not None:
            raise CodeModeError("these upstreams are already open")
        for name in _CHATTY_LOGGERS:
            logging.getLogger(name).addFilter(self._filter)
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        for upstream in self._upstreams:
            self._tasks.start_soon(upstream.run, name=f"mcp upstream {upstream.name}")
        with anyio.move_on_after(self._startup_seconds):
            for upstream in self._upstreams:
                await upstream.settled()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        tasks, self._tasks = self._tasks, None
        assert tasks is not None
        for attachment in list(self._attachments):
            attachment.dispose()
        tasks.cancel_scope.cancel()
        try:
            if isinstance(error, Exception):
                # The group would wrap the user's own error in an ExceptionGroup; it has nothing to do with it.
                await tasks.__aexit__(None, None, None)
                return None
            return await tasks.__aexit__(kind, error, trace)
        finally:
            for name in _CHATTY_LOGGERS:
                logging.getLogger(name).removeFilter(self._filter)

    def attach(self, target: Registry | Scope) -> McpAttachment:
        """Registers every tool of every server under the server's name, and follows their changes.

        Args:
            target: a registry, or a scope of one.

        Returns:
            A handle: `dispose()` takes the tools out again; also a context manager.

        Raises:
            CodeModeError: not open.
        """
        if self._tasks is None:
            raise CodeModeError("open the upstreams first: `async with McpUpstreams(config) as upstreams:`")
        attachment = McpAttachment(target, self._warn, self._attachments.remove)
        self._attachments.append(attachment)
        for upstream in self._upstreams:
            attachment.follow(upstream)
        for source, message in self._problems:
            self._warn(attachment, source, message)
        return attachment

    def ask_through(self, elicitor: Elicitor | None) -> None:
        """Changes who is asked first when a server wants to know something; see the constructor."""
        self._elicitor = elicitor

    def status(self) -> list[UpstreamStatus]:
        """Each server's state now, in the order of the configuration; free of secrets."""
        return [upstream.status() for upstream in self._upstreams]

    def redact(self, text: str) -> str:
        """`text` without the secrets of the configuration."""
        return self._redactor.text(text)

    def _changed(self, upstream: Upstream) -> None:
        for attachment in self._attachments:
            attachment.follow(upstream)

    def _problem(self, upstream: Upstream, message: str) -> None:
        source = f"mcp:{upstream.name}"
        if (source, message) not in self._problems:
            self._problems.append((source, message))
            for attachment in self._attachments:
                self._warn(attachment, source, message)

    def _warn(self, attachment: McpAttachment, source: str, message: str) -> None:
        """Appends a warning event, from a task of its own: who finds a fault is not the one to wait for the log."""
        events = attachment.registry.events
        if events is not None and self._tasks is not None:
            self._tasks.start_soon(_append, events, {"source": source, "message": message})


async def _append(events: Any, data: dict[str, Any]) -> None:
    try:
        await events.append("warning", data)
    except Exception:
        logging.getLogger(__name__).exception("a warning could not be written to the event log")
