"""The text that the model reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codemode import CallRecord, RunError
from codemode._text import NO_OUTPUT, failure_text, fit, success_text, value_text

BIG = 1_000_000


def success(logs: list[str] | None = None, *, limit: int = BIG, **options: Any) -> str:
    has_value = "value" in options
    return success_text(
        logs or [],
        has_value=has_value,
        value=options.get("value"),
        calls=options.get("calls", ()),
        notes=options.get("notes", ()),
        limit=limit,
    )


def record(number: int, status: Any = "done", message: str | None = None, **arguments: Any) -> CallRecord:
    return CallRecord(f"c:code:{number}", "write", arguments, status, 0.1, message)


class TestSuccess:
    def test_printed_lines_come_first_then_the_value(self) -> None:
        assert success(["printed"], value="returned") == "printed\nreturned"

    def test_a_string_is_raw_and_other_json_is_indented_by_two(self) -> None:
        assert success(value='{"a": 1}') == '{"a": 1}'
        assert success(value={"n": 42, "ok": True, "none": None}) == '{\n  "n": 42,\n  "ok": true,\n  "none": null\n}'
        assert success(value="Zoë 😀") == "Zoë 😀"
        assert success(value=["é"]) == '[\n  "é"\n]'

    @pytest.mark.parametrize(("value", "text"), [([], "[]"), ({}, "{}"), (None, "null"), (0, "0"), (False, "false")])
    def test_small_roots(self, value: Any, text: str) -> None:
        assert success(value=value) == text

    def test_nothing_at_all_is_one_fixed_line(self) -> None:
        assert success() == NO_OUTPUT
        assert success([""]) == NO_OUTPUT

    def test_nothing_at_all_names_what_was_called(self) -> None:
        text = success(calls=[record(1), record(2), record(3, "denied", "no")])
        assert text.startswith(NO_OUTPUT)
        assert "write x2" in text
        assert "write (denied, not run)" in text

    def test_an_empty_string_is_not_called_nothing(self) -> None:
        assert '""' in success(value="")
        assert success(["a"], value="") == "a"

    def test_deep_values_are_compact_below_five_levels(self) -> None:
        value: Any = 0
        for _ in range(400):
            value = [value]
        text = value_text(value)
        assert text.startswith("[\n  [\n    [\n      [\n        [\n          [[[[")
        assert len(text) < 1_100
        assert json.loads(text) == value

    def test_an_entry_is_neither_trimmed_nor_parsed(self) -> None:
        assert success(["  a ", "", "{'b'}"], value="x") == "  a \n\n{'b'}\nx"

    def test_advice_is_shown_and_conversions_are_not(self) -> None:
        text = success(value=[1], notes=["converted result: tuple to list", "tools.x(...) was never awaited"])
        assert text == "[\n  1\n]\nnote: tools.x(...) was never awaited"

    def test_lone_surrogates_become_escapes(self) -> None:
        success(["\ud800"], value=["\udfff"]).encode("utf-8")


class TestTruncation:
    def test_the_limit_holds_and_head_and_tail_stay(self) -> None:
        text = success(["a" * 500, "b" * 500], value="c" * 9_000, limit=1_000)
        assert len(text) <= 1_000
        assert text.startswith("aaa")
        assert text.endswith("ccc")

    def test_the_line_says_how_much_is_missing_and_how_big_the_value_is(self) -> None:
        whole = "x" * 5_000
        text = success(value=whole, limit=1_000)
        (marker,) = [line for line in text.split("\n") if line.startswith("[...")]
        missing = int(marker.split()[1])
        assert len(text) - len(marker) - 2 + missing == 5_000
        assert "the value is 5000 characters" in marker

    def test_a_text_that_fits_exactly_is_whole(self) -> None:
        assert fit("x" * 100, 100, "") == "x" * 100

    @pytest.mark.parametrize("limit", [1, 2, 10, 60, 100, 101, 150])
    def test_tiny_limits_hold_too(self, limit: int) -> None:
        assert len(fit("x" * 1_000, limit, "the value is 1000 characters")) <= limit


class TestFailure:
    ERROR = RunError(
        "exception",
        "division by zero",
        "ZeroDivisionError",
        3,
        "line 3\n    1 / 0\n    ~~^~~\nZeroDivisionError: division by zero",
    )

    def test_kind_type_message_line_and_carets(self) -> None:
        text = failure_text(self.ERROR, [], [], [], BIG)
        assert text == (
            "code run failed (exception): ZeroDivisionError: division by zero\nline 3\n    1 / 0\n    ~~^~~"
        )

    def test_printed_lines_are_marked_as_from_before(self) -> None:
        text = failure_text(self.ERROR, ["step 1 ok", "about to divide"], [], [], BIG)
        assert "Printed before the failure:\nstep 1 ok\nabout to divide" in text

    def test_every_call_and_its_outcome_is_listed(self) -> None:
        calls = [
            record(1, key="a"),
            record(2, "failed", "disk full", key="b"),
            record(3, "denied", "not you", key="c"),
            record(4, "aborted", "cancelled", key="d"),
            record(5, "abandoned", None, key="e"),
        ]
        text = failure_text(RunError("timeout", "wall clock: 1s"), [], calls, [], BIG)
        assert 'write(key="a"): done' in text
        assert 'write(key="b"): failed, and may have had an effect: disk full' in text
        assert 'write(key="c"): denied, not run: not you' in text
        assert 'write(key="d"): cancelled while it ran; whether it took effect is unknown' in text
        assert 'write(key="e"): never began' in text
        assert "1 done" in text

    def test_a_long_list_of_calls_is_counted(self) -> None:
        text = failure_text(self.ERROR, [], [record(n, n=n) for n in range(1_000)], [], BIG)
        assert "1000 done" in text
        assert "write(n=0)" in text
        assert "write(n=999)" in text
        assert "970 more" in text

    def test_big_arguments_are_cut_with_a_mark(self) -> None:
        text = failure_text(self.ERROR, [], [record(1, body="x" * 10_000)], [], BIG)
        assert len(text) < 1_000
        assert "characters left out" in text

    def test_printed_lines_give_way_to_the_error_and_the_calls(self) -> None:
        text = failure_text(self.ERROR, ["noise " * 1_000] * 100, [record(1, key="k")], [], 2_000)
        assert len(text) <= 2_000
        assert text.startswith("code run failed (exception): ZeroDivisionError")
        assert 'write(key="k"): done' in text
        assert "characters left out" in text
