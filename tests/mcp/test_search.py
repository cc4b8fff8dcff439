"""Tools are found by what a model would type, the best one first, always in the same order."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.mcp._search import search
from codemode_registry import Tool


def tool(name: str, description: str = "", namespace: str | None = None, **properties: str) -> Tool:
    schema: dict[str, Any] = {key: {"type": "string", "description": text} for key, text in properties.items()}
    return Tool(
        name, description, lambda: None, parameters={"type": "object", "properties": schema}, namespace=namespace
    )


TOOLS = [
    tool("create_issue", "Open a new issue in a repository.", "github", owner="", repo="name of the repository"),
    tool("list_issues", "List issues, newest first.", "github", state="open or closed"),
    tool("listPullRequests", "All pull requests of a repository.", "github"),
    tool("get_current_time", "Get the current time in a timezone.", "time", timezone="IANA name"),
    tool("read_text_file", "Read the contents of a file as text.", "files", path=""),
    tool("write_file", "Write text to a file, whole.", "files", path=""),
    tool("query", "Run a read-only SQL statement.", "sqlite", sql=""),
]


def found(query: str, **options: Any) -> list[str]:
    return [match.tool.full_name for match in search(query, TOOLS, limit=options.get("limit", 10))]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("create an issue", "github.create_issue"),
        ("creating issues", "github.create_issue"),
        ("pull requests", "github.listPullRequests"),
        ("what time is it", "time.get_current_time"),
        ("read a file", "files.read_text_file"),
        ("write file", "files.write_file"),
        ("SQL", "sqlite.query"),
        ("repo", "github.create_issue"),
        ("query", "sqlite.query"),
        ("files.write_file", "files.write_file"),
        ("timezone", "time.get_current_time"),
    ],
)
def test_the_tool_that_is_meant_comes_first(query: str, best: str) -> None:
    assert found(query)[0] == best


def test_a_query_without_words_lists_everything_by_name() -> None:
    assert found("") == sorted(tool.full_name for tool in TOOLS)
    assert found(" ?! ", limit=2) == sorted(tool.full_name for tool in TOOLS)[:2]


def test_what_fits_nothing_finds_nothing() -> None:
    assert found("zebra") == []


def test_the_order_does_not_depend_on_how_the_tools_came() -> None:
    shuffled = TOOLS.copy()
    random.Random(7).shuffle(shuffled)
    for query in ("file", "issues", "list the repository"):
        assert search(query, shuffled, limit=10) == search(query, TOOLS, limit=10)


@given(st.text())
def test_any_query_is_answered(query: str) -> None:
    assert len(search(query, TOOLS, limit=3)) <= 3
