"""Upstream MCP servers as tools, and run_code as a tool of an MCP server."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Any

import anyio
import jsonschema_rs
import pytest

from codemode import RunResult
from tests.cases.given import Case, Json, given
from tests.cases.test_cancellation import until
from tests.cases.upstreams import ONE_LOOP, OTHER_LOOP, answer, serving, upstream_config
from tests.cases.world import World, assert_same


def spec_of(case: Case, name: str, **more: Json) -> dict[str, Json]:
    """The case's tool of this name, as the fake upstream takes it."""
    return {**next(spec for spec in case.tools if spec["name"] == name), **more}


async def run_upstream(
    config: Path | dict[str, Json], program: str, *, world: World | None = None, wait: Any = None
) -> RunResult:
    """Run one program over the upstreams of a config."""
    from codemode.mcp import McpUpstreams

    world = world or World("", [])
    with anyio.fail_after(30):
        async with McpUpstreams(config) as upstreams:
            upstreams.attach(world.registry)
            if wait is not None:
                await until(lambda: wait(world))
            async with world.code_mode() as code_mode:
                return await code_mode.run(program)


@given("res-mcp-multi-text")
async def test_all_text_blocks_arrive_in_order(case: Case, tmp_path: Path) -> None:
    config = upstream_config(tmp_path, up=[spec_of(case, "multi", result=answer("one", "two"))])
    result = await run_upstream(config, case.text.replace("tools.", "tools.up."))
    assert result.ok, result.text
    # Several blocks become a list.
    assert_same(result.value, ["one", "two"])


@given("res-mcp-structured-vs-text")
async def test_structured_content_wins_over_the_summary(case: Case, tmp_path: Path) -> None:
    told = answer("2 chunks, see structured content", structured={"chunks": ["a", "b"]})
    config = upstream_config(tmp_path, up=[spec_of(case, "scrape", result=told)])
    result = await run_upstream(config, case.text.replace("tools.", "tools.up."))
    assert result.ok, result.text
    assert_same(result.value, {"chunks": ["a", "b"]})


@given("res-mcp-text-only-json")
async def test_json_text_without_a_schema_is_parsed(case: Case, tmp_path: Path) -> None:
    tools = [
        spec_of(case, "legacy", result=answer('{"a": 1}')),
        {"name": "scalar", "result": answer("17")},
        {"name": "prose", "result": answer("{'a': 1}")},
        {"name": "array", "result": answer("[1, 2]")},
    ]
    config = upstream_config(tmp_path, up=tools)
    result = await run_upstream(config, case.text.replace("tools.", "tools.up."))
    assert result.ok, result.text
    assert_same(result.value, ["dict", {"a": 1}])
    # Scalars stay text, as does what only looks like JSON.
    others = await run_upstream(
        config, "return [await tools.up.scalar(), await tools.up.prose(), await tools.up.array()]"
    )
    assert_same(others.value, ["17", "{'a': 1}", [1, 2]])


@given("res-top-level-array")
async def test_a_declared_array_arrives_as_a_list(case: Case, tmp_path: Path) -> None:
    rows = [{"number": 11, "title": "a"}, {"number": 12, "title": "b"}]
    config = upstream_config(tmp_path, up=[spec_of(case, "list_prs", result=answer(json.dumps(rows)))])
    result = await run_upstream(config, case.text.replace("tools.", "tools.up."))
    assert result.ok, result.text
    assert_same(result.value, [2, 11, ["a", "b"]])


@given("mcp-tools-list-pages")
async def test_all_pages_of_an_upstreams_list_are_read(case: Case, tmp_path: Path) -> None:
    tools = [
        spec_of(case, "first_page_tool", result=answer("one")),
        spec_of(case, "second_page_tool", result=answer("two")),
    ]
    tools = [{**spec, "output": {}} for spec in tools]
    config = upstream_config(tmp_path, up=tools, page_size=1)
    world = World("", [])
    result = await run_upstream(config, case.text.replace("tools.", "tools.up."), world=world)
    assert result.ok, result.text
    assert_same(result.value, ["one", "two"])


@given("mcp-two-upstreams-same-tool")
async def test_equal_tools_of_two_servers_are_both_reachable(case: Case, tmp_path: Path) -> None:
    servers = {
        "Server A": [{"name": "search", "parameters": case.tools[0]["parameters"], "result": answer("A")}],
        "größe.b": [{"name": "search", "parameters": case.tools[1]["parameters"], "result": answer("B")}],
    }
    from codemode.mcp import McpUpstreams

    world = World("", [])
    with anyio.fail_after(30):
        async with McpUpstreams(upstream_config(tmp_path, servers=servers)) as upstreams:
            upstreams.attach(world.registry)
            names = [entry.full_name for entry in world.registry.tools() if entry.name == "search"]
            assert len(set(names)) == 2
            async with world.code_mode() as code_mode:
                stubs = code_mode.stubs()
                assert stubs.count("async def search") == 2
                result = await code_mode.run(f"return [await tools[n]({{'q': 'x'}}) for n in {names!r}]")
                assert result.ok, result.text
                assert sorted(result.value) == ["A", "B"]
                assert [data["name"] for data in world.starts()] == names
                first, second = (entry.namespace for entry in world.registry.tools() if entry.name == "search")
                spaced = await code_mode.run(
                    f"return [await tools[{first!r}].search(q='x'), await tools[{second!r}].search(q='y')]"
                )
                assert spaced.ok, spaced.text
                assert_same(spaced.value, result.value)


