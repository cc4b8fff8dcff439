"""One zygote for the whole session, so that a test costs a fork and not an interpreter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from codemode_bridge import ProcessRuntime
from codemode_bridge._early import HOUSE


@pytest.fixture(scope="session", autouse=True)
def zygote() -> Iterator[None]:
    """Keep the zygote while tests come and go."""
    HOUSE.lease()
    try:
        yield
    finally:
        HOUSE.release()


@pytest.fixture
async def runtime() -> AsyncIterator[ProcessRuntime]:
    """A runtime that is open for one test."""
    async with ProcessRuntime() as opened:
        yield opened
