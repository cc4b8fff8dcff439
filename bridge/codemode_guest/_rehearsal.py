"""A dress rehearsal: one small program of ours is run to its end before anybody's is.

Rules of this module: the program is fixed and harmless, its frames go nowhere. In the zygote the rehearsal makes the
interpreter load what it only loads on first use, while it still can. In a child it brings the memory that every run
touches into the child's own hands while the child has nothing to do: after a fork each first touch is a page fault, and
hundreds of them are most of what a trivial program would have to wait for.
"""

from __future__ import annotations

import asyncio
import random
import socket
import warnings
from collections.abc import Callable

from codemode_guest import _program, dialect
from codemode_guest._channel import GuestChannel, encode
from codemode_guest._loop import GuestLoop

_PROGRAM = """\
found = {"names": [str(n) for n in range(3)], "sum": 0}
for n in range(4):
    found["sum"] += n * 2
print(f"{len(found)} things")
found["answer"] = await tools.rehearse(text="x")
return found
"""
_TOOL = {"name": "rehearse", "namespace": None, "method": "rehearse", "parameters": ["text"], "signature": ""}
_FRAME: dict[str, object] = {"type": "run", "program": _PROGRAM, "tools": [_TOOL], "options": {}}


class _Nowhere:
    """A channel without an end: the one call is answered at once."""

    def __init__(self, loop: GuestLoop) -> None:
        self._loop = loop
        self.on_frame: Callable[[dict[str, object]], None] | None = None
        self.done = False

    def send(self, kind: str, fields: dict[str, object]) -> None:
        encode({"type": kind, **fields})
        self.done = self.done or (kind == "done" and fields.get("ok") is True)
        if kind == "call":
            self._reply()

    def send_raw(self, json_text: bytes) -> None:
        self.done = self.done or json_text.startswith(b'{"type":"done","ok":true')
        if b'"call"' in json_text:
            self._reply()

    def _reply(self) -> None:
        if self.on_frame is not None:
            reply: dict[str, object] = {"type": "reply", "id": 1, "ok": True, "value": [1]}
            self._loop.call_soon(self.on_frame, reply)


def rehearse(loop: GuestLoop) -> bool:
    """Run the program once on a loop that is not running; whether it ended well."""
    nowhere = _Nowhere(loop)
    asyncio.set_event_loop(loop)
    loop.run_until_complete(_program.run_program(_FRAME, nowhere))
    random.seed()
    return nowhere.done


def rehearse_apart() -> None:
    """Load what is loaded on first use, and rehearse, where there is no bridge yet and no seal that forbids it."""
    warnings.simplefilter("ignore")
    dialect.preload()
    here, there = socket.socketpair()
    with here, there:
        if not rehearse(GuestLoop(GuestChannel(here), here.fileno())):
            raise RuntimeError("the rehearsal failed")
