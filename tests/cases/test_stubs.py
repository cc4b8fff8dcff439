"""The stubs that a model reads: they parse, they are exact, and they name what runs."""

from __future__ import annotations

import ast
import random
import unicodedata

import pytest

from codemode import RegistrationError
from tests.cases.given import Case, Json, given
from tests.cases.world import World, assert_same


def stubs_of(world: World) -> str:
    """The stub module's text, which must parse and execute."""
    text = world.code_mode().stubs()
    exec(compile(text, "stubs", "exec"), {"__name__": "stubs"})
    return text


def method(text: str, name: str) -> ast.AsyncFunctionDef:
    """The method of this name in the stubs."""
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.AsyncFunctionDef) and node.name == name]
    assert found, f"no async method {name} in\n{text}"
    return found[0]


def parameters(node: ast.AsyncFunctionDef) -> dict[str, tuple[str, str | None]]:
    """Each parameter's annotation and default, as text."""
    arguments = [*node.args.posonlyargs, *node.args.args][1:] + node.args.kwonlyargs
    defaults: list[ast.expr | None] = [*node.args.defaults, *node.args.kw_defaults]
    padded = [None] * (len(arguments) - len(defaults)) + defaults
    return {
        argument.arg: (
            ast.unparse(argument.annotation) if argument.annotation else "",
            ast.unparse(default) if default else None,
        )
        for argument, default in zip(arguments, padded, strict=True)
    }


@given("async-stub-shows-await")
def test_stubs_and_instructions_show_the_await(case: Case) -> None:
    from tests.cases.world import tool

    world = World("", [tool("lookup", {"q": {"type": "string"}}, {"type": "string"})], bodies={"lookup": _none})
    assert method(stubs_of(world), "lookup")
    instructions = world.code_mode().instructions()
    assert "await tools." in instructions
    description = next(e["description"] for e in world.code_mode().schemas() if e["name"] == "run_code")
    assert "await tools." in description
    forgotten = world.run("x = tools.lookup('a')\nreturn x['b']")
    assert "await tools.lookup(" in forgotten.text


def _none(world: World, a: Json, ctx: Json) -> None:
    return None


@given("stub-big-int-and-odd-literals")
def test_literals_spell_the_exact_value(case: Case) -> None:
    text = stubs_of(World(case))
    shown = parameters(method(text, "lit"))
    spec = next(t for t in case.tools if t["name"] == "lit")["parameters"]["properties"]
    for name, schema in spec.items():
        annotation = _resolve(text, shown[name][0])
        values = {repr(value) for value in _literal_values(annotation)}
        if any(isinstance(value, float) for value in schema["enum"]):
            # 1.5 cannot stand in a Literal: the type degrades, the others stay spelled or all become a plain type.
            assert "Any" in annotation or "float" in annotation, annotation
        else:
            assert values == {repr(value) for value in schema["enum"]}, annotation


