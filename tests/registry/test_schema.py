"""Schemas: any draft, checked at registration, never fetched, and explained to the model."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode_registry import RegistrationError, Registry, Tool, freeze
from codemode_registry._schema import Schema

from .build import failed, label, ok, raw, returning
from .test_json import JSON

CASES = json.loads((Path(__file__).parent / "schema_cases.json").read_text())
DRAFTS = {
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["what"])
def test_a_value_fits_or_does_not_as_the_draft_says(case: dict[str, Any]) -> None:
    for draft in case.get("drafts", DRAFTS):
        schema = case["schema"]
        compiled = Schema({"$schema": DRAFTS[draft], **schema} if isinstance(schema, dict) else schema, "the case")
        for value in case["valid"]:
            assert compiled.is_valid(freeze(value)), (draft, value)
            assert compiled.violations(freeze(value)) == []
        for value in case["invalid"]:
            assert not compiled.is_valid(freeze(value)), (draft, value)
            assert compiled.violations(freeze(value)), (draft, value)


@pytest.mark.skipif("JSON_SCHEMA_TEST_SUITE" not in os.environ, reason="JSON_SCHEMA_TEST_SUITE names no folder")
def test_the_official_suite_agrees() -> None:
    refused: list[str] = []
    for draft, uri in DRAFTS.items():
        for file in sorted(Path(os.environ["JSON_SCHEMA_TEST_SUITE"], "tests", draft).glob("*.json")):
            for group in json.loads(file.read_text()):
                schema = group["schema"]
                if isinstance(schema, dict):
                    schema = {"$schema": uri, **schema}
                try:
                    compiled = Schema(schema, "the case")
                except RegistrationError as error:
                    refused.append(str(error))
                    continue
                for test in group["tests"]:
                    assert compiled.is_valid(freeze(test["data"])) == test["valid"], (file, test["description"])
    assert all("never fetched" in text or "meta-schema" in text for text in refused)


TYPES = st.sampled_from(["object", "array", "string", "number", "integer", "boolean", "null"])
SMALL = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["", "a", "ab", "abc"])
    | st.sampled_from([1.0, 1.5])
)
NODES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.builds(lambda kind: {"type": kind}, TYPES),
        st.builds(lambda kinds: {"type": kinds}, st.lists(TYPES, min_size=1, unique=True)),
        st.builds(lambda values: {"enum": values}, st.lists(SMALL, min_size=1)),
        st.builds(lambda value: {"const": value}, SMALL),
        st.builds(lambda low: {"minimum": low}, st.integers(-2, 2)),
        st.builds(lambda size: {"maxLength": size, "minItems": size}, st.integers(0, 2)),
        st.just({"pattern": "^a"}),
        st.just({"uniqueItems": True}),
        st.booleans(),
    ),
    lambda inner: st.one_of(
        st.builds(
            lambda properties, required, extra: {
                "properties": properties,
                "required": required,
                "additionalProperties": extra,
            },
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            inner,
        ),
        st.builds(lambda item: {"type": "array", "items": item}, inner),
        st.builds(
            lambda word, parts: {word: parts},
            st.sampled_from(["anyOf", "oneOf", "allOf"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
        st.builds(lambda part: {"not": part}, inner),
        st.builds(lambda a, b, c: {"if": a, "then": b, "else": c}, inner, inner, inner),
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    SMALL,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300)
@given(NODES, VALUES)
def test_an_independent_validator_agrees(schema: Any, value: Any) -> None:
    compiled = Schema(schema, "generated")
    expected = jsonschema.Draft202012Validator(schema).is_valid(value)
    frozen = freeze(value)
    assert compiled.is_valid(frozen) == expected
    assert bool(compiled.violations(frozen)) != expected


@settings(max_examples=200)
@given(NODES, JSON)
def test_explaining_never_raises_and_is_never_empty(schema: Any, value: Any) -> None:
    compiled = Schema(schema, "generated")
    violations = compiled.violations(freeze(value))
    assert bool(violations) != compiled.is_valid(freeze(value))
    for violation in violations:
        assert violation.text


BROKEN: list[tuple[Any, str]] = [
    ({"properties": {"a": {"type": "strang"}}}, ".properties.a.type"),
    ({"properties": {"a": {"minimum": "x"}}}, ".properties.a.minimum"),
    ({"properties": {"a": 7}}, ".properties.a"),
    ({"required": "a"}, "required"),
    ({"pattern": "("}, "pattern"),
    ({"properties": {"a": {"pattern": "(?<n>"}}}, "pattern"),
    ({"$ref": "#/$defs/nope"}, "nope"),
    ({"properties": {"a": {"$ref": "#/$defs/nope"}}, "$defs": {}}, "nope"),
    ({"$ref": "other.json"}, "other.json"),
    ({"$ref": "./other.json"}, "other.json"),
    ({"$id": "http://example.invalid/a", "$ref": "b"}, "never fetched"),
    ({"$schema": "http://example.invalid/meta"}, "meta-schema"),
    ({"enum": [float("nan")]}, "NaN"),
    ({"default": {1, 2}}, "set"),
    ({1: 2}, "keys are strings"),
]


@pytest.mark.parametrize(("schema", "word"), BROKEN, ids=label)
def test_a_broken_schema_is_refused_at_registration_with_the_place(schema: Any, word: str) -> None:
    registry = Registry()
    with pytest.raises(RegistrationError, match="tool 'x': parameters") as caught:
        registry.register(raw("x", len, parameters=schema))
    assert word in str(caught.value)
    with pytest.raises(RegistrationError, match="tool 'x': output"):
        registry.register(raw("x", len, output=schema))
    assert registry.get("x") is None


@pytest.mark.parametrize(
    "ref",
    [
        "http://127.0.0.1:9/x.json",
        "https://example.invalid/x",
        "file:///etc/passwd",
        "file:secret.json",
        "ftp://x/y",
        "urn:a:b",
    ],
)
@pytest.mark.parametrize("place", ["root", "deep", "dynamic", "id", "definitions"])
def test_no_schema_opens_a_file_or_a_connection(
    ref: str, place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.json").write_text("{}")

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a schema opened a connection")

    monkeypatch.setattr(socket, "socket", refuse)
    schema = {
        "root": {"$ref": ref},
        "deep": {"properties": {"a": {"items": {"anyOf": [{"$ref": ref}, {}]}}}},
        "dynamic": {"$dynamicRef": ref + "#x"},
        "id": {"$id": ref, "properties": {"a": {"$ref": "sibling.json"}}},
        "definitions": {"$defs": {"a": {"$ref": ref}}, "properties": {"b": {"$ref": "#/$defs/a"}}},
    }[place]
    with pytest.raises(RegistrationError):
        Registry().register(raw("x", len, parameters=schema))


def test_the_published_meta_schemas_are_known_without_fetching() -> None:
    for uri in DRAFTS.values():
        compiled = Schema({"$schema": uri, "properties": {"schema": {"$ref": uri}}}, "x")
        assert compiled.is_valid(freeze({"schema": {"type": "object"}}))
        assert not compiled.is_valid(freeze({"schema": {"type": "strang"}}))


def deep_schema(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels - 1):
        schema = {"not": schema}
    return schema


def test_200_levels_of_schema_are_fine_and_201_are_refused() -> None:
    Registry().register(raw("x", len, output=deep_schema(200)))
    for levels in (201, 5000):
        with pytest.raises(RegistrationError, match="200 levels"):
            Registry().register(raw("x", len, output=deep_schema(levels)))


async def test_a_schema_that_only_refers_to_itself_neither_hangs_nor_crashes() -> None:
    registry = Registry()
    registry.register(
        returning(
            "loop", 1, output={"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
        )
    )
    assert ok(await registry.call("loop", {})) == 1


async def test_a_recursive_schema_reaches_down_the_whole_value() -> None:
    tree = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}, "n": {"type": "integer"}},
    }
    registry = Registry()
    registry.register(returning("t", "fine", parameters=tree))
    assert ok(await registry.call("t", {"n": 1, "kids": [{"kids": [{"n": 2}]}]})) == "fine"
    message = failed(await registry.call("t", {"kids": [{"kids": [{"n": "x"}]}]}), "INVALID_ARGS")
    assert "kids[0].kids[0].n: expected an integer" in message


async def test_a_runaway_pattern_ends_as_a_violation() -> None:
    registry = Registry()
    registry.register(returning("t", 1, parameters={"properties": {"s": {"pattern": r"^(?=(a+)+$)(a|aa)+\1$"}}}))
    assert "s" in failed(await registry.call("t", {"s": "a" * 5000 + "b"}), "INVALID_ARGS")


async def test_format_is_an_annotation_only() -> None:
    registry = Registry()
    registry.register(returning("t", 1, parameters={"properties": {"when": {"type": "string", "format": "date-time"}}}))
    assert ok(await registry.call("t", {"when": "soon"})) == 1


async def test_a_value_at_the_depth_limit_is_validated_and_its_fault_is_reported() -> None:
    value: Any = 0
    for _ in range(499):
        value = [value]
    registry = Registry()
    registry.register(returning("t", 1, parameters={"properties": {"v": {"type": "array"}, "w": {"type": "string"}}}))
    assert ok(await registry.call("t", {"v": value})) == 1
    assert 'tool "t"' in failed(await registry.call("t", {"w": value}), "INVALID_ARGS")


def test_the_schema_is_captured_whatever_its_author_does_later() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    registry = Registry()
    registry.register(raw("t", len, parameters=schema))
    schema["properties"]["a"]["type"] = "strang"
    assert registry.schemas()[0]["input_schema"]["properties"]["a"] == {"type": "integer"}


MESSAGES: list[tuple[dict[str, Any], Any, list[str]]] = [
    ({"a": {"type": "integer"}}, {"a": "3"}, ['a: expected an integer, got the string "3"']),
    ({"a": {"type": "integer"}}, {"a": True}, ["a: expected an integer, got true"]),
    ({"a": {"type": "integer"}}, {"a": 1.5}, ["a: expected an integer, got the number 1.5"]),
    ({"a": {"type": "string"}}, {"a": None}, ["a: expected a string, got null; leave it out where there is no value"]),
    ({"a": {"type": "array"}}, {"a": '["x"]'}, ["a: expected an array, got the string", "not its JSON text"]),
    ({"a": {"type": ["string", "null"]}}, {"a": 1}, ["a: expected a string or null, got the number 1"]),
    ({"a": {"type": "boolean"}}, {"a": 1}, ["a: expected true or false, got the number 1"]),
    (
        {"a": {"enum": ["open", "closed", 1]}},
        {"a": "opne"},
        ['a: expected one of "open", "closed", 1', 'did you mean "open"?'],
    ),
    ({"a": {"const": None}}, {"a": 1}, ["a: expected null"]),
    ({"a": {"minimum": 5}}, {"a": 3}, ["a: expected a number of at least 5, got the number 3"]),
    ({"a": {"pattern": "^x"}}, {"a": "y"}, ["a: expected a string that matches ^x"]),
    ({"a": {"items": {"type": "string"}}}, {"a": ["x", 2, 3]}, ["a[1]: expected a string", "a[2]: expected a string"]),
    ({"a": {"type": "object"}}, {"a": '{"x": 1}'}, ["a: expected an object", "not its JSON text"]),
    (
        {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        {"a": 1},
        ["a: expected a string or null, got the number 1"],
    ),
    (
        {
            "a": {
                "anyOf": [
                    {"type": "object", "required": ["k"], "properties": {"k": {"type": "integer"}}},
                    {"type": "null"},
                ]
            }
        },
        {"a": {"k": "x"}},
        ['a.k: expected an integer, got the string "x"'],
    ),
    (
        {
            "a": {
                "oneOf": [
                    {"properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["kind"]},
                    {"properties": {"kind": {"const": "dog"}, "name": {"type": "string"}}, "required": ["kind"]},
                ]
            }
        },
        {"a": {"kind": "dog", "name": 7}},
        ["a.name: expected a string, got the number 7"],
    ),
    ({"a": {"oneOf": [{"type": "integer"}, {"type": "number"}]}}, {"a": 1}, ["a: fits more than one"]),
    (
        {"a": {"type": "object", "properties": {}, "additionalProperties": False}},
        {"a": {"x": 1}},
        ["a.x: unknown name"],
    ),
    ({"odd key": {"type": "string"}}, {"odd key": 1}, ['["odd key"]: expected a string']),
]


@pytest.mark.parametrize(("properties", "arguments", "words"), MESSAGES, ids=label)
async def test_a_violation_says_where_what_was_expected_and_what_came(
    properties: dict[str, Any], arguments: Any, words: list[str]
) -> None:
    registry = Registry()
    registry.register(returning("t", 1, parameters={"type": "object", "properties": properties}))
    message = failed(await registry.call("t", arguments), "INVALID_ARGS")
    assert message.startswith('invalid arguments for tool "t": ')
    for word in words:
        assert word in message


async def test_all_violations_are_in_one_message_with_the_accepted_names_and_a_near_one() -> None:
    registry = Registry()
    schema = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for."},
            "limit": {"$ref": "#/$defs/Limit"},
            "options": {"type": "object", "properties": {"deep": {"type": "boolean"}}, "additionalProperties": False},
        },
        "required": ["query", "limit"],
        "additionalProperties": False,
        "$defs": {"Limit": {"type": "integer", "description": "How many."}},
    }
    registry.register(returning("search", 1, parameters=schema, namespace="web"))
    message = failed(await registry.call("web.search", {"qeury": "x", "options": {"depe": True}}), "INVALID_ARGS")
    for word in (
        'tool "web.search"',
        "query: missing; expected a string (What to look for.)",
        "limit: missing; expected an integer (How many.)",
        'qeury: unknown name; did you mean "query"? (accepted: query, limit, options)',
        'options.depe: unknown name; did you mean "deep"? (accepted: deep)',
    ):
        assert word in message, message


async def test_many_violations_are_counted_and_not_listed() -> None:
    registry = Registry()
    registry.register(returning("t", 1, parameters={"properties": {"a": {"items": {"type": "string"}}}}))
    message = failed(await registry.call("t", {"a": list(range(2_000))}), "INVALID_ARGS")
    assert "a[0]" in message
    assert "and 1980 more" in message
    assert len(message) < 2000


STRINGS = {"type": "array", "items": {"type": "string"}}
CLOSED = {"type": "object", "additionalProperties": False}
HOSTILE: list[tuple[Any, Any, str]] = [
    (STRINGS, list(range(400_000)), "a[0]: expected a string"),
    (STRINGS, [*["x"] * 400_000, 5], "a[400000]: expected a string"),
    ({"anyOf": [STRINGS, {"type": "array", "items": {"type": "null"}}]}, [1] * 200_000, "a[0]: expected a string"),
    ({"anyOf": [STRINGS, {"type": "null"}]}, [*["x"] * 200_000, 5], "too big to say where"),
    (
        {"type": "object", "additionalProperties": False},
        {f"name {n} of many": 1 for n in range(50_000)},
        "and more",
    ),
    ({"type": "array", "uniqueItems": True, "minItems": 60}, [[0]] * 10_000, "without duplicates"),
    ({"type": "array", "minItems": 20_000}, [0] * 10_000, "at least 20000"),
    ({"type": "object", "required": ["z"]}, {f"k{n}": n for n in range(10_000)}, "a.z: missing"),
    ({"const": [1]}, [1] * 10_000, "a: expected [1]"),
    ({"type": "string"}, [[n, n] for n in range(10_000)], "a: expected a string, got an array of 10000"),
]


@pytest.mark.parametrize(("schema", "value", "word"), HOSTILE, ids=label)
async def test_a_big_value_is_explained_truly_and_in_bounded_time(schema: Any, value: Any, word: str) -> None:
    registry = Registry()
    registry.register(returning("t", 1, parameters={"properties": {"a": schema}}))
    begun = time.process_time()
    message = failed(await registry.call("t", {"a": value}), "INVALID_ARGS")
    assert word in message
    assert len(message) < 4_000
    assert time.process_time() - begun < 10


async def test_a_long_value_is_shown_short() -> None:
    registry = Registry()
    registry.register(
        returning("t", 1, parameters={"properties": {"a": {"type": "integer"}, "b": {"const": "y" * 500}}})
    )
    message = failed(await registry.call("t", {"a": "x" * 100_000, "b": "z" * 1000}), "INVALID_ARGS")
    assert len(message) < 500


async def test_prose_of_a_schema_may_hold_lone_surrogates() -> None:
    schema = {
        "description": "a \ud800",
        "properties": {"description": {"type": "string", "default": "\udfff", "title": "t"}},
    }
    registry = Registry()
    registry.register(returning("t", 1, parameters=schema))
    assert registry.schemas()[0]["input_schema"] == schema
    assert "description" in failed(await registry.call("t", {"description": 5}), "INVALID_ARGS")
    with pytest.raises(RegistrationError):
        registry.register(raw("u", len, parameters={"properties": {"\ud800": {}}}))


def test_a_bare_tool_object_checks_nothing_before_it_is_registered() -> None:
    tool = Tool("", "", None, parameters={"type": "strang"})  # type: ignore[arg-type]
    with pytest.raises(RegistrationError):
        Registry().register(tool)
