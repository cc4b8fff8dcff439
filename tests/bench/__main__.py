"""One command, one run, one table.

    python -m tests.bench [--peers] [--quick] [--only NAME]... [--save FILE] [--backend trio|asyncio]

Prints a block for each measure: the median, the 99th percentile and the least reading of every subject, the ratio to
plain CPython doing the same, codemode's ratio to each, and whether the target holds. `--save` writes all of it as JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from codemode import ProcessRuntime
from tests.bench import calls, cold, compute, footprint, growth, runs, texts, values
from tests.bench.measuring import Row, render
from tests.bench.peers import installed
from tests.bench.settings import Settings

MEASURES: dict[str, Callable[[Settings], list[Row]]] = {
    "cold": cold.cold,
    "paused": runs.paused,
    "back-to-back": runs.back_to_back,
    "at-once": runs.at_once,
    "sequential": calls.sequential,
    "gathered": calls.gathered,
    "stages": calls.stages,
    "waits": calls.waits,
    "compute": compute.compute,
    "compile": compute.compiling,
    "big": values.big,
    "sizes": values.sizes,
    "stubs": texts.stubs,
    "memory": footprint.memory,
    "growth-calls": growth.calls,
    "growth-tools": growth.tools,
    "slope": growth.slope,
}


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure codemode, side by side.")
    parser.add_argument("--peers", action="store_true", help="measure the peers that are installed as well")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller repetitions")
    parser.add_argument(
        "--only", action="append", metavar="NAME", choices=MEASURES, help=f"one of: {', '.join(MEASURES)}"
    )
    parser.add_argument("--save", metavar="FILE", type=Path, help="write the table as JSON")
    parser.add_argument("--backend", default="trio", choices=("trio", "asyncio"))
    options = parser.parse_args()
    rows: list[Row] = []
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        peers, missing = installed(stack) if options.peers else ((), ())
        for why in missing:
            print(f"not measured: {why}", file=sys.stderr)
        # Held open, so that one zygote serves the whole bench, as it serves a host.
        portal = stack.enter_context(anyio.from_thread.start_blocking_portal("asyncio"))
        runtime = stack.enter_context(portal.wrap_async_context_manager(ProcessRuntime()))
        settings = Settings(options.quick, peers, runtime, options.backend)
        for name in options.only or MEASURES:
            found = MEASURES[name](settings)
            print(render(found), flush=True)
            rows += found
    seconds = time.monotonic() - began
    load = os.getloadavg()[0]
    machine = f"{platform.python_version()}, {os.cpu_count()} cores, load {load:.1f}, {platform.machine()}"
    print(f"\n{len(rows)} rows in {seconds:.0f} s on CPython {machine}")
    if options.save is not None:
        document = {
            "machine": machine,
            "time": int(time.time()),
            "quick": options.quick,
            "rows": [row.as_json() for row in rows],
        }
        options.save.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
