"""Whatever the schema: the text is sound Python, the same each time, and never narrower than the schema."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
import typing
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemode_stubs import method_spellings, render_stubs, signature

from . import facts
from .schemas import NAMES, VALUES, documents, objects, schemas, values_near
from .support import FakeTool, executed, servers

FORMS = ("pyi", "prompt", "check")
SETTINGS = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def _prepared(root: dict[str, Any], output: dict[str, Any]) -> FakeTool:
    return FakeTool("do_it", root, output, description="x")


@SETTINGS
@given(documents(objects(schemas())), documents())
def test_any_schema_gives_a_module_that_parses_and_executes(root: dict[str, Any], output: dict[str, Any]) -> None:
    tool = _prepared(root, output)
    for form in FORMS:
        text = render_stubs([tool], form=form)
        ast.parse(text)
        assert text == render_stubs([tool], form=form)
        text.encode("utf-8")
    executed(render_stubs([tool]))
    assert "\n" not in signature(tool)


@SETTINGS
@given(st.recursive(VALUES, lambda inner: st.dictionaries(st.sampled_from([
    "type", "properties", "required", "items", "anyOf", "oneOf", "allOf", "enum", "const", "$ref", "$defs", "default",
    "additionalProperties", "patternProperties", "prefixItems", "format", "minimum", "description", "nullable", "title",
]), inner, max_size=4), max_leaves=12))  # fmt: skip
def test_nothing_that_calls_itself_a_schema_raises(garbage: Any) -> None:
    for tool in (
        FakeTool("a", garbage, None),
        FakeTool("b", {"type": "object", "properties": {"x": garbage}}, garbage),
    ):
        executed(render_stubs([tool]))
        ast.parse(render_stubs([tool], form="check"))
        signature(tool)


@SETTINGS
@given(st.lists(NAMES.filter(lambda name: "\ud800" not in name), min_size=1, max_size=8, unique=True), st.randoms())
def test_tools_in_any_order_give_the_same_bytes(names: list[str], random: Any) -> None:
    record = {"type": "object", "properties": {"x": {"type": "string"}}}
    tools = [
        FakeTool(name, {"type": "object", "properties": {name: record}}, record, space)
        for name in names
        for space in (None, "ns")
    ]
    shuffled = list(tools)
    random.shuffle(shuffled)
    for form in FORMS:
        assert render_stubs(tools, form=form) == render_stubs(shuffled, form=form)
    by_name = {spelling.full_name: spelling for spelling in method_spellings(shuffled)}
    assert [by_name[tool.full_name] for tool in tools] == method_spellings(tools)


@SETTINGS
@given(st.data(), documents())
def test_a_value_that_the_schema_accepts_fits_its_type(data: st.DataObject, schema: dict[str, Any]) -> None:
    value = data.draw(values_near(schema, schema))
    if not jsonschema_rs.validator_for(schema).is_valid(value):
        return
    module = executed(render_stubs([FakeTool("do_it", {"type": "object", "properties": {}}, schema)]))
    hint = typing.get_type_hints(vars(module.__dict__["Tools"])["do_it"], module.__dict__)["return"]
    assert facts.accepts(hint, value), (schema, value, hint)


def test_the_bytes_do_not_depend_on_the_process() -> None:
    script = (
        "import hashlib\nfrom tests.stubs import odd\nfrom codemode_stubs import render_stubs\n"
        "sets = odd.modules().values()\n"
        "text = ''.join(render_stubs(tools, form=form) for tools in sets for form in ('pyi', 'check'))\n"
        "print(hashlib.sha256(text.encode()).hexdigest())\n"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, cwd=Path(__file__).parents[2],
            capture_output=True, text=True, timeout=120, check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }  # fmt: skip
    assert len(seen) == 1


def test_five_hundred_tools_are_rendered_in_time() -> None:
    tools = [
        replace(tool, namespace=f"{server.name}-{copy}")
        for copy in ("a", "b")
        for server in servers()
        for tool in server.tools
    ][:500]
    spent: list[float] = []
    for _ in range(3):
        started = time.process_time()
        text = render_stubs(tools)
        spent.append(time.process_time() - started)
    assert len(text) > 100_000
    assert min(spent) < 1.0
