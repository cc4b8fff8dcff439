"""A failure tells a model what to change: the place, the reason, the way out, and nothing of ours."""

from __future__ import annotations

import pytest

from codemode import RunResult
from tests.cases.given import Case, given
from tests.cases.world import World, assert_same

INNARDS = (
    "codemode_guest",
    "codemode_bridge",
    "site-packages",
    "RestrictedPython",
    "<getattr>",
    "_getattr_",
    "_inplacevar_",
)


def failed(result: RunResult, kind: str, *, line: int | None = None, type: str | None = None) -> str:
    """The text of a run that must have failed in this way, free of our own innards."""
    assert not result.ok, result.text
    assert result.error is not None
    assert result.error.kind == kind, result.text
    if line is not None:
        assert result.error.line == line, result.text
    if type is not None:
        assert result.error.type == type, result.text
    for innard in INNARDS:
        assert innard not in result.text
        assert innard not in (result.error.traceback or "")
    return result.text


@given("args-error-wording-for-model")
def test_an_argument_error_is_worded_for_a_model(case: Case) -> None:
    world = World(case)
    text = failed(world.run(), "exception", line=1, type="ToolCallError")
    for word in ("search", "query", "q", "limit"):
        assert word in text
    for dump in ("type=", "unexpected_keyword", "pydantic", "http", "ValidationError", "additionalProperties"):
        assert dump not in text
    assert world.visits == []


@given("args-typeddict-constructor")
def test_a_stub_type_that_is_called_is_explained(case: Case) -> None:
    world = World(case)
    result = world.run()
    text = failed(result, "exception", line=1, type="NameError")
    assert "SearchArgs" in text
    assert "dict" in text
    assert world.visits == []
    assert world.starts() == []


@given("async-await-non-awaitable")
def test_await_of_a_plain_value_is_pythons_own_error(case: Case) -> None:
    result = World(case).run()
    text = failed(result, "exception", line=3, type="TypeError")
    assert "int" in text
    assert "await" in text
    assert "v = await helper(4)" in text


@given("async-forgot-await")
def test_a_forgotten_await_is_named(case: Case) -> None:
    world = World(case)
    result = world.run()
    text = failed(result, "invalid-output")
    assert "await" in text
    assert "greet" in text
    assert "line 1" in text or "line 3" in text
    assert "coroutine object" not in text
    assert world.visits == []
    assert world.starts() == []
    # Where nothing of it is returned, the run succeeds and a note says what never ran.
    quiet = world.run('tools.greet({"name": "Bo"})\nreturn 1')
    assert quiet.ok
    assert any("await" in note and "greet" in note and "line 1" in note for note in quiet.notes), quiet.notes
    assert "await" in quiet.text
    assert world.visits == []


@given("async-forgot-await-attribute")
def test_using_a_call_that_was_not_awaited_says_so(case: Case) -> None:
    world = World(case)
    text = failed(world.run(), "exception", line=2, type="TypeError")
    assert "await" in text
    assert "list_users" in text
    assert world.visits == []


@given("async-lambda-sort-key-with-tool")
def test_a_call_as_a_sort_key_is_a_type_error_that_can_be_caught(case: Case) -> None:
    world = World(case)
    value = world.value()
    assert value.startswith("TypeError: ")
    assert world.visits == []


@given("err-line-number-matches-source")
def test_the_line_is_that_of_the_models_source(case: Case) -> None:
    result = World(case).run()
    text = failed(result, "exception", line=5, type="TypeError")
    assert "counts += 1" in text
    assert "not iterable" in text
    assert "line 5" in text or "5 |" in text


@given("err-syntax-error-location")
def test_a_syntax_error_shows_its_place_and_nothing_runs(case: Case) -> None:
    from tests.cases.world import tool

    world = World("", [tool("one", output={"type": "integer"})])
    result = world.run("await tools.one()\ntotal = = 3")
    text = failed(result, "syntax", line=2)
    assert "total = = 3" in text
    assert "^" in text
    assert world.visits == []
    assert world.starts() == []
    indented = world.run(" x = 1\n return x")
    if indented.ok:
        assert indented.value == 1
    else:
        assert "indent" in failed(indented, "syntax", line=1)


@given("err-uncaught-tool-error")
def test_an_uncaught_tool_failure_carries_the_tools_own_words(case: Case) -> None:
    result = World(case).run()
    text = failed(result, "exception", line=2, type="ToolCallError")
    for word in ("ToolCallError", "boom", "deliberate tool failure", "y = await tools.boom({})"):
        assert word in text
    assert "Error calling tool" not in text
    assert [record.status for record in result.calls] == ["failed"]


