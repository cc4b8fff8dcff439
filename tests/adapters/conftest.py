"""What the tests of the adapters share: a registry to present, and programs that a scripted model writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from codemode import ApprovalRequest, CodeMode, Registry

PROGRAM = "prices = [await tools.price(item=item) for item in ('tea', 'cake')]\nreturn sum(prices)"
RUN = {"code": PROGRAM, "description": "add two prices"}


class Asked:
    """An approver that remembers what it was asked, and answers one thing."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.names: list[str] = []

    async def __call__(self, request: ApprovalRequest) -> str:
        self.names.append(request.tool_name)
        return self.answer


def shop() -> Registry:
    """A registry with a price to ask for and a picture to look at."""
    registry = Registry()

    @registry.tool
    async def price(item: str) -> int:
        """What an item costs, in cents."""
        return {"tea": 320, "cake": 410}[item]

    return registry


@pytest.fixture(autouse=True)
def asyncio_stays_as_it_is() -> Iterator[None]:
    """No library here exchanges asyncio's own functions: the worker's later tests would run on others, unknowingly."""
    names = ("run", "get_event_loop", "Task", "Future")
    before = [getattr(asyncio, name) for name in names]
    yield
    assert [getattr(asyncio, name) for name in names] == before


@pytest.fixture
async def code_mode() -> AsyncIterator[CodeMode]:
    async with CodeMode(shop()) as cm:
        yield cm
