"""Tasks of a program that fail while nobody looks."""

from __future__ import annotations

from codemode import CodeMode, Registry


async def told(program: str) -> list[str]:
    async with CodeMode(Registry()) as mode:
        result = await mode.run("import asyncio\nasync def bad(n):\n    raise ValueError(n)\n" + program)
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
