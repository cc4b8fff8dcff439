"""The given cases, and the decorators that tie a test to the case it checks.

`data/cases.jsonl` holds the cases as they were handed over: a program, its tools (JSON Schema and a behaviour in
prose) and what must come out, in prose. Each case is checked by exactly one test function, whose parameter id is the
case's id; `test_complete.py` proves that none is left out. Nothing here touches the product.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"

Json = Any
Test = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Case:
    """One given case: what runs, over which tools, and what is expected of it."""

    id: str
    kind: str
    title: str
    program: str | None
    tools: tuple[dict[str, Json], ...]
    expect: str

    @property
    def text(self) -> str:
        """The program, for cases that have exactly one."""
        assert self.program is not None, f"{self.id} describes its programs in prose"
        return self.program


def read_rows(name: str) -> list[dict[str, Json]]:
    """The rows of one vendored data file.

    Split at line feeds only: some texts carry U+2028, which `splitlines` takes for the end of a line.
    """
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").split("\n") if line]


CASES: dict[str, Case] = {
    row["id"]: Case(row["id"], row["kind"], row["title"], row["program"], tuple(row["tools"]), row["expect"])
    for row in read_rows("cases.jsonl")
}

CHECKED: dict[str, list[str]] = {}
"""For each case id, the modules of the tests that check it."""


def given(*case_ids: str) -> Callable[[Test], Test]:
    """The test checks these cases: it is called with `case`, once for each."""

    def decorate(test: Test) -> Test:
        for case_id in case_ids:
            CHECKED.setdefault(case_id, []).append(test.__module__)
        rows = [pytest.param(CASES[case_id], id=case_id) for case_id in case_ids]
        return pytest.mark.parametrize("case", rows)(test)

    return decorate


def given_values(values: dict[str, Json]) -> Callable[[Test], Test]:
    """The test checks these cases, whose whole expectation is one value: it is called with `case` and `expected`."""

    def decorate(test: Test) -> Test:
        for case_id in values:
            CHECKED.setdefault(case_id, []).append(test.__module__)
        rows = [pytest.param(CASES[case_id], value, id=case_id) for case_id, value in values.items()]
        return pytest.mark.parametrize(("case", "expected"), rows)(test)

    return decorate


def same(left: Json, right: Json) -> bool:
    """Whether two JSON values are the same text: unlike `==`, this tells 1 from 1.0 and from true."""
    if left != right:
        return False
    try:
        return _text(left) == _text(right)
    except ValueError:
        # An int of more digits than this Python spells out: equal, as said above, is all that can be asked.
        return True


def _text(value: Json) -> str:
    return json.dumps(value, sort_keys=True)
