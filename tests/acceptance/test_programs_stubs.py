"""stubs.md, decisions.md "Stubs": the stub text and check_program."""

from __future__ import annotations

import ast
import typing
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

from codemode import CodeMode, Diagnostic, Registry, Tool, check_program


@dataclass
class Hit:
    id: int
    title: str
    score: float = 0.0


class Mode(Enum):
    FAST = "fast"
    SLOW = "slow"


def registry() -> Registry:
    made = Registry()

    @made.tool
    async def search(query: str, limit: int = 10, mode: Mode = Mode.FAST, tags: list[str] | None = None) -> list[Hit]:
        """Search the index.

        Args:
            query: what to look for
        """
        return []

    async def body(arguments: Any, ctx: Any) -> Any:
        return arguments

    def raw(name: str, properties: dict[str, Any], required: list[str] | None = None, **options: Any) -> None:
        schema = {"type": "object", "properties": properties, "required": required or [], "additionalProperties": False}
        made.register(Tool(name, f"The {name} tool.", body, parameters=schema, **options))

    raw("fetch", {"content-type": {"type": "string"}, "from": {"type": "integer"}}, ["from"])
    raw("get-weather", {"city": {"type": "string"}}, ["city"])
    raw("class", {})
    raw(
        "create_issue",
        {"labels": {"type": "array", "items": {"type": "string"}}, "title": {"type": "string"}},
        ["title"],
        namespace="github",
    )
    raw("items", {"n": {"type": "integer"}}, [])
    return made


def stubs() -> str:
    return CodeMode(registry()).stubs()


def test_the_text_parses_executes_and_passes_as_a_module() -> None:
    text = stubs()
    ast.parse(text)
    names: dict[str, Any] = {"__name__": "stub"}
    exec(compile(text, "stub", "exec"), names)
    assert issubclass(names["ToolCallError"], Exception)
    assert "Tools" in names
    for value in list(names.values()):
        if isinstance(value, type) and value.__module__ == "stub":
            typing.get_type_hints(value, names)


def test_the_shape_of_the_text() -> None:
    text = stubs()
    for line in (
        "class Hit(TypedDict):",
        "    id: int",
        "    title: str",
        "    score: float",
        "class Tools(Protocol):",
        "    github: GithubTools",
        "class GithubTools(Protocol):",
        "tools: Tools",
        "class ToolCallError(Exception):",
        "    tool_name: str",
        "    message: str",
    ):
        assert line in text, line
    assert "async def search(self, query: str, limit: int = 10," in text
    assert "-> list[Hit]:" in text
    assert '"""Search the index.' in text
    assert "query: what to look for" in text
    assert "async def create_issue(self, title: str, labels: list[str] = ...)" in text


def test_parameters_that_are_no_names_put_the_tool_in_the_dict_form() -> None:
    text = stubs()
    assert "async def fetch(self, args: FetchArgs)" in text
    assert "FetchArgs = TypedDict(" in text
    assert '"content-type"' in text


def test_exotic_names_are_overloads_and_underscore_methods() -> None:
    text = stubs()
    assert "__getitem__" in text
    assert 'Literal["get-weather"]' in text
    assert "async def get_weather(self, city: " in text
    assert 'Literal["class"]' in text


def test_tools_with_the_names_of_builtins_shadow_nothing() -> None:
    made = Registry()

    async def body(arguments: Any, ctx: Any) -> Any:
        return None

    schema = {"type": "object", "properties": {"s": {"type": "array", "items": {"type": "string"}}}}
    for name in ("list", "str", "print", "int", "tools", "Tools", "Any", "ToolCallError"):
        made.register(
            Tool(name, "Named so.", body, parameters=schema, output={"type": "array", "items": {"type": "integer"}})
        )
    names: dict[str, Any] = {"__name__": "stub"}
    exec(compile(CodeMode(made).stubs(), "stub", "exec"), names)
    hints = typing.get_type_hints(names["Tools"].print, names)
    assert hints["return"] == list[int]
    assert hints["s"] == list[str]


def test_same_tools_same_bytes() -> None:
    first, second = registry(), Registry()
    for tool in reversed(first.tools()):
        second.register(tool)
    assert CodeMode(first).stubs() == CodeMode(second).stubs()


def test_every_visible_tool_is_rendered_in_every_mode() -> None:
    for mode in ("native", "code", "both"):
        text = CodeMode(registry(), mode=mode).instructions()
        assert "search" in text
        assert "create_issue" in text
        assert "ToolCallError" in text


