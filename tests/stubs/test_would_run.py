"""Which of ty's complaints about an argument are none."""

from __future__ import annotations

import pytest

from codemode_stubs._would_run import would_run

RECORDS = frozenset(("Hit", "Args"))


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ("list[float]", "list[int]"),
        ("list[str | int]", "list[str]"),
        ("dict[str, Any]", "dict[str, int]"),
        ("dict[str, list[float]]", "dict[str, list[int | float]]"),
        ("list[Hit]", "list[dict[str, str | int]]"),
        ("Hit", "dict[str, str]"),
        ("dict[str, Any]", "Hit"),
        ("list[str]", "tuple[str, str]"),
        ("list[str]", "set[str]"),
        ("list[str]", "dict_keys[str, int]"),
        ("list[Literal[1, 2]]", "list[Literal[1]]"),
        ("str", "date"),
        ("Hit | None", "Point"),
        ("list[float]", "list[Unknown]"),
    ],
)
def test_json_takes_it(expected: str, found: str) -> None:
    assert would_run(f"Argument is incorrect: Expected `{expected}`, found `{found}`", RECORDS)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ("str", "int"),
        ("str", "Literal[1]"),
        ("int", "float"),
        ("list[str]", "str"),
        ("list[str]", 'Literal["a, b]"]'),
        ("list[str]", "list[int]"),
        ("str", "dict[str, str]"),
        ("str", "str | None"),
        ("Hit", "list[dict[str, str]]"),
        ('Literal["a"]', 'Literal["b"]'),
        ("str", "list[str]"),
        ("int", "bool"),
    ],
)
def test_json_refuses_it(expected: str, found: str) -> None:
    assert not would_run(f"Argument is incorrect: Expected `{expected}`, found `{found}`", RECORDS)


def test_other_words_are_not_judged() -> None:
    assert not would_run("something else", RECORDS)
