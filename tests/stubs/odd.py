"""Tools with everything that has gone wrong in a renderer, or could: names, depths, cycles, hostile text."""

from __future__ import annotations

from typing import Any

from .support import Effects, FakeTool, tool


def nested_objects(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"inner": schema}}
    return schema


def nested_arrays(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


ADDRESS_A = {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]}
ADDRESS_B = {"type": "object", "properties": {"country": {"type": "string"}}, "required": ["country"]}
NODE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}
JSON_VALUE = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"$ref": "#/$defs/Json"}},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
    ]
}
STRING = {"type": "string"}
STRINGS = {"type": "array", "items": STRING}

#: Names that a stub uses itself, as tools: each shadows a builtin or a name of typing inside its class.
SHADOWS = (
    "list", "str", "dict", "int", "float", "bool", "object", "type", "print", "tools", "builtins", "typing",
    "Any", "Literal", "NotRequired", "Protocol", "TypedDict", "Union", "Never", "TypeAlias", "overload",
    "Tools", "ToolCallError", "Exception", "match", "case", "keys", "items", "get",
)  # fmt: skip

#: Names that Python cannot write after a dot, or that mean another thing there.
EXOTIC = (
    "get-weather", "api.lookup", "2fa", "class", "None", "_private", "__class__", "__init__", "__debug__", "a b",
    "ﬁnd", "Größe", "路径", "x/y:z", 'quo"te', "back\\slash", "get.data", "get-data", "naïve", "é", "e\u0301",
)  # fmt: skip

#: Descriptions that try to get out of their quotes, their line, or their reader's trust.
HOSTILE = (
    '"""', '""', 'ends with "', "ends with \\", '\\"""', 'a """ b """ c', "type: ignore", "type: int",
    "# type: ignore", "pyright: basic", "noqa", "line\nbreak", "tab\there", "\x00\x1b[31m\x7f\x85",
    "\u202eevil\u202c", "\u2066x\u2069", "\ud800 lone", "\u2028\u2029", "\U000e0041\U000e0042", "\ufeffbom",
    "{x} {0} %s", "\r\nsecond\r\n\r\n\r\nthird\n    indented\n", "   ", "😀 \u200d ok", "'''", '"' * 7,
)  # fmt: skip


def shadow_tools() -> list[FakeTool]:
    fields = {name: {"type": ["string", "null"]} for name in SHADOWS}
    record = {"type": "object", "properties": {**fields, "xs": STRINGS}, "required": ["list"]}
    return [
        tool(name, {"xs": STRINGS, "mode": {"enum": ["a", 1]}}, required=["xs"], output=record, namespace=space)
        for name in SHADOWS
        for space in (None, "github")
    ]


def exotic_tools() -> list[FakeTool]:
    return [
        tool(name, {"city": STRING}, required=["city"], output=STRING, namespace=space, description=f"About {name}.")
        for name in EXOTIC
        for space in (None, "my server", "class", "plain")
    ]


def parameter_tools() -> list[FakeTool]:
    names = (
        "from", "self", "__x", "__debug__", "content-type", "", "ﬁeld", "a b", "None", "\ud800", 'q"', "$ref", "9",
        "__dunder__", "_one", "__", "match", "type", "args", "arguments", "cls", "路径", "\u202e",
    )  # fmt: skip
    return [
        *(tool(f"one_{number}", {name: STRING, "plain": STRING}, required=[name]) for number, name in enumerate(names)),
        *(tool(f"opt_{number}", {name: STRING}) for number, name in enumerate(names)),
        tool("nested", {"o": {"type": "object", "properties": dict.fromkeys(names, NODE["properties"])}}),
        tool("records", {"o": {"type": "object", "properties": dict.fromkeys(names, STRING)}}),
    ]


