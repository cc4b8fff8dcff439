"""The language that models write: every construct gives Python's own value."""

from __future__ import annotations

from tests.cases.given import Case, Json, given, given_values
from tests.cases.world import World, assert_same


@given_values(
    {
        "lang-annassign-basic": {"total": 5, "names": ["ana", "bo"]},
        "lang-augassign-attribute": [7, ["p", "q"]],
        "lang-augassign-evaluates-key-once": {"d": {"a": 6}, "calls": ["k"]},
        "lang-augassign-list-aliasing": {"a": [1, 2], "same": True},
        "lang-augassign-name-ops": {"x": 9, "s": "ab", "l": [1, 2], "t": [1, 2, 3], "bits": 5},
        "lang-bytes-and-bytearray": ["Hi", "Abc", "c3a9", 256, "b"],
        "lang-callable-in-dict": [5, -4, "OK", 3],
        "lang-chained-and-swap-assign": [[1], 10, 20, 8, 8, [1, 2, 9]],
        "lang-class-annotated-fields": [3, "n", {"a": 1, "b": 2}],
        "lang-class-basic": [["<bath>", True, "room"], ["<hall>", False, "room"]],
        "lang-class-inherit-super": "Rex/lab",
        "lang-comprehension-sees-locals": [[3, 6], 2, 9],
        "lang-dataclass": [{"name": "pen", "qty": 1, "tags": []}, {"name": "ink", "qty": 3, "tags": ["blue"]}],
        "lang-decorators": ["done", 3],
        "lang-ellipsis-and-pass-stubs": [None, True],
        "lang-enum-class": ["open", "DONE", ["open", "done"]],
        "lang-func-annotations-generics": [9, 7],
        "lang-generator-function": [[[1, 2], [3, 4], [5]], [1, 2, 3]],
        "lang-generator-made-early-used-late": [["c"], True],
        "lang-global-import-in-function": [3.142, 4.0, 2, '{"a": 1}', True],
        "lang-isinstance-type-checks": [True, True, False, ["int", "str", "float"], True],
        "lang-items-keys-of-result": {
            "lines": ["eu/r1=3", "eu/r2=4", "us/r9=5"],
            "sites": ["us", "eu"],
            "total": 12,
        },
        "lang-match-statement": ["push x3", "push", "list 1+2", "none", "other"],
        "lang-mutual-helpers-and-order": [True, False, 42],
        "lang-none-check-in-lambda": [3, 1, 2],
        "lang-nonlocal-closure": [1, 2, 1],
        "lang-range-list-tuple-not-limited": [12497500, 2500, ["a", "b", "c"], ["x", "y"], [10, 7, 4, 1]],
        "lang-starred-subscript-slices": [[1, "p", "q", "r", 4, 5], {"x": 9, "y": 2}, [1, 2, 7], {"k": 1, "j": 2}],
        "lang-str-format-method": ["bo has 7.5", "bo  |   7.5", "x-y-x", "load is 42%"],
        "lang-toplevel-return-in-branches": {"found": 8},
        "lang-try-star-clear-refusal": 1,
        "lang-tuple-unpack-loops": [2, 1, 3, 4, 5, [[0, "x", 1], [1, "y", 2]], "y", [2, 3], 4],
        "lang-type-object-checks": [True, False, True, {"n": 4, "s": "x", "f": 2.5}],
        "lang-unpack-assignment-everywhere": ["size", "12", ["x"], 2, 9, "u", "v", 1, 2, 3],
        "lang-walrus-in-comprehension": [[5, 6], 6, [3, 2]],
        "lang-with-custom-cm": ["in", "body", "out", "in", "ValueError"],
    }
)
def test_a_program_gives_the_value_that_python_gives(case: Case, expected: Json) -> None:
    assert_same(World(case).value(), expected)


@given("lang-return-inside-try")
def test_a_return_in_a_try_is_not_taken_by_its_except(case: Case) -> None:
    result = World(case).run()
    assert_same(result.value, 42)
    assert result.logs == ["skip negative", "seen -1", "seen 3", "seen 42"]


@given("lang-triple-quoted-strings-intact")
def test_lines_inside_literals_are_not_touched(case: Case) -> None:
    first, doc, length = World(case).value()
    assert first == ["first", "  second", "third"]
    assert doc == 'a "quoted" line\n    indented\n'
    assert length == 20
