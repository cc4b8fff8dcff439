"""No given case, snippet or attack is without its test."""

from __future__ import annotations

import importlib
import pkgutil

import tests.cases
from tests.cases.given import CASES, CHECKED, read_rows


def _import_all() -> None:
    for module in pkgutil.iter_modules(tests.cases.__path__):
        if module.name.startswith("test_"):
            importlib.import_module(f"tests.cases.{module.name}")


def test_each_given_case_is_checked_by_exactly_one_test_of_its_kind() -> None:
    _import_all()
    assert len(CASES) == 218
    assert set(CHECKED) == set(CASES)
    for case_id, modules in CHECKED.items():
        assert modules == [f"tests.cases.test_{CASES[case_id].kind.replace('-', '_')}"], case_id


def test_each_snippet_and_each_attack_is_run() -> None:
    from tests.cases import test_attacks, test_snippets

    assert len(read_rows("snippets.jsonl")) == 43
    assert [row["id"] for row in read_rows("snippets.jsonl")] == [row["id"] for row in test_snippets.SNIPPETS]
    assert len(read_rows("attacks.jsonl")) == 119
    assert [row["id"] for row in read_rows("attacks.jsonl")] == [row["id"] for row in test_attacks.ATTACKS]
