"""codemode_registry: tools, layers and scopes, the pipeline of one call, policies, approvals, events.

Knows nothing of programs; a host can use it alone. What is public stands here; everything in `_modules` is private to
this package, and what rooms above may use of it is in the README.
"""

from typing import TYPE_CHECKING, Any

from ._approval import ApprovalPolicy, Approver
from ._audit import NativeAudit
from ._call import ApprovalRequest, CallAudit, CallTiming, CallToken, DispatchLog, ToolCall, ToolRequest
from ._cancel import CancelSignal, LoopDoor
from ._decisions import UNSET, Accept, Allow, Ask, Block, Decision, Deny, Verdict
from ._errors import (
    CallAbandoned,
    CodeModeError,
    LogError,
    RegistrationError,
    RuntimeUnavailableError,
    ToolError,
    describe,
)
from ._events import Event, EventLog, JsonlEventLog, MemoryEventLog, appends_at_once, read_events
from ._explain import did_you_mean, near
from ._json import FrozenDict, FrozenList, JsonValue, NotJsonError, freeze, known_text, thaw
from ._registration import Registration
from ._registry import Registry
from ._result import (
    ABORTED_CODES,
    DENIED_CODES,
    NEVER_RAN_CODES,
    CallError,
    ContentBlock,
    ToolFailure,
    ToolResult,
    ToolSuccess,
)
from ._scope import Scope
from ._stream import CallStream
from ._surface import Surface, Toolset
from ._ticket import CallTicket
from ._tool import RUN_CODE, Tool, ToolAnnotations, ToolContext

if TYPE_CHECKING:
    from ._typed import function_tool

__all__ = [
    "ABORTED_CODES",
    "DENIED_CODES",
    "NEVER_RAN_CODES",
    "RUN_CODE",
    "UNSET",
    "Accept",
    "Allow",
    "ApprovalPolicy",
    "ApprovalRequest",
    "Approver",
    "Ask",
    "Block",
    "CallAbandoned",
    "CallAudit",
    "CallError",
    "CallStream",
    "CallTicket",
    "CallTiming",
    "CallToken",
    "CancelSignal",
    "CodeModeError",
    "ContentBlock",
    "Decision",
    "Deny",
    "DispatchLog",
    "Event",
    "EventLog",
    "FrozenDict",
    "FrozenList",
    "JsonValue",
    "JsonlEventLog",
    "LogError",
    "LoopDoor",
    "MemoryEventLog",
    "NativeAudit",
    "NotJsonError",
    "Registration",
    "RegistrationError",
    "Registry",
    "RuntimeUnavailableError",
    "Scope",
    "Surface",
    "Tool",
    "ToolAnnotations",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolFailure",
    "ToolRequest",
    "ToolResult",
    "ToolSuccess",
    "Toolset",
    "Verdict",
    "appends_at_once",
    "describe",
    "did_you_mean",
    "freeze",
    "function_tool",
    "known_text",
    "near",
    "read_events",
    "thaw",
]


def __getattr__(name: str) -> Any:
    # The one name that needs pydantic proper: a host of raw tools does not pay for loading it (PEP 562).
    if name == "function_tool":
        from ._typed import function_tool

        return function_tool
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
