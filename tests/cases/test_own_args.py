"""More ways to call a tool: what binds, what is refused before anything is sent, and what the refusal says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.world import World, assert_same, tool

INTEGER, STRING = {"type": "integer"}, {"type": "string"}

SEARCH = tool("search", {"q": STRING, "limit?": INTEGER, "tags?": {"type": "array", "items": STRING}})
ONE = tool("one", {"value": {}})
SHAPES = tool("shapes", {"point": {"type": "object", "properties": {"x": INTEGER}, "required": ["x"]}})
ODD = {
    "name": "odd",
    "parameters": {
        "type": "object",
        "properties": {"from": STRING, "content-type": STRING, "class": STRING},
        "required": ["from"],
        "additionalProperties": False,
    },
    "output": {},
}
NONE = tool("none")


def back(world: World, a: Any, ctx: Any) -> Any:
    return dict(a)


def world_of(program: str) -> World:
    specs = [SEARCH, ONE, SHAPES, ODD, NONE]
    return World(program, specs, bodies={spec["name"]: back for spec in specs})


BINDS = {
    "keywords": ("tools.search(q='a', limit=2)", {"q": "a", "limit": 2}),
    "positional in the stub's order": ("tools.search('a', 2)", {"q": "a", "limit": 2}),
    "positional and keywords": ("tools.search('a', tags=['t'])", {"q": "a", "tags": ["t"]}),
    "one dict": ("tools.search({'q': 'a'})", {"q": "a"}),
    "splatted": ("tools.search(**{'q': 'a', 'limit': 1})", {"q": "a", "limit": 1}),
    "splatted list": ("tools.search(*['a', 1])", {"q": "a", "limit": 1}),
    "a dict as the only parameter's value": ("tools.one({'k': 1})", {"value": {"k": 1}}),
    "a dict whose key is the only parameter": ("tools.one({'value': 1})", {"value": 1}),
    "a list as the only parameter's value": ("tools.one([1, 2])", {"value": [1, 2]}),
    "None as the only parameter's value": ("tools.one(None)", {"value": None}),
    "an object parameter by position": ("tools.shapes({'x': 1})", {"point": {"x": 1}}),
    "an object parameter by name": ("tools.shapes(point={'x': 1})", {"point": {"x": 1}}),
    "a parameter that is a keyword, in a dict": ("tools.odd({'from': 'a', 'content-type': 'b'})", None),
    "a parameter that is a keyword, splatted": ("tools.odd(**{'from': 'a'})", {"from": "a"}),
    "a tuple": ("tools.one((1, (2, 3)))", {"value": [1, [2, 3]]}),
    "a set": ("tools.one({3, 1, 2})", {"value": [1, 2, 3]}),
    "dict views": ("tools.one({'a': 1}.values())", {"value": [1]}),
    "int keys": ("tools.one(value={1: 'a'})", {"value": {"1": "a"}}),
    "a date": ("tools.one(datetime.date(2024, 1, 2))", {"value": "2024-01-02"}),
    "a Decimal": ("tools.one(decimal.Decimal('1.50'))", {"value": "1.50"}),
    "a UUID": ("tools.one(uuid.UUID(int=1))", {"value": "00000000-0000-0000-0000-000000000001"}),
    "a big int": ("tools.one(2**100)", {"value": 2**100}),
    "an int of ten thousand digits": ("tools.one(2**33220)", {"value": 2**33220}),
    "an int for an integer given as a whole float": ("tools.search('a', 2.0)", None),
    "no arguments": ("tools.none()", {}),
    "subscript": ("tools['search'](q='a')", {"q": "a"}),
    "getattr": ("getattr(tools, 'sea' + 'rch')('a')", {"q": "a"}),
    "an alias": ("(lambda f: f(q='a'))(tools.search)", {"q": "a"}),
    "functools.partial": ("functools.partial(tools.search, limit=3)('a')", {"q": "a", "limit": 3}),
    "a Counter": ("tools.one(collections.Counter('aab'))", {"value": {"a": 2, "b": 1}}),
    "a str Enum": ("tools.one(E.A)", {"value": "aa"}),
    "a dataclass": ("tools.one(D(1, [2]))", {"value": {"x": 1, "y": [2]}}),
    "a named tuple": ("tools.one(collections.namedtuple('P', 'x y')(1, 2))", {"value": [1, 2]}),
}
PRELUDE = """import datetime, decimal, uuid, collections, functools, enum, dataclasses
class E(str, enum.Enum):
    A = "aa"
@dataclasses.dataclass
class D:
    x: int
    y: list
