"""A tool that needs the loop that is not running says what to do."""

from __future__ import annotations

import asyncio

import anyio

from codemode import Registry


def test_a_tool_of_asyncio_under_trio_is_told_which_loop_it_needs() -> None:
    registry = Registry()

    @registry.tool
    async def nap() -> None:
        await asyncio.sleep(0.01)

    async def main() -> str:
        return (await registry.call("nap")).error.message

    assert "needs asyncio's" in anyio.run(main, backend="trio")
