"""The host's side of the bridge's protocol, sans I/O: what may come when, rebuilt field by field.

Rules of this module: no socket, no clock, no exception for anything a child does. `HostWire.receive` takes a decoded
body and answers with an event, or with None for a frame that was dropped and counted. A frame is dropped when it is not
legal in the state, or when a field has the wrong type; fields that the protocol does not know are never looked at.
The child is only ever given an answer to a call that it made and that was not answered yet.

    starting --(wanted), ready--> idle --(wanted), (run)--> running --call, cancel, log--> running --done--> finished
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from codemode_bridge._contract import ErrorKind, RunError
from codemode_bridge._frames import Malformed

State = Literal["starting", "idle", "running", "finished"]

RECEIVES: dict[tuple[State, str], State] = {
    ("starting", "ready"): "idle",
    ("running", "call"): "running",
    ("running", "cancel"): "running",
    ("running", "log"): "running",
    ("running", "done"): "finished",
}
SENDS: dict[tuple[State, str], State] = {
    ("starting", "wanted"): "starting",
    ("idle", "wanted"): "idle",
    ("idle", "run"): "running",
    ("running", "reply"): "running",
}
_DONE_KINDS: dict[str, ErrorKind] = {
    "exception": "exception",
    "syntax": "syntax",
    "invalid-output": "invalid-output",
    "output-limit": "output-limit",
}

# Dropped frames are the work of a broken or hostile child; an honest one sends none.
MOST_DROPPED = 100
# Frames in all. An honest program pays over a microsecond for each; the host pays about two. So a flood costs the host
# seconds spread over the run, never minutes.
MOST_FRAMES = 4_000_000
# Ids are counted from 1; nobody counts to 2**53.
_HIGHEST_ID = 2**53
_NOTES, _NOTE_CHARS, _REFUSALS = 20, 2000, 200
_NAME_CHARS = 1000


@dataclass(frozen=True, slots=True)
class Ready:
    """The child is sealed and waits for a program."""

    pid: int
    sealed: bool


@dataclass(frozen=True, slots=True)
class Call:
    """The program calls a binding."""

    id: int
    name: str
    arguments: dict[str, Any]
    line: int | None


@dataclass(frozen=True, slots=True)
class Cancel:
    """The program gave a call up."""

    id: int


@dataclass(frozen=True, slots=True)
class Log:
    """The program printed."""

    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The program ended."""

    has_value: bool
    value: Any
    error: RunError | None
    notes: tuple[str, ...]
    refusals: tuple[tuple[int, int, str], ...]


@dataclass(frozen=True, slots=True)
class Flood:
    """The child broke the protocol so often, or sent so much, that it must end."""

    why: str


Event = Ready | Call | Cancel | Log | Done | Flood


class WireMisuse(RuntimeError):
    """The host's own mistake: a frame that is not legal to send now."""


