"""One runtime with real children for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest

from codemode import ProcessRuntime


@pytest.fixture(scope="session")
def children() -> Iterator[ProcessRuntime]:
    """Sealed children; shared, because a runtime may be used from several loops."""
    runtime = ProcessRuntime(warm=1)
    yield runtime
    anyio.run(runtime.aclose)
