"""`python -m tests.wire.fuzz --count 1000000`: hostile byte sequences against the host's decoder and state machine.

Each sequence must leave without an exception, hold no more memory than it sent, and never win an answer that no call
asked for, or two for one. Prints the seed of the first that does not.
"""

from __future__ import annotations

import argparse
import time
from random import Random

from codemode_bridge._frames import FrameDecoder
from codemode_bridge._wire import MOST_DROPPED, Call, Done, Flood, HostWire
from tests.wire.strategies import chopped, stream

FRAME_BYTES, MEMORY_BYTES = 1 << 20, 8 << 20


def attack(seed: int) -> int:
    """One sequence; how many bodies it decoded to.

    Raises:
        AssertionError: the wire let something through.
    """
    random = Random(seed)
    decoder = FrameDecoder(frame_bytes=FRAME_BYTES, memory_bytes=MEMORY_BYTES)
    wire = HostWire()
    if random.random() < 0.8:
        assert wire.receive({"type": "ready", "pid": 77, "sealed": True}) is not None
        wire.run_sent()
    data = stream(random)
    bodies, answered, done = 0, set[int](), 0
    for piece in chopped(random, data):
        for body in decoder.feed(piece):
            bodies += 1
            event = wire.receive(body)
            if isinstance(event, Call):
                assert done == 0, "a call after the end"
                assert type(event.arguments) is dict
                assert event.id not in answered
                if random.random() < 0.7:
                    assert wire.may_reply(event.id)
                    answered.add(event.id)
                    assert not wire.may_reply(event.id), "a second answer"
            elif isinstance(event, Done):
                done += 1
            elif isinstance(event, Flood):
                assert wire.dropped > MOST_DROPPED
            assert not wire.may_reply(random.randrange(-5, 0)), "an answer that nobody asked for"
    assert done <= 1
    assert len(decoder._buffer) <= len(data) + 8
    assert wire.state in ("starting", "idle", "running", "finished")
    return bodies


def main() -> None:
    """Run many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    begun, bodies = time.monotonic(), 0
    for seed in range(options.seed, options.seed + options.count):
        try:
            bodies += attack(seed)
        except BaseException:
            print(f"seed {seed}")
            raise
    print(f"{options.count} sequences, {bodies} bodies, {time.monotonic() - begun:.1f} s: nothing got through")


if __name__ == "__main__":
    main()
