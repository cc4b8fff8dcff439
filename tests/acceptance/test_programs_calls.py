"""api.md, "In the program"; decisions.md on calls: how a program calls tools."""

# ruff: noqa: E501 - a program is quoted in one line, beside what it must give

from __future__ import annotations

from typing import Any

import pytest

from codemode import Registry, Tool, ToolError

from .programs import of_type, opened, run, value


async def search(query: str, limit: int = 10) -> dict[str, Any]:
    """Search the index."""
    return {"query": query, "limit": limit}


async def echo(data: dict[str, Any]) -> Any:
    """Give it back."""
    return data


def raw(name: str, properties: dict[str, Any], required: list[str] | None = None, **options: Any) -> Tool:
    async def execute(arguments: Any, ctx: Any) -> Any:
        return [name, dict(arguments)]

    schema = {"type": "object", "properties": properties, "required": required or [], "additionalProperties": False}
    return Tool(name, "A tool.", execute, parameters=schema, **options)


@pytest.mark.parametrize(
    "call",
    [
        "tools.search(query='x', limit=3)",
        "tools.search({'query': 'x', 'limit': 3})",
        "tools.search('x', 3)",
        "tools.search('x', limit=3)",
        "tools['search'](query='x', limit=3)",
        "tools['search']({'query': 'x', 'limit': 3})",
        "getattr(tools, 'search')('x', 3)",
        "tools.search(**{'query': 'x', 'limit': 3})",
        "tools.search(*['x', 3])",
    ],
)
async def test_every_form_of_a_call(call: str) -> None:
    assert await value(f"return await {call}", search) == {"query": "x", "limit": 3}


@pytest.mark.parametrize(
    "call",
    [
        "tools.search('x', query='y')",
        "tools.search('x', 3, 4)",
        "tools.search({'query': 'x'}, limit=3)",
        "tools.search('x', {'limit': 3}, 1)",
    ],
)
async def test_an_ambiguous_call_is_a_type_error_with_the_signature_and_nothing_is_sent(call: str) -> None:
    async with opened(search) as (cm, _, log):
        result = await cm.run(f"try:\n    c = {call}\nexcept TypeError as e:\n    return str(e)\nreturn 'sent'")
    assert result.ok, result.text
    assert "query: str" in result.value
    assert "limit: int" in result.value
    assert list(result.calls) == []
    assert of_type(log, "tool/code-dispatch-start") == []


async def test_positional_values_fill_the_required_parameters_first() -> None:
    registry = Registry()
    registry.register(
        raw("mixed", {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}}, ["c"])
    )
    got = await value("return await tools.mixed(1, 2, 3)", registry=registry)
    assert got == ["mixed", {"c": 1, "a": 2, "b": 3}]


async def test_one_dict_whose_keys_do_not_fit_is_the_value_of_the_only_parameter() -> None:
    assert await value("return await tools.echo({'other': 1})", echo) == {"other": 1}
    assert await value("return await tools.echo({'data': {'a': 1}})", echo) == {"a": 1}


async def test_a_missing_argument_is_refused_by_the_schema_and_counts() -> None:
    async with opened(search) as (cm, _, log):
        result = await cm.run(
            "try:\n    await tools.search()\nexcept ToolCallError as e:\n    return e.message", call_id="o"
        )
    assert result.ok, result.text
    assert "search" in result.value
    assert "query" in result.value
    [start] = of_type(log, "tool/code-dispatch-start")
    [settle] = of_type(log, "tool/code-dispatch")
    assert start["sub_call_id"] == "o:code:1"
    assert settle["error"]["code"] == "INVALID_ARGS"
    assert [call.status for call in result.calls] == ["failed"]