def _resolve(text: str, annotation: str) -> str:
    """The annotation, or what its name stands for in the module."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == annotation:
            return ast.unparse(node.value)
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == annotation and node.value:
            return ast.unparse(node.value)
    return annotation


def _literal_values(annotation: str) -> list[object]:
    found: list[object] = []
    for node in ast.walk(ast.parse(annotation, mode="eval")):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Literal"):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            found.extend(ast.literal_eval(part) for part in inner)
        elif isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and node.right.value is None:
            found.append(None)
    return found


@given("stub-deterministic")
def test_the_same_tools_give_the_same_bytes(case: Case) -> None:
    from tests.cases.given import CASES

    specs = [
        *CASES["stub-ref-and-defs"].tools,
        *CASES["stub-big-int-and-odd-literals"].tools,
        *CASES["ux-join-two-tools"].tools,
    ]
    first = World("", specs)
    text = first.code_mode().stubs()
    assert first.code_mode().stubs() == text
    for seed in range(3):
        shuffled = list(specs)
        random.Random(seed).shuffle(shuffled)
        other = World("", shuffled)
        assert other.code_mode().stubs() == text
        assert other.code_mode().instructions() == first.code_mode().instructions()


@given("stub-name-collision")
def test_two_names_of_one_spelling_are_both_reachable(case: Case) -> None:
    world = World(case)
    assert_same(world.value(), ["hyphen", "dot"])
    text = stubs_of(world)
    assert "'get-data'" in text or '"get-data"' in text
    assert "'get.data'" in text or '"get.data"' in text
    # The spelling that both could have belongs to neither.
    assert not world.run("return await tools.get_data({})").ok


@given("stub-non-identifier-tool-names")
def test_tools_with_other_names_are_reached_by_subscript(case: Case) -> None:
    world = World(case)
    assert_same(world.value(), ["sunny", "found", "klass"])
    text = stubs_of(world)
    for name in ("get-weather", "api.lookup", "2fa", "class"):
        assert f"'{name}'" in text or f'"{name}"' in text, name
    assert [data["name"] for data in world.starts()] == ["get-weather", "api.lookup", "class"]
    assert world.value("return [await tools['2fa'](), await tools['Größe'](), await tools.Größe()]") == ["code", 3, 3]
    spelled = world.value("return await tools.get_weather(city='Ulm')")
    assert spelled == "sunny"
    assert world.starts()[-1]["name"] == "get-weather"
    assert method(text, "get_weather")


@given("stub-output-types-shown")
def test_the_output_schema_is_the_return_type(case: Case) -> None:
    text = stubs_of(World(case))
    returned = ast.unparse(method(text, "typed").returns)  # type: ignore[arg-type]
    shape = next(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef) and node.name == returned)
    fields = {
        ast.unparse(node.target): ast.unparse(node.annotation) for node in shape.body if isinstance(node, ast.AnnAssign)
    }
    assert fields == {"id": "int", "tags": "list[str]"}
    assert ast.unparse(method(text, "untyped").returns) == "Any"  # type: ignore[arg-type]


@given("stub-proto-like-names")
def test_names_like_pythons_own_are_tools_by_subscript(case: Case) -> None:
    world = World(case)
    assert_same(world.value(), ["c", "i", "g"])
    stubs_of(world)
    world.value("return type(tools).__name__")
    from codemode import Tool

    with pytest.raises(RegistrationError, match="run_code"):
        world.registry.register(Tool("run_code", "Mine.", execute=_none, parameters={"type": "object"}))
    assert not world.run("return await tools['run_code']({'code': 'return 1', 'description': 'x'})").ok


@given("stub-ref-and-defs")
def test_references_are_resolved_and_equal_names_kept_apart(case: Case) -> None:
    world = World(case)
    text = stubs_of(world)
    classes = {node.name: node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)}

    def fields(name: str) -> set[str]:
        node = classes[name.strip("'\"")]
        return {ast.unparse(part.target) for part in node.body if isinstance(part, ast.AnnAssign)}

    user = parameters(method(text, "get_user"))["addr"][0]
    company = parameters(method(text, "get_company"))["addr"][0]
    assert user != company
    assert fields(user) == {"street"}
    assert fields(company) == {"country"}
    root = parameters(method(text, "tree"))["root"][0]
    assert root.strip("'\"") in classes or "dict[str, Any]" in root or root == "Any"
    # What a reference does not lead to never reaches the network: a remote one is refused by name at registration.
    from codemode import Tool

    for reference in ("https://example.invalid/schema.json", "#/$defs/Nowhere", "file:///etc/passwd"):
        with pytest.raises(RegistrationError, match="astray"):
            world.registry.register(
                Tool(
                    "astray",
                    "A.",
                    execute=_none,
                    parameters={"type": "object", "properties": {"a": {"$ref": reference}}},
                )
            )
    assert world.code_mode().stubs() == text


@given("stub-required-vs-optional")
def test_required_and_optional_parameters_are_told_apart(case: Case) -> None:
    from tests.cases.world import tool

    world = World(case)
    shown = parameters(method(stubs_of(world), "greet"))
    assert shown == {"name": ("str", None), "greeting": ("str", "'Hello'")}
    spec = tool("loose", {"a?": {"type": "string"}, "b?": {"type": "integer"}})
    del spec["parameters"]["required"]
    loose = World("", [spec], bodies={"loose": _none})
    assert {name: default for name, (_, default) in parameters(method(stubs_of(loose), "loose")).items()} == {
        "a": "...",
        "b": "...",
    }


@given("stub-soft-keywords-and-unicode-fields")
def test_odd_field_names_are_documented_by_their_exact_text(case: Case) -> None:
    world = World(case)
    text = stubs_of(world)
    assert method(text, "fields")
    for name in ("match", "type", "__token", "\ufb01eld", "na\u00efve"):
        quoted = any(
            isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value == name
            for node in ast.walk(ast.parse(text))
        )
        spelled = name in {
            ast.unparse(node.target) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.AnnAssign)
        }
        assert quoted or (spelled and unicodedata.normalize("NFKC", name) == name and not name.startswith("__")), name
    sent = {"match": "m", "type": "t", "__token": "k", "\ufb01eld": "f", "na\u00efve": "n"}
    assert_same(world.value(f"return await tools.fields({sent!r})"), sent)
