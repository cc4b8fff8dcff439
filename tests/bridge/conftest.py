"""A runtime with real children for the tests of this room."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from codemode_bridge import ProcessRuntime


@pytest.fixture
async def runtime() -> AsyncIterator[ProcessRuntime]:
    """A runtime that is open for one test."""
    async with ProcessRuntime() as opened:
        yield opened
