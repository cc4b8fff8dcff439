"""More programs as models write them; the wanted values were computed by CPython itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.given import Case, read_rows
from tests.cases.world import World, assert_same, tool

PROGRAMS = read_rows("own.jsonl")

INTEGER, STRING, BOOLEAN = {"type": "integer"}, {"type": "string"}, {"type": "boolean"}
TOOLS = (
    tool("name", {"id": INTEGER}, STRING, "read-only"),
    tool("add", {"a": INTEGER, "b": INTEGER}, INTEGER, "read-only"),
    tool("slow", {"id": STRING, "ms": INTEGER}, STRING, "read-only"),
    tool("maybe", {"fail": BOOLEAN}, STRING, "read-only"),
    tool("page", {"cursor": {"type": ["string", "null"]}}, None, "read-only"),
)


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in PROGRAMS])
def test_a_program_gives_the_value_that_cpython_gives(row: dict[str, Any]) -> None:
    case = Case(row["id"], row["kind"], row["id"], row["program"], TOOLS, "")
    world = World(case)
    assert_same(world.value(), row["want"])
    world.assert_paired()
