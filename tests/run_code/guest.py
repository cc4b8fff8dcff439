"""Drives the program's runner without a child: a channel that remembers frames and answers calls from functions."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codemode_guest._program import run_program

Answer = Callable[[dict[str, Any]], Any]


class Refuse(Exception):
    """Raised by an answer: the call fails with this message."""


@dataclass
class Driven:
    """What a program sent."""

    frames: list[dict[str, Any]] = field(default_factory=list)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [frame for frame in self.frames if frame["type"] == kind]

    @property
    def done(self) -> dict[str, Any]:
        (done,) = self.of("done")
        assert self.frames[-1] is done
        return done

    @property
    def value(self) -> Any:
        assert self.done["ok"], self.done["error"]
        return self.done["value"]

    @property
    def error(self) -> dict[str, Any]:
        assert not self.done["ok"], self.done
        return self.done["error"]

    @property
    def printed(self) -> str:
        return "".join(frame["text"] for frame in self.of("log"))

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        return [(frame["name"], frame["args"]) for frame in self.of("call")]


class FakeChannel:
    """Takes frames; answers calls at the loop's next step, in order. `HOLD` as an answer never answers."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.on_frame: Callable[[dict[str, object]], None] | None = None
        self.driven = Driven()
        self._answers = answers

    def send(self, kind: str, fields: dict[str, object]) -> None:
        self.send_raw(json.dumps({"type": kind, **fields}, allow_nan=False).encode())

    def send_raw(self, json_text: bytes) -> None:
        digits = sys.get_int_max_str_digits()
        sys.set_int_max_str_digits(0)
        frame = json.loads(json_text.decode("utf-8"))
        sys.set_int_max_str_digits(digits)
        self.driven.frames.append(frame)
        if frame["type"] == "call":
            asyncio.get_running_loop().call_soon(self._answer, frame)

    def _answer(self, frame: dict[str, Any]) -> None:
        assert self.on_frame is not None
        try:
            value = self._answers[frame["name"]](frame["args"])
        except Refuse as refused:
            self.on_frame({"type": "reply", "id": frame["id"], "ok": False, "message": str(refused)})
            return
        if value is not HOLD:
            self.on_frame({"type": "reply", "id": frame["id"], "ok": True, "value": value})


HOLD = object()


def spec(name: str, *parameters: str, method: str | None = None, signature: str = "") -> dict[str, object]:
    """One tool of a `run` frame; `ns.name` puts it in a namespace."""
    space, _, local = name.rpartition(".")
    spelled = local if method is None else method
    return {
        "name": name,
        "namespace": space or None,
        "method": spelled,
        "parameters": list(parameters),
        "signature": signature,
    }


def drive(
    program: str,
    answers: Mapping[str, Answer] | None = None,
    *,
    tools: Sequence[dict[str, object]] | None = None,
    check_only: bool = False,
) -> Driven:
    """Run one program to its `done` frame.

    Args:
        program: its text.
        answers: a function of the arguments for each tool.
        tools: the specs; made from `answers` without parameters when None.
        check_only: only compile.
    """
    answers = answers or {}
    frame = {
        "type": "run",
        "program": program,
        "tools": tools if tools is not None else [spec(name) for name in answers],
        "options": {"check_only": check_only},
    }
    channel = FakeChannel(answers)

    async def main() -> None:
        await run_program(frame, channel)

    asyncio.run(main())
    if any("was never awaited" in f"{done['error']}{done['notes']}" for done in channel.driven.of("done")):
        gc.collect()  # what this program left in cycles is not found during the next one, and told of that one
    return channel.driven
