"""More failures, and what must stand in them so that the next attempt works."""

from __future__ import annotations

import pytest

from tests.cases.test_error_message import failed
from tests.cases.world import World, tool

RUNTIME: dict[str, tuple[str, int, str, tuple[str, ...]]] = {
    # program, line, type, words
    "attribute access on a dict": (
        "r = {'title': 1}\nreturn r.title.upper()",
        2,
        "AttributeError",
        ('["title"]', "title"),
    ),
    "a list index": ("xs = [1]\n\nreturn xs[3]", 3, "IndexError", ("xs[3]",)),
    "None from a call": ("x = None\nreturn x['a']", 2, "TypeError", ("NoneType",)),
    "str plus int": ("return 'n: ' + 3", 1, "TypeError", ("str", "int")),
    "inside a helper": (
        "def f(a):\n    return a / 0\n\nreturn f(1)",
        2,
        "ZeroDivisionError",
        ("return a / 0", "return f(1)"),
    ),
    "inside a lambda": ("xs = sorted([1, 'a'], key=lambda v: v + 1)\nreturn xs", 1, "TypeError", ()),
    "inside a comprehension": (
        "rows = [{'a': 1}, {}]\nreturn [\n    r['a']\n    for r in rows\n]",
        3,
        "KeyError",
        ("'a'",),
    ),
    "in an async helper": (
        (
            "import asyncio\nasync def f(i):\n    if i:\n        raise ValueError('bad ' + str(i))\n"
            "await asyncio.gather(f(0), f(1))"
        ),
        4,
        "ValueError",
        ("bad 1",),
    ),
    "an own exception": ("class Mine(Exception):\n    pass\nraise Mine('x')", 3, "Mine", ("Mine", "x")),
    "an exception without a message": ("raise ValueError", 1, "ValueError", ("ValueError",)),
    "an unpacking": ("a, b = [1, 2, 3]", 1, "ValueError", ("unpack",)),
    "recursion": ("def f():\n    return f()\nf()", 2, "RecursionError", ("recursion",)),
    "a bad format": ("return f'{1:d}' + f'{\"x\":d}'", 1, "ValueError", ()),
    "a wrong number of arguments": ("def f(a): return a\nreturn f()", 2, "TypeError", ("f()",)),
    "json of nothing": ("import json\nreturn json.loads('')", 2, "JSONDecodeError", ()),
    "a misspelled name": ("counts = 1\nreturn count + 1", 2, "NameError", ("count",)),
    "a chained cause": (
        "try:\n    {}['k']\nexcept KeyError as e:\n    raise RuntimeError('lookup') from e",
        4,
        "RuntimeError",
        ("lookup",),
    ),
    "keyboard interrupt": ("raise KeyboardInterrupt", 1, "KeyboardInterrupt", ()),
    "generator exit": ("raise GeneratorExit('x')", 1, "GeneratorExit", ()),
    "a cancelled error": ("import asyncio\nraise asyncio.CancelledError()", 2, "CancelledError", ()),
    "an exception group": ("raise ExceptionGroup('many', [ValueError('a')])", 1, "ExceptionGroup", ("many",)),
    "a fence, whose lines do not count": (
        "```python\nx = 1\nreturn x / 0\n```",
        2,
        "ZeroDivisionError",
        ("return x / 0",),
    ),
    "a multi-line string before": ("s = '''a\nb\nc'''\nreturn s[10]", 4, "IndexError", ()),
    "an attribute of our own object": ("return tools.__dict__", 1, "AttributeError", ("__dict__",)),
}


@pytest.mark.parametrize("what", RUNTIME)
def test_a_failure_has_type_line_source_and_words(what: str) -> None:
    program, line, kind, words = RUNTIME[what]
    result = World("").run(program)
    if what == "an attribute of our own object" and result.error is not None and result.error.kind == "syntax":
        failed(result, "syntax", line=line)
        return
    text = failed(result, "exception", line=line, type=kind)
    for word in words:
        assert word in text, text
    assert f"line {line}" in text or f"{line} |" in text
    assert "bridge/" not in text
    assert "site-packages" not in text


