"""More of stubs and of checked programs: each construct of a schema has a type, and what runs is what the stub says."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from codemode import Registry, check_program
from tests.cases.test_stubs import method, parameters, stubs_of
from tests.cases.world import World, assert_same, tool

STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def nothing(world: World, a: Any, ctx: Any) -> None:
    return None


def one(properties: dict[str, Any], output: Any = None, **spec: Any) -> World:
    entry = {**tool("t", properties, output), **spec}
    return World("", [entry], bodies={"t": nothing})


TYPES: dict[str, tuple[dict[str, Any], str]] = {
    "integer": (INTEGER, "int"),
    "number": ({"type": "number"}, "float"),
    "boolean": ({"type": "boolean"}, "bool"),
    "null": ({"type": "null"}, "None"),
    "array of strings": ({"type": "array", "items": STRING}, "list[str]"),
    "array of anything": ({"type": "array"}, "list[Any]"),
    "free object": ({"type": "object"}, "dict[str, Any]"),
    "typed values": ({"type": "object", "additionalProperties": INTEGER}, "dict[str, int]"),
    "nullable by type list": ({"type": ["string", "null"]}, "str | None"),
    "union": ({"anyOf": [STRING, INTEGER]}, "str | int"),
    "one of": ({"oneOf": [STRING, {"type": "array", "items": INTEGER}]}, "str | list[int]"),
    "enum": ({"enum": ["a", "b"]}, "Literal['a', 'b']"),
    "const": ({"const": 3}, "Literal[3]"),
    "anything": ({}, "Any"),
    "true": (True, "Any"),  # type: ignore[dict-item]
    "a pair": ({"type": "array", "prefixItems": [STRING, INTEGER], "items": False}, "list[str | int]"),
    "format": ({"type": "string", "format": "date-time"}, "str"),
}


@pytest.mark.parametrize("what", TYPES)
def test_each_construct_has_its_type(what: str) -> None:
    schema, wanted = TYPES[what]
    shown = parameters(method(stubs_of(one({"p": schema})), "t"))["p"][0]
    assert shown == wanted


@pytest.mark.parametrize(
    ("default", "shown"),
    [
        ("'x'", "'x'"),
        ("3", "3"),
        ("True", "True"),
        ("None", "None"),
        ("[1, 2]", "..."),
        ("{'a': 1}", "..."),
        ("1.5", "1.5"),
    ],
)
def test_scalar_defaults_are_shown_and_others_are_dots(default: str, shown: str) -> None:
    world = one({"p?": {"default": ast.literal_eval(default)}})
    assert parameters(method(stubs_of(world), "t"))["p"][1] in {shown, default}


def test_required_parameters_come_first_each_in_declared_order() -> None:
    world = one({"b?": INTEGER, "z": STRING, "a?": INTEGER, "y": STRING})
    text = stubs_of(world)
    assert list(parameters(method(text, "t"))) == ["z", "y", "b", "a"]
    # What the stub shows is how positions bind.
    world.run("await tools.t('1', '2', 3, 4)")
    assert world.ran("t") == [{"z": "1", "y": "2", "b": 3, "a": 4}]


def test_parameters_that_are_no_names_put_a_tool_into_the_dict_form() -> None:
    world = one({"from": STRING, "content-type?": STRING})
    text = stubs_of(world)
    ((name, (annotation, _)),) = parameters(method(text, "t")).items()
    assert name.isidentifier()
    assert annotation.strip("'\"") in text
    assert "'from'" in text or '"from"' in text
    world.run("await tools.t({'from': 'a', 'content-type': 'b'})")
    assert world.ran("t") == [{"from": "a", "content-type": "b"}]


@pytest.mark.parametrize(
    "description",
    [
        'ends with a quote "',
        'has """ inside',
        "back\\slash at the end\\",
        "bidi \u202e mark",
        "null \x00 byte",
        "lone \ud800",
        "line\u2028sep",
    ],
)
def test_a_description_cannot_break_out_of_its_docstring(description: str) -> None:
    world = World(
        "",
        [{**tool("t", {"p": {"type": "string", "description": description}}), "description": description}],
        bodies={"t": nothing},
    )
    text = stubs_of(world)
    assert method(text, "t")
    for raw in ("\u202e", "\x00", "\ud800"):
        assert raw not in text
    text.encode("utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "list",
        "str",
        "Any",
        "tools",
        "Literal",
        "print",
        "self",
        "None",
        "ToolCallError",
        "TypedDict",
        "x y",
        "ﬁ",
        "__init__",
    ],
)
def test_any_tool_name_gives_a_module_that_executes(name: str) -> None:
    spec = {
        **tool(
            name,
            {"list": {"type": "array", "items": STRING}, "str?": STRING},
            {"type": "object", "properties": {"int": INTEGER}},
        )
    }
    world = World(
        "",
        [spec, tool("after", {"xs": {"type": "array", "items": STRING}})],
        bodies={name: lambda w, a, c: {}, "after": nothing},
    )
    text = stubs_of(world)
    assert method(text, "after")
    assert_same(world.value(f"return await tools[{name!r}]({{'list': ['a']}})"), {})
    assert world.ran(name) == [{"list": ["a"]}]