class HostWire:
    """One child's protocol state."""

    __slots__ = ("_last_id", "_open", "dropped", "frames", "state")

    def __init__(self) -> None:
        self.state: State = "starting"
        self.dropped = 0
        self.frames = 0
        """Bodies that came, `ready` included."""
        self._last_id = 0
        self._open: set[int] = set()

    def receive(self, body: object) -> Event | None:
        """Take one decoded body."""
        self.frames += 1
        if self.frames > MOST_FRAMES:
            return Flood(f"the child sent more than {MOST_FRAMES} frames")
        event: Event | None = None
        if isinstance(body, dict):
            frame = cast("dict[str, object]", body)
            kind = frame.get("type")
            after = RECEIVES.get((self.state, kind)) if isinstance(kind, str) else None
            if after is not None:
                event = self._rebuilt(cast("str", kind), frame)
                if event is not None:
                    self.state = after
                    return event
        self.dropped += 1
        if self.dropped > MOST_DROPPED:
            why = f" (last: {body.why})" if isinstance(body, Malformed) else ""
            return Flood(f"the child sent more than {MOST_DROPPED} frames that are not legal{why}")
        return None

    def wanted_sent(self) -> None:
        """The child knows that a program will come at once."""
        self._sent("wanted")

    def run_sent(self) -> None:
        """The program is on its way."""
        self._sent("run")

    def may_reply(self, call_id: int) -> bool:
        """Whether the call still waits for its answer; asking takes the right to answer."""
        if self.state != "running" or call_id not in self._open:
            return False
        self._open.discard(call_id)
        self._sent("reply")
        return True

    def _sent(self, kind: str) -> None:
        after = SENDS.get((self.state, kind))
        if after is None:
            raise WireMisuse(f"{kind!r} cannot be sent when the child is {self.state}")
        self.state = after

    # -- a frame is rebuilt field by field; one of the wrong shape is None ---------------------------------------------

    def _rebuilt(self, kind: str, frame: Mapping[str, object]) -> Event | None:
        match kind:
            case "ready":
                return self._ready(frame)
            case "call":
                return self._call(frame)
            case "cancel":
                return self._cancel(frame)
            case "log":
                return self._log(frame)
            case _:
                return self._done(frame)

    def _ready(self, frame: Mapping[str, object]) -> Event | None:
        pid = frame.get("pid")
        return Ready(pid, frame.get("sealed") is True) if type(pid) is int and 1 < pid < 2**31 else None

    def _call(self, frame: Mapping[str, object]) -> Event | None:
        call_id, name, arguments, line = frame.get("id"), frame.get("name"), frame.get("args"), frame.get("line")
        if type(call_id) is not int or not self._last_id < call_id <= _HIGHEST_ID:
            return None  # Ids only rise, so that no call can be made, or answered, twice.
        if type(name) is not str or len(name) > _NAME_CHARS or type(arguments) is not dict:
            return None
        self._last_id = call_id
        self._open.add(call_id)
        return Call(call_id, name, cast("dict[str, Any]", arguments), _line(line))

    def _cancel(self, frame: Mapping[str, object]) -> Event | None:
        call_id = frame.get("id")
        # A call that was answered meanwhile may well be given up: the two frames cross on the way.
        return Cancel(call_id) if type(call_id) is int and 0 < call_id <= self._last_id else None

    def _log(self, frame: Mapping[str, object]) -> Event | None:
        text = frame.get("text")
        return Log(text) if type(text) is str and text else None

    def _done(self, frame: Mapping[str, object]) -> Event | None:
        error = frame.get("error")
        if error is not None:
            rebuilt = _error(error)
            return None if rebuilt is None else Done(False, None, rebuilt, _notes(frame), _refusals(frame))
        if frame.get("ok") is not True:
            return None
        has_value = frame.get("has_value") is True
        return Done(has_value, frame.get("value") if has_value else None, None, _notes(frame), _refusals(frame))


def _line(value: object) -> int | None:
    return value if type(value) is int and 0 < value < 2**31 else None


def _error(value: object) -> RunError | None:
    if type(value) is not dict:
        return None
    fields = cast("dict[str, object]", value)
    kind, message = fields.get("kind"), fields.get("message")
    if type(kind) is not str or kind not in _DONE_KINDS or type(message) is not str:
        return None
    name, trace = fields.get("type"), fields.get("traceback")
    return RunError(
        kind=_DONE_KINDS[kind],
        message=message,
        type=name[:_NAME_CHARS] if type(name) is str else None,
        line=_line(fields.get("line")),
        traceback=trace if type(trace) is str else None,
    )


def _notes(frame: Mapping[str, object]) -> tuple[str, ...]:
    notes = frame.get("notes")
    if type(notes) is not list:
        return ()
    return tuple(one[:_NOTE_CHARS] for one in cast("list[object]", notes)[:_NOTES] if type(one) is str)


def _refusals(frame: Mapping[str, object]) -> tuple[tuple[int, int, str], ...]:
    refusals = frame.get("refusals")
    if type(refusals) is not list:
        return ()
    found: list[tuple[int, int, str]] = []
    for one in cast("list[object]", refusals)[:_REFUSALS]:
        match one:
            case [int(line), int(column), str(message)] if _line(line) and type(column) is int and 0 <= column < 2**31:
                found.append((line, column, message[:_NOTE_CHARS]))
            case _:
                pass
    return tuple(found)