@given("err-unknown-global-name")
def test_an_undefined_name_says_how_tools_are_reached(case: Case) -> None:
    world = World(case)
    text = failed(world.run(), "exception", line=1, type="NameError")
    assert "search_tool" in text
    assert "tools.search" in text or "tools.<name>" in text
    assert world.starts() == []


@given("err-unknown-tool")
def test_an_unknown_tool_is_answered_with_a_near_name(case: Case) -> None:
    kind, text = World(case).value()
    assert kind in {"AttributeError", "ToolCallError"}
    assert "serch" in text
    assert "search" in text.replace("serch", "")
    assert len(text) < 400
    # A catalogue of hundreds is not listed.
    from tests.cases.world import tool

    many = World(case, [*case.tools, *(tool(f"other_thing_{i}", behaviour="") for i in range(300))], bodies=_Anything())
    _, text = many.value()
    assert "search" in text.replace("serch", "")
    assert len(text) < 400


class _Anything(dict):  # type: ignore[type-arg]
    def get(self, name: str, default: object = None) -> object:
        return lambda world, a, ctx: None


@given("lang-envelope-get-on-list")
def test_a_list_taken_for_an_envelope_is_told_what_it_is(case: Case) -> None:
    text = failed(World(case).run(), "exception", line=2, type="AttributeError")
    assert "'list' object has no attribute 'get'" in text
    # Beyond Python's words: the result is a list (of objects), and how to go on.
    hint = text.replace("'list' object has no attribute 'get'", "")
    assert "list" in hint or "array" in hint


@given("lang-star-kwargs-not-a-mapping")
def test_unpacking_what_is_no_mapping_is_pythons_type_error(case: Case) -> None:
    assert_same(World(case).value(), [True, True, True])


@given("lim-long-literal-line")
def test_a_huge_unterminated_literal_is_not_echoed(case: Case) -> None:
    text = failed(World("").run('x = "' + "a" * 100_000), "syntax", line=1)
    assert "unterminated" in text
    assert len(text) < 2_000


@given("mcp-shell-string-instead-of-python")
@pytest.mark.parametrize("program", ["ls -la", "pip install requests", "const x = await tools.add({a:1});"])
def test_another_language_is_told_to_be_python(case: Case, program: str) -> None:
    from tests.cases.world import tool

    world = World(case, [tool("add", {"a": {"type": "integer"}}, {"type": "integer"})])
    result = world.run(program)
    assert not result.ok
    assert "Python" in result.text, result.text
    assert "await tools." in result.text.replace(program, ""), result.text
    assert world.visits == []


@given("res-keyerror-suggests-keys")
def test_a_missing_key_is_answered_with_the_keys_there_are(case: Case) -> None:
    text = failed(World(case).run(), "exception", line=2, type="KeyError")
    assert "email" in text
    assert "mail" in text.replace("email", "")


@given("sec-sys-exit")
def test_leaving_by_exit_is_a_failed_run_and_no_more(case: Case) -> None:
    world = World(case)
    result = world.run()
    text = failed(result, "exception", line=2, type="SystemExit")
    assert result.logs == ["before"]
    assert "before" in text
    for spelling in ("exit()", "quit()", "import sys\nsys.exit(3)", "import os\nos._exit(1)"):
        other = world.run(spelling)
        assert not other.ok, spelling
        assert other.error.kind in {"exception", "syntax"}, other.text
        assert "exit" in other.text or "quit" in other.text or "os" in other.text
    assert world.value("return 1") == 1


@given("state-shadow-tools-name")
def test_a_local_name_does_not_collide_with_a_tool(case: Case) -> None:
    assert_same(World(case).value(), [3, 4])


@given("std-phantom-tool-import")
def test_tools_can_be_imported_or_the_refusal_says_that_they_need_not(case: Case) -> None:
    result = World(case).run()
    if result.ok:
        assert_same(result.value, 1)
    else:
        assert "tools." in result.text
        assert "from tools import echo" in result.text


@given("ux-await-inside-plain-def")
def test_await_in_a_plain_function_says_to_make_it_async(case: Case) -> None:
    world = World(case, [])
    text = failed(world.run("def h():\n    return await tools.one({})\nreturn h()"), "syntax", line=2)
    assert "async def h" in text
    assert "await h(" in text