async def test_a_badly_bound_or_non_json_call_takes_no_number() -> None:
    program = """
for bad in (lambda: tools.search('a', 1, 2), lambda: tools.echo({'data': {'x': object()}}), lambda: tools.echo(data={'x': float('nan')})):
    try:
        await bad()
    except (TypeError, ValueError) as e:
        print(type(e).__name__, e)
return await tools.search('ok')
"""
    async with opened(search, echo) as (cm, _, log):
        result = await cm.run(program, call_id="o")
    assert result.ok, result.text
    assert len(result.logs) == 3
    assert [start["sub_call_id"] for start in of_type(log, "tool/code-dispatch-start")] == ["o:code:1"]
    assert "object" in result.logs[1]
    assert "nan" in result.logs[2].lower()


async def test_calls_are_lazy() -> None:
    async with opened(search) as (cm, _, log):
        result = await cm.run("c = tools.search('a')\nd = tools.search('b')\nawait d\nreturn await c", call_id="o")
    assert [start["arguments"]["query"] for start in of_type(log, "tool/code-dispatch-start")] == ["b", "a"]
    assert result.value == {"query": "a", "limit": 10}


async def test_a_forgotten_await_is_named_in_a_note() -> None:
    result = await run("x = 1\ntools.search('a')\nreturn x", search)
    assert result.ok
    [note] = result.notes
    assert "await" in note
    assert "search" in note
    assert "2" in note
    assert note in result.text


async def test_a_returned_call_that_was_not_awaited_is_an_error_that_names_it() -> None:
    result = await run("x = 1\nreturn tools.search('a')", search)
    assert result.error is not None
    assert result.error.kind == "invalid-output"
    assert "await" in result.error.message
    assert "search" in result.error.message
    assert "2" in result.text


async def test_use_of_a_call_that_was_not_awaited_names_await() -> None:
    result = await run("r = tools.search('a')\nreturn r['query']", search)
    assert result.error is not None
    assert "await" in result.text
    assert "search" in result.text


async def test_tool_call_error_has_name_tool_name_and_message() -> None:
    async def fail() -> str:
        """Fail."""
        raise ToolError("no luck")

    program = """
try:
    await tools.fail()
except ToolCallError as e:
    return [e.name, e.tool_name, e.message, str(e), isinstance(e, Exception), hasattr(e, 'code'), type(e).__name__]
"""
    got = await value(program, fail)
    assert got == ["ToolCallError", "fail", "no luck", "no luck", True, False, "ToolCallError"]


async def test_an_uncaught_tool_call_error_has_its_type_and_line() -> None:
    async def fail() -> str:
        """Fail."""
        raise ToolError("no luck")

    result = await run("x = 1\nawait tools.fail()", fail)
    assert result.error is not None
    assert (result.error.kind, result.error.type, result.error.line) == ("exception", "ToolCallError", 2)
    assert "no luck" in result.error.message
    assert "fail" in result.text
    assert result.calls[0].status == "failed"
    assert result.calls[0].message == "no luck"


async def test_an_exotic_name_is_reached_by_subscript_and_by_its_underscore_spelling() -> None:
    registry = Registry()
    for name in ("get-weather", "a.b", "exotic name", "class", "__class__", "keys", "日本"):
        registry.register(raw(name, {}))
    program = """
out = []
for name in ("get-weather", "a.b", "exotic name", "class", "__class__", "keys", "日本"):
    out.append((await tools[name]())[0])
out.append((await tools.get_weather())[0])
out.append((await tools.a_b())[0])
out.append((await tools.keys())[0])
out.append((await tools.日本())[0])
return out
"""
    got = await value(program, registry=registry)
    assert got == [
        "get-weather",
        "a.b",
        "exotic name",
        "class",
        "__class__",
        "keys",
        "日本",
        "get-weather",
        "a.b",
        "keys",
        "日本",
    ]


async def test_the_exact_spelling_wins_and_an_ambiguous_underscore_spelling_is_none() -> None:
    registry = Registry()
    for name in ("a-b", "a_b", "x-y", "x.y"):
        registry.register(raw(name, {}))
    got = await value(
        "return [(await tools.a_b())[0], hasattr(tools, 'x_y'), (await tools['x-y']())[0]]", registry=registry
    )
    assert got == ["a_b", False, "x-y"]


