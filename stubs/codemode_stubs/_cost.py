"""What stubs cost: characters of text beside the compact JSON of the schemas that they replace.

What lives here: reading listed tools and the table. Characters stand for tokens, because every model counts tokens its
own way and both texts are of one kind. The stubs' side counts names, descriptions of tools and all syntax; the
schemas' side counts input and output schemas alone, so the ratio is on the safe side.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._render import render_stubs


@dataclass(frozen=True, slots=True)
class ListedEffects:
    """The effects that a listed tool declares."""

    read_only: bool | None
    destructive: bool | None


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as an MCP server lists it."""

    name: str
    namespace: None
    full_name: str
    description: str
    parameters: Mapping[str, Any]
    output: Mapping[str, Any] | None
    annotations: ListedEffects


@dataclass(frozen=True, slots=True)
class ListedServer:
    """A server's list of tools."""

    name: str
    tools: tuple[ListedTool, ...]

    @property
    def schemas(self) -> int:
        """Characters of all schemas as compact JSON."""
        found = (schema for tool in self.tools for schema in (tool.parameters, tool.output) if schema is not None)
        return sum(len(json.dumps(schema, separators=(",", ":"))) for schema in found)


def read_servers(path: str) -> Iterator[ListedServer]:
    """The servers in a file."""
    raw = Path(path).read_bytes()
    text = (gzip.decompress(raw) if path.endswith(".gz") else raw).decode()
    lines = text.splitlines() if path.removesuffix(".gz").endswith(".jsonl") else [text]
    for line in lines:
        data: dict[str, Any] = json.loads(line)
        yield ListedServer(str(data.get("server", Path(path).stem)), tuple(_read(one) for one in data["tools"]))


def _read(data: Mapping[str, Any]) -> ListedTool:
    hints: Mapping[str, Any] = data.get("annotations") or {}
    return ListedTool(
        data["name"],
        None,
        data["name"],
        data.get("description") or "",
        data["inputSchema"],
        data.get("outputSchema"),
        ListedEffects(hints.get("readOnlyHint"), hints.get("destructiveHint")),
    )


def cost_table(servers: Iterable[ListedServer]) -> str:
    """One line for each server and one for all: characters of schemas and stubs, and their ratio."""
    lines = [f"{'server':<32} {'tools':>5} {'schemas':>8} {'module':>8} {'':>5} {'prompt':>8} {'':>5}"]
    total = [0, 0, 0, 0]
    for server in servers:
        prompt = len(render_stubs(server.tools, form="prompt"))
        row = [len(server.tools), server.schemas, len(render_stubs(server.tools)), prompt]
        total = [before + more for before, more in zip(total, row, strict=True)]
        lines.append(_row(server.name, row))
    return "\n".join([*lines, _row("total", total)])


def _row(name: str, row: list[int]) -> str:
    tools, schemas, module, prompt = row
    base = max(1, schemas)
    return f"{name:<32} {tools:>5} {schemas:>8} {module:>8} {module / base:>5.0%} {prompt:>8} {prompt / base:>5.0%}"
