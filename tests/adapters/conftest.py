"""What the tests of the adapters share: a registry to present, and programs that a scripted model writes."""

from __future__ import annotations

from collections.abc import AsyncIterator

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


@pytest.fixture
async def code_mode() -> AsyncIterator[CodeMode]:
    async with CodeMode(shop()) as cm:
        yield cm
