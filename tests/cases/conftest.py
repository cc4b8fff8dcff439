"""One runtime for all cases of a test process, ended with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cases.world import close_shared_runtime


@pytest.fixture(scope="session", autouse=True)
def _shared_runtime_is_closed() -> Iterator[None]:
    yield
    close_shared_runtime()
