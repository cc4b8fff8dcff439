"""Each construct of JSON Schema has a type: as the annotation of one parameter, `x`."""

from __future__ import annotations

from typing import Any

import pytest

from . import odd
from .support import Effects, executed, methods, stub, tool

CASES: list[tuple[Any, str]] = [
    ({"type": "string"}, "str"),
    ({"type": "number"}, "float"),
    ({"type": "integer"}, "int"),
    ({"type": "boolean"}, "bool"),
    ({"type": "null"}, "None"),
    ({"type": "null", "const": None}, "None"),
    ({}, "Any"),
    (True, "Any"),
    (False, "Never"),
    ({"description": "anything"}, "Any"),
    ({"type": "array"}, "list[Any]"),
    ({"type": "array", "items": {"type": "number"}}, "list[float]"),
    ({"items": {"type": "number"}}, "list[float]"),
    ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False}, "list[str | int]"),
    ({"type": "array", "items": [{"type": "string"}, {"type": "null"}]}, "list[str | None]"),
    ({"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "integer"}}, "list[str | int]"),
    ({"type": "object"}, "dict[str, Any]"),
    ({"type": "object", "properties": {}}, "dict[str, Any]"),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
    ({"additionalProperties": {"type": "integer"}}, "dict[str, int]"),
    ({"type": "object", "patternProperties": {"^.*$": {"type": "string"}}}, "dict[str, str]"),
    (
        {"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False},
        "dict[str, str]",
    ),
    ({"type": ["string", "null"]}, "str | None"),
    ({"type": ["null", "integer", "string"]}, "int | str | None"),
    ({"type": "string", "nullable": True}, "str | None"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "string"}]}, "str | None"),
    ({"oneOf": [{"type": "integer"}, {"anyOf": [{"type": "string"}, {"type": "null"}]}]}, "int | str | None"),
    ({"anyOf": [{"type": "string"}, {}]}, "Any"),
    ({"type": "string", "anyOf": [{"format": "uri"}, {"pattern": "^x"}]}, "str"),
    ({"allOf": [{"type": "string"}, {"minLength": 1}]}, "str"),
    ({"allOf": [{"type": "number"}, {"type": "integer"}]}, "int"),
    ({"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}, 'Literal["b"]'),
    ({"enum": ["a", "b"]}, 'Literal["a", "b"]'),
    ({"enum": ["a", "a", 1, True]}, 'Literal["a", 1, True]'),
    ({"enum": [None, True]}, "Literal[True] | None"),
    ({"enum": [None]}, "None"),
    ({"const": "x", "enum": ["x", "y"]}, 'Literal["x"]'),
    ({"type": "string", "enum": ["a", 1, None]}, 'Literal["a"]'),
    ({"enum": [2**60, -(2**60)]}, "Literal[1152921504606846976, -1152921504606846976]"),
    ({"enum": [1e18, 1.0]}, "Literal[1000000000000000000, 1]"),
    ({"enum": [10**21]}, "int"),
    ({"enum": [1.5, "a"]}, 'float | Literal["a"]'),
    ({"enum": [{"a": 1}]}, "Any"),
    ({"enum": []}, "Any"),
    ({"enum": ['say "hi"\n', "ends\\", "\x00\ud800\u202e"]}, r'Literal["say \"hi\"\n", "ends\\", "\x00\ud800\u202e"]'),
    ({"anyOf": [{"const": "a"}, {"const": "b"}, {"type": "null"}]}, 'Literal["a", "b"] | None'),
    ({"anyOf": [{"const": "a"}, {"type": "string"}]}, "str"),
    ({"type": "strange"}, "Any"),
    ({"$ref": "#/$defs/missing"}, "Any"),
    ({"$ref": "https://example.org/schema.json"}, "Any"),
    (7, "Any"),
]


@pytest.mark.parametrize(("schema", "expected"), CASES)
def test_a_schema_has_a_type(schema: Any, expected: str) -> None:
    line = methods(stub(tool("f", {"x": schema}, required=["x"])))["f"]
    assert (
        line.removeprefix("async def f(self, x: ").removesuffix(") -> Any: ...").removesuffix(") -> Any:") == expected
    )


@pytest.mark.parametrize(
    ("schema", "remark"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 100}, "(1..100)"),
        ({"type": "integer", "minimum": 0}, "(>= 0)"),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, "(> 0, < 1)"),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, "(> 0)"),
        ({"type": "string", "format": "date-time"}, "(date-time)"),
        ({"type": "string", "minLength": 1, "maxLength": 3}, "(1..3 characters)"),
        ({"type": "string", "pattern": "^a+$"}, "(matches ^a+$)"),
        ({"type": "array", "items": {"format": "uri"}, "minItems": 1}, "(each: (uri); at least 1 items)"),
        ({"type": "array", "uniqueItems": True}, "(unique)"),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "(in order: str, int)"),
        ({"type": "integer", "multipleOf": 5}, "(multiple of 5)"),
        ({"enum": [1.5, 2.5]}, "(one of 1.5, 2.5)"),
        ({"type": "integer", "default": "x"}, '(default "x")'),
        ({"type": "object", "not": {"required": ["a"]}}, "(has further conditions)"),
        ({"type": "string", "deprecated": True}, "(deprecated)"),
        ({"anyOf": [{"type": "string", "description": "a path"}, {"type": "integer", "description": "an id"}]},
         "(str: a path; int: an id)"),
        ({"$ref": "#/$defs/missing"}, "(unresolved reference)"),
    ],
)  # fmt: skip
def test_what_a_type_cannot_say_is_in_the_docstring(schema: Any, remark: str) -> None:
    assert f"            x: {remark}" in stub(tool("f", {"x": schema}))


