"""The output ledger: exact bytes of JSON, and what fits is kept."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from codemode_bridge import RunError
from codemode_bridge._ledger import Ledger

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)


def size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def lines_of(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


@given(st.lists(TEXT.filter(bool)))
def test_the_charge_is_the_json_of_the_lines_to_the_byte(pieces: list[str]) -> None:
    ledger = Ledger(10**9)
    for piece in pieces:
        ledger.add(piece)
    lines = lines_of("".join(pieces))
    assert ledger.lines() == lines
    assert ledger.used == size(lines)


@given(st.lists(TEXT.filter(bool), min_size=1), st.integers(4, 200))
def test_what_fits_is_kept_and_nothing_more(pieces: list[str], limit: int) -> None:
    ledger = Ledger(limit)
    for piece in pieces:
        ledger.add(piece)
    whole = lines_of("".join(pieces))
    assert ledger.used == size(ledger.lines()) <= limit
    assert ledger.over == (size(whole) > limit)
    assert "".join(pieces).startswith("\n".join(ledger.lines()))


@given(st.lists(TEXT.filter(bool)), TEXT, st.integers(4, 200))
def test_a_failed_run_fits_with_its_message(pieces: list[str], message: str, limit: int) -> None:
    ledger = Ledger(limit)
    for piece in pieces:
        ledger.add(piece)
    logs, error = ledger.fit(RunError("exception", message))
    assert size(logs) + size(error.message) <= max(limit, 4)
    if error.kind == "exception":
        assert (error.message, logs) == (message, ledger.lines())


def test_the_pinned_example() -> None:
    exact, short = Ledger(8), Ledger(7)
    for ledger in (exact, short):
        ledger.add("a\n")
        ledger.add_value(3)
    assert (exact.over, short.over) == (False, True)


def test_a_cut_never_splits_a_character() -> None:
    ledger = Ledger(10)
    assert ledger.add("😀😀😀") == "😀"
    assert ledger.over


def test_when_not_even_the_message_fits_it_is_cut() -> None:
    logs, error = Ledger(4).fit(RunError("output-limit", "the output exceeded"))
    assert (logs, error.message) == ([], "")
