"""Runs inside another Python, which has no processes: the dialect's own tests and our attacks, in one interpreter.

Called with the folder of the repository mounted at `/house`, and packages without compiled parts at `/packages`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

_TESTS = ("test_reach", "test_verify", "test_refusals", "test_source")
_NEEDS_PROCESSES = "test_the_host_can_list_the_modules_without_the_compiler"


class _Clock:
    """What the loop waits on: time alone."""

    def select(self, timeout: float | None) -> list[Any]:
        if timeout:
            time.sleep(timeout)
        return []


class _Loop(asyncio.BaseEventLoop):
    """asyncio's own loop without descriptors, which there are none of."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _Clock()

    def _process_events(self, event_list: list[Any]) -> None: ...

    def _write_to_self(self) -> None: ...


def _run(main: Any) -> Any:
    return _Loop().run_until_complete(main)


def own_tests() -> int:
    """Run the tests of compiling, of the policy and of what can be reached; 0 if all pass."""
    import pytest

    files = [f"/house/tests/dialect/{name}.py" for name in _TESTS]
    options = [
        "-v",
        "--noconftest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:faulthandler",
        "--rootdir=/house",
        "-c",
        "/dev/null",
    ]
    return int(pytest.main([*options, "-k", f"not {_NEEDS_PROCESSES}", *files]))


def attacks() -> list[str]:
    """Try every attack of our own, under the dialect and by the child's runner; returns what went wrong."""
    from tests.escapes.judge import in_dialect, in_guest, own_attacks

    wrong: list[str] = []
    for guest in (False, True):
        for name, source in own_attacks(guest=guest):
            try:
                outcome = in_guest(source) if guest else in_dialect(source)
            except BaseException as error:
                outcome = f"internal: {error!r}"
            if outcome.startswith(("breach", "internal")):
                wrong.append(f"{name}: {outcome[:500]}")
    return wrong


def main() -> str:
    """All of it; says what went wrong, and on which Python."""
    setattr(asyncio, "run", _run)  # noqa: B010
    asyncio.events._set_running_loop(None)  # that of the page or of node, on which this is called
    failed = own_tests()
    wrong = attacks()
    verdict = "all well" if not failed and not wrong else "WRONG"
    return "\n".join([f"{verdict} on {sys.version.split()[0]}", *wrong])
