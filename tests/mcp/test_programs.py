"""Programs in a real child over upstream servers: what they see, what they get, what they are told."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio

from codemode import CodeMode
from codemode.mcp import Elicitation, ElicitationAnswer, McpUpstreams
from codemode_bridge import Limits
from codemode_registry import MemoryEventLog, Registry

Config = Callable[..., dict[str, Any]]
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


@asynccontextmanager
async def opened(servers: dict[str, Any], **options: Any) -> AsyncIterator[tuple[CodeMode, McpUpstreams]]:
    registry = Registry(events=MemoryEventLog())
    limits = options.pop("limits", Limits())
    with anyio.fail_after(90.0):
        async with (
            McpUpstreams({"mcpServers": servers}, **options) as upstreams,
            CodeMode(registry, limits=limits) as code_mode,
        ):
            upstreams.attach(registry)
            yield code_mode, upstreams


async def value(code_mode: CodeMode, code: str) -> Any:
    result = await code_mode.run(code)
    assert result.ok, result.text
    return result.value


async def test_a_program_reaches_the_tools_of_every_page_and_server(odd: Config, modern: dict[str, Any]) -> None:
    async with opened({"odd": odd(), "my server": odd(), "modern": modern}) as (code_mode, _):
        code = dedent("""
        import asyncio
        return await asyncio.gather(
            tools.odd.first(), tools.odd.second(), tools["my server.first"](), tools.modern.era()
        )
        """)
        assert await value(code_mode, code) == ["first", "second", "first", "2026-07-28"]


async def test_values_are_what_the_stubs_and_the_rules_say(odd: Config) -> None:
    async with opened({"odd": odd()}) as (code_mode, _):
        assert "number: NotRequired[int]" in code_mode.stubs()
        code = "rows = await tools.odd.listed()\nreturn [type(rows).__name__, rows[0]['number'], len(rows)]"
        assert await value(code_mode, code) == ["list", 11, 2]
        sent = {"content": [{"type": "text", "text": '{"a": 1}'}]}
        assert await value(code_mode, f"return await tools.odd.values(result={sent!r})") == {"a": 1}


async def test_images_are_attached_for_the_model(odd: Config) -> None:
    async with opened({"odd": odd()}) as (code_mode, _):
        sent = {"content": [IMAGE, {"type": "text", "text": "a chart"}]}
        result = await code_mode.run(f"shown = await tools.odd.values(result={sent!r})\nreturn shown[1]")
        assert result.value == "a chart"
        assert [IMAGE] in [context["content"] for context in result.result.contexts]


async def test_an_unavailable_server_is_named_in_the_prompt_and_in_the_program(odd: Config) -> None:
    async with opened({"dead": odd("dead"), "odd": odd()}) as (code_mode, _):
        assert "'dead' is unavailable" in code_mode.instructions()
        code = dedent("""
        out = []
        for call in (lambda: tools.dead.search(q="x"), lambda: tools.dead.unavailable(), lambda: tools.odd.first()):
            try:
                out.append(await call())
            except Exception as error:
                out.append(str(error))
        return out
        """)
        unknown, unavailable, first = await value(code_mode, code)
        assert "dead" in unknown
        assert "unavailable" in unknown
        assert "'dead' is unavailable" in unavailable
        assert first == "first"


async def test_a_server_that_dies_under_a_program_fails_one_call(odd: Config) -> None:
    async with opened({"odd": odd(), "other": odd()}) as (code_mode, _):
        code = dedent("""
        try:
            await tools.odd.die()
        except ToolCallError as error:
            return [error.message, await tools.other.first(), await tools.odd.first()]
        """)
        message, other, again = await value(code_mode, code)
        assert "'odd' closed the connection" in message
        assert (other, again) == ("first", "first")


async def test_the_next_run_uses_a_changed_list(odd: Config) -> None:
    async with opened({"odd": odd()}) as (code_mode, _):
        changed = anyio.Event()
        code_mode.registry.on_change(changed.set)
        assert await value(code_mode, "return await tools.odd.change(add=True)") == "changed"
        await changed.wait()
        assert await value(code_mode, "return await tools.odd.added()") == "added"
        assert "async def added" in code_mode.stubs()


async def test_the_clock_of_a_run_stands_still_while_a_server_asks_somebody(odd: Config) -> None:
    async def slow_person(question: Elicitation) -> ElicitationAnswer:
        await anyio.sleep(2.5)  # longer than the run may take
        return ElicitationAnswer("accept", {})

    question = {"mode": "form", "message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}
    async with opened({"odd": odd()}, limits=Limits(wall_seconds=2.0), elicitor=slow_person) as (code_mode, _):
        await value(code_mode, "return 'the first child is up'")
        answered = await value(code_mode, f"return await tools.odd.ask(params={question!r})")
    assert answered == {"action": "accept", "content": {}}


async def test_no_process_of_a_server_is_left_behind(odd: Config, tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text((Path(__file__).parent / "servers" / "odd.py").read_text("utf-8"), "utf-8")
    async with opened({"odd": {"command": sys.executable, "args": [str(script)]}}) as (code_mode, _):
        assert await value(code_mode, "return await tools.odd.first()") == "first"
        assert str(script) in await processes()
    assert str(script) not in await processes()


async def processes() -> str:
    """The command lines of every process on this machine."""
    listed = await anyio.run_process(["ps", "-ewwo", "args"])
    return listed.stdout.decode()
