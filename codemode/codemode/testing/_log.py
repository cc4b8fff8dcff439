"""An event log for tests: it remembers, it can be waited for, and it can fail on purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from codemode_registry import Event, JsonValue, MemoryEventLog

__all__ = ["RecordingLog"]


class RecordingLog(MemoryEventLog):
    """A memory log with questions that tests ask, and failures that tests order."""

    def __init__(self, *, fail: Callable[[str, Mapping[str, JsonValue]], bool] | None = None) -> None:
        """Make an empty log.

        Args:
            fail: says of a type and its data whether the append raises OSError.
        """
        super().__init__()
        self._fail = fail

    async def append(self, type: str, data: dict[str, JsonValue]) -> Event:
        """Append one event, or fail as ordered."""
        if self._fail is not None and self._fail(type, data):
            raise OSError("no space left on the log")
        return await super().append(type, data)

    @property
    def types(self) -> list[str]:
        """The types of all events, in order."""
        return [event.type for event in self.events]

    def of(self, *types: str) -> list[Mapping[str, JsonValue]]:
        """The data of all events of these types, in order."""
        return [event.data for event in self.events if event.type in types]
