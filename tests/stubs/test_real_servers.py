"""The stubs of real MCP servers: they parse, execute, say what the schemas say, and are smaller."""

from __future__ import annotations

import ast
import inspect
import typing
from types import ModuleType
from typing import Any

import pytest

from codemode_stubs import method_spellings, render_stubs

from . import facts
from .support import FakeTool, Server, executed, servers

SERVERS = [pytest.param(server, id=server.name) for server in servers()]


def function_of(module: ModuleType, tool: FakeTool) -> Any:
    """The stub's method, or what its subscript gives."""
    spelling = method_spellings([tool])[0]
    owner: Any = module.__dict__["Tools"]
    assert spelling.method is not None, "all real names have a method"
    return vars(owner)[spelling.method]


def parameters_of(module: ModuleType, tool: FakeTool) -> dict[str, tuple[bool, Any, Any]]:
    """Name -> (required, default or `...`, annotation), whichever form the stub has."""
    function = function_of(module, tool)
    hints = typing.get_type_hints(function, module.__dict__, include_extras=True)
    found = {name: one for name, one in inspect.signature(function).parameters.items() if name != "self"}
    if list(found) == ["args"] and typing.is_typeddict(hints["args"]):
        record = hints["args"]
        fields = typing.get_type_hints(record, module.__dict__, include_extras=True)
        return {name: (name in record.__required_keys__, ..., facts._bare(field)) for name, field in fields.items()}
    return {
        name: (one.default is inspect.Parameter.empty, one.default, hints[name])
        for name, one in found.items()
        if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    }


def test_there_are_334_tools_of_16_servers() -> None:
    assert len(servers()) == 16
    assert sum(len(server.tools) for server in servers()) == 334


@pytest.mark.parametrize("server", SERVERS)
def test_each_form_parses_and_executes_and_has_every_tool(server: Server) -> None:
    for form in ("pyi", "prompt", "check"):
        text = render_stubs(server.tools, form=form)
        assert text == render_stubs(server.tools[::-1], form=form)
        ast.parse(text)
    for form in ("pyi", "prompt"):
        module = executed(render_stubs(server.tools, form=form))
        for tool in server.tools:
            assert inspect.iscoroutinefunction(function_of(module, tool))


@pytest.mark.parametrize("server", SERVERS)
def test_parameters_say_what_the_schema_says(server: Server) -> None:
    module = executed(render_stubs(server.tools))
    for tool in server.tools:
        declared = tool.parameters.get("properties", {})
        required = tool.parameters.get("required", [])
        shown = parameters_of(module, tool)
        assert list(shown) == [*(n for n in declared if n in required), *(n for n in declared if n not in required)]
        for name, (is_required, default, annotation) in shown.items():
            schema = declared[name]
            assert is_required == (name in required), (tool.name, name)
            assert facts.of_type(annotation) == facts.of_schema(schema, tool.parameters), (tool.name, name)
            if default is not inspect.Parameter.empty and default is not ...:
                assert default == schema["default"], (tool.name, name)
                assert type(default) is type(schema["default"]), (tool.name, name)
            elif (
                not is_required
                and "default" in schema
                and default is ...
                and facts.accepts(annotation, schema["default"])
            ):
                short = not isinstance(schema["default"], (list, dict)) or len(str(schema["default"])) < 30
                dict_form = method_spellings([tool])[0].dict_form
                assert dict_form or not short, (tool.name, name, schema["default"])


@pytest.mark.parametrize("server", SERVERS)
def test_results_say_what_the_schema_says(server: Server) -> None:
    module = executed(render_stubs(server.tools))
    for tool in server.tools:
        hints = typing.get_type_hints(function_of(module, tool), module.__dict__)
        expected = facts.ANY if tool.output is None else facts.of_schema(tool.output, tool.output)
        assert facts.of_type(hints["return"]) == expected, tool.name


@pytest.mark.parametrize("server", SERVERS)
def test_every_description_is_in_the_text(server: Server) -> None:
    text = " ".join(render_stubs(server.tools).split())
    for tool in server.tools:
        assert tool.description in text
        for name, schema in tool.parameters.get("properties", {}).items():
            assert schema.get("description", "") in text, (tool.name, name)


def test_the_stubs_take_at_most_seventy_percent_of_the_schemas() -> None:
    schemas = sum(server.json_size for server in servers())
    assert sum(len(render_stubs(server.tools)) for server in servers()) <= 0.70 * schemas
    assert sum(len(render_stubs(server.tools, form="prompt")) for server in servers()) <= 0.60 * schemas


def test_all_servers_in_one_module_keep_their_tools_apart() -> None:
    tools = [
        FakeTool(tool.name, tool.parameters, tool.output, server.name, tool.description, tool.annotations)
        for server in servers()
        for tool in server.tools
    ]
    text = render_stubs(tools)
    assert text == render_stubs(tools[::-1])
    module = executed(text)
    hints = typing.get_type_hints(module.__dict__["Tools"])
    assert len(hints) == len(servers())
    assert sum(1 for owner in hints.values() for name in vars(owner) if not name.startswith("_")) == 334
