"""api.md, "Tools and the registry": raw tools, registration, schemas and their limits. Public names only."""

from __future__ import annotations

import gc
import inspect
import math
from collections.abc import Mapping
from typing import Any

import pytest

from codemode import (
    CodeModeError,
    JsonValue,
    Registration,
    RegistrationError,
    Registry,
    Tool,
    ToolAnnotations,
    ToolContext,
    ToolFailure,
    ToolRequest,
    ToolSuccess,
)

OBJECT: dict[str, Any] = {"type": "object"}


async def nothing(arguments: Any, ctx: ToolContext) -> JsonValue:
    return None


async def echo(arguments: Any, ctx: ToolContext) -> JsonValue:
    return arguments


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    while levels > 1:
        schema = {"type": "array", "items": schema}
        levels -= 1
    return schema


def test_the_signatures_are_the_pinned_ones() -> None:
    parameters = inspect.signature(Registry).parameters
    assert {name: p.default for name, p in parameters.items()} == {
        "events": None,
        "approver": None,
        "default_timeout": None,
        "max_parallel": 10,
        "drain_seconds": 5.0,
    }
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters.values())
    tool = inspect.signature(Tool).parameters
    assert list(tool)[:3] == ["name", "description", "execute"]
    for name, default in {
        "output": None,
        "namespace": None,
        "concurrency_safe": False,
        "timeout": None,
        "render": None,
        "presentation_meta": None,
        "finalize_content": None,
        "present_call": None,
        "present_result": None,
    }.items():
        assert tool[name].default == default, name
        assert tool[name].kind is tool[name].KEYWORD_ONLY
    assert tool["annotations"].default == ToolAnnotations()
    assert tool["parameters"].default is inspect.Parameter.empty
    call = inspect.signature(Registry.call).parameters
    assert list(call)[:3] == ["self", "name", "arguments"]
    for name in ("scope", "call_id", "cancel", "parent"):
        assert call[name].default is None
        assert call[name].kind is call[name].KEYWORD_ONLY
    batch = inspect.signature(Registry.call_batch).parameters
    assert batch["scope"].default is None
    assert batch["cancel"].default is None


async def test_a_raw_tool_with_the_least_is_listed_and_runs_sync_or_async() -> None:
    registry = Registry()

    def sync(arguments: Mapping[str, Any], ctx: ToolContext) -> JsonValue:
        return {"got": dict(arguments), "name": ctx.call.name}

    registry.register(Tool("a", "A tool.", echo, parameters=OBJECT))
    registry.register(Tool("b", "B tool.", sync, parameters=OBJECT))
    assert [schema["name"] for schema in registry.schemas()] == ["a", "b"]
    first = await registry.call("a", {"x": [1]})
    assert isinstance(first, ToolSuccess)
    assert first.value == {"x": [1]}
    second = await registry.call("b", {"x": 1})
    assert isinstance(second, ToolSuccess)
    assert second.value == {"got": {"x": 1}, "name": "b"}


def test_full_name_is_namespace_dot_name_or_name() -> None:
    assert Tool("a", "d", nothing, parameters=OBJECT).full_name == "a"
    assert Tool("a", "d", nothing, parameters=OBJECT, namespace="n").full_name == "n.a"


def register_new(**options: Any) -> None:
    given: dict[str, Any] = {"name": "t", "description": "d", "execute": nothing, "parameters": OBJECT} | options
    registry = Registry()
    try:
        with pytest.raises(RegistrationError) as caught:
            registry.register(Tool(**given))
    finally:
        assert registry.tools() == []
    assert isinstance(caught.value, CodeModeError)
    assert isinstance(caught.value, ValueError)