def test_required_parameters_come_first_each_in_declared_order() -> None:
    properties = {name: {"type": "string"} for name in ("a", "b", "c", "d")}
    line = methods(stub(tool("f", properties, required=["d", "b", "ghost"])))["f"]
    assert line == "async def f(self, b: str, d: str, ghost: Any, a: str = ..., c: str = ...) -> Any: ..."


def test_defaults_are_literals_where_they_are_short_and_fit() -> None:
    properties = {
        "a": {"type": "string", "default": 'say "x"'},
        "b": {"type": ["string", "null"], "default": None},
        "c": {"type": "integer", "default": None},
        "d": {"type": "array", "items": {"type": "string"}, "default": ["x"]},
        "e": {"type": "array", "items": {"type": "string"}, "default": ["x" * 60]},
        "f": {"type": "number", "default": 1},
        "g": {"enum": ["a", "b"], "default": "c"},
        "h": {"type": "integer", "default": 1.0},
        "i": {"type": "integer", "default": True},
        "j": {"type": "string", "default": "required beats default"},
        "k": {"default": {"deep": [1, None]}},
        "l": {"$ref": "#/properties/a", "default": "ref"},
    }
    line = methods(stub(tool("f", properties, required=["j"])))["f"]
    assert line == (
        'async def f(self, j: str, a: str = "say \\"x\\"", b: str | None = None, c: int = ..., d: list[str] = ["x"], '
        'e: list[str] = ..., f: float = 1, g: Literal["a", "b"] = ..., h: int = 1, i: int = ..., '
        'k: Any = {"deep": [1, None]}, l: str = "ref") -> Any:'
    )


def test_open_arguments_are_shown() -> None:
    text = stub(
        tool("a", {"x": {"type": "string"}}, additionalProperties={"type": "integer"}),
        tool("b", {"arguments": {"type": "string"}}, additionalProperties=True),
        tool("c", {}, additionalProperties=False),
    )
    assert methods(text) == {
        "a": "async def a(self, x: str = ..., **arguments: int) -> Any: ...",
        "b": "async def b(self, arguments: str = ..., **arguments_: Any) -> Any: ...",
        "c": "async def c(self) -> Any: ...",
    }


def test_alternatives_at_the_root_are_parameters_too() -> None:
    by_id = {"properties": {"id": {"type": "integer"}, "at": {"type": "string"}}, "required": ["id", "at"]}
    by_name = {"properties": {"name": {"type": "string"}, "at": {"type": "string"}}, "required": ["name", "at"]}
    text = stub(tool("find", {"limit": {"type": "integer"}}, oneOf=[by_id, by_name], description="Find."))
    assert methods(text)["find"] == (
        "async def find(self, at: str, limit: int = ..., id: int = ..., name: str = ...) -> Any:"
    )
    assert "Find. [needs id + at or name + at]" in text


def test_a_record_is_a_typed_dict_with_remarks() -> None:
    record = {
        "type": "object",
        "description": "One hit.",
        "properties": {
            "id": {"type": "integer", "description": "its number", "minimum": 1},
            "score": {"type": "number", "default": 0.5},
        },
        "required": ["id"],
    }
    text = stub(tool("search", output={"type": "array", "items": {"$ref": "#/$defs/Hit"}, "$defs": {"Hit": record}}))
    assert text.startswith(
        "from typing import NotRequired, Protocol, TypedDict\n\n"
        "class Hit(TypedDict):\n"
        '    """One hit."""\n'
        "    id: int  # its number (>= 1)\n"
        "    score: NotRequired[float]  # (default 0.5)\n"
        "    # other keys allowed\n\n"
    )
    assert methods(text)["search"] == "async def search(self) -> list[Hit]: ..."


