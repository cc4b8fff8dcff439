"""The stream between the SDK's transport and its session: knows when the connection ends, and puts bad listings right.

Rules
- The SDK validates a `tools/list` page and a tool result as a whole: one tool with a wrong schema would cost all tools
  of the server, one odd block the whole value. So what a server sends is put into a shape the SDK accepts before the
  SDK looks at it, and what was really said travels along under `_meta`, for `_listing` and `_values` to judge.
- Nothing else on the wire is touched; answers are never invented.
- So the session never sees a declared output schema or a value, and cannot hide a value that breaks its schema: our
  pipeline does that check, and only warns.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, TypeAlias

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

from ._json import is_list, is_object, object_or_empty

Streams: TypeAlias = tuple[Any, Any]
"""A transport's (read, write) pair; the SDK's own protocol types for it are private."""

RAW = "codemode.run/raw"
"""The `_meta` key (vendor prefix, as the protocol asks) under which the untouched tool or result travels."""

_OBJECT_SCHEMA = {"type": "object"}


class WatchedTransport(AbstractAsyncContextManager[Streams]):
    """A transport whose end can be waited for, and whose listings are put right on the way in.

    Args:
        transport: any transport of the SDK.
        on_end: called when the server's side of the stream is over (more than once, it may be).
    """

    def __init__(self, transport: AbstractAsyncContextManager[Streams], on_end: Callable[[], None]) -> None:
        self._transport = transport
        self._on_end = on_end

    async def __aenter__(self) -> Streams:
        read, write = await self._transport.__aenter__()
        return _WatchedStream(read, self._on_end), write

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._on_end()
        return await self._transport.__aexit__(kind, error, trace)


class _WatchedStream:
    """The SDK's `ReadStream`, one message at a time, with no task or buffer in between."""

    def __init__(self, stream: Any, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end

    @property
    def last_context(self) -> Any:
        """The sender's context variables, where the transport keeps them (read by the SDK's dispatcher)."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            item = await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._on_end()
            raise
        return item if isinstance(item, Exception) else put_right(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> _WatchedStream:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> _WatchedStream:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._on_end()
        await self._stream.__aexit__(kind, error, trace)
        return None


def put_right(message: SessionMessage) -> SessionMessage:
    """`message`; a tool listing or result as one that passes the SDK's validation and carries the original."""
    answer = message.message
    if not isinstance(answer, JSONRPCResponse):
        return message
    repaired = _result(answer.result)
    if repaired is None:
        return message
    return SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=answer.id, result=repaired), metadata=message.metadata)


def _result(result: dict[str, Any]) -> dict[str, Any] | None:
    if isinstance(result.get("tools"), list) and "content" not in result:
        return {**result, "tools": [_tool(tool) for tool in result["tools"]]}
    if result.get("resultType", "complete") != "complete":
        return None
    if "content" in result or "structuredContent" in result:
        # `isError` is what keeps the session from checking it, or listing the tools again first; the truth is in RAW.
        carried: dict[str, Any] = {"content": [], "isError": True, "_meta": {RAW: result}}
        if "resultType" in result:
            carried["resultType"] = "complete"
        return carried
    return None


def _tool(raw: Any) -> dict[str, Any]:
    """A tool that every revision of the protocol accepts; an entry that is no tool has an empty name."""
    tool = object_or_empty(raw)
    name = tool.get("name")
    schema = tool.get("inputSchema")
    return {
        "name": name if isinstance(name, str) else "",
        "inputSchema": schema if _accepted(schema) else _OBJECT_SCHEMA,
        "_meta": {RAW: raw},
    }


def _accepted(schema: Any) -> bool:
    """Whether the SDK's model of an input schema takes `schema` (it needs it to find header annotations)."""
    if not is_object(schema) or schema.get("type") != "object":
        return False
    properties, required = schema.get("properties"), schema.get("required")
    if not (schema.get("$schema") is None or isinstance(schema["$schema"], str)):
        return False
    if not (properties is None or _is_map_of_schemas(properties)):
        return False
    return required is None or (is_list(required) and all(isinstance(name, str) for name in required))


def _is_map_of_schemas(properties: Any) -> bool:
    return is_object(properties) and all(isinstance(schema, dict | bool) for schema in properties.values())
