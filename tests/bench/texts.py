"""Rendering stubs."""

from __future__ import annotations

import time

from codemode_stubs import render_stubs
from tests.bench.growth import many_tools
from tests.bench.measuring import OURS, Readings, Row
from tests.bench.settings import Settings


def stubs(settings: Settings) -> list[Row]:
    """Milliseconds to render the stubs of 500 tools, from fresh tools each time (nothing is remembered)."""
    readings = Readings("stubs of 500 tools (CPU)", "ms")
    for _ in range(settings.repeats):
        for form in ("prompt", "pyi", "check"):
            tools = many_tools(500).tools()
            began = time.process_time()
            text = render_stubs(tools, form=form)
            readings.add({f"{OURS}, {form}": [(time.process_time() - began) * 1000]})
            assert "tool_499" in text
    return readings.rows()
