"""The modules that models import."""

from __future__ import annotations

import math

from tests.cases.given import Case, Json, given, given_values
from tests.cases.world import World, assert_same


@given_values(
    {
        "lang-dict-union-and-json-default": [
            '{"a": 1, "b": 2, "c": "2024-01-02"}',
            "2024-01-02",
            '{"x": "ü"}',
        ],
        "std-collections-itertools-etc": [
            [["a", 2]],
            {"a": [3, 4], "b": [5]},
            {"a": [3, 4], "b": [5]},
            [1, 3, 6],
            24,
            3,
            2,
            [2],
        ],
        "std-datetime-now-clock": [True] * 5,
        "std-exceptions-available": [
            "os/import:TimeoutError",
            "os/import:ConnectionError",
            "os/import:FileNotFoundError",
            "os/import:PermissionError",
            "RecursionError",
            "StopAsyncIteration",
            "os/import:ModuleNotFoundError",
            "UnicodeDecodeError",
            "NotImplementedError",
            "ZeroDivisionError",
        ],
        "std-import-in-try-fallback": {"have": False, "total": 4},
        "std-sleep-both-ways": True,
        "std-strptime-hidden-import": [2024, 4, "2024-04-01T07:05:00", "01.04.24"],
        "std-typing-imports": {"id": 2, "kind": "b"},
        "std-zoneinfo": ["2024-07-01T14:00:00+02:00", 14],
    }
)
def test_a_listed_module_works_as_in_python(case: Case, expected: Json) -> None:
    assert_same(World(case).value(), expected)


@given("std-math-import")
def test_names_of_math_are_there(case: Case) -> None:
    log, *rest = World(case).value()
    assert math.isclose(log, 3.0)
    assert_same(rest, [5.0, 10, True, True])


@given("std-datetime-utcnow")
def test_utcnow_works_and_no_warning_reaches_the_output(case: Case) -> None:
    result = World(case).run()
    assert_same(result.value, [True, True])
    assert "Deprecat" not in result.text
    assert result.logs == []
