"""What all measures share: how much is measured, the peers, and one runtime whose zygote lives as long as the bench."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio

from codemode import CodeMode, EventLog, JsonlEventLog, Limits, MemoryEventLog, ProcessRuntime, Registry, Tool
from tests.bench.peers import Peer

T = TypeVar("T")

INTEGER = {"type": "integer"}
PAIR = {"type": "object", "properties": {"a": INTEGER, "b": INTEGER}, "required": ["a", "b"]}


@dataclass(frozen=True, slots=True)
class Settings:
    """Of one run of the bench."""

    quick: bool
    peers: tuple[Peer, ...]
    runtime: ProcessRuntime
    backend: str = "trio"

    def count(self, full: int, quick: int) -> int:
        """How many, by how much time there is."""
        return quick if self.quick else full

    @property
    def repeats(self) -> int:
        """Interleaved repetitions."""
        return 3 if self.quick else 7

    def drive(self, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run one repetition in a loop of its own."""
        return anyio.run(main, backend=self.backend)

    @asynccontextmanager
    async def code_mode(
        self,
        registry: Registry,
        *,
        events: EventLog | None = None,
        limits: Limits = Limits(),  # noqa: B008 - frozen
    ) -> AsyncIterator[CodeMode]:
        """Code mode over the shared runtime, warmed by one run."""
        async with CodeMode(registry, runtime=self.runtime, events=events, limits=limits) as code_mode:
            result = await code_mode.run("1")
            assert result.ok, result.text
            yield code_mode


def adding(events: EventLog | None = None) -> Registry:
    """A registry with one tool `add`, whose body costs nothing."""

    async def add(arguments: Any, ctx: Any) -> int:
        return int(arguments["a"]) + int(arguments["b"])

    registry = Registry(events=events)
    registry.register(Tool("add", "Add.", add, parameters=PAIR, output=INTEGER, concurrency_safe=True))
    return registry


@asynccontextmanager
async def log_of(kind: str) -> AsyncIterator[EventLog]:
    """A log in memory, or one in a file of a folder of its own."""
    if kind == "memory":
        yield MemoryEventLog()
        return
    with tempfile.TemporaryDirectory() as folder:
        async with JsonlEventLog(Path(folder) / "log.jsonl") as log:
            yield log
