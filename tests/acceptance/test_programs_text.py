"""code-mode.md, "The result for the model": RunResult.text."""

# ruff: noqa: E501 - a program is quoted in one line, beside what it must give

from __future__ import annotations

from typing import Any

from codemode import Limits, Registry, ToolError

from .programs import run


async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


async def test_the_text_is_logs_then_value() -> None:
    assert (await run("print('printed')\nreturn 'returned'")).text == "printed\nreturned"


async def test_a_string_is_raw_and_other_json_is_pretty_printed() -> None:
    assert (await run("return 'a\\nb'")).text == "a\nb"
    assert (await run("return {'n': 42, 'ok': True}")).text == '{\n  "n": 42,\n  "ok": true\n}'
    assert (await run("return []")).text == "[]"
    assert (await run("return {}")).text == "{}"
    assert (await run("return None")).text == "null"
    assert (await run("return 'ünï'")).text == "ünï"
    assert (await run("return ['ünï']")).text == '[\n  "ünï"\n]'


async def test_deep_parts_are_compact() -> None:
    text = (await run("x = {'a': 1, 'b': [1, 2]}\nfor _ in range(10):\n    x = [x]\nreturn x")).text
    assert len(text.splitlines()) < 15
    assert '{"a":1,"b":[1,2]}' in text


async def test_nothing_at_all_is_one_fixed_line() -> None:
    empty = (await run("pass")).text
    assert empty
    assert "\n" not in empty
    assert empty == (await run("x = 1")).text
    assert (await run("return ''")).text


async def test_a_program_that_returned_nothing_names_the_calls_that_were_done() -> None:
    result = await run("x = await tools.add(1, 2)", add)
    assert "return" in result.text
    assert "print" in result.text
    assert "add" in result.text


async def test_a_failure_shows_kind_message_line_and_program_frames() -> None:
    result = await run("print('before')\nx = {'title': 1}\ny = x['nope']\n")
    text = result.text
    assert "exception" in text
    assert "KeyError" in text
    assert "nope" in text
    assert "y = x['nope']" in text
    assert "3" in text
    assert "before" in text
    assert text.index("KeyError") < text.index("before")
    assert "/" not in text.replace("and/or", "")


async def test_a_syntax_error_has_a_caret() -> None:
    result = await run("x = 1\ny = (1,\nz = = 2")
    assert result.error is not None
    assert result.error.kind == "syntax"
    assert "^" in result.text
    assert f"{result.error.line}" in result.text


async def test_a_failure_lists_the_calls_and_their_outcome() -> None:
    async def fail() -> str:
        """Fail."""
        raise ToolError("no luck")

    program = (
        "await tools.add(1, 2)\ntry:\n    await tools.fail()\nexcept ToolCallError:\n    pass\nraise ValueError('stop')"
    )
    text = (await run(program, add, fail)).text
    assert "add" in text
    assert "fail" in text
    assert "no luck" in text
    assert text.index("ValueError") < text.index("add")


async def test_text_is_cut_in_the_middle_with_the_size() -> None:
    result = await run("return 'a' * 5000 + 'z' * 5000", limits=Limits(text_chars=1000))
    assert len(result.text) <= 1000
    assert result.text.startswith("aaa")
    assert result.text.endswith("zzz")
    assert "10,000" in result.text or "10000" in result.text
    assert result.value == "a" * 5000 + "z" * 5000


async def test_a_failure_that_is_too_long_keeps_its_head_and_its_tail() -> None:
    result = await run("print('x' * 5000)\nraise ValueError('why')", limits=Limits(text_chars=600))
    assert len(result.text) <= 600
    assert "ValueError" in result.text


async def test_text_that_fits_exactly_is_not_cut() -> None:
    result = await run("return 'a' * 1000", limits=Limits(text_chars=1000))
    assert result.text == "a" * 1000


async def test_attribute_access_on_a_dict_has_a_hint() -> None:
    async def get() -> dict[str, Any]:
        """Get."""
        return {"title": "T"}

    result = await run("value = await tools.get()\nreturn value.title", get)
    assert result.error is not None
    assert result.error.type == "AttributeError"
    assert 'value["title"]' in result.text or "value['title']" in result.text or '["title"]' in result.text


async def test_a_close_name_has_a_hint() -> None:
    result = await run("counter = 1\nreturn countr")
    assert result.error is not None
    assert "did you mean" in result.text.lower()
    assert "counter" in result.text


async def test_a_timeout_of_a_tool_names_it() -> None:
    import anyio

    registry = Registry()

    @registry.tool(timeout=0.05)
    async def slow() -> str:
        """Slow."""
        await anyio.sleep_forever()
        return ""

    result = await run(
        "try:\n    await tools.slow()\nexcept ToolCallError as e:\n    return e.message", registry=registry
    )
    assert result.value == 'tool "slow" timed out after 0.05s'


async def test_a_failed_outer_call_has_code_run_failed_and_the_text_as_content() -> None:
    result = await run("1/0")
    assert result.result.is_error
    assert result.result.error.code == "CODE_RUN_FAILED"
    assert result.result.content == [{"type": "text", "text": result.text}]


async def test_a_failed_run_keeps_the_unprinted_calls_when_killed() -> None:
    result = await run("await tools.add(1, 2)\nwhile True:\n    pass", add, limits=Limits(compute_seconds=0.5))
    assert result.error is not None
    assert result.error.kind == "timeout"
    assert [call.status for call in result.calls] == ["done"]
    assert "add" in result.text


async def test_chained_exceptions_show_their_cause() -> None:
    result = await run("try:\n    {}['k']\nexcept KeyError as e:\n    raise RuntimeError('outer') from e")
    assert result.error is not None
    assert (result.error.type, result.error.message) == ("RuntimeError", "outer")
    assert "KeyError" in result.text


async def test_an_exception_group_shows_its_members() -> None:
    result = await run(
        "import asyncio\nasync def f():\n    raise ValueError('member')\nasync with asyncio.TaskGroup() as g:\n    g.create_task(f())"
    )
    assert result.error is not None
    assert result.error.type == "ExceptionGroup"
    assert "member" in result.text
