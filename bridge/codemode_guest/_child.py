"""One child's life: seal, say ready, wait for one program, run it, be killed.

Rules of this module: nothing returns from here; a child leaves by `os._exit` alone, so that no cleanup of the zygote's
runs twice. The program's text is first looked at after the seal and the run's limits are in force.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import socket
import sys
import time
import traceback
from collections.abc import Callable, Coroutine, Sequence
from typing import NoReturn, cast

from codemode_guest import _limits, _program, _seal
from codemode_guest._channel import ChannelClosed, GuestChannel, encode, framed
from codemode_guest._loop import GuestLoop
from codemode_guest._rehearsal import SMALL, load, rehearse, rehearse_small
from codemode_guest._seal import ChildSeal, Layer
from codemode_guest._seal_proof import prove
from codemode_guest._seccomp import Filter
from codemode_guest._syscalls import BRIDGE_FD
from codemode_guest._unrestricted import run_unrestricted

# Exit codes of a child that ends by itself. The host shows them when a run ends in `worker-exit`.
EXIT_OVER = 0
EXIT_SEAL = 70
EXIT_BROKEN = 71
EXIT_MEMORY = 72

# Waking up takes a tenth of a millisecond, the host's way to the program three; longer is not worth a processor's time.
_AWAKE_SECONDS = 0.001

_WARM_UP = framed(encode({"type": "run", "program": SMALL, "tools": [], "options": {}}))
_WARM_UP_ANSWER = 4096
"""Bytes; more than its `ready` and `done` take."""


def prepare(*, parent: int | None) -> tuple[Nursery, list[Layer]]:
    """Load, seal this process and prove the seal; -> what children are made of, and the layers that hold.

    Args:
        parent: the process that children die with; None for a child that is this very process.
    """
    load()
    system = _seal.kernel()
    address_space = _limits.address_space()
    layers = _seal.seal_zygote(system)
    seal = None
    if system is not None:
        seal = ChildSeal(system, parent=parent)
        layers += prove(seal, system)
    sealed = all(layer.holds for layer in layers if layer.required)
    return Nursery(seal, sealed=sealed, address_space=address_space), layers


class Nursery:
    """Everything a child needs that can be made before it is forked."""

    def __init__(self, seal: ChildSeal | None, *, sealed: bool, address_space: int) -> None:
        """`address_space`: what the interpreter itself has mapped; the seal closes the place to look it up."""
        self._seal = seal
        self._sealed = sealed and seal is not None
        self._base = address_space
        # On the descriptor that is the bridge, or will be.
        bridge = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=BRIDGE_FD)
        self._channel = GuestChannel(bridge)
        self._loop = GuestLoop(self._channel, BRIDGE_FD)

    def live(self, bridge: int) -> NoReturn:
        """Be a child on the descriptor `bridge`."""
        code = EXIT_BROKEN
        try:
            if bridge != BRIDGE_FD:
                os.dup2(bridge, BRIDGE_FD, inheritable=False)
            os.closerange(BRIDGE_FD + 1, BRIDGE_FD + 64)
            random.seed()
            if self._seal is not None:
                code = EXIT_SEAL
                self._seal.apply()
                code = EXIT_BROKEN
            self._serve()
        except ChannelClosed:
            code = EXIT_OVER
        except MemoryError:
            code = EXIT_MEMORY
        except BaseException:
            # The bridge takes a fault's report as its last words (see `faulthandler` in the zygote).
            os.write(BRIDGE_FD, b"Fatal Python error: the child broke\n\n" + traceback.format_exc().encode())
        finally:
            os._exit(code)

    def warm_up(self, peer: socket.socket) -> None:
        """In the zygote: a child's way from its first word to its last, with `peer` at the other end of the bridge."""
        rehearse(full=True)
        peer.sendall(_WARM_UP)
        self._run(self._life(ours=True))
        self._channel.state, self._channel.on_frame = "new", None
        peer.recv(_WARM_UP_ANSWER)

    @staticmethod
    def only_in_children() -> tuple[Callable[..., object], ...]:
        """What every child calls and the zygote must not."""
        own = (Nursery.live, Nursery._serve, Nursery._soon)
        return (*own, ChildSeal.apply, Filter.allow_own_process, random.Random.seed, _limits.confine, _limits.lower)

    def _serve(self) -> NoReturn:
        self._run(self._life())
        # The host has the result and kills the child; until then nothing that is left of the program may run.
        sys.stdout = sys.stderr = None
        while True:
            self._channel.read()

    def _run(self, life: Coroutine[object, object, None]) -> None:
        asyncio.set_event_loop(self._loop)
        starved = False
        try:
            self._loop.run_until_complete(life)
        except MemoryError:
            starved = True  # Reported after this block, when nothing holds the program's frames any more.
        if starved:
            self._out_of_memory(self._channel)

    async def _life(self, *, ours: bool = False) -> None:
        """From `ready` to `done`, in the loop: it is under way when the program comes.

        Args:
            ours: the program is one of ours, and no limits are to be put on: this is the zygote.
        """
        channel = self._channel
        channel.send("ready", {"pid": os.getpid(), "sealed": self._sealed})
        frames = channel.read(wait=False)
        if not frames:  # Nobody waits for this child yet.
            await rehearse_small()
            frames = channel.read()
        while (frame := _program_in(frames)) is None:
            frames = self._soon() if frames else channel.read()
        options = cast("dict[str, object]", frame["options"])
        if not ours:
            limits = cast("dict[str, float]", options["limits"])
            _limits.confine(
                memory_bytes=int(limits["memory_bytes"]), compute_seconds=limits["compute_seconds"], base=self._base
            )
            gc.enable()
        run = run_unrestricted if options.get("unrestricted") is True else _program.run_program
        await run(frame, channel)

    def _soon(self) -> list[dict[str, object]]:
        """The host said that a program is about to come: for a moment, look for it without falling asleep."""
        until = time.monotonic() + _AWAKE_SECONDS
        while time.monotonic() < until:
            if frames := self._channel.read(wait=False):
                return frames
        return self._channel.read()

    def _out_of_memory(self, channel: GuestChannel) -> None:
        """Memory ran out where nobody could report it: what the program held is garbage by now, so there is room."""
        error = {"kind": "exception", "type": "MemoryError", "message": "", "line": None, "traceback": None}
        channel.send("done", {"ok": False, "has_value": False, "value": None, "error": error, "notes": []})


def _program_in(frames: Sequence[dict[str, object]]) -> dict[str, object] | None:
    """The `run` frame, if it is there."""
    for frame in frames:
        if frame["type"] == "run":
            return frame
    return None
