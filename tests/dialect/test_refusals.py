"""What a program cannot have is refused while compiling: all of it at once, each with its place and a way out."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from codemode_guest.dialect import ProgramRefused, compile_program
from tests.dialect.driver import refusals, run, value_of


def test_all_refusals_of_a_program_come_at_once_in_the_order_of_the_text() -> None:
    source = "import os\n\nx = 1\n\ny = eval('1')\nclass A:\n    def __getattribute__(self, n): return 1\nz = ().__subclasses__\n"
    found = refusals(source)
    assert [(line, column) for line, column, _ in found] == [(1, 1), (5, 5), (7, 5), (8, 5)]
    for word, (_, _, message) in zip(("os", "eval", "__getattribute__", "__subclasses__"), found, strict=True):
        assert word in message


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("import requests", 1, ["requests", "tool", "json"]),
        ("from concurrent.futures import ThreadPoolExecutor", 1, ["concurrent.futures", "asyncio.gather"]),
        ("import jsn", 1, ["jsn", "did you mean json"]),
        ("from math import squareroot", 1, ["math", "squareroot"]),
        ("import math\nreturn math.sqroot(4)", 2, ["sqroot", "sqrt"]),
        ("from math import *", 1, ["math", "name what you need"]),
        ("from . import x", 1, ["relative"]),
        ("a = 1\nopen('x')", 2, ["open", "file"]),
        ("exec('x')", 1, ["exec"]),
        ("return globals()", 1, ["globals", "dict"]),
        ("x = input()", 1, ["input"]),
        ("exit()", 1, ["exit", "return"]),
        ("for x in [1]:\n    yield x", 2, ["yield", "def"]),
        ("class A(metaclass=M): pass", 1, ["metaclass", "decorator"]),
        ("class A:\n    def __new__(cls): pass", 2, ["__new__", "__init__"]),
        ("class A:\n    def __del__(self): pass", 2, ["__del__", "with"]),
        ("class A:\n    def __await__(self): yield", 2, ["__await__", "async def"]),
        ("class A:\n    __getattr__ = None", 2, ["__getattr__"]),
        ("return e.__traceback__", 1, ["__traceback__", "format_exc"]),
        ("return f.__globals__", 1, ["__globals__"]),
        ("return g.gi_frame", 1, ["gi_frame", "frames"]),
        ("x.__class__ = int", 1, ["__class__", "assigned"]),
        ("def f(_getattr_): pass", 1, ["_getattr_", "reserved"]),
        ("return super().x", 1, ["super", "method"]),
        ("def f():\n    import asyncio\n    asyncio.run(g())", 3, ["await", "async def"]),
        ("match 1:\n    case int(__class__=c): pass", 2, ["__class__", "pattern"]),
    ],
)
def test_a_refusal_names_the_thing_its_line_and_what_to_do_instead(source: str, line: int, words: list[str]) -> None:
    found = refusals(source)
    assert found
    assert found[0][0] == line
    text = " ".join(message for _, _, message in found).lower()
    for word in words:
        assert word.lower() in text


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("x = 1\ntotal = = 3", 2, ["invalid syntax"]),
        ('x = "aaa', 1, ["unterminated string"]),
        ("def h():\n    return await tools.one({})\nreturn h()", 2, ["async def h", "await h"]),
        ("f = lambda: await g()", 1, ["lambda"]),
        ("def f():\n    async with x: pass", 2, ["async def f"]),
        ("pip install requests", 1, ["Python", "tools."]),
        ("ls -la", 1, ["Python", "tools."]),
        ("const x = await tools.add({a:1});", 1, ["Python", "tools."]),
        ("break", 1, ["break"]),
        ("def f():\n    nonlocal q", 2, ["nonlocal"]),
        ("x = 1\n\ud800", 2, ["surrogate"]),
        ("x = 1\0", 1, ["null"]),
        ("def f(a, a): pass", 1, ["duplicate"]),
    ],
)
def test_a_syntax_error_has_its_line_and_reason(source: str, line: int, words: list[str]) -> None:
    with pytest.raises(ProgramRefused) as caught:
        compile_program(source)
    first = caught.value.refusals[0]
    assert first.line == line
    assert first.kind == "syntax"
    for word in words:
        assert word in first.message


def test_a_message_never_echoes_a_very_long_line() -> None:
    with pytest.raises(ProgramRefused) as caught:
        compile_program('x = "' + "a" * 100_000)
    assert len(str(caught.value)) < 500


def test_columns_count_characters_not_bytes() -> None:
    assert refusals("é = 'ö'; eval('1')")[0][1] == 10


@pytest.mark.parametrize(
    "source",
    [
        "return " + "(" * 5000 + "1" + ")" * 5000,
        "x = 1\nreturn x" + ".real" * 10_000,
        "return " + "lambda: " * 5000 + "1",
        "return " + "not " * 5000 + "1",
        "return " + "-" * 20_000 + "1",
        "a = 0\nif a == 1: pass\n" + "".join(f"elif a == {i}: pass\n" for i in range(5000)),
        "def f():\n"
        + "".join(" " * (i + 1) + "try: return 1\n" + " " * (i + 1) + "finally:\n" for i in range(16))
        + " " * 18
        + "pass",
        "x = [" + "1," * 200_000 + "]",
        "return " + " + ".join(["1"] * 5000),
    ],
)
def test_a_program_beyond_the_bounds_is_refused_quickly_and_cleanly(source: str) -> None:
    with pytest.raises(ProgramRefused):
        compile_program(source)


def test_an_ordinary_long_program_is_within_the_bounds() -> None:
    rows = ",\n".join(f'{{"id": {i}, "name": "n{i}", "tags": ["a", "b"], "price": {i / 7:.3f}}}' for i in range(2500))
    assert len(value_of(f"rows = [\n{rows}\n]\nreturn rows")) == 2500
    assert (
        value_of("x = 1\nif x == 0: pass\n" + "".join(f"elif x == -{i + 1}: pass\n" for i in range(100)) + "return x")
        == 1
    )
    assert value_of("return " + " + ".join(["'a'"] * 150)) == "a" * 150


def test_an_import_inside_a_try_that_catches_its_error_fails_at_run_time() -> None:
    source = "try:\n    import pandas\nexcept ImportError as e:\n    return [type(e).__name__, e.name]"
    assert value_of(source) == ["ModuleNotFoundError", "pandas"]
    assert refusals("try:\n    import pandas\nexcept ValueError: pass")


def test_a_module_that_is_used_without_import_is_imported_with_a_note() -> None:
    outcome = run("return json.dumps([math.floor(2.5)])")
    assert outcome.value == "[2]"
    assert len(outcome.notes) == 2
    assert all("import" in note for note in outcome.notes)


def test_a_main_that_is_never_called_gives_a_note() -> None:
    outcome = run("import asyncio\nasync def main():\n    return await tools.echo(1)\n")
    assert "main" in outcome.notes[0]
    assert run("async def main():\n    return 1\nreturn await main()").notes == ()