def test_docstrings_cannot_break_out() -> None:
    made = Registry()

    async def body(arguments: Any, ctx: Any) -> Any:
        return None

    for number, description in enumerate(
        ['a """ b', "ends with \\", 'ends with "', "nul \x00 bidi \u202e surrogate \ud800", '"""\nimport os\n"""']
    ):
        made.register(Tool(f"t{number}", description, body, parameters={"type": "object"}))
    text = CodeMode(made).stubs()
    text.encode("utf-8")
    tree = ast.parse(text)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import) and node.names[0].name == "os"]
    assert "\u202e" not in text
    assert "\x00" not in text


def test_every_construct_of_json_schema_has_a_type_and_nothing_raises() -> None:
    made = Registry()

    async def body(arguments: Any, ctx: Any) -> Any:
        return None

    output: dict[str, Any] = {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"]},
            "b": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "c": {"enum": ["x", 1, True, None]},
            "d": {"const": "k"},
            "e": {"type": "object", "additionalProperties": {"type": "integer"}},
            "f": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
            "g": {"$ref": "#/$defs/Node"},
            "h": {
                "allOf": [
                    {"type": "object", "properties": {"p": {"type": "integer"}}},
                    {"type": "object", "properties": {"q": {"type": "string"}}},
                ]
            },
            "i": {"type": "string", "nullable": True},
            "j": {},
            "k": {"not": {"type": "string"}},
        },
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
    }
    made.register(Tool("all", "All.", body, parameters={"type": "object"}, output=output))
    made.register(Tool("none", "None.", body, parameters={"type": "object"}))
    text = CodeMode(made).stubs()
    ast.parse(text)
    for part in (
        "a: NotRequired[str | None]",
        "b: NotRequired[int | str]",
        'Literal["k"]',
        "dict[str, int]",
        "list[int | str]",
        "-> Any",
    ):
        assert part in text, part


# check_program


def check(code: str) -> list[Diagnostic]:
    return check_program(code, registry())


@pytest.mark.parametrize(
    "code",
    [
        "return await tools.search('x', 3)",
        "return await tools.search(query='x', limit=3)",
        "return await tools.search({'query': 'x', 'limit': 3})",
        "r = await tools.search('x')\nreturn r[0]['title'].upper()",
        "return await tools['search']('x')",
        "return await tools.get_weather('Berlin')",
        "return await tools['get-weather'](city='Berlin')",
        "return await tools['class']()",
        "return await tools.github.create_issue('t', ['bug'])",
        "return await tools['github.create_issue'](title='t')",
        "return await tools.fetch({'from': 1, 'content-type': 'x'})",
        "try:\n    await tools.items(1)\nexcept ToolCallError as e:\n    print(e.tool_name, e.message, e.name)",
        "import asyncio\nprint(await asyncio.gather(tools.search('a'), tools.items()))",
        "x = 1\nx",
        "```python\nreturn 1\n```",
        "return json.dumps({})",
    ],
)
def test_check_accepts_what_runs(code: str) -> None:
    pytest.importorskip("ty")
    assert check(code) == []


@pytest.mark.parametrize(
    ("code", "line", "word"),
    [
        ("x = 1\nawait tools.serach('x')", 2, "serach"),
        ("x = 1\nawait tools.search(quary='x')", 2, "quary"),
        ("await tools.search()", 1, "query"),
        ("await tools.search('x', limit='many')", 1, "int"),
        ("await tools.search({'limit': 3})", 1, "query"),
        ("r = await tools.search('x')\nreturn r[0]['titel']", 2, "titel"),
        ("r = tools.search('x')\nreturn r[0]", 2, ""),
        ("x = = 2", 1, ""),
        ("x = 1\nimport os", 2, "os"),
        ("x = 1\n\nreturn eval('1')", 3, "eval"),
        ("await tools.github.create_isue('x')", 1, "create_isue"),
    ],
)
def test_check_reports_a_mistake_in_the_programs_own_lines(code: str, line: int, word: str) -> None:
    pytest.importorskip("ty")
    found = check(code)
    assert found
    assert all(isinstance(item, Diagnostic) for item in found)
    assert line in {item.line for item in found}
    assert all(item.column >= 1 for item in found)
    assert any(word in item.message for item in found), found
    assert all(isinstance(item.code, str) and item.code for item in found)


def test_check_reports_all_refusals() -> None:
    found = check("import os\nx = eval('1')")
    assert {item.line for item in found} == {1, 2}


def test_check_names_a_missing_await() -> None:
    pytest.importorskip("ty")
    found = check("tools.search('x')\nreturn 1")
    assert found
    assert found[0].line == 1
    assert "await" in found[0].message


def test_check_sees_the_tools_of_the_scope_only() -> None:
    pytest.importorskip("ty")
    made = registry()
    scope = made.scope("agent")
    scope.restrict(allow=["items"])
    assert check_program("await tools.items()", made, scope) == []
    assert check_program("await tools.search('x')", made, scope)


async def test_check_is_sync_and_works_inside_a_running_loop() -> None:
    assert check("x = eval('1')")
