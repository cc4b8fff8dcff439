"""`run_unrestricted`: plain CPython inside a sealed child, to try the seal as if the dialect were broken.

Rules of this module: for tests of the seal only. No program, tool or registry leads here.
"""

from __future__ import annotations

from codemode_bridge._contract import CodeRunRequest, CodeRunResult
from codemode_bridge._limits import Limits
from codemode_bridge._process_runtime import ProcessRuntime


async def run_unrestricted(
    code: str, *, limits: Limits | None = None, runtime: ProcessRuntime | None = None
) -> CodeRunResult:
    """Run the body of an async CPython function, with no dialect, in a sealed child.

    Args:
        code: the body; `print` goes to the logs, what it returns must be JSON.
        limits: as for any run.
        runtime: where to run it; None: one that lives for this run.

    Returns:
        As `CodeRuntime.run`.

    Raises:
        RuntimeUnavailableError: no sealed child can be had.
    """
    request = CodeRunRequest(code, limits=limits or Limits())
    if runtime is not None:
        return await runtime._run(request, unrestricted=True)  # pyright: ignore[reportPrivateUsage]
    async with ProcessRuntime(warm=0) as own:
        return await own._run(request, unrestricted=True)  # pyright: ignore[reportPrivateUsage]
