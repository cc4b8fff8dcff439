"""How programs spell tools and arguments; the stub's text agrees with it."""

from __future__ import annotations

import pytest

from codemode_stubs import Spelling, method_spellings, render_stubs, signature

from . import odd
from .support import FakeTool, methods, stub, tool

STRING = {"type": "string"}


def spelled(*tools: FakeTool) -> dict[str, Spelling]:
    return {one.full_name: one for one in method_spellings(tools)}


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("search", "search"), ("get-weather", "get_weather"), ("api.lookup", "api_lookup"), ("a b/c", "a_b_c"),
        ("2fa", None), ("class", None), ("None", None), ("_private", None), ("__class__", None), ("-x", None),
        ("match", "match"), ("Größe", "Größe"), ("路径", "路径"), ("ﬁnd", "find"), ("print", "print"), ("e\u0301", "é"),
    ],
)  # fmt: skip
def test_a_tool_has_the_attribute_that_python_can_write(name: str, method: str | None) -> None:
    assert spelled(tool(name))[name].method == method
    assert spelled(tool("x", namespace=name))[f"{name}.x"].namespace_attribute == method


def test_the_exact_name_wins_and_two_underscore_spellings_cancel_out() -> None:
    found = spelled(tool("get-data"), tool("get.data"), tool("a-b"), tool("a_b"), tool("c-d"))
    assert {name: one.method for name, one in found.items()} == {
        "get-data": None, "get.data": None, "a-b": None, "a_b": "a_b", "c-d": "c_d",
    }  # fmt: skip


def test_tools_and_namespaces_compete_for_one_name() -> None:
    found = spelled(tool("my-server"), tool("x", namespace="my.server"), tool("y", namespace="my_server"))
    assert found["my-server"].method is None
    assert found["my.server.x"].namespace_attribute is None
    assert found["my_server.y"].namespace_attribute == "my_server"


def test_parameters_are_required_ones_then_optional_ones() -> None:
    one = spelled(tool("f", {"a": STRING, "b": STRING, "c": STRING}, required=["c", "ghost"]))["f"]
    assert (one.parameters, one.required) == (("c", "ghost", "a", "b"), 2)


@pytest.mark.parametrize("name", ["from", "None", "self", "__x", "__debug__", "content-type", "", "ﬁ", "a b", "9"])
def test_a_parameter_that_python_cannot_name_puts_the_tool_in_the_dict_form(name: str) -> None:
    one = tool("fetch", {"url": STRING, name: STRING}, required=["url"])
    assert spelled(one)["fetch"].dict_form
    assert methods(stub(one))["fetch"] == "async def fetch(self, args: FetchArgs) -> Any: ..."
    assert name == "" or repr(name)[1:-1] in stub(one).partition("class Tools")[0]


def test_a_dict_of_optional_arguments_can_be_left_out() -> None:
    assert methods(stub(tool("f", {"from": STRING})))["f"] == "async def f(self, args: FArgs = ...) -> Any: ..."


@pytest.mark.parametrize("name", ["match", "type", "_", "__dunder__", "cls", "args", "naïve"])
def test_soft_keywords_and_such_stay_parameters(name: str) -> None:
    assert not spelled(tool("f", {name: STRING}))["f"].dict_form


def test_schemas_that_say_nothing_of_parameters_take_any() -> None:
    free = FakeTool("free", {"type": "object"})
    broken = FakeTool("broken", {"type": "object", "properties": 7})
    none = tool("none")
    found = spelled(free, broken, none, tool("typed", {"a": STRING}, additionalProperties=STRING))
    assert {name: one.extra for name, one in found.items()} == {
        "free": True, "broken": True, "none": False, "typed": True,
    }  # fmt: skip
    assert "async def free(self, **arguments: Any) -> Any: ..." in stub(free)
    assert '"""[parameters unknown]"""' in stub(broken)


def test_exotic_names_have_a_subscript_with_their_exact_name() -> None:
    text = stub(*odd.exotic_tools())
    for name in ("get-weather", "2fa", "class", "__class__", 'quo\\"te', "back\\\\slash"):
        assert f'def __getitem__(self, name: Literal["{name}"], /)' in text
    assert 'Literal["plain"]' not in text
    assert 'Literal["Größe"]' not in text


def test_a_single_subscript_is_no_overload() -> None:
    text = stub(tool("2fa"))
    assert "overload" not in text
    assert '    def __getitem__(self, name: Literal["2fa"], /) -> T2faTool: ...' in text


def test_the_prompt_names_the_tool_behind_an_underscore_spelling() -> None:
    text = render_stubs([tool("get-weather", description="Weather.")], form="prompt")
    assert "async def get_weather(self) -> Any:" in text
    assert '"""Weather. [name: get-weather]"""' in text
    assert "__getitem__" not in text


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="pyi, prompt, check"):
        render_stubs([], form="html")  # type: ignore[arg-type]


def test_no_tools_are_a_module_too() -> None:
    assert stub().startswith("from typing import Protocol\n\nclass Tools(Protocol):\n    pass\n\ntools: Tools\n")


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (tool("search", {"q": STRING, "n": {"type": "integer", "default": 10}}, required=["q"]),
         "search(q: str, n: int = 10) -> Any"),
        (tool("f", {"from": STRING, "o": {"type": "object"}}, required=["from"], namespace="web"),
         'web.f({"from": str, "o"?: dict}) -> Any'),
        (tool("g", output={"type": "array", "items": {"properties": {"a": {}}}}), "g() -> list[dict]"),
        (FakeTool("free", {}), "free(**arguments: Any) -> Any"),
    ],
)  # fmt: skip
def test_a_signature_is_one_line(one: FakeTool, line: str) -> None:
    assert signature(one) == line


def test_signatures_of_odd_tools_are_one_line_too() -> None:
    for tools in odd.modules().values():
        for one in tools:
            assert "\n" not in signature(one)
