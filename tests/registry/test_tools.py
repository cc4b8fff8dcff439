"""Registering: what is refused, what the model sees of a tool, and how registrations end."""

from __future__ import annotations

from typing import Any

import pytest

from codemode_registry import RegistrationError, Registry, Tool, ToolAnnotations, ToolFailure

from .build import OBJECT, failed, label, ok, raw, returning

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name"),
    ({"name": 5}, "name"),
    ({"name": "x" * 129}, "128"),
    ({"name": "a\nb"}, "control"),
    ({"name": "a\x00"}, "control"),
    ({"name": "\ud800"}, "surrogate"),
    ({"name": "run_code"}, "reserved"),
    ({"name": "x", "namespace": "run_code"}, "reserved"),
    ({"name": "x", "namespace": ""}, "namespace"),
    ({"name": "x", "namespace": "a\tb"}, "control"),
    ({"description": None}, "description"),
    ({"execute": None}, "body"),
    ({"execute": "len"}, "body"),
    ({"timeout": 0}, "timeout"),
    ({"timeout": -1}, "timeout"),
    ({"timeout": float("nan")}, "timeout"),
    ({"timeout": float("inf")}, "timeout"),
    ({"timeout": True}, "timeout"),
    ({"timeout": "5"}, "timeout"),
    ({"concurrency_safe": "yes"}, "concurrency_safe"),
    ({"render": "x"}, "render"),
    ({"presentation_meta": 1}, "presentation_meta"),
    ({"finalize_content": 1}, "finalize_content"),
    ({"present_call": 1}, "present_call"),
    ({"present_result": 1}, "present_result"),
    ({"annotations": {"title": "x"}}, "annotations"),
    ({"parameters": None}, "parameters"),
    ({"parameters": True}, "parameters"),
    ({"parameters": {"type": "array"}}, "object"),
    ({"parameters": {"type": ["object", "null"]}}, "object"),
    ({"output": "string"}, "output"),
    ({"output": {"type": 5}}, "output"),
]


@pytest.mark.parametrize(("change", "word"), REFUSED, ids=label)
def test_what_cannot_be_a_tool_is_refused_at_registration(change: dict[str, Any], word: str) -> None:
    registry = Registry()
    fields: dict[str, Any] = {"name": "x", "description": "d", "execute": len, "parameters": OBJECT, **change}
    tool = Tool(**fields)
    with pytest.raises(RegistrationError) as caught:
        registry.register(tool)
    assert word in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert registry.tools() == []


def test_register_takes_tools_only() -> None:
    with pytest.raises(RegistrationError, match="Tool"):
        Registry().register(len)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["a", "x" * 128, "a.b", "with-dash", "with space", "日本語", "class", "__class__", "💩"]
)
async def test_a_name_may_be_anything_printable(name: str) -> None:
    registry = Registry()
    registry.register(returning(name, 1))
    assert ok(await registry.call(name, {})) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"default_timeout": 0},
        {"default_timeout": True},
        {"max_parallel": 0},
        {"max_parallel": 1.5},
        {"max_parallel": True},
        {"drain_seconds": -1},
        {"drain_seconds": float("nan")},
    ],
)
def test_a_registry_refuses_numbers_that_make_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises(RegistrationError, match=next(iter(options))):
        Registry(**options)


def test_the_model_sees_three_fields_and_nothing_else() -> None:
    registry = Registry()
    registry.register(
        raw(
            "t",
            len,
            output={"type": "integer"},
            timeout=5,
            concurrency_safe=True,
            render=str,
            present_call=dict,
            annotations=ToolAnnotations(title="T", read_only=True),
        )
    )
    (entry,) = registry.schemas()
    assert entry == {"name": "t", "description": "The tool t.", "input_schema": {"type": "object"}}


async def test_schemas_are_detached_copies() -> None:
    registry = Registry()
    registry.register(returning("t", 1, parameters={"type": "object", "properties": {"a": {"type": "integer"}}}))
    registry.schemas()[0]["input_schema"]["properties"]["a"]["type"] = "string"
    assert registry.schemas()[0]["input_schema"]["properties"]["a"] == {"type": "integer"}
    assert ok(await registry.call("t", {"a": 1})) == 1


def test_lookup_gives_the_registered_object_itself_or_nothing() -> None:
    registry = Registry()
    tool = raw("x", len, namespace="ns")
    registry.register(tool)
    assert registry.get("ns.x") is tool
    assert registry.get("x") is None
    assert registry.tools() == [tool]
    assert "ns.x" in repr(tool)


def test_names_that_are_taken_are_refused_in_both_spellings() -> None:
    registry = Registry()
    registry.register(raw("a.b", len))
    for other in (raw("a.b", len), raw("b", len, namespace="a")):
        with pytest.raises(RegistrationError, match="already registered"):
            registry.register(other)


