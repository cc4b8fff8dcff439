"""One bad entry of a listing costs only itself, and what a server said reaches us past the SDK's validation."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.shared.message import SessionMessage
from mcp_types import CallToolResult, JSONRPCNotification, JSONRPCResponse, ListToolsResult
from mcp_types import methods as sdk_methods

from codemode.mcp._listing import read_listing, read_tool
from codemode.mcp._wire import RAW, put_right

VERSIONS = ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"]
ODD_ENTRIES: list[Any] = [
    {"name": "good", "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}}, "description": " x "},
    {"name": "no_schema"},
    {"name": "null_schema", "inputSchema": None},
    {"name": "array_root", "inputSchema": {"type": "array"}},
    {"name": "no_type", "inputSchema": {"properties": {"a": {"type": "integer"}}}},
    {"name": "odd_properties", "inputSchema": {"type": "object", "properties": {"a": "string"}}},
    {"name": "odd_required", "inputSchema": {"type": "object", "required": "a"}},
    {"name": "odd_output", "inputSchema": {"type": "object"}, "outputSchema": 7},
    {"name": "array_output", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}},
    {"name": "odd_hints", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": "yes"}, "title": 3},
    {"name": "good", "inputSchema": {"type": "object"}},
    {"inputSchema": {"type": "object"}},
    "not a tool",
    None,
]


def answer(result: dict[str, Any]) -> dict[str, Any]:
    message = put_right(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result=result))).message
    assert isinstance(message, JSONRPCResponse)
    return message.result


@pytest.mark.parametrize("version", VERSIONS)
def test_the_sdk_accepts_any_listing_and_hands_on_the_raw_entries(version: str) -> None:
    result = answer({"tools": ODD_ENTRIES, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
    sdk_methods.validate_server_result("tools/list", version, result)
    listed = ListToolsResult.model_validate(result)
    assert [(tool.meta or {})[RAW] for tool in listed.tools] == ODD_ENTRIES


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "raw",
    [
        {"content": [{"type": "text", "text": "x"}]},
        {"content": [{"type": "hologram"}, 5]},
        {"content": None, "structuredContent": [1, 2, 3]},
        {"structuredContent": {"a": 1}},
        {"content": [], "isError": "perhaps"},
    ],
)
def test_the_sdk_accepts_any_tool_result_and_hands_on_the_raw_one(version: str, raw: dict[str, Any]) -> None:
    raw = {**raw, "resultType": "complete"} if version == "2026-07-28" else raw
    result = answer(raw)
    sdk_methods.validate_server_result("tools/call", version, result)
    assert (CallToolResult.model_validate(result).meta or {})[RAW] == raw


def test_other_messages_are_let_through_untouched() -> None:
    for result in ({}, {"prompts": []}, {"resultType": "input_required", "content": [], "requestState": "s"}):
        message = SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result=result))
        assert put_right(message) is message
    note = SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/progress"))
    assert put_right(note) is note


def test_a_listing_is_read_with_every_fault_named() -> None:
    tools, dropped = read_listing(ODD_ENTRIES)
    by_name = {tool.name: tool for tool in tools}
    assert list(by_name) == [entry["name"] for entry in ODD_ENTRIES[:10]]
    assert by_name["good"].description == "x"
    assert by_name["no_type"].parameters == {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert by_name["no_type"].problems == ()
    for name in ("no_schema", "null_schema", "array_root"):
        assert by_name[name].parameters == {"type": "object"}
        assert by_name[name].problems
    assert by_name["odd_output"].output is None
    assert by_name["odd_output"].problems
    assert by_name["array_output"].output == {"type": "array"}
    assert len(dropped) == 4


def test_hints_are_taken_only_where_they_are_said_plainly() -> None:
    tool = read_tool({"name": "t", "annotations": {"readOnlyHint": True, "destructiveHint": False, "title": "T"}})
    assert tool.read_only
    assert (dict(tool.hints), tool.title) == ({"read_only": True, "destructive": False}, "T")
    assert not read_tool({"name": "t", "annotations": {"readOnlyHint": "true"}}).read_only
    assert not read_tool({"name": "t"}).read_only


def test_hints_that_contradict_each_other_count_as_a_write() -> None:
    tool = read_tool({"name": "t", "annotations": {"readOnlyHint": True, "destructiveHint": True}})
    assert not tool.read_only
    assert any("destroys" in problem for problem in tool.problems)


def test_equal_entries_make_equal_definitions() -> None:
    entry = ODD_ENTRIES[0]
    assert read_tool(dict(entry)) == read_tool(dict(entry))