BAD: list[dict[str, Any]] = [
    {"execute": None},
    {"execute": "body"},
    {"parameters": {"type": "array"}},
    {"parameters": {"type": "string"}},
    {"parameters": {"type": "nonsense"}},
    {"parameters": {"type": "object", "properties": {"a": {"type": 5}}}},
    {"parameters": {"type": "object", "required": "a"}},
    {"parameters": None},
    {"parameters": []},
    {"parameters": {"type": "object", "properties": {"a": {"pattern": "("}}}},
    {"parameters": {"type": "object", "default": math.nan}},
    {"output": {"type": "nonsense"}},
    {"output": {"$ref": "#/$defs/missing"}},
    {"output": {"$ref": "https://example.invalid/schema.json"}},
    {"output": {"$ref": "file:///etc/passwd"}},
    {"output": {"$ref": "other.json"}},
    {"output": nested(201)},
    {"timeout": 0},
    {"timeout": -1},
    {"timeout": math.nan},
    {"timeout": math.inf},
    {"timeout": True},
    {"timeout": "5"},
    {"name": "run_code"},
    {"name": ""},
    {"name": "x" * 129},
    {"name": "a\nb"},
    {"name": "a\x00"},
    {"name": "\ud800"},
    {"name": 5},
    {"render": "no"},
    {"presentation_meta": 1},
    {"finalize_content": 1},
    {"present_call": 1},
    {"present_result": 1},
    {"concurrency_safe": "yes"},
]


@pytest.mark.parametrize("options", BAD, ids=[repr(options)[:60] for options in BAD])
def test_what_is_wrong_with_a_tool_is_a_registration_error(options: dict[str, Any]) -> None:
    register_new(**options)


@pytest.mark.parametrize(
    "name", ["x" * 128, "a.b", "with space", "exotic-name", "ünï", "a/b", "日本", "class", "__x", "1"]
)
async def test_tool_names_are_free(name: str) -> None:
    registry = Registry()
    registry.register(Tool(name, "d", nothing, parameters=OBJECT))
    assert registry.get(name) is not None
    assert isinstance(await registry.call(name, {}), ToolSuccess)


def test_a_schema_of_200_levels_is_taken() -> None:
    registry = Registry()
    registry.register(Tool("t", "d", nothing, parameters=OBJECT, output=nested(90)))
    assert registry.get("t") is not None


def test_an_invalid_schema_names_the_tool_and_the_place() -> None:
    with pytest.raises(RegistrationError) as caught:
        Registry().register(
            Tool("bad", "d", nothing, parameters={"type": "object", "properties": {"deep": {"type": "strnig"}}})
        )
    assert "bad" in str(caught.value)
    assert "deep" in str(caught.value)


def test_names_clash_inside_a_layer_only() -> None:
    registry = Registry()
    registry.register(Tool("a", "d", nothing, parameters=OBJECT))
    registry.register(Tool("c", "d", nothing, parameters=OBJECT, namespace="n"))
    with pytest.raises(RegistrationError, match="a"):
        registry.register(Tool("a", "d", nothing, parameters=OBJECT))
    with pytest.raises(RegistrationError):  # a tool and a namespace of one name
        registry.register(Tool("n", "d", nothing, parameters=OBJECT))
    with pytest.raises(RegistrationError):
        registry.register(Tool("x", "d", nothing, parameters=OBJECT, namespace="a"))
    with pytest.raises(RegistrationError):  # two equal full names
        registry.register(Tool("n.c", "d", nothing, parameters=OBJECT))
    scope = registry.scope("s")
    scope.register(Tool("a", "shadow", nothing, parameters=OBJECT))
    with pytest.raises(RegistrationError):
        scope.register(Tool("a", "d", nothing, parameters=OBJECT))
    with pytest.raises(RegistrationError):
        scope.register(Tool("run_code", "d", nothing, parameters=OBJECT))
    assert [tool.full_name for tool in registry.tools()] == ["a", "n.c"]


def test_a_registration_is_callable_a_context_manager_and_disposes_once() -> None:
    registry = Registry()
    first = registry.register(Tool("a", "d", nothing, parameters=OBJECT))
    assert isinstance(first, Registration)
    first()
    assert registry.get("a") is None
    again = registry.register(Tool("a", "d", nothing, parameters=OBJECT))
    first()
    first.dispose()
    assert registry.get("a") is not None
    again.dispose()
    again.dispose()
    assert registry.get("a") is None
    with registry.register(Tool("b", "d", nothing, parameters=OBJECT)):
        assert registry.get("b") is not None
    assert registry.get("b") is None