@given("mcp-upstream-missing-at-start")
async def test_a_tool_of_a_server_that_is_down_says_which_server(case: Case, tmp_path: Path) -> None:
    config = upstream_config(
        tmp_path,
        up=[{"name": "fine", "result": answer("fine")}],
        extra={"dead": {"command": "/nonexistent/mcp-server", "args": []}},
    )
    result = await run_upstream(config, case.text.replace("tools.dead_tool", "tools.dead.dead_tool"))
    assert result.ok, result.text
    kind, text = result.value
    assert kind.endswith("Error")
    assert "dead" in text
    assert "unavailable" in text or "not available" in text or "could not" in text or "not connected" in text
    assert "did you mean" not in text.lower()
    other = await run_upstream(config, "return await tools.up.fine()")
    assert_same(other.value, "fine")


@given("mcp-server-death-midcall")
async def test_an_upstream_that_dies_fails_its_call_at_once(case: Case, tmp_path: Path) -> None:
    tools = [{"name": "fetch", "does": "die"}, {"name": "alive", "result": answer("back")}]
    config = upstream_config(tmp_path, up=tools)
    world = World(case, [spec_of(case, "add")])
    program = case.text.replace("tools.up_fetch", "tools.up.fetch")
    started = time.monotonic()
    from codemode.mcp import McpUpstreams

    with anyio.fail_after(40):
        async with McpUpstreams(config) as upstreams:
            upstreams.attach(world.registry)
            async with world.code_mode() as code_mode:
                result = await code_mode.run(program)
                assert time.monotonic() - started < 10
                assert result.ok, result.text
                text, total = result.value
                assert total == 2
                assert "up" in text
                assert "clos" in text or "exited" in text or "died" in text or "lost" in text
                # The next run finds the server reconnected, or is told that it is not there, by its name.
                again = await code_mode.run(
                    "try:\n    return await tools.up.alive()\nexcept Exception as e:\n    return str(e)"
                )
                assert again.ok, again.text
                assert "back" in again.value or "up" in again.value


@ONE_LOOP
@given("mcp-list-changed")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_changed_list_is_followed_by_stubs_runs_and_clients(case: Case, mode: str, tmp_path: Path) -> None:
    old = {"name": "old", "result": answer("old")}
    new = {"name": "new", "result": answer("new")}
    relist = {"name": "relist", "does": "relist"}
    config = upstream_config(tmp_path, up=[old, relist], then=[new, relist])
    if mode == "auto":
        from codemode.mcp import McpUpstreams

        world = World("", [])
        with anyio.fail_after(30):
            async with McpUpstreams(config) as upstreams:
                upstreams.attach(world.registry)
                async with world.code_mode() as code_mode:
                    assert "async def old" in code_mode.stubs()
                    before = await code_mode.run("x = await tools.up.old()\nawait tools.up.relist()\nreturn x")
                    assert before.value == "old", before.text
                    await until(lambda: world.registry.get("up.new"))
                    assert "async def new" in code_mode.stubs()
                    assert "async def old" not in code_mode.stubs()
                    assert (await code_mode.run("return await tools.up.new()")).value == "new"
                    removed = await code_mode.run("return await tools.up.old()")
                    assert not removed.ok
                    assert "old" in removed.text
        return

    # A client of the gateway is told, since run_code's description holds the stubs.
    told: list[str] = []

    async def on_message(message: Any) -> None:
        told.append(type(getattr(message, "root", message)).__name__)

    with anyio.fail_after(30):
        async with serving(["--mcp", str(config)], mode=mode, message_handler=on_message) as client:
            description = await _description(client, lambda text: "old" in text)
            assert "new" not in description
            await client.call_tool("run_code", {"code": "return await tools.up.relist()", "description": "change"})
            await until(lambda: any("ToolListChanged" in name or "ToolsListChanged" in name for name in told), 10)
            await _description(client, lambda text: "async def new" in text and "async def old" not in text)
            result = await client.call_tool("run_code", {"code": "return await tools.up.new()", "description": "use"})
            assert "new" in result.content[0].text


async def _description(client: Any, wanted: Any) -> str:
    """run_code's description, once it is as wanted."""
    for _ in range(100):
        listed = await client.list_tools()
        description = next(entry.description for entry in listed.tools if entry.name == "run_code")
        if wanted(description):
            return str(description)
        await anyio.sleep(0.05)
    raise AssertionError(description)


