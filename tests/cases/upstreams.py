"""Upstream MCP servers for the cases, and a client of `codemode serve`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cases.given import Json

ONE_LOOP = pytest.mark.parametrize("anyio_backend", ["asyncio"])
OTHER_LOOP = pytest.mark.parametrize("anyio_backend", ["trio"])
"""For tests of the gateway's process: which loop its client runs on matters little, and each server costs seconds."""

SERVER = Path(__file__).with_name("upstream_server.py")

STRING = {"type": "string"}


def answer(*texts: str, structured: Json = None, is_error: bool = False) -> dict[str, Json]:
    """A CallToolResult of these text blocks."""
    result: dict[str, Json] = {"content": [{"type": "text", "text": text} for text in texts]}
    if structured is not None:
        result["structuredContent"] = structured
    if is_error:
        result["isError"] = True
    return result


def upstream_config(
    folder: Path,
    *,
    servers: Mapping[str, Sequence[Mapping[str, Json]]] | None = None,
    journal: Path | None = None,
    page_size: int | None = None,
    then: Sequence[Mapping[str, Json]] = (),
    extra: Mapping[str, Json] | None = None,
    policies: Mapping[str, Json] | None = None,
    **named: Sequence[Mapping[str, Json]],
) -> Path:
    """Write an `mcpServers` file with one fake server for each name.

    Args:
        folder: where the files go.
        servers: tools by server name, for names that are no identifiers.
        journal: where the servers note starts and cancels.
        page_size: tools in a page of tools/list.
        then: the tools after the list has changed.
        extra: further entries of `mcpServers`, as they are.
        policies: the file's `policies`.
        named: tools by server name.
    """
    entries: dict[str, Json] = {}
    for number, (name, tools) in enumerate({**(servers or {}), **named}.items()):
        spec = folder / f"server{number}.json"
        spec.write_text(
            json.dumps(
                {
                    "tools": list(tools),
                    "journal": str(journal) if journal else None,
                    "page_size": page_size,
                    "then": list(then),
                }
            )
        )
        entries[name] = {"command": sys.executable, "args": ["-I", "-S", str(SERVER), str(spec)]}
    config: dict[str, Json] = {"mcpServers": {**entries, **(extra or {})}}
    if policies is not None:
        config["policies"] = dict(policies)
    path = folder / "mcp.json"
    path.write_text(json.dumps(config))
    return path


@asynccontextmanager
async def serving(arguments: Sequence[str], **options: Any) -> AsyncIterator[Any]:
    """A connected SDK client of `codemode serve` with these arguments."""
    from mcp import Client, StdioServerParameters

    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "codemode", "serve", *arguments],
        env={key: value for key, value in os.environ.items() if key.startswith(("PYTHON", "TMP", "HOME", "PATH"))},
    )
    async with Client(parameters, **options) as client:
        yield client
