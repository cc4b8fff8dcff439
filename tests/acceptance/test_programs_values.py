"""code-mode.md, "The program": what is a value, what becomes JSON, what is refused, what is printed."""

# ruff: noqa: E501 - a program is quoted in one line, beside what it must give

from __future__ import annotations

from typing import Any

import pytest

from .programs import run, value

CONVERSIONS: dict[str, tuple[str, Any, bool]] = {
    # name: (program, value, a note is due)
    "exact types": ("return [None, True, 1, 1.5, 'a', [1], {'a': 1}]", [None, True, 1, 1.5, "a", [1], {"a": 1}], False),
    "tuple": ("return (1, 2)", [1, 2], True),
    "named tuple": (
        "from collections import namedtuple\nP = namedtuple('P', 'x y')\nreturn P(1, 2)",
        [1, 2],
        True,
    ),
    "typed named tuple": (
        "from typing import NamedTuple\nclass P(NamedTuple):\n    x: int\n    y: int = 2\nreturn P(1)",
        [1, 2],
        True,
    ),
    "set sorted": ("return {3, 1, 2}", [1, 2, 3], True),
    "frozenset": ("return frozenset('ba')", ["a", "b"], True),
    "dict views": ("d = {'a': 1}\nreturn [d.keys(), d.values(), d.items()]", [["a"], [1], [["a", 1]]], True),
    "deque": ("from collections import deque\nreturn deque([1, 2])", [1, 2], True),
    "Counter": ("from collections import Counter\nreturn Counter('aab')", {"a": 2, "b": 1}, True),
    "defaultdict": (
        "from collections import defaultdict\nd = defaultdict(list)\nd['a'].append(1)\nreturn d",
        {"a": [1]},
        True,
    ),
    "OrderedDict": ("from collections import OrderedDict\nreturn OrderedDict(a=1)", {"a": 1}, True),
    "int keys": ("return {1: 'a', 2: 'b'}", {"1": "a", "2": "b"}, True),
    "dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int = 2\nreturn P(1)",
        {"x": 1, "y": 2},
        True,
    ),
    "str enum": ("from enum import StrEnum\nclass E(StrEnum):\n    A = 'a'\nreturn E.A", "a", True),
    "int enum": ("from enum import IntEnum\nclass E(IntEnum):\n    A = 3\nreturn E.A", 3, True),
    "str mixed enum": ("from enum import Enum\nclass E(str, Enum):\n    A = 'a'\nreturn E.A", "a", True),
    "date": ("import datetime\nreturn datetime.date(2024, 2, 29)", "2024-02-29", True),
    "time": ("import datetime\nreturn datetime.time(1, 2, 3)", "01:02:03", True),
    "datetime": (
        "import datetime\nreturn datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)",
        "2024-01-02T03:04:05+00:00",
        True,
    ),
    "uuid": (
        "import uuid\nreturn uuid.UUID('12345678123456781234567812345678')",
        "12345678-1234-5678-1234-567812345678",
        True,
    ),
    "decimal": ("from decimal import Decimal\nreturn Decimal('1.10')", "1.10", True),
    "big int": ("return [2**63, -(2**200), 10**4000]", [2**63, -(2**200), 10**4000], False),
    "bool is no int": ("return [True, 1]", [True, 1], False),
    "emoji and controls": ("return '\\U0001f600\\x00\\u2028\"'", '\U0001f600\x00\u2028"', False),
}


@pytest.mark.parametrize("name", CONVERSIONS)
async def test_a_completion_becomes_json(name: str) -> None:
    program, expected, noted = CONVERSIONS[name]
    result = await run(program)
    assert result.ok, result.text
    assert result.value == expected
    assert type(result.value) is type(expected) or isinstance(result.value, type(expected))
    assert bool(result.notes) is noted, result.notes


async def test_a_note_names_path_and_type() -> None:
    result = await run("return {'a': [1, {'b': (1, 2)}]}")
    [note] = result.notes
    assert "tuple" in note
    assert "a" in note
    assert "1" in note
    assert "b" in note


async def test_there_are_at_most_twenty_notes() -> None:
    result = await run("return [(n,) for n in range(100)]")
    assert result.ok
    assert 0 < len(result.notes) <= 20


async def test_an_integer_over_4300_digits_is_exact_as_value_and_in_the_text() -> None:
    result = await run("return 10 ** 5000 + 7")
    assert result.ok, result.text
    assert result.value == 10**5000 + 7
    assert result.text.startswith("1000")
    assert result.text.endswith("7")
    assert len(result.text) == 5001


