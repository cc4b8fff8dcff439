"""What a program prints."""

from __future__ import annotations

from codemode import Limits
from tests.cases.given import Case, given
from tests.cases.world import CUT_WORDS, World, assert_same


@given("err-print-before-crash-kept")
def test_what_was_printed_before_a_crash_is_in_the_report(case: Case) -> None:
    result = World(case).run()
    assert not result.ok
    assert result.error.type == "ZeroDivisionError"
    assert result.error.line == 3
    assert result.logs == ["step 1 ok", "about to divide"]
    assert "step 1 ok\nabout to divide" in result.text
    assert "ZeroDivisionError" in result.text


@given("lang-print-as-value")
def test_print_is_a_function_like_any_other(case: Case) -> None:
    result = World(case).run()
    assert result.value == "done"
    assert result.logs == ["odd 1", "odd 3", "a", "b", "1-2"]


@given("out-print-forms")
def test_print_has_all_its_forms(case: Case) -> None:
    result = World(case).run()
    assert result.value == "ok"
    assert "\n".join(result.logs) == "a|1|None|[1, 'x']!\n\nno newline then\nZoë 😀\nto err"
    assert result.logs == ["a|1|None|[1, 'x']!", "", "no newline then", "Zoë 😀", "to err"]


@given("out-print-in-async-gather")
def test_lines_of_concurrent_helpers_stay_whole(case: Case) -> None:
    result = World(case).run()
    assert result.ok, result.text
    assert sorted(result.logs) == sorted([f"start {i}" for i in range(4)] + [f"end {i}" for i in range(4)])


@given("out-print-inside-functions")
def test_print_is_captured_wherever_it_is_called(case: Case) -> None:
    result = World(case).run()
    assert_same(result.value, [0, 1, 2])
    assert result.logs == ["row 0", "row 1", "row 2", "method", "lam"]


@given("out-truncation-is-visible")
def test_cut_output_cannot_be_taken_for_complete_output(case: Case) -> None:
    world = World(case)
    whole = world.run()
    assert whole.ok
    assert whole.logs[0].endswith("199999]")
    # The model's text is cut at `text_chars`: head, a line that says how much is missing, tail.
    assert len(whole.text) <= 100_000
    assert any(word in whole.text for word in CUT_WORDS)
    # The ledger of the run itself is a limit: the run is no success, and what fits is kept.
    capped = world.run(limits=Limits(output_bytes=100_000))
    assert not capped.ok
    assert capped.error.kind == "output-limit"
    assert "100" in capped.error.message
    kept = "\n".join(capped.logs)
    assert kept == whole.logs[0][: len(kept)]
    assert 99_000 <= len(kept.encode()) <= 100_000
