"""The error tree of the whole product.

Rules: what a DEVELOPER did wrong is an exception of this tree; what a CALL did wrong is a result, never an exception.
The one class in between is `ToolError`: a tool's body raises it, the pipeline turns it into a failed result.

    CodeModeError                      anything of ours that is raised to the developer
      RegistrationError (ValueError)   a tool, a restriction, a hook or a mode that cannot be accepted; nothing changed
      RuntimeUnavailableError          no child process can be started, or none that is sealed
      CallAbandoned                    a queued call of a stream never started (rooms above: tell the program)
      LogError                         an event log that cannot be read or written
    ToolError                          raised by a tool's body; its message is for the model
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# Groups are generic over what they hold, which nobody knows.

from __future__ import annotations

from typing import cast


class CodeModeError(Exception):
    """Base of every error that this product raises to the developer."""


class RegistrationError(CodeModeError, ValueError):
    """Something cannot be registered: the message names it and says what is wrong. Nothing was changed."""


class RuntimeUnavailableError(CodeModeError):
    """No child process can be started, or it is not sealed while that is required."""


class CallAbandoned(CodeModeError):
    """A queued call of a `CallStream` never started: no record, no policy and no body saw it."""


class LogError(CodeModeError):
    """An event log holds a line that is not an event, or can no longer be written."""


class ToolError(Exception):
    """Raised inside a tool: the call fails with this message, which the model reads.

    Args:
        message: What the model is told.
        code: The failure's code; rooms above use it (`CODE_RUN_FAILED`), tools leave it alone.
        name: The name on the failure; the exception class's own by default.
    """

    def __init__(self, message: str = "", *, code: str = "TOOL_ERROR", name: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.name = name


def describe(error: BaseException) -> str:
    """The message of any exception, whatever it is: the class name where it has none, and never a raise.

    A group with one leaf (the usual shape of a failing task group) reads as that leaf.
    """
    try:
        if isinstance(error, BaseExceptionGroup):
            found = leaves(cast("BaseException", error))
            return "; ".join(dict.fromkeys(describe(leaf) for leaf in found))
        text = str(error)
    except Exception:
        return f"<unprintable {type(error).__name__}>"
    return text or type(error).__name__


def leaves(error: BaseException) -> list[BaseException]:
    """The exceptions of a group at any depth; the exception itself where it is none."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    inner = cast("tuple[BaseException, ...]", error.exceptions)
    return [leaf for one in inner for leaf in leaves(one)]
