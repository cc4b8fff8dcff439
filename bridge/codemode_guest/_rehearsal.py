"""A dress rehearsal: a small program of ours is run to its end before anybody's is.

Rules of this module: the programs are fixed and harmless, their frames go nowhere. In the zygote the rehearsal makes
the interpreter load what it only loads on first use, while it still can, and specialise what every run executes. In a
child it brings the memory that every run touches into the child's own hands while the child has nothing to do: after a
fork each first touch of a page copies it, and these copies are most of what a trivial program would have to wait for.
What only some programs touch is left to them: a child that waits should be small.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable

from codemode_guest import _program, dialect
from codemode_guest._channel import encode
from codemode_guest._loop import GuestLoop
from codemode_guest._syscalls import BRIDGE_FD

_FULL = """\
found = {"names": [str(n) for n in range(3)], "sum": 0}
for n in range(4):
    found["sum"] += n * 2
print(f"{len(found)} things")
found["answer"] = await tools.rehearse(text="x")
return found
"""
SMALL = "1 + 1"
"""What a child rehearses: no more than every run does."""
_TOOL = {"name": "rehearse", "namespace": None, "method": "rehearse", "parameters": ["text"], "signature": ""}


class _Nowhere:
    """A channel without an end: nothing comes in, and the one call is answered at once."""

    def __init__(self) -> None:
        self.loop: GuestLoop | None = None
        self.on_frame: Callable[[dict[str, object]], None] | None = None
        self.done = False

    def read(self, *, wait: bool = True) -> list[dict[str, object]]:
        return []

    def send(self, kind: str, fields: dict[str, object]) -> None:
        self.send_raw(encode({"type": kind, **fields}))

    def send_raw(self, json_text: bytes) -> None:
        self.done = self.done or json_text.startswith(b'{"type":"done","ok":true')
        if b'"call"' in json_text and self.on_frame is not None and self.loop is not None:
            reply: dict[str, object] = {"type": "reply", "id": 1, "ok": True, "value": [1]}
            self.loop.call_soon(self.on_frame, reply)


_FRAME: dict[str, object] = {"type": "run", "program": SMALL, "tools": [_TOOL], "options": {}}


async def rehearse_small() -> None:
    """Run what every run does, in the loop that runs."""
    await _program.run_program(_FRAME, _Nowhere())


def rehearse(*, full: bool = False) -> bool:
    """Run a program once, apart from the bridge; whether it ended well."""
    nowhere = _Nowhere()
    nowhere.loop = loop = GuestLoop(nowhere, BRIDGE_FD)
    asyncio.set_event_loop(loop)
    frame: dict[str, object] = {"type": "run", "program": _FULL if full else SMALL, "tools": [_TOOL], "options": {}}
    loop.run_until_complete(_program.run_program(frame, nowhere))
    asyncio.set_event_loop(None)
    return nowhere.done


def load() -> None:
    """Load what is loaded on first use, and rehearse, before the seal forbids it."""
    warnings.simplefilter("ignore")
    dialect.preload()
    if not (rehearse(full=True) and rehearse()):
        raise RuntimeError("the rehearsal failed")