@OTHER_LOOP
@given("mcp-requests-during-a-run")
@pytest.mark.filterwarnings("ignore:ping is removed")
async def test_other_requests_are_answered_while_a_program_runs(case: Case, tmp_path: Path) -> None:
    config = upstream_config(tmp_path, up=[spec_of(case, "slow", does="slow")])
    program = case.text.replace("tools.slow", "tools.up.slow")
    finished: list[Any] = []
    waits: list[float] = []
    with anyio.fail_after(40):
        async with serving(["--mcp", str(config)], mode="legacy") as client:

            async def long_run() -> None:
                finished.append(await client.call_tool("run_code", {"code": program, "description": "long"}))

            async with anyio.create_task_group() as group:
                group.start_soon(long_run)
                await anyio.sleep(0.2)
                second = await client.call_tool("run_code", {"code": "return 'second'", "description": "short"})
                assert second.is_error or "second" in second.content[0].text
                assert not finished
                while not finished:
                    started = time.monotonic()
                    await client.list_tools()
                    waits.append(time.monotonic() - started)
                    started = time.monotonic()
                    await client.send_ping()
                    waits.append(time.monotonic() - started)
                    await anyio.sleep(0.02)
    assert len(waits) > 20
    assert statistics.median(waits) < 0.1
    assert "4499998500000" in finished[0].content[0].text


@ONE_LOOP
@given("mcp-result-shape")
async def test_each_outcome_has_the_advertised_shape(case: Case) -> None:
    with anyio.fail_after(40):
        async with serving([]) as client:
            listed = await client.list_tools()
            schema = next(entry.output_schema for entry in listed.tools if entry.name == "run_code")
            validator = jsonschema_rs.validator_for(schema)

            async def run(code: str) -> tuple[Any, dict[str, Json], str]:
                result = await client.call_tool("run_code", {"code": code, "description": "try"})
                assert validator.is_valid(result.structured_content), result.structured_content
                return result, result.structured_content, result.content[0].text

            result, shape, text = await run("print('hello')\nreturn {'a': 1}")
            assert not result.is_error
            assert_same(shape["result"], {"a": 1})
            assert shape["logs"] == ["hello"]
            assert "hello" in text
            assert '"a": 1' in text

            result, shape, text = await run("x = 1")
            assert not result.is_error
            assert "result" not in shape
            assert shape["logs"] == []
            assert text.strip()

            result, shape, text = await run("return None")
            assert shape["result"] is None

            result, shape, text = await run("print('early')\n1 / 0")
            assert result.is_error
            assert "result" not in shape
            assert shape["logs"] == ["early"]
            assert shape["error"]["kind"] == "exception"
            assert shape["error"]["type"] == "ZeroDivisionError"
            assert shape["error"]["line"] == 2
            assert "division by zero" in shape["error"]["message"]
            assert "ZeroDivisionError" in text

            result, shape, text = await run("x = = 3")
            assert result.is_error
            assert shape["error"]["kind"] == "syntax"


@OTHER_LOOP
@given("mcp-run-code-args")
async def test_wrong_arguments_of_run_code_are_named(case: Case) -> None:
    with anyio.fail_after(40):
        async with serving([]) as client:
            listed = await client.list_tools()
            entry = next(entry for entry in listed.tools if entry.name == "run_code")
            required = entry.input_schema["required"]
            assert "code" in required
            for name in required:
                assert name in entry.description
            for arguments, word in (
                ({"description": "no code"}, "code"),
                ({"code": 7, "description": "a number"}, "code"),
                ({"code": "return 1", "descripton": "misspelled"}, "descripton"),
                ({"code": "return 1", "description": "x", "langage": "py"}, "langage"),
            ):
                try:
                    result = await client.call_tool("run_code", arguments)
                except Exception as error:
                    pytest.fail(f"no error result but {error!r}")
                assert result.is_error
                assert word in result.content[0].text
            fine = await client.call_tool("run_code", dict.fromkeys(required, "return 5"))
            assert not fine.is_error
            assert "5" in fine.content[0].text


@ONE_LOOP
@given("mcp-timeouts-and-progress")
async def test_progress_keeps_a_long_run_alive(case: Case) -> None:
    beats: list[float] = []
    with anyio.fail_after(40):
        async with serving([]) as client:
            with anyio.CancelScope() as patience:

                async def beat(progress: float, total: float | None, message: str | None) -> None:
                    beats.append(progress)
                    patience.deadline = anyio.current_time() + 1.0

                # The server's first child is ready before the clock starts.
                await client.call_tool("run_code", {"code": "return 0", "description": "warm"})
                patience.deadline = anyio.current_time() + 1.0
                result = await client.call_tool(
                    "run_code", {"code": case.text, "description": "long"}, progress_callback=beat
                )
            assert not patience.cancelled_caught, beats
            assert "long" in result.content[0].text
            assert len(beats) >= 2
            assert beats == sorted(set(beats))

            # A client that gives up stops the run: the next one starts at once.
            with anyio.move_on_after(0.5) as given_up:
                await client.call_tool(
                    "run_code", {"code": "import time\nwhile True: time.sleep(0.01)", "description": "x"}
                )
            assert given_up.cancelled_caught
            started = time.monotonic()
            assert not (await client.call_tool("run_code", {"code": "return 1", "description": "next"})).is_error
            assert time.monotonic() - started < 5
