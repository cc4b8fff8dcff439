"""Descriptions cannot break out of their quotes or lines, and show what is in them."""

from __future__ import annotations

import ast

import pytest

from codemode_stubs import render_stubs

from . import odd
from .support import executed, stub, tool


@pytest.mark.parametrize("text", odd.HOSTILE)
def test_a_docstring_holds_any_text_and_nothing_else(text: str) -> None:
    source = stub(tool("f", description=text), tool("g"))
    tree = ast.parse(source)
    (owner,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tools"]
    assert [type(node).__name__ for node in owner.body] == ["AsyncFunctionDef"] * 2
    body = owner.body[0].body  # type: ignore[attr-defined]
    assert len(body) == (2 if text.strip() else 1)


@pytest.mark.parametrize("form", ["pyi", "prompt"])
def test_no_character_without_a_visible_form_reaches_the_text(form: str) -> None:
    source = render_stubs(odd.hostile_tools(), form=form)  # type: ignore[arg-type]
    invisible = set(source) & set("\x00\x1b\x7f\x85\u2028\u2029\u202e\u202c\u2066\u2069\ufeff\ud800\U000e0041\r\t")
    assert invisible == set()


def test_escapes_are_visible_text() -> None:
    source = stub(tool("f", description="a\x00b \u202ec \ud800 \\d"))
    doc = vars(executed(source).__dict__["Tools"])["f"].__doc__
    assert doc == "a\\x00b \\u202ec \\ud800 \\d"


def test_quotes_and_backslashes_read_as_they_were_written() -> None:
    for text in ('say """no""" and \\ go', 'ends with "', "ends with \\", '""""'):
        doc = vars(executed(stub(tool("f", description=text))).__dict__["Tools"])["f"].__doc__
        assert doc == text


def test_emoji_and_joiners_stay() -> None:
    assert "👩\u200d💻 ok" in stub(tool("f", description="👩\u200d💻 ok"))


def test_comments_are_no_instructions_to_a_checker() -> None:
    fields = {"a": {"type": "string", "description": "type: ignore # ty: ignore"}}
    source = stub(tool("f", output={"type": "object", "properties": fields, "required": ["a"]}))
    assert "    a: str  # - type: ignore # - ty: ignore\n" in source


def test_paragraphs_keep_their_lines_without_the_indent_of_the_source() -> None:
    source = stub(tool("f", description="First.\n\n\n    - one\n      - two   \n    last\n"))
    assert '        """First.\n\n        - one\n          - two\n        last\n        """\n' in source


def test_arguments_that_many_methods_share_are_described_once() -> None:
    owner = {"type": "string", "description": "Who owns it."}
    tools = [tool(f"t{number}", {"owner": owner}) for number in range(3)]
    odd_one = tool("other", {"owner": {"type": "string", "description": "Somebody else."}})
    source = stub(*tools, odd_one)
    assert source.count("Who owns it.") == 1
    assert "Somebody else." in source
    assert "Args, unless a method says otherwise:\n        owner: Who owns it." in source
    undescribed = stub(*tools, tool("bare", {"owner": {"type": "string"}}))
    assert undescribed.count("Who owns it.") == 3
