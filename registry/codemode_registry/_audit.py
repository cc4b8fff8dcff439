"""`tool/call` and `tool/result`: the records of a call that a model, or a tool by the registry, made directly."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ._call import CallTiming, CallToken, ToolCall
from ._events import EventLog
from ._json import FrozenDict
from ._result import ToolFailure, ToolResult


def error_data(result: ToolFailure) -> FrozenDict:
    """A failure's error as event data."""
    return FrozenDict({"message": result.error.message, "code": result.error.code, "name": result.error.name})


class NativeAudit:
    """Appends the pair of records of each call. One for many calls. What it logs is frozen already, part by part."""

    __slots__ = ("_log", "_seqs")

    def __init__(self, log: EventLog | None) -> None:
        self._log = log
        self._seqs: dict[CallToken, int] = {}

    async def started(self, call: ToolCall) -> None:
        """Append `tool/call`. Arguments that were not JSON are left out."""
        if self._log is None:
            return
        data: dict[str, Any] = {"call_id": call.call_id, "root_call_id": call.root_call_id, "name": call.name}
        if call.arguments is not None:
            data["arguments"] = call.arguments
        if call.scope is not None:
            data["scope"] = call.scope.name
        event: Any = await self._log.append("tool/call", FrozenDict(data))
        self._seqs[call.token] = getattr(event, "seq", None) or 0

    async def settled(self, call: ToolCall, result: ToolResult, timing: CallTiming) -> None:
        """Append `tool/result`, which cites the call."""
        if self._log is None:
            return
        data: dict[str, Any] = {"call_id": call.call_id}
        seq = self._seqs.pop(call.token, 0)
        if seq:
            data["call_seq"] = seq
        data["is_error"] = result.is_error
        data["content"] = result.content
        if isinstance(result, ToolFailure):
            data["error"] = error_data(result)
        if result.meta is not None:
            data["meta"] = result.meta
        await self._log.append("tool/result", FrozenDict(data))

    def asking(self, call: ToolCall) -> AbstractContextManager[None]:
        """Nothing to pause."""
        return nullcontext()
