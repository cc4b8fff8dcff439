"""What makes a failed program the last one: complete refusals, what was done, what there is."""

from __future__ import annotations

import re

import pytest

from codemode import Limits
from tests.cases.given import Case, given
from tests.cases.world import World, assert_same


@given("err-all-violations-at-once")
def test_all_refusals_come_at_once_with_their_lines(case: Case) -> None:
    result = World(case).run()
    assert not result.ok
    assert result.error.kind == "syntax"
    report = result.error.message + "\n" + result.text
    for line, word in ((1, "os"), (5, "eval"), (7, "__getattribute__")):
        assert word in report
        assert re.search(rf"\b(line )?{line}\b", report), report
    # What is allowed is not listed: a global declaration, an underscore name.
    assert "_tmp" not in result.error.message
    assert "global g" not in result.error.message


@given("err-leading-indentation")
@pytest.mark.parametrize("indent", ["    ", "  ", "\t", " "])
def test_uniform_indentation_is_taken_off_or_named(case: Case, indent: str) -> None:
    world = World("")
    result = world.run(f"{indent}x = 1\n{indent}return x")
    if result.ok:
        assert_same(result.value, 1)
        failed = world.run(f"{indent}x = 1\n{indent}return x / 0")
        assert failed.error.line == 2
    else:
        assert "indented" in result.text


@given("lim-uncaught-cap-reports-completed")
def test_a_run_stopped_by_the_cap_says_what_was_done(case: Case) -> None:
    world = World(case)
    result = world.run(limits=Limits(max_calls=3))
    assert not result.ok
    assert result.error.type == "ToolCallError"
    assert [visit.arguments["key"] for visit in world.visits] == ["0", "1", "2"]
    assert [record.status for record in result.calls if record.status == "done"] == ["done"] * 3
    assert [record.arguments["key"] for record in result.calls[:3]] == ["0", "1", "2"]
    assert re.search(r"\b3\b", result.text)
    assert "write" in result.text
    for key in "012":
        assert re.search(rf"key\W+{key}\b", result.text), result.text
    assert len(result.text) < 5_000


def test_failed_and_denied_calls_are_told_apart_in_the_report() -> None:
    from codemode import Deny, ToolError
    from tests.cases.world import tool

    def fail(world: World, a: object, ctx: object) -> None:
        raise ToolError("half way")

    world = World(
        "await tools.fine()\nfor t in (tools.broken_off, tools.barred):\n    try:\n        await t()\n"
        "    except ToolCallError:\n        pass\nwhile True: pass",
        [tool("fine"), tool("broken_off"), tool("barred")],
        bodies={"fine": lambda w, a, c: 1, "broken_off": fail, "barred": lambda w, a, c: 1},
    )

    @world.registry.pre_execute
    async def policy(call: object, next: object) -> object:
        return Deny("not today") if call.name == "barred" else await next()  # type: ignore[attr-defined,operator]

    result = world.run(limits=Limits(compute_seconds=0.3))
    assert result.error.kind == "timeout"
    assert [(record.name, record.status) for record in result.calls] == [
        ("fine", "done"),
        ("broken_off", "failed"),
        ("barred", "denied"),
    ]
    for name in ("fine", "broken_off", "barred"):
        assert name in result.text
    assert "not today" in result.text or "denied" in result.text
    assert "half way" in result.text or "failed" in result.text


@given("mcp-empty-program")
@pytest.mark.parametrize(
    "program", [None, "", "   \n\t\n", "# one\n# two", "\n\n", "pass", '"""only a docstring"""', "```python\n\n```"]
)
def test_a_program_that_does_nothing_is_no_crash(case: Case, program: str | None) -> None:
    result = World(case).run(program)
    if result.ok:
        assert program == '"""only a docstring"""' or not result.has_value
        assert result.text
    else:
        assert "empty" in result.text


@given("std-import-list-is-true")
def test_every_module_that_the_description_lists_can_be_imported(case: Case) -> None:
    world = World("")
    code_mode = world.code_mode()
    description = code_mode.instructions() + next(
        entry["description"] for entry in code_mode.schemas() if entry["name"] == "run_code"
    )
    refusal = world.run("import numpy\nreturn 1")
    assert not refusal.ok
    assert refusal.error.kind == "syntax"
    assert "numpy" in refusal.text
    listed = [
        name for name in LISTED if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w])", refusal.text.replace("numpy", ""))
    ]
    assert listed == list(LISTED), set(LISTED) - set(listed)
    for name in LISTED:
        assert re.search(rf"(?<![\w.]){re.escape(name)}(?![\w])", description), name

    async def main() -> list[object]:
        async with code_mode:
            return [await code_mode.run(f"import {name}\nreturn 1") for name in LISTED]

    for name, result in zip(LISTED, world.drive(main), strict=True):
        assert result.ok, (name, result.text)
        assert result.value == 1


LISTED = (
    "math",
    "cmath",
    "statistics",
    "random",
    "decimal",
    "fractions",
    "numbers",
    "itertools",
    "functools",
    "operator",
    "collections",
    "heapq",
    "bisect",
    "copy",
    "string",
    "textwrap",
    "re",
    "json",
    "csv",
    "html",
    "base64",
    "hashlib",
    "hmac",
    "uuid",
    "secrets",
    "datetime",
    "time",
    "calendar",
    "zoneinfo",
    "dataclasses",
    "enum",
    "typing",
    "abc",
    "types",
    "contextlib",
    "io",
    "asyncio",
    "urllib.parse",
    "difflib",
    "unicodedata",
    "struct",
    "pprint",
    "traceback",
    "logging",
    "sys",
)


@given("ux-listing-tools-at-run-time")
def test_dir_lists_exactly_the_tools(case: Case) -> None:
    assert_same(World(case).value(), ["add", "slow"])


@given("ux-multi-line-last-expression")
def test_a_last_expression_over_several_lines_is_found_in_the_syntax_tree(case: Case) -> None:
    world = World(case)
    result = world.run()
    assert result.ok
    assert result.logs == ["{'a': 3, 'both': [3, 7]}"]
    assert not result.has_value
    assert_same(world.value("a = 1\n{\n    'a': a,\n    'b': [\n        a,\n    ],\n}"), {"a": 1, "b": [1]})
