"""Ordinary programs do under the dialect what they do in CPython: same value, text, error and line."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.corpus.runner import load
from tests.dialect.driver import Outcome, run, run_plain

CORPUS = load()

# What differs on purpose: the texts of these errors carry a hint, or name the program differently.
_OWN_MESSAGES = {"AttributeError", "ModuleNotFoundError", "ImportError"}


def _short(text: str) -> str:
    """Qualified names of a program do not mention the function around it; CPython's do."""
    return text.replace("main.<locals>.", "")


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    if type(left).__name__ != type(right).__name__:
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, str):
        return bool(left == _short(right))
    if isinstance(left, (int, bytes, bool, type(None), set, frozenset)):
        return bool(left == right)
    return repr(left) == _short(repr(right))


def assert_same(dialect: Outcome, plain: Outcome) -> None:
    """Two outcomes say the same."""
    assert dialect.error == plain.error, (dialect.error, dialect.message, plain.error, plain.message)
    assert dialect.text == _short(plain.text)
    assert dialect.line == plain.line
    if plain.error is not None and plain.error not in _OWN_MESSAGES:
        assert dialect.message == _short(plain.message)
    assert _same(dialect.value, plain.value), (dialect.value, plain.value)


@pytest.mark.parametrize(("title", "program"), CORPUS, ids=[title for title, _ in CORPUS])
def test_a_program_does_what_it_does_in_cpython(title: str, program: str) -> None:
    assert_same(run(program), run_plain(program))
