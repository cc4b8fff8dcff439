"""Measures what code mode adds to a call of a stdio upstream: nested calls of a program against raw calls of the SDK.

`python -m tests.bench.mcp_upstream [trio|asyncio]`: milliseconds a call and the ratio, one at a time and ten at once.
The server is `mcp-server-time` (extra dev); both sides talk to a process of their own.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from codemode import CodeMode
from codemode.mcp import McpUpstreams
from codemode_registry import MemoryEventLog, Registry

SERVER = str(Path(sys.executable).parent / "mcp-server-time")
TOOL, ARGUMENTS = "get_current_time", {"timezone": "UTC"}
CALLS = 300
ROUNDS = 5
"""The best of so many rounds counts: what else the machine did is not what is measured."""

SEQUENTIAL = f"""
for _ in range({CALLS}):
    await tools.time.{TOOL}(timezone="UTC")
"""
CONCURRENT = f"""
import asyncio
for _ in range({CALLS // 10}):
    await asyncio.gather(*[tools.time.{TOOL}(timezone="UTC") for _ in range(10)])
"""


async def raw(client: Client, *, at_once: int) -> float:
    began = time.perf_counter()
    if at_once == 1:
        for _ in range(CALLS):
            await client.call_tool(TOOL, ARGUMENTS)
    else:
        for _ in range(CALLS // at_once):
            async with anyio.create_task_group() as tasks:
                for _ in range(at_once):
                    tasks.start_soon(client.call_tool, TOOL, ARGUMENTS)
    return (time.perf_counter() - began) / CALLS * 1000.0


async def nested(code_mode: CodeMode, program: str) -> float:
    began = time.perf_counter()
    result = await code_mode.run(program)
    elapsed = time.perf_counter() - began
    assert result.ok, result.text
    assert len(result.calls) == CALLS
    return elapsed / CALLS * 1000.0


async def main() -> None:
    registry = Registry(events=MemoryEventLog())
    servers: dict[str, Any] = {"mcpServers": {"time": {"command": SERVER}}}
    async with (
        Client(StdioServerParameters(command=SERVER)) as client,
        McpUpstreams(servers) as upstreams,
        CodeMode(registry) as code_mode,
    ):
        upstreams.attach(registry)
        await client.list_tools()
        for words, at_once, program in (("one at a time", 1, SEQUENTIAL), ("ten at once", 10, CONCURRENT)):
            await raw(client, at_once=at_once)
            await nested(code_mode, program)
            raws, nesteds = [], []
            for _ in range(ROUNDS):
                raws.append(await raw(client, at_once=at_once))
                nesteds.append(await nested(code_mode, program))
            ratio = min(nesteds) / min(raws)
            print(f"{words}: raw {min(raws):.3f} ms, nested {min(nesteds):.3f} ms, ratio {ratio:.2f} (at most 1.5)")


if __name__ == "__main__":
    anyio.run(main, backend=sys.argv[1] if len(sys.argv) > 1 else "trio")