def test_a_closed_object_without_properties_is_an_empty_record() -> None:
    text = stub(tool("f", {"x": {"type": "object", "additionalProperties": False}}))
    assert "class FX(TypedDict):\n    pass\n" in text


def test_a_field_that_is_no_identifier_puts_its_record_in_functional_syntax() -> None:
    text = stub(tool("f", output={"type": "object", "properties": {"a-b": {"type": "string"}, "class": {}}}))
    assert 'FResult = TypedDict("FResult", {\n    "a-b": NotRequired[str],\n    "class": NotRequired[Any],\n' in text


def test_dunder_underscore_soft_keyword_and_unicode_fields_stay_fields() -> None:
    names = ("match", "type", "_one", "__meta__", "___", "naïve", "路径")
    text = stub(tool("f", output={"type": "object", "properties": {name: {} for name in names}}))
    assert all(f"    {name}: NotRequired[Any]\n" in text for name in names)


def test_all_of_objects_are_one_record() -> None:
    base = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    more = {
        "type": "object",
        "properties": {"b": {"type": "integer"}},
        "required": ["b"],
        "additionalProperties": False,
    }
    text = stub(tool("f", output={"allOf": [{"$ref": "#/$defs/Base"}, more], "$defs": {"Base": base}}))
    assert "class FResult(TypedDict):\n    a: str\n    b: int\n\n" in text


def test_alternatives_share_the_base_and_take_their_tags_name() -> None:
    shapes = [
        {"properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
        {"properties": {"kind": {"const": "point"}}, "required": ["kind"]},
    ]
    text = stub(tool("draw", {"shape": {"type": "object", "properties": {"id": {"type": "string"}}, "oneOf": shapes}}))
    assert "shape: DrawShapeCircle | DrawShapePoint = ..." in text
    assert text.count("    id: NotRequired[str]\n") == 2


def test_recursion_ends_in_names() -> None:
    text = stub(*odd.reference_tools())
    assert '    kids: NotRequired[list["Node"]]\n' in text
    assert 'Json: TypeAlias = str | list["Json"] | dict[str, "Json"]\n' in text


def test_two_definitions_of_one_name_are_two_types_and_equal_ones_are_one() -> None:
    text = stub(*odd.reference_tools())
    assert text.count("class Address(TypedDict):") == text.count("class Address2(TypedDict):") == 1
    assert "class Address3" not in text
    lines = methods(text)
    assert lines["get_user"] == lines["get_home"].replace("get_home", "get_user")
    assert lines["get_user"] != lines["get_company"].replace("get_company", "get_user")


def test_identical_inline_shapes_and_long_literals_are_written_once() -> None:
    colour = {"enum": ["ultramarine", "vermilion", "chartreuse", "aquamarine"]}
    point = {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}}
    text = stub(tool("a", {"at": point, "colour": colour}), tool("b", {"to": point, "colour": colour}, output=point))
    assert text.count("ultramarine") == 1
    assert text.count("    x: NotRequired[float]") == 1


def test_deep_nesting_stays_parseable_and_small() -> None:
    text = stub(*odd.deep_tools())
    assert len(text) < 60_000
    assert max(map(len, text.split("\n"))) < 1_000


def test_a_short_text_that_unfolds_without_end_is_cut() -> None:
    assert len(stub(odd.deep_tools()[0])) < 1_000


def test_effects_are_tags() -> None:
    text = stub(
        tool("a", description="Read.", effects=Effects(read_only=True, destructive=False)),
        tool("b", description="Drop.", effects=Effects(read_only=False, destructive=True)),
        tool("c", effects=Effects(read_only=True)),
        tool("d", description="First line.\n\n    Second paragraph.", effects=Effects(destructive=True)),
    )
    assert '"""Read. [read-only]"""' in text
    assert '"""Drop. [destructive]"""' in text
    assert '"""[read-only]"""' in text
    assert '"""First line. [destructive]\n\n        Second paragraph.\n        """' in text


def test_a_member_named_like_a_builtin_does_not_shadow_it() -> None:
    module = executed(stub(*odd.shadow_tools()))
    hints = vars(module.__dict__["Tools"])["list"].__annotations__
    assert hints["xs"] == list[str]
    assert "builtins" in stub(*odd.shadow_tools())
