"""What a program prints, on its way out.

Everything a program writes (`print`, `sys.stdout`, `sys.stderr`, `logging`, `pprint`) ends in `Output.write`, which
sends it at once, so that it survives a kill. Nothing is kept, trimmed or parsed here: text goes out as it was
written, line ends and partial lines included, and the host makes lines of it and holds the ledger. A single huge
write leaves in pieces, so that the host keeps what fits of it.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["Output"]

# Characters a frame: 256 Ki characters are at most 1.5 MiB of escaped JSON, far under the frame bound of the wire,
# and a limit that strikes in the middle of one huge print still finds most of it in the host.
_PIECE = 256 * 1024


class LogChannel(Protocol):
    """The part of the channel that printing needs."""

    def send(self, kind: str, fields: dict[str, object]) -> None:
        """Write one frame."""


class Output:
    """A text stream that sends each write as a `log` frame."""

    __slots__ = ("_channel",)

    def __init__(self, channel: LogChannel) -> None:
        self._channel = channel

    def write(self, text: str) -> int:
        """Send `text` and return its length; the empty text sends nothing."""
        if not text:
            return 0
        if len(text) <= _PIECE:
            self._channel.send("log", {"text": text})
        else:
            for start in range(0, len(text), _PIECE):
                self._channel.send("log", {"text": text[start : start + _PIECE]})
        return len(text)

    def flush(self) -> None:
        """Nothing waits here."""