SYNTAX: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "an unclosed bracket": ("x = [1,\ny = 2", 1, ("[",)),
    "a missing colon": ("if True\n    pass", 1, (":",)),
    "an odd indent": ("x = 1\n    y = 2", 2, ("indent",)),
    "an unterminated string": ("s = 'abc\nreturn s", 1, ("unterminated",)),
    "print as a statement": ("print 'x'", 1, ("print",)),
    "assignment to a call": ("f() = 1", 1, ("assign",)),
    "an invalid character": ("x = “quoted”", 1, ("“",)),
    "break outside a loop": ("break", 1, ("loop",)),
    "a top-level yield": ("yield 1", 1, ("yield",)),
    "nonlocal at the top": ("def f():\n    nonlocal zz\n", 2, ("nonlocal",)),
    "eval": ("return eval('1+1')", 1, ("eval",)),
    "exec": ("x = 1\nexec('x = 2')", 2, ("exec",)),
    "open": ("with open('f') as f:\n    pass", 1, ("open", "tool")),
    "input": ("name = input('?')", 1, ("input",)),
    "globals": ("return globals()['x']", 1, ("globals",)),
    "import os": ("import os\nreturn os.listdir('.')", 1, ("os",)),
    "import requests": ("import requests\nr = requests.get('u')", 1, ("requests", "tools")),
    "import pandas as pd": ("x = 1\nimport pandas as pd", 2, ("pandas",)),
    "from subprocess": ("from subprocess import run", 1, ("subprocess",)),
    "a relative import": ("from . import x", 1, ("import",)),
    "a metaclass": ("class M(type):\n    pass\nclass A(metaclass=M):\n    pass", 3, ("metaclass",)),
    "__import__": ("return __import__('os')", 1, ("__import__",)),
    "__del__": ("class A:\n    def __del__(self):\n        pass", 2, ("__del__",)),
    "__new__": ("class A:\n    def __new__(cls):\n        return 1", 2, ("__new__",)),
    "a dunder attribute": ("return [].__class__.__bases__", 1, ("__bases__",)),
    "breakpoint": ("breakpoint()", 1, ("breakpoint",)),
    "compile": ("compile('1', 'f', 'eval')", 1, ("compile",)),
    "a null byte": ("x = 1\x00", 1, ()),
    "star import of tools": ("from os.path import *", 1, ("os",)),
}


@pytest.mark.parametrize("what", SYNTAX)
def test_what_does_not_compile_or_is_refused_says_where_and_what_instead(what: str) -> None:
    program, line, words = SYNTAX[what]
    world = World("", [tool("act")], bodies={"act": lambda w, a, c: 1})
    result = world.run(program)
    text = failed(result, "syntax", line=line)
    for word in words:
        assert word in text, text
    assert world.visits == []


def test_nothing_before_a_refusal_runs() -> None:
    world = World("", [tool("act")], bodies={"act": lambda w, a, c: 1})
    result = world.run("await tools.act()\nprint('x')\nimport os")
    failed(result, "syntax", line=3)
    assert world.visits == []
    assert result.logs == []


def test_a_listed_module_that_was_not_imported_is_there_with_a_note() -> None:
    result = World("").run("return json.dumps({'a': math.floor(1.5)})")
    assert result.ok, result.text
    assert result.value == '{"a": 1}'
    assert any("json" in note for note in result.notes)


def test_a_main_that_is_never_called_is_named() -> None:
    result = World("").run("async def main():\n    print('hi')\n")
    assert result.ok
    assert any("main" in note and "call" in note for note in result.notes), result.notes


def test_a_failure_names_the_calls_that_were_made() -> None:
    world = World(
        "",
        [tool("act", {"n": {"type": "integer"}}), tool("bad")],
        bodies={"act": lambda w, a, c: a["n"], "bad": lambda w, a, c: 1 / 0},
    )
    result = world.run(
        "await tools.act(n=41)\ntry:\n    await tools.bad()\nexcept ToolCallError:\n    pass\nraise ValueError('late')"
    )
    text = failed(result, "exception", line=6, type="ValueError")
    assert "act" in text
    assert "41" in text
    assert "bad" in text
    assert [record.status for record in result.calls] == ["done", "failed"]
    assert [record.sub_call_id.rsplit(":", 1)[-1] for record in result.calls] == ["1", "2"]


def test_a_near_name_is_offered_for_methods_modules_and_keywords() -> None:
    world = World("", [tool("fetch_user", {"user_id": {"type": "integer"}})], bodies={"fetch_user": lambda w, a, c: 1})
    assert "fetch_user" in world.run("await tools.fetch_users(user_id=1)").text
    assert "user_id" in world.run("await tools.fetch_user(userid=1)").text
    assert "json" in world.run("import jsn").text
    assert "datetime" in world.run("import datetim").text
