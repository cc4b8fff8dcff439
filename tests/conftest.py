"""What every test of every room shares: async tests run on trio and on asyncio, drawn examples have no deadline, and a
worker keeps one zygote, so that a test costs a fork and not an interpreter.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from codemode_bridge._zygotes import HOUSE

# A machine that does something else besides makes an example slow, not wrong.
settings.register_profile("codemode", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("codemode")


@pytest.fixture(params=["trio", "asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The event loop that an async test runs on."""
    return str(request.param)


@pytest.fixture(scope="session", autouse=True)
def zygote() -> Iterator[None]:
    """Keep the zygote while tests come and go; those about its life start processes of their own."""
    HOUSE.lease()
    try:
        yield
    finally:
        HOUSE.release()