async def test_a_namespace_is_an_attribute_and_its_tools_are_subscripts() -> None:
    registry = Registry()
    registry.register(raw("create_issue", {"title": {"type": "string"}}, ["title"], namespace="github"))
    registry.register(raw("list-all", {}, namespace="github"))
    program = """
return [
    await tools.github.create_issue('t'),
    await tools.github['create_issue'](title='t'),
    await tools['github.create_issue']({'title': 't'}),
    await tools.github.list_all(),
    await tools.github['list-all'](),
    'github.create_issue' in tools,
    'github' in tools,
    'create_issue' in tools.github,
    'github' in dir(tools),
    'create_issue' in dir(tools.github),
]
"""
    got = await value(program, registry=registry)
    assert got[:3] == [["create_issue", {"title": "t"}]] * 3
    assert got[3:5] == [["list-all", {}]] * 2
    assert got[5:] == [True] * 5


async def test_the_record_of_a_namespaced_call_has_the_full_name() -> None:
    registry = Registry()
    registry.register(raw("one", {}, namespace="ns"))
    result = await run("await tools.ns.one()", registry=registry)
    assert result.calls[0].name == "ns.one"


async def test_an_unknown_tool_is_an_attribute_error_with_near_names() -> None:
    result = await run("return await tools.serach('x')", search)
    assert result.error is not None
    assert (result.error.type, result.error.line) == ("AttributeError", 1)
    assert "search" in result.error.message
    assert "did you mean" in result.text


async def test_an_unknown_subscript_has_near_names() -> None:
    result = await run("return await tools['serach']('x')", search)
    assert result.error is not None
    assert result.error.type in {"KeyError", "AttributeError"}
    assert "search" in result.error.message


async def test_in_dir_and_hasattr_work_on_tools() -> None:
    got = await value(
        "return ['search' in tools, 'nope' in tools, dir(tools), hasattr(tools, 'search'), hasattr(tools, 'nope')]",
        search,
    )
    assert got == [True, False, ["search"], True, False]


@pytest.mark.parametrize(
    "line", ["import tools", "from codemode import tools, ToolCallError", "import codemode", "from tools import search"]
)
async def test_models_may_import_tools(line: str) -> None:
    result = await run(f"{line}\nreturn await {'search' if 'import search' in line else 'tools.search'}('x')", search)
    assert result.ok, result.text


async def test_arguments_are_converted_to_json_as_the_completion_is() -> None:
    program = """
import datetime, decimal
return await tools.echo(data={'t': (1, 2), 's': {3}, 'd': datetime.date(2024, 1, 2), 1: decimal.Decimal('1.50')})
"""
    assert await value(program, echo) == {"t": [1, 2], "s": [3], "d": "2024-01-02", "1": "1.50"}


async def test_a_value_is_a_fresh_plain_object_in_the_program() -> None:
    got = await value("a = await tools.echo({'x': [1]})\na['x'].append(2)\na['y'] = type(a).__name__\nreturn a", echo)
    assert got == {"x": [1, 2], "y": "dict"}


async def test_the_program_gets_the_value_and_not_its_rendering() -> None:
    registry = Registry()

    @registry.tool(render=lambda arguments, value: "many numbers")
    async def numbers() -> list[int]:
        """Numbers."""
        return [1, 2, 3]

    assert await value("return (await tools.numbers())[1]", registry=registry) == 2


async def test_sync_tools_work() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert await value("return await tools.add(1, 2)", add) == 3


async def test_max_calls_raises_in_the_program_and_loses_nothing() -> None:
    from codemode import Limits

    program = """
done = []
try:
    for n in range(5):
        done.append((await tools.search(str(n)))['query'])
except ToolCallError as e:
    return [done, e.message]
"""
    result = await run(program, search, limits=Limits(max_calls=3))
    assert result.ok, result.text
    assert result.value[0] == ["0", "1", "2"]
    assert "3" in result.value[1]
    assert [call.status for call in result.calls if call.status == "done"] == ["done"] * 3