def hostile_tools() -> list[FakeTool]:
    found = []
    for number, text in enumerate(HOSTILE):
        schema = {"type": "string", "description": text, "pattern": text, "format": text}
        record = {
            "type": "object",
            "description": text,
            "properties": {"plain": schema, "lit": {"enum": [text, "b"], "description": text}},
        }
        odd = {"type": "object", "description": text, "properties": {"a-b": schema, text or "x": {"const": text}}}
        found.append(
            tool(
                f"hostile_{number}",
                {"plain": schema, "given": {**schema, "default": text}, "record": record, "odd": odd},
                output={"type": "string", "description": text},
                description=text,
                effects=Effects(destructive=True),
            )
        )
    return found


def reference_tools() -> list[FakeTool]:
    def with_defs(name: str, properties: dict[str, Any], **defs: Any) -> FakeTool:
        return tool(name, properties, output={"$ref": "#/$defs/" + next(iter(defs)), "$defs": defs}, **{"$defs": defs})

    to_node = {"$ref": "#/$defs/Node"}
    return [
        with_defs("get_user", {"addr": {"$ref": "#/$defs/Address"}}, Address=ADDRESS_A),
        with_defs("get_company", {"addr": {"$ref": "#/$defs/Address"}}, Address=ADDRESS_B),
        with_defs("get_home", {"addr": {"$ref": "#/$defs/Address"}}, Address=ADDRESS_A),
        with_defs("tree", {"root": to_node}, Node=NODE),
        with_defs(
            "forest", {"trees": {"type": "array", "items": to_node}, "first": {"anyOf": [to_node, {}]}}, Node=NODE
        ),
        with_defs("maybe_tree", {"root": {"anyOf": [to_node, {"type": "null"}], "default": None}}, Node=NODE),
        with_defs("any_json", {"value": {"$ref": "#/$defs/Json"}}, Json=JSON_VALUE),
        with_defs("selfish", {"x": {"$ref": "#/$defs/A"}}, A={"$ref": "#/$defs/A"}),
        with_defs("ring", {"x": {"$ref": "#/$defs/A"}}, A={"$ref": "#/$defs/B"}, B={"$ref": "#/$defs/A"}),
        with_defs("union_ring", {"x": {"$ref": "#/$defs/A"}}, A={"anyOf": [{"$ref": "#/$defs/A"}, STRING]}),
        with_defs(
            "mutual",
            {"x": {"$ref": "#/$defs/A"}},
            A={"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}, "list": STRINGS}, "required": ["b"]},
            B={"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}, "from": {"$ref": "#/$defs/B"}}},
        ),
        with_defs("wrapped", {"x": {"allOf": [{"$ref": "#/$defs/Node"}], "description": "one"}}, Node=NODE),
        with_defs("extended", {"x": {"$ref": "#/$defs/Node", "required": ["kids"]}}, Node=NODE),
        tool("root_loop", {"again": {"$ref": "#"}, "name": STRING}, required=["name"]),
        tool("by_property", {"a": {"enum": ["x", "y"]}, "b": {"$ref": "#/properties/a"}}),
        tool("dangling", {"a": {"$ref": "#/$defs/nowhere"}, "b": {"$ref": "https://example.org/x.json"}}),
        tool("anchored", {"a": {"$ref": "#here"}, "b": {"$anchor": "here", "type": "integer"}}),
    ]


def malformed_tools() -> list[FakeTool]:
    pieces: list[Any] = [
        7, None, "x", [], {"type": 7}, {"type": "strange"}, {"type": []}, {"properties": 7}, {"enum": []}, {"enum": 7},
        {"anyOf": []}, {"anyOf": 7}, {"oneOf": [7, None]}, {"allOf": 7}, {"allOf": [7]}, {"items": 7},
        {"type": "array", "items": [7]}, {"$ref": 7}, {"required": 7, "type": "object"}, {"description": 42},
        {"type": "object", "properties": {"a": 7, "b": None}}, {"additionalProperties": 7}, {"const": {"a": [1]}},
        {"enum": [{"a": 1}, [2], 1.5, float("nan"), float("inf"), 10**400]}, {"minimum": "x", "type": "integer"},
        {"type": ["string", 7, "null"]}, {"default": float("nan")}, {"patternProperties": 7}, {"prefixItems": 7},
        True, False,
    ]  # fmt: skip
    return [
        *(tool(f"bad_{number}", {"a": piece, "b": STRING}, output=piece) for number, piece in enumerate(pieces)),
        *(FakeTool(f"root_{number}", piece, None) for number, piece in enumerate(pieces)),  # type: ignore[arg-type]
        FakeTool("odd_required", {"type": "object", "properties": {}, "required": ["ghost", 7, "ghost"]}),
    ]


def deep_tools() -> list[FakeTool]:
    deep_union: dict[str, Any] = {"type": "string"}
    for _ in range(60):
        deep_union = {"anyOf": [{"type": "null"}, {"type": "array", "items": deep_union}]}
    laughs: dict[str, Any] = {"L0": {"type": "object", "properties": {"ha": STRING}}}
    for number in range(60):
        twice = [{"$ref": f"#/$defs/L{number}"}, {"$ref": f"#/$defs/L{number}", "required": ["ha"]}]
        laughs[f"L{number + 1}"] = {"allOf": twice, "anyOf": twice}
    return [
        tool("laughs", {"x": {"$ref": "#/$defs/L60"}}, **{"$defs": laughs}),
        tool("objects", {"x": nested_objects(95)}, output=nested_objects(95)),
        tool("arrays", {"x": nested_arrays(190)}, output=nested_arrays(40)),
        tool("unions", {"x": deep_union}),
        tool("mixed", {"x": {"type": "array", "items": nested_objects(30)}}),
    ]


def big_tools() -> list[FakeTool]:
    big = {"enum": [f"value-{number}" for number in range(3_000)]}
    records = [{"type": "object", "properties": {f"f{n}": STRING}, "required": [f"f{n}"]} for n in range(120)]
    return [
        tool("choose", {"one": big, "other": {"anyOf": [big, {"type": "null"}]}}),
        tool("alternatives", {"x": {"oneOf": records}}, output={"anyOf": records}),
        tool("many", {f"p{number}": STRING for number in range(300)}, required=["p299"]),
    ]


def collision_tools() -> list[FakeTool]:
    inner = {"type": "object", "properties": {"x": {"type": "integer"}}}
    other = {"type": "object", "properties": {"y": {"type": "integer"}}}
    return [
        tool("my-tool", {"phase": inner, "phase2": other, "Phase": {**inner, "required": ["x"]}}, output=inner),
        tool("my.tool", {"from": inner}, output=other),
        tool("my_tool", {"args": other}, output={"type": "object", "properties": {"z": inner}}),
        tool("my", {"tool_phase": {**other, "required": ["y"]}}, namespace="my"),
        tool("x", {"in": STRING}, output={**inner, "title": "Tools"}),
        tool("y", {"in": STRING}, output={**other, "title": "ToolCallError"}),
        tool("z", {}, output={**inner, "title": "Any", "required": ["x"]}),
        tool("Hit", {}, output={**other, "title": "Hit", "required": ["y"]}),
        tool("e", {}, namespace="tool"),
        tool("e", {}, namespace="-"),
    ]


def modules() -> dict[str, list[FakeTool]]:
    """All of them, each set as one module."""
    return {
        "odd_nothing": [],
        "odd_shadows": shadow_tools(),
        "odd_exotic": exotic_tools(),
        "odd_parameters": parameter_tools(),
        "odd_hostile": hostile_tools(),
        "odd_references": reference_tools(),
        "odd_malformed": malformed_tools(),
        "odd_deep": deep_tools(),
        "odd_big": big_tools(),
        "odd_collisions": collision_tools(),
    }