def test_stubs_show_the_scopes_view() -> None:
    world = World("", [tool("seen"), tool("hidden")], bodies={"seen": nothing, "hidden": nothing})
    scope = world.registry.scope("agent")
    scope.restrict(allow=["seen"])
    code_mode = world.code_mode()
    assert "async def hidden" in code_mode.stubs()
    assert "async def hidden" not in code_mode.stubs(scope=scope)
    assert "async def hidden" not in code_mode.instructions(scope=scope)
    assert "async def seen" in code_mode.stubs(scope=scope)


def typed_registry() -> Registry:
    registry = Registry()

    @registry.tool
    async def find(query: str, limit: int = 10) -> list[dict[str, str]]:
        """Find things."""
        return []

    @registry.tool(namespace="github")
    async def create_issue(title: str, labels: list[str] | None = None) -> int:
        """Open an issue."""
        return 1

    return registry


FINE = {
    "keywords": "rows = await tools.find(query='a', limit=3)\nreturn [r['x'] for r in rows]",
    "one dict": "return await tools.find({'query': 'a'})",
    "positions": "return await tools.find('a', 2)",
    "a namespace": "n = await tools.github.create_issue('t', labels=['a'])\nreturn n + 1",
    "subscripts": "return await tools['find'](query='a')",
    "gather": "import asyncio\nreturn [len(r) for r in await asyncio.gather(*(tools.find(query=q) for q in 'ab'))]",
    "an error": "try:\n    await tools.find(query='a')\nexcept ToolCallError as e:\n    print(e.tool_name, e.message)",
    "no tools": "return sum(x * x for x in range(10))",
    "a top-level return in branches": "for i in range(3):\n    if i:\n        return i\nreturn None",
}


@pytest.mark.parametrize("what", FINE)
def test_a_program_that_runs_has_no_diagnostics(what: str) -> None:
    assert check_program(FINE[what], typed_registry()) == []


WRONG: dict[str, tuple[str, int, str]] = {
    "an unknown tool": ("x = 1\nawait tools.fnd(query='a')", 2, "fnd"),
    "a wrong type": ("await tools.find(query=3)", 1, "str"),
    "a missing argument": ("\n\nawait tools.find(limit=3)", 3, "query"),
    "a surplus argument": ("await tools.find(query='a', kind='b')", 1, "kind"),
    "a missing key of the dict form": ("await tools.find({'limit': 3})", 1, ""),
    "a wrong use of a result": ("n = await tools.github.create_issue('t')\nreturn n.upper()", 2, "upper"),
    "a missing await": ("rows = tools.find(query='a')\nreturn rows[0]", 2, ""),
    "a syntax error": ("x = = 1", 1, ""),
    "a refusal": ("x = 1\nimport os", 2, "os"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_is_reported_at_its_line(what: str) -> None:
    program, line, word = WRONG[what]
    found = check_program(program, typed_registry())
    assert found
    assert any(diagnostic.line == line and word in diagnostic.message for diagnostic in found), found
    assert all(diagnostic.column >= 1 for diagnostic in found)


def test_instructions_are_short_and_say_what_matters() -> None:
    world = World("")
    text = world.code_mode().instructions()
    for word in ("await", "return", "print", "import", "tools"):
        assert word in text
    assert len(text) < 4_000
