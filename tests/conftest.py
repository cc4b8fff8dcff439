"""What every test of every room shares: async tests run on trio and on asyncio, drawn examples have no deadline."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# A machine that does something else besides makes an example slow, not wrong.
settings.register_profile("codemode", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("codemode")


@pytest.fixture(params=["trio", "asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The event loop that an async test runs on."""
    return str(request.param)