def test_get_gives_the_very_tool_and_tools_their_order() -> None:
    registry = Registry()
    tools = [Tool(name, "d", nothing, parameters=OBJECT) for name in ("z", "a", "m")]
    for tool in tools:
        registry.register(tool)
    assert registry.get("z") is tools[0]
    assert registry.get("nope") is None
    assert registry.get("run_code") is None
    assert registry.tools() == tools
    assert isinstance(registry.tools(), list)


def test_schemas_are_three_keys_and_detached() -> None:
    registry = Registry()
    mine = {"type": "object", "properties": {"x": {"type": "integer"}}}
    registry.register(
        Tool(
            "t",
            "Says.",
            nothing,
            parameters=mine,
            output={"type": "null"},
            timeout=3,
            namespace="n",
            render=lambda a, v: "",
        )
    )
    schema = registry.schemas()[0]
    assert schema == {"name": "n.t", "description": "Says.", "input_schema": mine}
    schema["input_schema"]["properties"]["x"]["type"] = "string"
    schema["name"] = "other"
    mine["properties"]["y"] = {}  # type: ignore[index]
    assert registry.schemas()[0] == {
        "name": "n.t",
        "description": "Says.",
        "input_schema": {"type": "object", "properties": {"x": {"type": "integer"}}},
    }