"""


@pytest.mark.parametrize("form", BINDS)
def test_a_call_form_binds(form: str) -> None:
    call, wanted = BINDS[form]
    world = world_of(f"{PRELUDE}return await {call}")
    value = world.value()
    if wanted is not None:
        assert_same(value, wanted)
    assert_same(world.visits[0].arguments, value)
    assert_same(world.starts()[0]["arguments"], value)


REFUSED = {
    "surplus positional": ("tools.search('a', 1, [], 4)", ("q", "limit", "tags")),
    "duplicate": ("tools.search('a', q='b')", ("q",)),
    "a dict and a keyword": ("tools.search({'q': 'a'}, q='b')", ("q",)),
    "an unknown keyword": ("tools.search(q='a', limt=3)", ("limt", "limit")),
    "missing": ("tools.search(limit=3)", ("q",)),
    "nothing at all": ("tools.search()", ("q",)),
    "arguments for a tool without any": ("tools.none(1)", ("none",)),
    "bytes": ("tools.one(b'x')", ("bytes",)),
    "an object": ("tools.one(object())", ("object",)),
    "a function": ("tools.one(len)", ("function",)),
    "a class": ("tools.one(int)", ("class", "type")),
    "a generator": ("tools.one(x for x in [1])", ("generator",)),
    "a coroutine": ("tools.one(tools.none())", ("await",)),
    "tuple keys": ("tools.one(value={(1, 2): 3})", ("key",)),
    "a nested NaN": ("tools.one({'a': [1, float('nan')]})", ("a[1]", "NaN", "nan")),
    "complex": ("tools.one(1j)", ("complex",)),
}


@pytest.mark.parametrize("form", REFUSED)
def test_a_call_that_cannot_be_made_says_why_and_sends_nothing(form: str) -> None:
    call, words = REFUSED[form]
    world = world_of(
        f"try:\n    r = await {call}\n    return ['sent', r]\n"
        "except Exception as e:\n    return [type(e).__name__, str(e)]"
    )
    kind, text = world.value()
    assert kind in {"TypeError", "ValueError", "ToolCallError"}, (kind, text)
    assert any(word in text for word in words), text
    assert world.visits == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"q": 1}, ("search", "q", "string")),
        ({"q": "a", "limit": True}, ("search", "limit", "integer")),
        ({"q": "a", "limit": "1"}, ("search", "limit", "integer")),
        ({"q": "a", "limit": 1.5}, ("search", "limit", "integer")),
        ({"q": "a", "tags": ["x", 3]}, ("search", "tags[1]", "string")),
        ({"q": None}, ("search", "q", "string")),
        ({"q": "a", "tags": "x"}, ("search", "tags", "array")),
        ({"q": 1, "limit": "x"}, ("q", "limit")),
    ],
)
def test_a_wrong_type_names_tool_path_and_what_was_wanted(arguments: dict[str, Any], words: tuple[str, ...]) -> None:
    world = world_of(f"try:\n    await tools.search({arguments!r})\nexcept ToolCallError as e:\n    return e.message")
    text = world.value()
    for word in words:
        assert word in text
    assert "pydantic" not in text
    assert world.visits == []
    # It was a call: it has a number, a start and a settle, and it counts.
    assert len(world.starts()) == len(world.settles()) == 1
    assert world.settles()[0]["error"]["code"] == "INVALID_ARGS"


def test_a_badly_bound_call_takes_no_number_and_raises_at_the_call_itself() -> None:
    world = world_of(
        "try:\n    c = tools.search('a', q='b')\nexcept TypeError as e:\n    first = 'at the call'\n"
        "await tools.search('x')\nreturn first"
    )
    assert world.value() == "at the call"
    assert [data["sub_call_id"].rsplit(":", 1)[1] for data in world.starts()] == ["1"]


def test_tool_call_error_has_its_three_names_and_no_code() -> None:
    world = world_of(
        "try:\n    await tools.search(q=1)\nexcept ToolCallError as e:\n"
        "    return [e.name, e.tool_name, e.message == str(e), isinstance(e, Exception),"
        " [n for n in ('code', 'call', 'token', 'cause') if hasattr(e, n)], e.__cause__]"
    )
    assert_same(world.value(), ["ToolCallError", "search", True, True, [], None])


def test_membership_dir_and_hasattr_of_tools() -> None:
    world = world_of(
        "return ['search' in tools, 'nope' in tools, sorted(dir(tools)), hasattr(tools, 'one'), hasattr(tools, 'nope'),"
        " sorted(tools) if hasattr(tools, '__iter__') else None]"
    )
    value = world.value()
    assert value[:2] == [True, False]
    assert value[2] == ["none", "odd", "one", "search", "shapes"]
    assert value[3:5] == [True, False]


def test_namespaces_are_reached_by_dot_by_subscript_and_by_full_name() -> None:
    from codemode import Tool

    world = World("")
    for namespace, name in (("github", "create_issue"), ("github", "list-prs"), ("my-server", "get")):
        world.registry.register(
            Tool(
                name,
                "A tool.",
                execute=lambda a, ctx, n=f"{namespace}.{name}": n,
                parameters={"type": "object", "properties": {}},
                namespace=namespace,
            )
        )
    assert_same(
        world.value(
            "return [await tools.github.create_issue(), await tools['github.create_issue'](),"
            " await tools.github['list-prs'](), await tools.github.list_prs(), await tools['github']['create_issue'](),"
            " await tools['my-server.get'](), await tools.my_server.get(), sorted(dir(tools)), dir(tools.github)]"
        ),
        [
            "github.create_issue",
            "github.create_issue",
            "github.list-prs",
            "github.list-prs",
            "github.create_issue",
            "my-server.get",
            "my-server.get",
            *world.value("return [sorted(dir(tools)), dir(tools.github)]"),
        ],
    )
    assert {data["name"] for data in world.starts()} == {"github.create_issue", "github.list-prs", "my-server.get"}
    missing = world.run("await tools.github.creat_issue()")
    assert missing.error.type in {"AttributeError", "ToolCallError"}
    assert "create_issue" in missing.text
