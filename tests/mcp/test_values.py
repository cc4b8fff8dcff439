"""A result of MCP becomes the value that its author meant, and comes back as content that can be shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from codemode.mcp._values import Outcome, is_block, outcome, parsed_text, render, unwrapped_schema, value_of_blocks

IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
LINK = {"type": "resource_link", "uri": "file:///a", "name": "a"}
RESOURCE = {"type": "resource", "resource": {"uri": "file:///a", "text": "hello"}}
ARRAY = {"type": "array", "items": {"type": "object", "required": ["number"]}}


def text(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": item} for item in texts]


def is_array_of_numbered(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) and "number" in item for item in value)


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ([], None),
        (text("plain"), "plain"),
        (text(""), ""),
        (text('{"a": 1}'), {"a": 1}),
        (text('  [1, {"b": null}]\n'), [1, {"b": None}]),
        (text("{'a': 1}"), "{'a': 1}"),
        (text("[Hit(id=1)]"), "[Hit(id=1)]"),
        (text("12"), "12"),
        (text("true"), "true"),
        (text('"quoted"'), '"quoted"'),
        (text("[NaN]"), "[NaN]"),
        (text("{not json}"), "{not json}"),
        (text('{"a": 1'), '{"a": 1'),
        (text('{"a": 123456789012345678901234567890}'), {"a": 123456789012345678901234567890}),
        (text("one", "two"), ["one", "two"]),
        (text('{"a": 1}', '{"b": 2}'), ['{"a": 1}', '{"b": 2}']),
        ([IMAGE], IMAGE),
        ([*text("see"), IMAGE, LINK], ["see", IMAGE, LINK]),
        ([RESOURCE], RESOURCE),
        (["odd", None, *text("left")], "left"),
        ([{"type": "text"}], {"type": "text"}),
    ],
)
def test_content_without_an_output_schema_is_its_natural_value(content: list[Any], value: Any) -> None:
    assert outcome({"content": content}) == Outcome(value)


def test_structured_content_wins_over_the_sentence_beside_it() -> None:
    result = {"content": text("2 chunks, see structured content"), "structuredContent": {"chunks": ["a", "b"]}}
    assert outcome(result).value == {"chunks": ["a", "b"]}
    assert outcome(result, output={"type": "object"}).value == {"chunks": ["a", "b"]}


def test_structured_content_of_any_root_is_taken_as_it_is() -> None:
    assert outcome({"structuredContent": [1, 2]}).value == [1, 2]
    assert outcome({"structuredContent": False}).value is False


def test_structured_null_counts_only_where_the_schema_allows_null() -> None:
    result = {"content": text("said"), "structuredContent": None}
    assert outcome(result, output={"type": "null"}, accepts=lambda value: value is None) == Outcome(None)
    assert outcome(result).value == "said"


def test_a_wrapped_result_is_unwrapped_only_where_the_schema_says_so() -> None:
    marked = {
        "type": "object",
        "properties": {"result": {"$ref": "#/$defs/Hit"}},
        "required": ["result"],
        "$defs": {"Hit": {"type": "integer"}},
        "x-fastmcp-wrap-result": True,
    }
    schema, wrapped = unwrapped_schema(marked)
    assert (schema, wrapped) == ({"$ref": "#/$defs/Hit", "$defs": {"Hit": {"type": "integer"}}}, True)
    assert outcome({"structuredContent": {"result": 3}}, output=schema, wrapped=True) == Outcome(3)

    unmarked = {key: value for key, value in marked.items() if not key.startswith("x-")}
    assert unwrapped_schema(unmarked) == (unmarked, False)
    assert outcome({"structuredContent": {"result": 3}}, output=unmarked).value == {"result": 3}
    assert unwrapped_schema(None) == (None, False)


def test_a_wrapper_that_does_not_wrap_keeps_its_value_and_says_so() -> None:
    found = outcome({"structuredContent": {"other": 3}}, output={"type": "integer"}, wrapped=True)
    assert found.value == {"other": 3}
    assert found.off_schema is not None


def test_text_is_read_as_the_promised_value_where_structured_content_is_missing() -> None:
    listed = outcome({"content": text('[{"number": 11}, {"number": 12}]')}, output=ARRAY, accepts=is_array_of_numbered)
    assert listed == Outcome([{"number": 11}, {"number": 12}])
    assert outcome({"content": text("12")}, output={"type": "integer"}, accepts=lambda v: v == 12) == Outcome(12)
    assert outcome({"content": text("12")}, output={"type": "string"}, accepts=lambda v: v == "12") == Outcome("12")


def test_a_text_that_is_not_the_promised_value_is_still_there() -> None:
    found = outcome({"content": text("no rows")}, output=ARRAY, accepts=is_array_of_numbered)
    assert found.value == "no rows"
    assert found.off_schema is not None


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({"content": text("no such file", "try another")}, "no such file\ntry another"),
        ({"content": [IMAGE], "structuredContent": {"code": 7}}, '{"code":7}'),
        ({"content": []}, "the tool failed and gave no reason"),
        ({"content": [RESOURCE]}, "hello"),
        ({}, "the tool failed and gave no reason"),
    ],
)
def test_an_error_result_is_a_failure_with_its_text(result: dict[str, Any], message: str) -> None:
    assert outcome({**result, "isError": True}) == Outcome(message, failed=True)


def test_an_error_flag_that_is_not_true_is_no_error() -> None:
    assert outcome({"content": text("x"), "isError": "false"}) == Outcome("x")


def test_images_beside_structured_content_are_attachments() -> None:
    found = outcome({"content": [*text("a chart"), IMAGE], "structuredContent": {"n": 1}})
    assert found == Outcome({"n": 1}, attachments=(IMAGE,))


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("as it is", "as it is"),
        ({"a": [1, 2]}, '{"a":[1,2]}'),
        (None, "null"),
        (IMAGE, [IMAGE]),
        (["see", IMAGE, {"n": 1}], [*text("see"), IMAGE, *text('{"n":1}')]),
        (["one", "two"], '["one","two"]'),
        ({"type": "image", "data": 5, "mimeType": "image/png"}, '{"type":"image","data":5,"mimeType":"image/png"}'),
        ({"type": "text", "text": "data"}, '{"type":"text","text":"data"}'),
    ],
)
def test_a_value_is_shown_as_text_and_its_blocks_as_blocks(value: Any, content: Any) -> None:
    assert render({}, value) == content


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=50)
@given(st.lists(JSON) | st.dictionaries(st.text(), JSON))
def test_every_object_and_array_survives_as_text(value: Any) -> None:
    assert parsed_text(to_json(value).decode()) == value


@given(st.text())
def test_parsing_never_fails_and_never_makes_a_scalar(raw: str) -> None:
    assert isinstance(parsed_text(raw), str | list | dict)


@settings(max_examples=40)
@given(st.dictionaries(st.text(), JSON))
def test_no_result_object_is_too_odd(result: dict[str, Any]) -> None:
    outcome(result)
    for key in ("content", "structuredContent", "isError"):
        outcome({**result, key: list(result.values())})


@given(JSON)
def test_what_is_shown_is_text_or_blocks(value: Any) -> None:
    shown = render({}, value)
    assert isinstance(shown, str) or all(is_block(block) or block["type"] == "text" for block in shown)


def test_values_of_blocks_need_no_result_around_them() -> None:
    assert value_of_blocks([IMAGE, *text("x")]) == [IMAGE, "x"]
