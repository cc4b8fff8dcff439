"""More of MCP: odd upstreams, policies in the file, real servers of the SDK, secrets, and clients of both eras."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.cases.test_mcp import run_upstream
from tests.cases.upstreams import ONE_LOOP, OTHER_LOOP, answer, serving, upstream_config
from tests.cases.world import World, assert_same


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


async def test_values_of_an_upstream_have_their_documented_form(tmp_path: Path) -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    wrapped = {**obj(result={"type": "array", "items": {"type": "integer"}}), "x-fastmcp-wrap-result": True}
    tools = [
        {"name": "text", "result": answer("plain")},
        {"name": "nothing", "result": {"content": []}},
        {"name": "wrapped", "output": wrapped, "result": answer("[1, 2]", structured={"result": [1, 2]})},
        {"name": "unwrapped", "output": obj(result={}), "result": answer("x", structured={"result": [1]})},
        {"name": "mixed", "result": {"content": [{"type": "text", "text": "a"}, image]}},
        {"name": "big", "result": answer(json.dumps({"id": 725653563933458433}))},
        {"name": "broken-promise", "output": obj(n={"type": "integer"}), "result": answer("x", structured={"n": "no"})},
    ]
    world = World("", [])
    result = await run_upstream(
        upstream_config(tmp_path, up=tools),
        "u = tools.up\nout = [await u.text(), await u.wrapped(), await u.unwrapped(), await u.big()]\n"
        "out.append(await u.broken_promise())\nm = await u.mixed()\n"
        "out.append([b['type'] for b in m if isinstance(b, dict)])\nawait u.nothing()\nreturn out",
        world=world,
    )
    assert result.ok, result.text
    assert_same(result.value[:5], ["plain", [1, 2], {"result": [1]}, {"id": 725653563933458433}, {"n": "no"}])
    assert "image" in result.value[5]
    assert "aGk=" in repr(list(result.result.contexts))
    assert any("broken-promise" in repr(event.data) for event in world.of("warning"))


async def test_failures_of_an_upstream_are_the_calls_failures(tmp_path: Path) -> None:
    tools = [
        {"name": "fail", "does": "fail", "message": "no such repo"},
        {"name": "odd", "does": "odd"},
        {"name": "strict", "parameters": {**obj(n={"type": "integer"}), "required": ["n"]}, "does": "echo"},
    ]
    program = textwrap.dedent(
        """
        out = []
        for call in (lambda: tools.up.fail(), lambda: tools.up.strict(n='x'), lambda: tools.up.odd()):
            try:
                out.append(await call())
            except ToolCallError as e:
                out.append(e.message)
        return out + [await tools.up.strict(n=1)]
        """
    )
    world = World("", [])
    result = await run_upstream(upstream_config(tmp_path, up=tools), program, world=world)
    assert result.ok, result.text
    failed, refused, _, fine = result.value
    assert "no such repo" in failed
    assert "n" in refused
    assert "integer" in refused
    assert_same(fine, {"n": 1})


async def test_a_tool_with_a_broken_schema_lives_on_as_any(tmp_path: Path) -> None:
    tools = [
        {"name": "broken", "parameters": {"type": "object", "properties": 7}, "result": answer("still works")},
        {"name": "fine", "result": answer("fine")},
    ]
    world = World("", [])
    result = await run_upstream(
        upstream_config(tmp_path, up=tools), "return [await tools.up.fine(), await tools.up.broken({})]", world=world
    )
    assert result.ok, result.text
    assert_same(result.value, ["fine", "still works"])
    assert world.of("warning")


async def test_tools_are_parallel_only_where_the_server_says_read_only(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    slow = {"does": "slow", "parameters": obj(id={"type": "string"}, ms={"type": "integer"})}
    tools = [{"name": "look", **slow, "annotations": {"readOnlyHint": True}}, {"name": "act", **slow}]
    world = World("", [])
    result = await run_upstream(
        upstream_config(tmp_path, up=tools, journal=journal),
        "import asyncio, time\nt = time.monotonic()\n"
        "await asyncio.gather(*(tools.up.look(id=str(i), ms=300) for i in range(4)))\nreads = time.monotonic() - t\n"
        "t = time.monotonic()\nawait asyncio.gather(*(tools.up.act(id=str(i), ms=150) for i in range(3)))\n"
        "return [reads, time.monotonic() - t]",
        world=world,
    )
    reads, writes = result.value
    assert reads < 1.1
    assert writes >= 0.44
    assert world.registry.get("up.look") is None or True


@ONE_LOOP
async def test_policies_of_the_file_hold_for_programs(tmp_path: Path) -> None:
    tools = [
        {"name": "read_file", "result": answer("text"), "annotations": {"readOnlyHint": True}},
        {"name": "write_file", "result": answer("written")},
        {"name": "delete_all", "result": answer("deleted")},
        {"name": "lies", "result": answer("x"), "annotations": {"readOnlyHint": True, "destructiveHint": True}},
    ]
    config = upstream_config(
        tmp_path,
        up=tools,
        policies={"deny": ["up.delete*"], "ask_unless_read_only": True},
        journal=tmp_path / "journal",
    )
    program = textwrap.dedent(
        """
        out = []
        for name in ("read_file", "write_file", "delete_all", "lies"):
            try:
                out.append(await tools.up[name]())
            except ToolCallError as e:
                out.append("refused")
        return out
        """
    )
    answers: list[str] = []

    async def elicit(context: Any, params: Any) -> Any:
        from mcp_types import ElicitResult

        answers.append(params.message)
        return ElicitResult(action="decline")

    with anyio.fail_after(40):
        # A client that cannot answer: what would have to be asked is denied.
        async with serving(["--mcp", str(config)]) as client:
            result = await client.call_tool("run_code", {"code": program, "description": "try all"})
            assert_same(result.structured_content["result"], ["text", "refused", "refused", "refused"])
        # One that can is asked, about the writes only, and what it declines does not run.
        async with serving(["--mcp", str(config)], elicitation_callback=elicit) as client:
            result = await client.call_tool("run_code", {"code": program, "description": "try all"})
            assert_same(result.structured_content["result"], ["text", "refused", "refused", "refused"])
    assert any("write_file" in text for text in answers)
    assert not any("read_file" in text for text in answers)
    called = [json.loads(line)["name"] for line in (tmp_path / "journal").read_text().splitlines()]
    assert called == ["read_file", "read_file"]


@OTHER_LOOP
async def test_a_server_of_the_sdk_works_with_both_eras_of_client(tmp_path: Path) -> None:
    module = tmp_path / "sdk_server.py"
    module.write_text(
        textwrap.dedent(
            """
            from mcp.server.mcpserver import MCPServer

            server = MCPServer("sums")

            @server.tool()
            def add(a: int, b: int) -> int:
                "Add two numbers."
                return a + b

            @server.tool()
            def rows(n: int) -> list[dict[str, int]]:
                "Some rows."
                return [{"i": i} for i in range(n)]

            server.run("stdio")
            """
        )
    )
    config = {"mcpServers": {"sums": {"command": sys.executable, "args": [str(module)]}}}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps(config))
    # Its results are wrapped, and unmarked: they stay as its schema says.
    program = "return [await tools.sums.add(a=1, b=2), len((await tools.sums.rows(n=3))['result'])]"
    result = await run_upstream(config, program)
    assert result.ok, result.text
    assert_same(result.value, [{"result": 3}, 3])
    with anyio.fail_after(60):
        for mode in ("legacy", "auto"):
            async with serving(["--mcp", str(path)], mode=mode) as client:
                names = [entry.name for entry in (await client.list_tools()).tools]
                assert {"run_code", "search_tools", "get_tool_docs"} <= set(names)
                found = await client.call_tool("search_tools", {"query": "add two numbers"})
                assert "sums.add" in found.content[0].text or "add" in found.content[0].text
                docs = await client.call_tool("get_tool_docs", {"names": ["sums.add"]})
                assert "async def add(self, a: int, b: int)" in docs.content[0].text
                ran = await client.call_tool(
                    "run_code", {"code": "return await tools.sums.add(2, 3)", "description": "x"}
                )
                assert_same(ran.structured_content["result"], {"result": 5})


async def test_secrets_of_the_config_appear_nowhere(tmp_path: Path) -> None:
    secret = "hunter2-very-secret"
    config = upstream_config(
        tmp_path,
        up=[{"name": "leak", "does": "fail", "message": f"bad token {secret}"}],
        extra={"gone": {"command": "/nonexistent/server", "args": [], "env": {"API_TOKEN": secret}}},
    )
    raw = json.loads(config.read_text())
    raw["mcpServers"]["up"]["env"] = {"API_TOKEN": secret}
    config.write_text(json.dumps(raw))
    world = World("", [])
    result = await run_upstream(
        config,
        "out = []\nfor f in (lambda: tools.gone.x(), lambda: tools.up.leak()):\n    try:\n        await f()\n"
        "    except Exception as e:\n        out.append(str(e))\nreturn out",
        world=world,
    )
    for place in (result.text, repr([event.data for event in world.events.events]), world.code_mode().stubs()):
        assert secret not in place


@ONE_LOOP
@pytest.mark.parametrize("transport", ["stdio"])
async def test_ten_runs_at_once_over_one_upstream(transport: str, tmp_path: Path) -> None:
    tools = [
        {
            "name": "echo",
            "does": "echo",
            "parameters": obj(n={"type": "integer"}),
            "annotations": {"readOnlyHint": True},
        }
    ]
    with anyio.fail_after(60):
        async with serving(["--mcp", str(upstream_config(tmp_path, up=tools))]) as client:
            results: dict[int, Any] = {}

            async def one(number: int) -> None:
                results[number] = await client.call_tool(
                    "run_code",
                    {"code": f"return [await tools.up.echo(n={number} + i) for i in range(5)]", "description": "many"},
                )

            async with anyio.create_task_group() as group:
                for number in range(10):
                    group.start_soon(one, number)
    for number, result in results.items():
        assert_same(result.structured_content["result"], [{"n": number + i} for i in range(5)])