def test_a_tool_and_a_namespace_cannot_share_a_name() -> None:
    registry = Registry()
    registry.register(raw("x", len, namespace="fs"))
    with pytest.raises(RegistrationError, match="namespace"):
        registry.register(raw("fs", len))
    registry.register(raw("git", len))
    with pytest.raises(RegistrationError, match="namespace"):
        registry.register(raw("x", len, namespace="git"))
    scope = registry.scope("s")
    with pytest.raises(RegistrationError, match="namespace"):
        scope.register(raw("fs", len))
    scope.register(raw("y", len, namespace="own"))
    with pytest.raises(RegistrationError, match="namespace"):
        registry.register(raw("own", len))


async def test_a_registration_ends_by_call_by_dispose_or_by_leaving_its_block() -> None:
    registry = Registry()
    first = registry.register(returning("x", 1))
    assert first.active
    first()
    assert not first.active
    assert registry.get("x") is None
    with registry.register(returning("x", 2)) as second:
        assert ok(await registry.call("x", {})) == 2
        first.dispose()
        first()
        assert ok(await registry.call("x", {})) == 2
    second.dispose()
    failed(await registry.call("x", {}), "UNKNOWN_TOOL")


async def test_a_definition_is_borrowed_so_a_new_body_is_used_at_the_next_call() -> None:
    registry = Registry()
    tool = returning("x", 1)
    registry.register(tool)
    assert ok(await registry.call("x", {})) == 1

    def other(arguments: Any, ctx: Any) -> int:
        return 2

    tool.execute = other
    assert ok(await registry.call("x", {})) == 2


def test_a_tool_may_be_in_two_registries() -> None:
    tool = raw("x", len)
    one, two = Registry(), Registry()
    one.register(tool)
    two.register(tool)
    assert one.get("x") is two.get("x")


async def test_a_toolset_is_added_whole_under_its_namespace_or_not_at_all() -> None:
    class Files:
        def tools(self) -> list[Tool]:
            return [returning("read", "r"), returning("write", "w")]

    def plain(x: int) -> int:
        """Plain."""
        return x

    registry = Registry()
    registration = registry.add(Files(), namespace="fs")
    assert [tool.full_name for tool in registry.tools()] == ["fs.read", "fs.write"]
    assert ok(await registry.call("fs.write", {})) == "w"
    registry.add([plain, returning("other", 1)])
    assert ok(await registry.call("plain", {"x": 3})) == 3
    with pytest.raises(RegistrationError):
        registry.add([returning("new", 1), returning("other", 1)])
    assert registry.get("new") is None
    registration.dispose()
    assert [tool.full_name for tool in registry.tools()] == ["plain", "other"]
    for nonsense in ("fs", 5, None):
        with pytest.raises(RegistrationError):
            registry.add(nonsense)  # type: ignore[arg-type]


def test_a_change_of_the_tool_set_is_told_to_observers() -> None:
    registry = Registry()
    told: list[str] = []
    observer = registry.on_change(lambda: told.append("global"))
    registration = registry.register(raw("a", len))
    assert told == ["global"]
    registry.guard(lambda call: None)
    assert told == ["global"]
    registration.dispose()
    assert told == ["global"] * 2
    observer.dispose()
    registry.register(raw("b", len))
    assert told == ["global"] * 2


def test_an_observer_that_raises_takes_the_registration_back_and_the_name_is_free() -> None:
    registry = Registry()
    observer = registry.on_change(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        registry.register(raw("a", len))
    assert registry.get("a") is None
    observer.dispose()
    registration = registry.register(raw("a", len))
    registry.on_change(lambda: 1 / 0)
    registration.dispose()
    assert registry.get("a") is None


def test_presenters_are_pure_and_give_nothing_for_arguments_that_do_not_fit() -> None:
    def present_result(arguments: Any, result: Any) -> Any:
        return {"title": arguments["file"], "error": result.is_error}

    tool = raw(
        "t",
        len,
        parameters={"required": ["file"]},
        present_call=lambda arguments: {"title": arguments["file"].upper()},
        present_result=present_result,
    )
    Registry().register(tool)
    assert tool.present_call is not None
    assert tool.present_result is not None
    assert tool.present_call({"file": "a"}) == {"title": "A"}
    assert tool.present_result({"file": "a"}, ToolFailure.of("x")) == {"title": "a", "error": True}
    for old in ({}, None, [], "x", {"file": 5}, {"file": {1}}):
        assert tool.present_call(old) is None
    assert tool.present_result({}, None) is None
    assert tool.present_result({"file": "a"}, None) is None
    assert raw("u", len).present_call is None


def test_the_decorator_of_a_hook_still_calls_its_function_when_given_arguments() -> None:
    registry = Registry()

    @registry.guard
    def guard(call: Any) -> str | None:
        return f"no {call}"

    assert guard("x") == "no x"
    assert guard.active
    guard()
    assert not guard.active
