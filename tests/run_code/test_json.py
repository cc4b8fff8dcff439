"""How a program's values become JSON, at its calls and at its end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.run_code.guest import Driven, drive, spec


def returned(expression: str, before: str = "") -> Driven:
    return drive(f"{before}\nreturn {expression}")


def echoed(expression: str, before: str = "") -> Driven:
    return drive(
        f"{before}\nreturn await tools.echo(value={expression})",
        {"echo": lambda args: args["value"]},
        tools=[spec("echo", "value")],
    )


@pytest.mark.parametrize(
    "text",
    [
        "None",
        "True",
        "0",
        "-1",
        '""',
        "[]",
        "{}",
        "[1, [2, {'a': None}]]",
        "1.5",
        "-0.0",
        "0.1",
        "1e308",
        "5e-324",
        "100.0",
    ],
)
def test_json_types_go_as_they_are(text: str) -> None:
    expected = eval(text)
    for run in (returned(text), echoed(text)):
        assert repr(run.value) == repr(expected)
        assert run.done["notes"] == []


@pytest.mark.parametrize("power", [63, 64, 200, 20_000])
def test_integers_are_exact_at_any_size(power: int) -> None:
    run = drive(f"return await tools.check(n=2 ** {power} + 1)", {"check": lambda args: args["n"] == 2**power + 1})
    assert run.value is True


@pytest.mark.parametrize(
    ("before", "expression", "value", "note"),
    [
        ("", "(1, 2)", [1, 2], "result: tuple to list"),
        ("", "{3, 1, 2}", [1, 2, 3], "result: set to list"),
        ("", "frozenset(['b', 'a'])", ["a", "b"], "result: frozenset to list"),
        ("", "{'a': 1}.keys()", ["a"], "result: dict_keys to list"),
        ("", "{'a': 1}.values()", [1], "result: dict_values to list"),
        ("", "{'a': 1}.items()", [["a", 1]], "result: dict_items to list"),
        ("from collections import deque", "deque([1, 2])", [1, 2], "result: deque to list"),
        ("from collections import Counter", "Counter('aab')", {"a": 2, "b": 1}, "result: Counter to object"),
        (
            "from collections import defaultdict",
            "defaultdict(list, a=[1])",
            {"a": [1]},
            "result: defaultdict to object",
        ),
        ("", "{1: 'a', 'b': 2}", {"1": "a", "b": 2}, "result: keys that are no text to text"),
        ("", "{'t': (1,)}", {"t": [1]}, "result.t: tuple to list"),
        ("from datetime import date", "date(2026, 1, 2)", "2026-01-02", "result: date to text"),
        (
            "from datetime import datetime, timezone",
            "datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)",
            "2026-01-02T03:04:05+00:00",
            "result: datetime to text",
        ),
        ("from datetime import time", "time(3, 4)", "03:04:00", "result: time to text"),
        ("from decimal import Decimal", "Decimal('1.50')", "1.50", "result: Decimal to text"),
        ("from uuid import UUID", "UUID(int=1)", "00000000-0000-0000-0000-000000000001", "result: UUID to text"),
        (
            "from collections import namedtuple\nP = namedtuple('P', 'x y')",
            "P(1, 2)",
            [1, 2],
            "result: P to list",
        ),
        (
            "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: tuple",
            "P(1, (2,))",
            {"x": 1, "y": [2]},
            "result: P to object",
        ),
        (
            "from enum import Enum\nclass C(str, Enum):\n    RED = 'red'",
            "[C.RED]",
            ["red"],
            "result[0]: C to its value",
        ),
        ("from enum import IntEnum\nclass C(IntEnum):\n    ONE = 1", "C.ONE", 1, "result: C to its value"),
    ],
)
def test_evident_values_are_converted_with_a_note(before: str, expression: str, value: Any, note: str) -> None:
    run = returned(expression, before)
    assert run.value == value
    assert f"converted {note}" in run.done["notes"]


def test_arguments_are_converted_by_the_same_rules_without_notes() -> None:
    run = echoed("{'when': date(2026, 1, 2), 'pairs': {(1, 2)}}", "from datetime import date")
    assert run.value == {"when": "2026-01-02", "pairs": [[1, 2]]}
    assert run.done["notes"] == []


def test_at_most_twenty_notes_and_the_last_counts_the_rest() -> None:
    run = returned("[(i,) for i in range(100)]")
    notes = run.done["notes"]
    assert len(notes) == 20
    assert notes[-1] == "converted 81 more values"


@pytest.mark.parametrize(
    ("before", "expression", "says"),
    [
        (
            "",
            "{'mean': float('nan'), 'rows': [1.5, float('inf')]}",
            ["result.mean is NaN", "result.rows[1] is Infinity"],
        ),
        ("", "b'x'", ["result is a bytes", ".decode()"]),
        ("", "[lambda: 1]", ["result[0] is a function", "call it"]),
        ("", "int", ["result is the class int"]),
        ("class K:\n    pass", "{'k': K()}", ["result.k is a K"]),
        ("", "{(1, 2): 3}", ["key that is a tuple", "str(key)"]),
        ("", "{1.5: 3}", ["key that is a float"]),
        ("", "{True: 3}", ["key that is a bool"]),
        ("", "{1: 'int', '1': 'str'}", ["two keys that both become '1'"]),
        ("a = []\na.append(a)", "a", ["result[0] contains itself"]),
        ("d = {}\nd['self'] = d", "d", ["result.self contains itself"]),
        ("", "(i for i in [1])", ["result is a generator", "list(...)"]),
        ("", "range(3)", ["result is a range", "list(...)"]),
        ("", "1 + 2j", ["result is a complex"]),
        ("async def f():\n    return 1", "f()", ["result is a coroutine", "await"]),
        ("from datetime import timedelta", "timedelta(1)", ["result is a timedelta", "total_seconds"]),
        ("", "ValueError('x')", ["result is a ValueError", "str(e)"]),
    ],
)
def test_everything_else_is_refused_with_path_type_and_hint(before: str, expression: str, says: list[str]) -> None:
    error = returned(expression, before).error
    assert error["kind"] == "invalid-output"
    for part in says:
        assert part in error["message"]


@pytest.mark.parametrize(
    ("expression", "kind", "says"),
    [
        ("float('nan')", "ValueError", "value is NaN"),
        ("{'x': [float('-inf')]}", "ValueError", "value.x[0] is -Infinity"),
        ("{1: 'a', '1': 'b'}", "ValueError", "two keys"),
        ("print", "TypeError", "value is"),
        ("b'x'", "TypeError", "value is a bytes"),
    ],
)
def test_refused_arguments_raise_at_the_call_and_send_nothing(expression: str, kind: str, says: str) -> None:
    run = drive(
        f"try:\n    tools.echo(value={expression})\nexcept (TypeError, ValueError) as e:\n"
        "    return [type(e).__name__, str(e)]",
        {"echo": lambda args: None},
        tools=[spec("echo", "value")],
    )
    assert run.value[0] == kind
    assert says in run.value[1]
    assert "tools.echo()" in run.value[1]
    assert run.calls == []


def nested(levels: int) -> str:
    return f"x = 0\nfor _ in range({levels}):\n    x = [x]"


def test_five_hundred_levels_cross_and_one_more_is_refused() -> None:
    run = echoed("x", nested(499))  # the arguments object is the five-hundredth
    depth, value = 0, run.value
    while isinstance(value, list):
        depth, value = depth + 1, value[0]
    assert depth == 499
    assert returned("x", nested(500)).done["ok"]
    assert "deeper than 500" in returned("x", nested(501)).error["message"]
    assert "deeper than 500" in returned("x", nested(10_000)).error["message"]


def test_a_shared_value_is_no_cycle() -> None:
    assert returned("[a, a, (a,)]", "a = [1]").value == [[1], [1], [[1]]]


def test_any_text_is_exact() -> None:
    text = 'Zoë e\u0301 😀 שלום \u2028 \x00 \r\n \\n "end"'
    assert echoed(json.dumps(text)).value == text
    run = drive("return (await tools.echo(value='\\ud800')) == '\\ud800'", {"echo": lambda args: args["value"]})
    assert run.value is True
    assert returned("'\\ud800'").value == "\ud800"


def test_a_sets_order_does_not_depend_on_hashes() -> None:
    assert returned("{'b', 'a', 'c'}").value == ["a", "b", "c"]
    assert sorted(map(str, returned("{1, 'a', None}").value)) == ["1", "None", "a"]


def test_a_subclass_is_read_without_its_own_methods() -> None:
    before = "class D(dict):\n    def items(self):\n        return [('forged', 1)]"
    run = returned("D(real=1)", before)
    if run.done["ok"]:
        assert run.value == {"real": 1}
    else:
        assert run.error["kind"] in ("syntax", "exception")


def test_many_problems_are_named_at_once_and_then_counted() -> None:
    message = returned("[b'' for _ in range(30)]").error["message"]
    assert "result[9] is a bytes" in message
    assert "and 20 more" in message


def test_a_long_integer_beside_a_lone_surrogate_is_still_exact() -> None:
    driven = returned("['\\ud800', 10 ** 5000]")
    assert driven.value == ["\ud800", 10**5000]
