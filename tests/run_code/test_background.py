"""Tasks of a program that fail while nobody looks, or that its end cuts off."""

from __future__ import annotations

import pytest

from codemode import CodeMode, Registry, RunResult

BEFORE = "import asyncio\nasync def bad(n):\n    raise ValueError(n)\n"


async def run(program: str) -> RunResult:
    registry = Registry()

    @registry.tool(concurrency_safe=True)
    async def double(n: int) -> int:
        return 2 * n

    async with CodeMode(registry) as mode:
        return await mode.run(BEFORE + program)


async def told(program: str) -> list[str]:
    result = await run(program)
    assert result.ok, result.text
    return list(result.notes)


async def test_a_task_in_a_list_is_found_with_its_line() -> None:
    [note] = await told("tasks = [asyncio.create_task(bad(7))]\nawait asyncio.sleep(0.01)\nprint(1)")
    assert note == "a background task failed on line 3 and nothing awaited it: ValueError: 7"


async def test_many_are_counted() -> None:
    notes = await told("t = [asyncio.create_task(bad(n)) for n in range(9)]\nawait asyncio.sleep(0.01)\nprint(1)")
    assert len(notes) == 6
    assert notes[-1] == "4 more background tasks failed"


async def test_a_gather_that_fails_early_has_looked_at_all() -> None:
    assert await told("try:\n    await asyncio.gather(bad(1), bad(2))\nexcept ValueError:\n    print(1)") == []


async def test_a_cancelled_task_has_not_failed() -> None:
    assert await told("t = asyncio.create_task(asyncio.sleep(9))\nawait asyncio.sleep(0)\nt.cancel()\nprint(1)") == []


async def test_a_text_that_raises_does_not_stop_the_note() -> None:
    program = """
class Mute(Exception):
    def __str__(self):
        raise KeyError(1)
async def worse():
    raise Mute
t = asyncio.create_task(worse())
await asyncio.sleep(0.01)
print(1)"""
    [note] = await told(program)
    assert note.endswith("nothing awaited it: Mute")


CUT_OFF = "was not awaited to the end: it was cancelled unfinished when the program ended"


async def test_an_unfinished_task_is_named_with_its_line() -> None:
    notes = await told("t = asyncio.create_task(asyncio.sleep(60))\nawait asyncio.sleep(0)\nreturn 1")
    assert notes == [f"the task sleep(...) started on line 4 {CUT_OFF}"]


async def test_a_task_that_never_began_is_unfinished_too() -> None:
    program = "async def later():\n    print(1)\nt = asyncio.create_task(later())\nreturn 1"
    assert await told(program) == [f"the task later(...) started on line 6 {CUT_OFF}"]


async def test_unfinished_tasks_of_one_line_are_counted() -> None:
    program = "ts = [asyncio.create_task(asyncio.sleep(60)) for _ in range(9)]\nawait asyncio.sleep(0)\nreturn 1"
    [note] = await told(program)
    assert note.startswith("9 tasks sleep(...) started on line 4 were not awaited to the end: they were cancelled")


async def test_unfinished_tasks_of_many_lines_are_bounded() -> None:
    lines = "".join(f"t{n} = asyncio.create_task(asyncio.sleep(60))\n" for n in range(9))
    notes = await told(f"{lines}return 1")
    assert len(notes) == 6
    assert "line 4 " in notes[0]
    assert notes[-1] == "4 more background tasks were cancelled unfinished"


async def test_a_call_of_a_tool_in_a_task_is_told_once() -> None:
    [never] = await told("t = asyncio.create_task(tools.double(1))\nreturn 1")
    assert never == "tools.double(...) on line 4 was never awaited, so it did not run: write `await tools.double(...)`"
    [begun] = await told("t = asyncio.create_task(tools.double(1))\nawait asyncio.sleep(0)\nreturn 1")
    assert begun == f"the task tools.double(...) started on line 4 {CUT_OFF}"


async def test_finished_tasks_leave_no_note() -> None:
    assert await told("t = asyncio.create_task(tools.double(1))\nreturn await t") == []
    assert await told("return await asyncio.gather(tools.double(1), tools.double(2))") == []
    program = "try:\n    await asyncio.wait_for(asyncio.sleep(60), 0.01)\nexcept TimeoutError:\n    return 1"
    assert await told(program) == []


@pytest.mark.parametrize(
    "last",
    [
        "await asyncio.wait([task])",
        "await asyncio.wait([task, asyncio.create_task(tools.double(2))], return_when=asyncio.FIRST_COMPLETED)",
        "[task]",
        "{task}",
        "task",
    ],
)
async def test_tasks_as_the_last_expression_are_no_value(last: str) -> None:
    result = await run(f"task = asyncio.create_task(tools.double(1))\nawait task\n{last}")
    assert result.ok, result.text
    assert not result.has_value
    assert any("await" in note for note in result.notes)


async def test_a_task_started_by_the_last_expression_is_cut_off() -> None:
    result = await run("print(1)\nasyncio.create_task(asyncio.sleep(60))")
    assert result.ok, result.text
    assert not result.has_value
    assert result.notes == [f"the task sleep(...) started on line 5 {CUT_OFF}"]


@pytest.mark.parametrize(
    "last",
    [
        "return task",
        "return await asyncio.wait([task])",
        "[task, 1]",
        "{'a': task}",
        "asyncio.gather(tools.double(1))",
        "object()",
    ],
)
async def test_what_is_meant_as_a_value_is_no_json_as_before(last: str) -> None:
    result = await run(f"task = asyncio.create_task(tools.double(1))\nawait task\n{last}")
    assert result.error is not None, result.text
    assert result.error.kind == "invalid-output"


async def test_empty_collections_are_values() -> None:
    for last in ("[]", "set()", "(set(), set())", "[[]]"):
        result = await run(last)
        assert result.has_value, last