DRAFTS: list[tuple[dict[str, Any], Any, Any]] = [
    (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"n": {"type": "integer"}},
            "$ref": "#/definitions/n",
        },
        1,
        "x",
    ),
    (
        {
            "$schema": "https://json-schema.org/draft/2019-09/schema",
            "$defs": {"n": {"type": "integer"}},
            "$ref": "#/$defs/n",
        },
        1,
        "x",
    ),
    ({"$defs": {"n": {"type": "integer"}}, "anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}, None, "x"),
    ({"type": "array", "prefixItems": [{"type": "integer"}], "items": False}, [1], [1, 2]),
    ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [1, 2], [1, 1]),
    (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "array",
            "items": [{"type": "integer"}],
            "additionalItems": False,
        },
        [1],
        [1, 2],
    ),
    ({"const": {"a": 1}}, {"a": 1}, {"a": 2}),
    ({"enum": [1, "a", None]}, None, 2),
    ({"type": "integer"}, 10**40, 1.5),
    ({"type": "integer"}, 1.0, True),
    ({"type": "string", "format": "date"}, "no date at all", 1),
    (
        {"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False},
        {"x1": 1},
        {"y": 1},
    ),
    ({"if": {"type": "string"}, "then": {"minLength": 2}}, "ab", "a"),
    ({"type": "number", "exclusiveMinimum": 0}, 0.5, 0),
    ({"dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 2}, {"a": 1}),
    ({"type": ["string", "null"]}, None, 1),
    ({"not": {"type": "null"}}, 1, None),
]


@pytest.mark.parametrize(("schema", "good", "bad"), DRAFTS)
async def test_any_draft_from_7_on_is_enforced_on_arguments_and_output(
    schema: dict[str, Any], good: Any, bad: Any
) -> None:
    registry = Registry()

    async def give(arguments: Any, ctx: ToolContext) -> JsonValue:
        return good if arguments["which"] == "good" else bad

    registry.register(Tool("give", "d", give, parameters=OBJECT, output=schema))
    shared = {key: schema[key] for key in ("$schema", "$defs", "definitions") if key in schema}
    wrapped = shared | {
        "type": "object",
        "properties": {"x": {key: schema[key] for key in schema if key not in shared}},
        "required": ["x"],
    }
    registry.register(Tool("take", "d", nothing, parameters=wrapped))
    right = await registry.call("give", {"which": "good"})
    assert isinstance(right, ToolSuccess), right
    assert right.value == good
    wrong = await registry.call("give", {"which": "bad"})
    assert isinstance(wrong, ToolFailure)
    assert wrong.error.code == "INVALID_TOOL_OUTPUT"
    assert "give" in wrong.error.message
    assert isinstance(await registry.call("take", {"x": good}), ToolSuccess)
    refused = await registry.call("take", {"x": bad})
    assert isinstance(refused, ToolFailure)
    assert refused.error.code == "INVALID_ARGS"
    assert "take" in refused.error.message
    assert "x" in refused.error.message


async def test_all_violations_stand_in_one_message() -> None:
    registry = Registry()
    parameters = {
        "type": "object",
        "properties": {"title": {"type": "string"}, "count": {"type": "integer", "maximum": 5}},
        "required": ["title", "count"],
        "additionalProperties": False,
    }
    registry.register(Tool("make", "d", nothing, parameters=parameters))
    result = await registry.call("make", {"tilte": "x", "count": 7})
    assert isinstance(result, ToolFailure)
    for part in ("make", "title", "tilte", "count", "5", "7"):
        assert part in result.error.message, (part, result.error.message)


async def test_the_default_renderer_is_a_string_as_it_is_else_compact_json() -> None:
    registry = Registry()

    async def give(arguments: Any, ctx: ToolContext) -> JsonValue:
        return arguments["value"]

    registry.register(Tool("give", "d", give, parameters=OBJECT))
    for value, text in [
        ("as it is", "as it is"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        (None, "null"),
        (1.5, "1.5"),
        ("", ""),
        ("é", "é"),
        (["é"], '["é"]'),
    ]:
        result = await registry.call("give", {"value": value})
        assert result.content == [{"type": "text", "text": text}]


async def test_a_renderer_gives_text_or_blocks_of_arguments_and_value() -> None:
    registry = Registry()
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    seen: list[Any] = []

    def text(arguments: Any, value: Any) -> str:
        seen.append((arguments, value))
        return "text"

    registry.register(Tool("text", "d", echo, parameters=OBJECT, render=text))
    registry.register(
        Tool("blocks", "d", echo, parameters=OBJECT, render=lambda a, v: [image, {"type": "other", "x": 1}])
    )
    registry.register(Tool("empty", "d", echo, parameters=OBJECT, render=lambda a, v: []))
    assert (await registry.call("text", {"a": 1})).content == [{"type": "text", "text": "text"}]
    assert seen == [({"a": 1}, {"a": 1})]
    assert (await registry.call("blocks", {})).content == [image, {"type": "other", "x": 1}]
    assert (await registry.call("empty", {})).content == []


@pytest.mark.parametrize(
    "options",
    [
        {"render": lambda a, v: 1 / 0},
        {"render": lambda a, v: 5},
        {"render": lambda a, v: [object()]},
        {"render": lambda a, v: v["a"].append(1)},
        {"presentation_meta": lambda a, v: 1 / 0},
        {"presentation_meta": lambda a, v: object()},
    ],
)
async def test_a_failing_renderer_or_projector_is_invalid_tool_output(options: dict[str, Any]) -> None:
    registry = Registry()
    registry.register(Tool("t", "d", echo, parameters=OBJECT, **options))
    result = await registry.call("t", {"a": [1]})
    assert isinstance(result, ToolFailure)
    assert result.error.code == "INVALID_TOOL_OUTPUT"
    assert "t" in result.error.message


async def test_presentation_meta_is_the_results_meta() -> None:
    registry = Registry()
    registry.register(Tool("t", "d", echo, parameters=OBJECT, presentation_meta=lambda a, v: {"n": v["a"]}))
    registry.register(Tool("plain", "d", echo, parameters=OBJECT))
    assert (await registry.call("t", {"a": 1})).meta == {"n": 1}
    assert (await registry.call("plain", {"a": 1})).meta is None


async def test_presenters_are_pure_and_tolerate_malformed_arguments() -> None:
    tool = Tool(
        "t",
        "d",
        echo,
        parameters={"type": "object", "properties": {"f": {"type": "string"}}, "required": ["f"]},
        present_call=lambda arguments: {"title": arguments["f"]},
        present_result=lambda arguments, result: {"title": arguments["f"], "error": result.is_error},
    )
    assert tool.present_call is not None
    assert tool.present_result is not None
    assert tool.present_call({"f": "x"}) == {"title": "x"}
    assert tool.present_call({}) is None
    assert tool.present_call("nonsense") is None  # type: ignore[arg-type]
    success = ToolSuccess("v")
    assert tool.present_result({"f": "x"}, success) == {"title": "x", "error": False}
    assert tool.present_result({}, success) is None


def test_values_of_the_result_constructors() -> None:
    success = ToolSuccess(1)
    assert (success.is_error, success.value, success.meta, success.concludes_turn) == (False, 1, None, False)
    assert list(success.contexts) == []
    failure = ToolFailure.of("message", code="CUSTOM", name="MyError")
    assert failure.is_error is True
    assert (failure.error.message, failure.error.code, failure.error.name) == ("message", "CUSTOM", "MyError")
    assert failure.content == [{"type": "text", "text": "Error: message"}]
    assert ToolFailure.of("m").error.code == "TOOL_ERROR"
    assert not hasattr(failure, "value")
    assert not hasattr(success, "error")


async def test_a_toolset_is_added_under_a_namespace_and_taken_away_as_one() -> None:
    registry = Registry()
    tools = [Tool(name, "d", nothing, parameters=OBJECT) for name in ("a", "b")]
    added = registry.add(tools, namespace="fs")
    assert isinstance(added, Registration)
    assert [tool.full_name for tool in registry.tools()] == ["fs.a", "fs.b"]
    assert isinstance(await registry.call("fs.a", {}), ToolSuccess)
    added.dispose()
    assert registry.tools() == []


async def coroutine(*_: Any) -> None:
    return None


@pytest.mark.parametrize("hook", ["render", "presentation_meta", "finalize_content"])
async def test_an_async_callback_of_a_tool_fails_closed_and_leaves_nothing_unawaited(hook: str) -> None:
    registry = Registry()
    options: dict[str, Any] = {hook: coroutine}
    registry.register(Tool("t", "d", echo, parameters=OBJECT, **options))
    result = await registry.call("t", {})
    assert isinstance(result, ToolFailure)
    assert "sync" in result.error.message
    gc.collect()  # a coroutine that nobody closed would warn here


@pytest.mark.parametrize("hook", ["present_call", "present_result", "concurrency_safe"])
async def test_an_async_presenter_or_classifier_says_nothing(hook: str) -> None:
    registry = Registry()
    options: dict[str, Any] = {hook: coroutine}
    tool = Tool("t", "d", echo, parameters=OBJECT, **options)
    registry.register(tool)
    assert tool.present_call is None or tool.present_call({}) is None
    assert tool.present_result is None or tool.present_result({}, ToolSuccess(1)) is None
    assert isinstance((await registry.call_batch([ToolRequest("t", {})]))[0], ToolSuccess)
    gc.collect()


@pytest.mark.parametrize("hook", ["on_result", "on_progress", "shape_dispatch_log"])
async def test_an_async_observer_is_contained_and_leaves_nothing_unawaited(hook: str) -> None:
    registry = Registry()
    getattr(registry, hook)(coroutine)

    @registry.tool
    async def work(ctx: ToolContext) -> str:
        """Work."""
        ctx.progress(1)
        return "done"

    assert isinstance(await registry.call("work", {}), ToolSuccess)
    gc.collect()


async def test_a_sync_function_that_gives_a_coroutine_is_awaited() -> None:
    registry = Registry()
    registry.register(Tool("t", "d", lambda arguments, ctx: echo(arguments, ctx), parameters=OBJECT))
    result = await registry.call("t", {"x": 1})
    assert isinstance(result, ToolSuccess)
    assert result.value == {"x": 1}


@pytest.mark.parametrize("timeout", [10**400, -(10**400), 1e300])
def test_a_timeout_beyond_all_measure_is_refused_too(timeout: Any) -> None:
    register_new(timeout=timeout)
