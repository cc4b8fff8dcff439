"""One program, from its `run` frame to its `done` frame.

The spine of the child: compile under the dialect, build `tools`, run, turn the completion into JSON, report. Exactly
one `done` leaves, whatever the program does. There is no socket here: `channel` is whatever takes frames, so the same
code runs in the sealed child and in a test.

What is caught: everything. A program that raises SystemExit, KeyboardInterrupt, RecursionError or MemoryError ends
with an ordinary `exception` report.
"""

# Values of programs have no types that a checker could know.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from codemode_guest import dialect
from codemode_guest._background import Background
from codemode_guest._calls import Calls, ToolCallError
from codemode_guest._channel import encode
from codemode_guest._forgotten import Forgotten
from codemode_guest._json import NotJson, TooBig, encode_completion
from codemode_guest._output import Output
from codemode_guest._report import error_of, refusal_error
from codemode_guest._tools import make_tools

__all__ = ["run_program"]

_MAX_NOTES = 20
_MOST_OUTPUT = 64 * 1024 * 1024
"""Bytes; the default of the host's limit."""


class Channel(Protocol):
    """What a program's runner needs of the bridge."""

    on_frame: Callable[[dict[str, object]], None] | None
    """Called on the loop for each frame that comes in."""

    def send(self, kind: str, fields: dict[str, object]) -> None:
        """Write one frame."""

    def send_raw(self, json_text: bytes) -> None:
        """Write one frame that is encoded already."""


async def run_program(frame: Mapping[str, object], channel: Channel) -> None:
    """Run the program of one `run` frame and send its frames, `done` last.

    Args:
        frame: `program` (text), `tools` (objects with name, namespace, method, parameters, signature), `options`
            (`check_only`: compile, and answer with the refusals).
        channel: where frames go and come from.
    """
    options = frame.get("options")
    source = str(frame.get("program", ""))
    specs = _specs(frame.get("tools"))
    try:
        program = dialect.compile_program(source)
    except dialect.ProgramRefused as refused:
        refusals: list[list[object]] = [[refusal.line, refusal.column, refusal.message] for refusal in refused.refusals]
        _done(channel, error=refusal_error(refused, dialect.read_source(source).lines), refusals=refusals)
        return
    if isinstance(options, dict) and options.get("check_only"):
        _done(channel, refusals=[])
        return
    calls = Calls(channel)
    channel.on_frame = calls.on_frame
    await _execute(program, specs, calls, channel, most=_most_output(options))


async def _execute(
    program: dialect.Program, specs: Sequence[Mapping[str, object]], calls: Calls, channel: Channel, *, most: int
) -> None:
    output = Output(channel)
    names = dialect.make_globals(program, tools=make_tools(specs, calls), tool_call_error=ToolCallError, stdout=output)
    with Forgotten(calls) as forgetful, Background() as background:
        try:
            has_value, value = await dialect.start(program, names)
        except BaseException as error:
            _done(channel, error=error_of(error, program, forgetful.told(names, error)))
            return
        forgotten = forgetful.told(names)
        lost = background.told()
        if not has_value and value is not None and not lost and not forgotten:
            lost = ["the last line's value is tasks, which are no data: write `await`, or return their result()"]
    try:
        text, conversions = encode_completion(value, most) if has_value else (b"null", [])
    except TooBig:
        _done(channel, error=_plain_error("output-limit", f"the output exceeded {most} bytes (output_bytes)"))
        return
    except NotJson as refused:
        message = "\n".join([f"the result is not JSON: {refused}", *forgotten])
        _done(channel, error=_plain_error("invalid-output", message))
        return
    except BaseException as error:
        message = f"the result cannot be turned into JSON: {type(error).__name__}"
        _done(channel, error=_plain_error("invalid-output", message))
        return
    notes = [*forgotten, *lost, *program.notes, *conversions][:_MAX_NOTES]
    _done(channel, has_value=has_value, value=text, notes=notes)


def _most_output(options: object) -> int:
    """Bytes that logs and value may have together, where the host said it."""
    limits = options.get("limits") if isinstance(options, dict) else None
    most = limits.get("output_bytes") if isinstance(limits, dict) else None
    return most if type(most) is int else _MOST_OUTPUT


def _specs(listed: object) -> list[Mapping[str, object]]:
    return [spec for spec in listed if isinstance(spec, dict)] if isinstance(listed, (list, tuple)) else []


def _plain_error(kind: str, message: str) -> dict[str, object]:
    return {"kind": kind, "type": None, "message": message, "line": None, "traceback": ""}


def _done(
    channel: Channel,
    *,
    has_value: bool = False,
    value: bytes = b"null",
    error: dict[str, object] | None = None,
    notes: Sequence[str] = (),
    refusals: list[list[object]] | None = None,
) -> None:
    """Send the one `done` frame; the value is encoded already and goes in as it is."""
    rest: dict[str, object] = {"error": error, "notes": list(notes)}
    if refusals is not None:
        rest["refusals"] = refusals
    tail = encode(rest)[1:]
    head = b'{"type":"done","ok":%b,"has_value":%b,"value":' % (
        b"true" if error is None else b"false",
        b"true" if has_value else b"false",
    )
    channel.send_raw(b"".join((head, value, b",", tail)))
