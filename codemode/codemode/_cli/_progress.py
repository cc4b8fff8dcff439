"""The calls of a program, as they happen: one line for each that is done, and one that moves for those that run.

Rules
- What is shown is read from the event log as it is written; nothing else tells it anything, so what a person sees is
  what the log says.
- Drawing never fails a run: a terminal that is gone is a terminal that nothing is written to any more.
- On a terminal there is a moving line at the bottom; elsewhere there are only the lines of the calls that are done.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from codemode_registry import Event, EventLog, JsonValue

from ._terminal import counted, duration, plain, shown_call

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text


class WatchedLog:
    """An event log that shows each event to a watcher after it is in the log."""

    def __init__(self, inner: EventLog, progress: Progress) -> None:
        self._inner = inner
        self._progress = progress

    async def append(self, type: str, data: dict[str, JsonValue]) -> Event:
        """Append, then show."""
        event = await self._inner.append(type, data)
        self._progress.see(event)
        return event


class Progress:
    """Draws what it sees.

    Args:
        console: where to.
        most: calls shown as a line each; the rest are only counted.
    """

    def __init__(self, console: Console, *, most: int = 1000) -> None:
        self._console = console
        self._most = most
        self._live: Live | None = None
        self._lock = threading.RLock()
        self._running: dict[str, tuple[str, float]] = {}
        self._counts = {"done": 0, "failed": 0}
        self._began = time.monotonic()
        self._broken = False

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(
                console=self._console,
                get_renderable=self._bottom,
                refresh_per_second=8,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        live, self._live = self._live, None
        if live is not None:
            with contextlib.suppress(OSError, ValueError):
                live.stop()

    @contextlib.contextmanager
    def paused(self) -> Generator[None]:
        """Leave the terminal to a question."""
        live = self._live
        if live is not None:
            live.stop()
        try:
            yield
        finally:
            if live is not None and self._live is live:
                live.start()

    @property
    def counts(self) -> dict[str, int]:
        """Calls that are done and that failed."""
        return dict(self._counts)

    def see(self, event: Event) -> None:
        """Take note of one event, and draw."""
        with self._lock:
            line = self._read(event)
            if line is None or self._broken:
                return
            try:
                self._console.print(line)
            except (OSError, ValueError):
                self._broken = True

    def _read(self, event: Event) -> Text | None:
        data: dict[str, Any] = event.data
        if event.type == "tool/code-dispatch-start":
            self._running[data["sub_call_id"]] = (data["name"], time.monotonic())
            return None
        if event.type == "tool/code-dispatch":
            _, began = self._running.pop(data["sub_call_id"], ("", time.monotonic()))
            failed = bool(data.get("is_error"))
            self._counts["failed" if failed else "done"] += 1
            total = sum(self._counts.values())
            if total > self._most:
                return None
            return self._line(data, time.monotonic() - began, failed=failed)
        if event.type == "warning":
            from rich.text import Text

            return Text(f"  ! {plain(str(data.get('message', '')))}", style="yellow")
        return None

    def _line(self, data: dict[str, Any], seconds: float, *, failed: bool) -> Text:
        from rich.text import Text

        line = Text("  ")
        line.append("x " if failed else "+ ", style="red" if failed else "green")
        line.append(shown_call(data["name"], data.get("arguments")))
        line.append(f"  {duration(seconds)}", style="dim")
        if failed:
            error: dict[str, Any] = data.get("error") or {}
            message = plain(str(error.get("message", "failed"))).replace("\n", " ")
            line.append(f"  {message[:160]}", style="red")
        return line

    def _bottom(self) -> Text:
        from rich.text import Text

        with self._lock:
            running = list(self._running.values())
            done, failed = self._counts["done"], self._counts["failed"]
        words = f"  {duration(time.monotonic() - self._began)}, {counted(done, 'call')} done"
        if failed:
            words += f", {failed} failed"
        if running:
            names = ", ".join(dict.fromkeys(name for name, _ in running))
            words += f", {len(running)} running: {names[:60]}"
        return Text(words, style="dim", no_wrap=True, overflow="ellipsis")
