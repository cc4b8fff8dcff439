"""Ordinary programs as models write them: each gives its value, or is refused with the way out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.given import read_rows
from tests.cases.lab import lab
from tests.cases.world import assert_same

SNIPPETS = read_rows("snippets.jsonl")

REFUSED = {
    # What the design refuses, with the line and the words that must stand in the refusal.
    "85_getattr_dunder_method": (3, ("__getattr__",)),
}


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in SNIPPETS])
def test_a_snippet_gives_its_value_or_is_refused_with_a_reason(row: dict[str, Any]) -> None:
    result = lab(row["program"]).run()
    if row["id"] in REFUSED:
        line, words = REFUSED[row["id"]]
        assert not result.ok
        assert result.error.kind == "syntax"
        assert result.error.line == line
        for word in words:
            assert word in result.text
        return
    assert result.ok, result.text
    assert_same(result.value, row["want"])
    if "out" in row:
        assert "\n".join(result.logs) + "\n" == row["out"]
