"""More values: what a program returns becomes JSON by fixed rules, each change with a note, or is refused by path."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.world import World, assert_same

CONVERTED: dict[str, tuple[str, Any, bool]] = {
    # what is returned, the value, whether a note tells of a change
    "a tuple": ("(1, (2,))", [1, [2]], True),
    "a set": ("{3, 1, 2}", [1, 2, 3], True),
    "a set of mixed types": ("len({1, 'a'})", 2, False),
    "a frozenset": ("frozenset(['b', 'a'])", ["a", "b"], True),
    "dict keys": ("{'a': 1}.keys()", ["a"], True),
    "dict items": ("{'a': 1}.items()", [["a", 1]], True),
    "a deque": ("collections.deque([1, 2])", [1, 2], True),
    "a Counter": ("collections.Counter('aab')", {"a": 2, "b": 1}, True),
    "a defaultdict": ("collections.defaultdict(list, a=[1])", {"a": [1]}, True),
    "int keys": ("{1: 'a', 2: 'b'}", {"1": "a", "2": "b"}, True),
    "a dataclass": ("D(1, D(2, None))", {"x": 1, "y": {"x": 2, "y": None}}, True),
    "a str enum": ("E.A", "aa", True),
    "an int enum": ("[I.B]", [2], True),
    "a date": ("datetime.date(2024, 1, 2)", "2024-01-02", True),
    "a time": ("datetime.time(1, 2, 3)", "01:02:03", True),
    "a datetime": ("datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)", "2024-01-02T00:00:00+00:00", True),
    "a UUID": ("uuid.UUID(int=5)", "00000000-0000-0000-0000-000000000005", True),
    "a Decimal": ("decimal.Decimal('0.10')", "0.10", True),
    "a named tuple": ("P(1, 2)", [1, 2], True),
    "a big int": ("2 ** 200", 2**200, False),
    "bools and null": ("[True, False, None]", [True, False, None], False),
    "floats": ("[1.0, -0.0, 1e300, 0.1]", [1.0, -0.0, 1e300, 0.1], False),
    "an empty object": ("{}", {}, False),
    "unicode": ("'\\u2028😀\\x00'", "\u2028😀\x00", False),
    "500 levels": ("deep(499)", None, False),
}
PRELUDE = """import collections, dataclasses, datetime, decimal, enum, uuid
@dataclasses.dataclass
class D:
    x: int
    y: object
class E(str, enum.Enum):
    A = "aa"
class I(enum.IntEnum):
    B = 2
P = collections.namedtuple("P", "x y")
class Plain: pass
def deep(n):
    x = 0
    for _ in range(n):
        x = [x]
    return x
"""


@pytest.mark.parametrize("what", CONVERTED)
def test_a_value_has_its_json_form(what: str) -> None:
    expression, wanted, noted = CONVERTED[what]
    result = World("").run(f"{PRELUDE}return {expression}")
    assert result.ok, result.text
    assert result.has_value
    if wanted is not None:
        assert_same(result.value, wanted)
    assert bool(result.notes) is noted, result.notes


REFUSED = {
    "bytes": ("{'a': b'x'}", ("a", "bytes")),
    "infinity": ("[float('inf')]", ("[0]",)),
    "a function": ("[1, len]", ("[1]", "function")),
    "a lambda": ("{'f': lambda: 1}", ("f", "function")),
    "a class": ("D", ("class", "type")),
    "an instance": ("{'a': [Plain()]}", ("a[0]", "Plain")),
    "a generator": ("(x for x in [1])", ("generator",)),
    "a coroutine": ("asyncio.sleep(0)", ("await",)),
    "a module": ("collections", ("module",)),
    "a cycle": ("cycle()", ("cycl",)),
    "too deep": ("deep(600)", ("deep", "depth", "nest")),
    "colliding keys": ("{1: 'a', '1': 'b'}", ("1",)),
    "tuple keys": ("{(1, 2): 3}", ("key",)),
    "a complex number": ("3j", ("complex",)),
    "tools": ("tools", ("tools", "Tools")),
    "an exception": ("ValueError('x')", ("ValueError",)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_value_that_is_no_json_is_named_with_its_path(what: str) -> None:
    expression, words = REFUSED[what]
    result = World("").run(
        f"import asyncio\n{PRELUDE}def cycle():\n    a = []\n    a.append(a)\n    return a\n"
        f"print('before')\nreturn {expression}"
    )
    assert not result.ok
    assert result.error.kind == "invalid-output"
    assert any(word in result.error.message for word in words), result.error.message
    assert not result.has_value
    assert result.logs == ["before"]
    assert "0x" not in result.text


@pytest.mark.parametrize(
    ("program", "has_value", "value"),
    [
        ("return", False, None),
        ("return None", True, None),
        ("x = 1", False, None),
        ("1 + 1", True, 2),
        ("x = 3\nx", True, 3),
        ("None", False, None),
        ("print('x')", False, None),
        ("[1,\n 2]  # the end", True, [1, 2]),
        ("'text'", True, "text"),
        ("def f():\n    return 1\nf()", True, 1),
        ("if True:\n    return 5\n6", True, 5),
        ("async def main():\n    return 9\nawait main()", True, 9),
        ("for i in range(3):\n    i", False, None),
        ("x = 1;", False, None),
        ("```python\nreturn 7\n```", True, 7),
        ("```\n8\n```", True, 8),
        ("\n\n```py\nreturn 7\n```\n", True, 7),
        ("\ufeffreturn 1", True, 1),
        ("return 1\r\n", True, 1),
        ("x = '''a\r\nb'''\r\nreturn len(x)\r\n", True, 3),
    ],
)
def test_what_counts_as_the_value_of_a_program(program: str, has_value: bool, value: Any) -> None:
    result = World("").run(program)
    assert result.ok, result.text
    assert result.has_value is has_value
    assert_same(result.value, value)


def test_the_text_is_logs_then_value() -> None:
    world = World("")
    assert world.run("return 'raw'").text == "raw"
    assert world.run("print('a')\nreturn 'b'").text.endswith("b")
    assert world.run("print('a')\nreturn 'b'").text.startswith("a")
    assert '"k": [' in world.run("return {'k': [1, 2]}").text or '"k": [1, 2]' in world.run("return {'k': [1, 2]}").text
    nothing = world.run("x = 1").text
    assert nothing
    assert "\n" not in nothing.strip()
    told = world.run("async def main():\n    return 1\n")
    assert any("main" in note for note in told.notes)
    assert "main" in told.text


def test_a_run_that_does_calls_but_says_nothing_names_them() -> None:
    from tests.cases.world import tool

    world = World(
        "x = await tools.act(n=1)", [tool("act", {"n": {"type": "integer"}})], bodies={"act": lambda w, a, c: 1}
    )
    result = world.run()
    assert result.ok
    assert not result.has_value
    assert "act" in result.text
    assert "return" in result.text or "print" in result.text


def test_runs_have_distinct_ids_and_usage_figures() -> None:
    world = World("")
    first, second = world.run("return 1"), world.run("sum(range(200000))")
    assert first.run_id != second.run_id
    assert second.usage.compute_seconds > 0
    assert second.usage.wall_seconds > 0
    assert second.usage.peak_memory_bytes > 1_000_000
    assert second.usage.calls == 0
    assert first.result.is_error is False
    assert first.calls == []
