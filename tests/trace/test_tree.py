"""A run as a tree of text."""

from __future__ import annotations

from codemode.trace import read_trace, render_tree
from tests.trace.logs import run_log


def test_each_call_is_a_line_with_its_outcome() -> None:
    tree = render_tree(read_trace(run_log(4, failing=[2], denied=[3], unsettled=[4])))
    assert tree.splitlines() == [
        "count the rows: ok, 4 calls (1 done, 1 failed, 1 denied, 1 unknown), 29 ms  [run-outer]",
        '├─ ✓ search {"page": 1}  4 ms  line 3',
        '├─ ✕ search {"page": 2}  4 ms  line 3  no page 2',
        '├─ ⊘ search {"page": 3}  4 ms  line 3  no page 3',
        "│    asked: costly → rejected",
        '├─ ? search {"page": 4}  ?  line 3',
        "└─ 4",
    ]


def test_a_terminal_is_given_nothing_to_obey() -> None:
    tree = render_tree(read_trace(run_log(1, description="\x1b[2Jgone\u202e\r", failing=[1])))
    assert all(char.isprintable() or char == "\n" for char in tree)
    assert "\\u001b[2Jgone\\u202e\\u000d" in tree


def test_a_long_run_is_counted_where_it_is_not_listed() -> None:
    tree = render_tree(read_trace(run_log(300)), max_calls=10)
    assert "├─ … 290 more calls" in tree
    assert len(tree.splitlines()) == 13


def test_an_empty_log_says_so() -> None:
    assert render_tree(read_trace([])) == "The log holds no run of a program."