async def test_an_integer_over_4300_digits_goes_to_a_tool_and_back() -> None:
    async def next_one(n: int) -> int:
        """Next."""
        return n + 1

    result = await run("return await tools.next_one(10 ** 5000) - 10 ** 5000", next_one)
    assert result.ok, result.text
    assert result.value == 1


REFUSED: dict[str, tuple[str, str, str]] = {
    "nan": ("return {'a': float('nan')}", "a", "nan"),
    "infinity": ("return [float('inf')]", "0", "inf"),
    "bytes": ("return {'k': b'x'}", "k", "bytes"),
    "bytearray": ("return {'k': bytearray(b'x')}", "k", "bytearray"),
    "tuple key": ("return {'k': {(1, 2): 3}}", "k", "tuple"),
    "colliding keys": ("return {'k': {1: 'a', '1': 'b'}}", "k", "1"),
    "function": ("return {'k': lambda: 1}", "k", "function"),
    "module": ("import json\nreturn {'k': json}", "k", "module"),
    "class": ("class A: pass\nreturn {'k': A}", "k", "class"),
    "instance": ("class A: pass\nreturn {'k': A()}", "k", "A"),
    "plain enum": ("from enum import Enum\nclass E(Enum):\n    A = object()\nreturn {'k': E.A}", "k", "E"),
    "generator": ("return {'k': (n for n in range(3))}", "k", "generator"),
    "cycle": ("a = []\na.append(a)\nreturn {'k': a}", "k", "cyc"),
    "coroutine": ("async def f():\n    return 1\nreturn {'k': f()}", "k", "await"),
    "complex": ("return {'k': 1j}", "k", "complex"),
    "range": ("return {'k': object()}", "k", "object"),
    "exception": ("return {'k': ValueError('x')}", "k", "ValueError"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_no_json_is_refused_with_path_type_and_a_hint(name: str) -> None:
    program, path, word = REFUSED[name]
    result = await run(program)
    assert result.error is not None, result.value
    assert result.error.kind == "invalid-output"
    assert path in result.error.message
    assert word.lower() in result.error.message.lower()


async def test_depth_up_to_500_containers_is_returned_and_501_is_refused() -> None:
    program = "x = 1\nfor _ in range({}):\n    x = [x]\nreturn x"
    fits = await run(program.format(500))
    deep = await run(program.format(501))
    assert fits.ok, fits.text
    assert deep.error is not None
    assert deep.error.kind == "invalid-output"
    assert "500" in deep.error.message


async def test_the_last_expression_is_the_value_only_without_a_top_level_return() -> None:
    assert await value("x = 1\nx + 1") == 2
    result = await run("if False:\n    return 1\n5")
    assert result.has_value is False
    nested = await run("def f():\n    return 1\nf()")
    assert nested.value == 1


async def test_a_last_expression_may_be_awaited() -> None:
    async def one() -> int:
        """One."""
        return 1

    assert await value("await tools.one()", one) == 1


@pytest.mark.parametrize(
    "program",
    [
        "```python\nreturn 1\n```",
        "```\nreturn 1\n```",
        "```py\nreturn 1\n```\n",
        "\n\n```python\nreturn 1\n```\n\n",
        "~~~python\nreturn 1\n~~~",
    ],
)
async def test_a_markdown_fence_is_taken_off(program: str) -> None:
    assert await value(program) == 1


async def test_the_lines_of_a_fence_are_not_counted() -> None:
    result = await run("```python\nx = 1\n1 / 0\n```")
    assert result.error is not None
    assert result.error.line == 2


async def test_the_text_of_the_program_is_untouched() -> None:
    assert await value('x = """a\n  b\n\tc"""\nreturn x') == "a\n  b\n\tc"
    assert await value("return 1 # the last line has no end") == 1
    assert await value("x = '''\n```\n'''\nreturn x") == "\n```\n"


@pytest.mark.parametrize(
    ("program", "logs"),
    [
        ("print('a', 'b')", ["a b"]),
        ("print('a', 'b', sep='-')", ["a-b"]),
        ("print('a', end='')\nprint('b')", ["ab"]),
        ("print('a\\nb')", ["a", "b"]),
        ("print()", [""]),
        ("print('a')\nprint()\nprint('b')", ["a", "", "b"]),
        ("import sys\nprint('e', file=sys.stderr)\nprint('o', file=sys.stdout, flush=True)", ["e", "o"]),
        ("import sys\nsys.stdout.write('a')\nsys.stdout.write('b\\n')", ["ab"]),
        ("import io\nb = io.StringIO()\nprint('x', file=b)\nprint(b.getvalue().strip() + '!')", ["x!"]),
        ("print(None, True, [1, 'a'], {'k': 1})", ["None True [1, 'a'] {'k': 1}"]),
        ("import logging\nlogging.warning('careful %s', 1)", None),
        ("import pprint\npprint.pprint({'a': 1})", ["{'a': 1}"]),
        ("import traceback\ntry:\n    1/0\nexcept Exception:\n    traceback.print_exc()", None),
        ("print('no end', end='')", ["no end"]),
    ],
)
async def test_what_is_printed_is_in_the_logs(program: str, logs: list[str] | None) -> None:
    result = await run(program)
    assert result.ok, result.text
    if logs is None:
        text = "\n".join(result.logs)
        assert "careful 1" in text or "ZeroDivisionError" in text
    else:
        assert list(result.logs) == logs


async def test_a_str_that_raises_in_print_is_the_programs_exception() -> None:
    result = await run("class A:\n    def __str__(self):\n        raise ValueError('no')\nprint(A())")
    assert result.error is not None
    assert result.error.type == "ValueError"


async def test_print_survives_a_kill() -> None:
    from codemode import Limits

    result = await run("print('one')\nprint('two', end='')\nwhile True:\n    pass", limits=Limits(wall_seconds=0.6))
    assert result.error is not None
    assert result.error.kind == "timeout"
    assert list(result.logs) == ["one", "two"]


async def test_a_background_task_that_fails_and_that_nobody_awaits_leaves_a_note() -> None:
    program = """import asyncio
async def work():
    raise ValueError('lost in the background')
t = asyncio.create_task(work())
await asyncio.sleep(0.01)
return 'fine'
"""
    result = await run(program)
    assert result.ok, result.text
    assert any("lost in the background" in note for note in result.notes), result.notes


async def test_a_background_task_that_fails_and_is_dropped_leaves_a_note() -> None:
    program = """import asyncio
async def work():
    raise ValueError('lost in the background')
asyncio.create_task(work())
await asyncio.sleep(0.01)
return 'fine'
"""
    result = await run(program)
    assert result.ok, result.text
    assert any("lost in the background" in note for note in result.notes), result.notes


async def test_a_background_task_whose_exception_was_seen_leaves_no_note() -> None:
    program = """import asyncio
async def work():
    raise ValueError('lost in the background')
t = asyncio.create_task(work())
try:
    await t
except ValueError:
    pass
u = asyncio.create_task(work())
await asyncio.gather(u, return_exceptions=True)
return 'fine'
"""
    result = await run(program)
    assert result.ok, result.text
    assert list(result.notes) == []


async def test_a_main_that_is_never_called_leaves_a_note() -> None:
    result = await run("async def main():\n    return 1")
    assert result.ok
    assert any("main" in note for note in result.notes)
    assert "main" in result.text


async def test_a_main_that_is_run_by_asyncio_run_leaves_no_note() -> None:
    result = await run(
        "import asyncio\nasync def main():\n    print('x')\n    return 1\nif __name__ == '__main__':\n    asyncio.run(main())"
    )
    assert result.ok, result.text
    assert list(result.logs) == ["x"]
    assert list(result.notes) == []


async def test_a_module_that_is_used_and_never_imported_is_imported_with_a_note() -> None:
    result = await run("return json.dumps({'a': math.floor(1.5)})")
    assert result.value == '{"a": 1}'
    assert any("json" in note for note in result.notes)
    assert any("math" in note for note in result.notes)


async def test_an_unlisted_import_inside_a_try_raises_at_run_time() -> None:
    result = await run(
        "try:\n    import numpy as np\nexcept ImportError as e:\n    print(type(e).__name__)\n    np = None\nreturn np is None"
    )
    assert result.value is True
    assert list(result.logs) == ["ModuleNotFoundError"]


async def test_a_refused_import_names_the_module_and_what_there_is() -> None:
    result = await run("import requests")
    assert result.error is not None
    assert result.error.kind == "syntax"
    assert "requests" in result.error.message
    assert "json" in result.error.message or "json" in result.text


async def test_all_refusals_of_a_program_come_at_once() -> None:
    result = await run("import os\nx = eval('1')\nopen('f')\nclass A(metaclass=M): pass")
    assert result.error is not None
    assert (result.error.kind, result.error.line) == ("syntax", 1)
    for word in ("os", "eval", "open", "metaclass"):
        assert word in result.text
    for line in ("1", "2", "3", "4"):
        assert f"line {line}" in result.text or f"{line} |" in result.text
