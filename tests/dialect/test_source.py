"""The program's text is never touched, and every line number is its own."""

from __future__ import annotations

import pytest

from codemode_guest.dialect import compile_program
from tests.dialect.driver import run, value_of


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("```python\n", "\n```"),
        ("```\n", "\n```\n"),
        ("\n  ```py\n", "\n```  "),
        ("~~~python\n", "\n~~~"),
        ("````python title=x\n", "\n````"),
    ],
)
def test_a_surrounding_fence_is_taken_off_and_its_line_does_not_count(before: str, after: str) -> None:
    outcome = run(f"{before}x = 1\nraise ValueError(x){after}")
    assert (outcome.error, outcome.line) == ("ValueError", 2)


def test_a_fence_inside_a_string_stays() -> None:
    assert value_of('return """```python\nx\n```"""') == "```python\nx\n```"
    assert value_of('```python\nreturn """\n```\n"""\n```') == "\n```\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_form_of_line_end_counts_the_same(end: str) -> None:
    outcome = run(end.join(["x = '''a", "b'''", "raise ValueError(repr(x))"]))
    assert (outcome.message, outcome.line) == ("'a\\nb'", 3)


def test_a_byte_order_mark_tabs_and_a_form_feed_are_fine() -> None:
    assert value_of("\ufeffif True:\n\tx = 1\n\tx += 1\n\x0c\nreturn x") == 2


def test_a_program_that_is_indented_as_a_whole_runs_with_its_strings_as_they_are() -> None:
    assert value_of("    x = '''a\n  b'''\n    return x") == "a\n  b"
    outcome = run("  y = 1\n  raise KeyError(y)")
    assert (outcome.error, outcome.line) == ("KeyError", 2)


@pytest.mark.parametrize(
    ("source", "has_value", "value"),
    [
        ("", False, None),
        ("# only a comment", False, None),
        ("x = 1", False, None),
        ("return", False, None),
        ("return None", True, None),
        ("1 + 1", True, 2),
        ("None", False, None),
        ("[].append(1)", False, None),
        ("if True:\n    return 5", True, 5),
        ("for x in []:\n    return 1", False, None),
        ("def f():\n    return 1\nf()", True, 1),
        ("(\n  1,\n  2\n)", True, (1, 2)),
        ("async def main():\n    return 3\nif __name__ == '__main__':\n    asyncio.run(main())", True, 3),
        ("await tools.echo(4)", True, 4),
        ("x = 1; x", True, 1),
        ("try:\n    return 1\nfinally:\n    pass", True, 1),
    ],
)
def test_what_counts_as_the_value(source: str, has_value: bool, value: object) -> None:
    outcome = run(source)
    assert outcome.error is None
    assert (outcome.has_value, outcome.value) == (has_value, value)


def test_the_lines_of_the_program_are_those_of_its_text() -> None:
    program = compile_program("```python\nx = 1\n\nreturn x\n```")
    assert program.lines[:3] == ["x = 1", "", "return x"]
