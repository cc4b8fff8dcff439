"""The gateway in both eras of the protocol: what it offers, what it answers, whom it asks, when it stops."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import jsonschema_rs
import pytest
from mcp import Client, MCPError
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    ToolListChangedNotification,
)
from pydantic import TypeAdapter

from codemode import CodeMode
from codemode.mcp import McpUpstreams, to_mcp
from codemode.mcp._menu import RUN_OUTPUT_SCHEMA, STUBS_IN_DESCRIPTION_CHARS
from codemode.testing import FakeRuntime
from codemode_bridge import BindingError, CodeRunRequest, CodeRunResult, RunError
from codemode_registry import Allow, Ask, Decision, MemoryEventLog, Registry, ToolCall

PATIENCE = 20.0
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
Program = Callable[[CodeRunRequest], Awaitable[CodeRunResult]]


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """The client's era: the handshake, or whatever is newest."""
    return str(request.param)


def tools() -> Registry:
    registry = Registry(events=MemoryEventLog())

    @registry.tool(namespace="math")
    async def add(a: int, b: int) -> int:
        """Add two numbers.

        Args:
            a: the first one
            b: the second one
        """
        return a + b

    @registry.tool
    async def erase(name: str) -> str:
        """Erase a file for good."""
        return f"erased {name}"

    @registry.tool
    async def fail() -> str:
        """Fail with a place of this machine in the words."""
        raise OSError(f"cannot open {Path.home()}/private.txt with {jsonschema_rs.__file__}")

    return registry


def asking() -> Registry:
    registry = tools()

    @registry.pre_execute
    async def ask_about_erase(call: ToolCall, next: Callable[[], Awaitable[Decision]]) -> Decision:
        return Ask("it cannot be undone") if call.name == "erase" else await next()

    assert Allow is not Ask
    return registry


async def call(request: CodeRunRequest, name: str, /, **arguments: Any) -> Any:
    binding = request.bindings[name]
    return await binding.call(arguments)


async def program(request: CodeRunRequest) -> CodeRunResult:
    """The stand-in for programs: does what its text names."""
    match request.program.split():
        case ["add", a, b]:
            return CodeRunResult(
                value=await call(request, "math.add", a=int(a), b=int(b)), has_value=True, logs=("on it",)
            )
        case ["nothing"]:
            return CodeRunResult()
        case ["null"]:
            return CodeRunResult(value=None, has_value=True)
        case ["erase", *names]:
            try:
                done = [await call(request, "erase", name=name) for name in names]
            except BindingError as error:
                return CodeRunResult(error=RunError("exception", str(error), type="ToolCallError", line=1))
            return CodeRunResult(value=done, has_value=True)
        case ["call", name]:
            try:
                return CodeRunResult(value=await call(request, name), has_value=True)
            except BindingError as error:
                return CodeRunResult(error=RunError("exception", str(error), type="ToolCallError", line=1))
        case ["wait"]:
            await anyio.sleep_forever()
        case ["sleep", seconds]:
            await anyio.sleep(float(seconds))
            return CodeRunResult(value="long", has_value=True)
        case ["break"]:
            raise RuntimeError(f"a fault with {Path.home()}/secrets in it")
        case _:
            pass
    return CodeRunResult(error=RunError("exception", "no such program", type="NameError", line=1))


@asynccontextmanager
async def gateway(registry: Registry, *, upstreams: McpUpstreams | None = None, **options: Any) -> AsyncIterator[Any]:
    with anyio.fail_after(60.0):
        async with CodeMode(registry, runtime=FakeRuntime(program), **options) as code_mode:
            yield to_mcp(code_mode, upstreams=upstreams)


async def run(client: Client, code: str, **options: Any) -> CallToolResult:
    return await client.call_tool("run_code", {"code": code, "description": "a test"}, **options)


def text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def answering(*actions: str, seen: list[str]) -> Callable[..., Awaitable[ElicitResult]]:
    answers = iter(actions)

    async def elicit(context: Any, params: ElicitRequestParams) -> ElicitResult:
        seen.append(params.message)
        action: Any = next(answers)
        return ElicitResult(action=action, content={} if action == "accept" else None)

    return elicit


async def test_three_tools_are_offered_with_honest_hints(mode: str) -> None:
    async with gateway(tools()) as server, Client(server, mode=mode) as client:
        offered = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(offered) == ["run_code", "search_tools", "get_tool_docs"]
        hints = offered["run_code"].annotations
        assert hints is not None
        assert (hints.read_only_hint, hints.destructive_hint, hints.open_world_hint) == (False, True, True)
        assert offered["run_code"].output_schema == RUN_OUTPUT_SCHEMA
        assert offered["run_code"].input_schema["required"] == ["code", "description"]
        for name in ("search_tools", "get_tool_docs"):
            assert offered[name].annotations.read_only_hint is True  # type: ignore[union-attr]


async def test_every_outcome_passes_the_advertised_schema(mode: str) -> None:
    validator = jsonschema_rs.validator_for(RUN_OUTPUT_SCHEMA)
    async with gateway(tools()) as server, Client(server, mode=mode) as client:
        results = {code: await run(client, code) for code in ("add 1 2", "nothing", "null", "nonsense")}
        for result in results.values():
            assert validator.is_valid(result.structured_content)
        assert results["add 1 2"].structured_content == {
            "ok": True,
            "result": 3,
            "logs": ["on it"],
            "calls": [{"name": "math.add", "status": "done"}],
        }
        assert "result" not in results["nothing"].structured_content
        assert results["null"].structured_content["result"] is None
        assert [result.is_error for result in results.values()] == [False, False, False, True]
        assert results["nonsense"].structured_content["error"] == {
            "kind": "exception",
            "message": "no such program",
            "type": "NameError",
            "line": 1,
        }
        assert "on it" in text(results["add 1 2"])
        assert "no such program" in text(results["nonsense"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"description": "x"}, "code"),
        ({"code": 7, "description": "x"}, "code"),
        ({"cod": "add 1 2", "description": "x"}, "did you mean 'code'"),
        ({"code": "add 1 2", "description": "x", "language": "python"}, "no parameter 'language'"),
        ({"code": "add 1 2"}, "description"),
        ({"code": "add 1 2", "description": " "}, "description"),
    ],
)
async def test_wrong_arguments_name_the_parameter(mode: str, arguments: dict[str, Any], words: str) -> None:
    validator = jsonschema_rs.validator_for(RUN_OUTPUT_SCHEMA)
    async with gateway(tools()) as server, Client(server, mode=mode) as client:
        result = await client.call_tool("run_code", arguments)
        assert result.is_error
        assert words in text(result)
        assert validator.is_valid(result.structured_content)


async def test_a_long_run_keeps_a_clients_idle_limit_away(mode: str) -> None:
    beats: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        beats.append(done)

    async with gateway(tools()) as server, Client(server, mode=mode) as client:
        result = await run(client, "sleep 1.2", progress_callback=progress)
    assert result.structured_content["result"] == "long"
    assert len(beats) >= 2
    assert beats == sorted(set(beats))


async def test_an_ask_becomes_a_question_to_the_clients_user(mode: str) -> None:
    seen: list[str] = []
    elicit = answering("accept", "accept", seen=seen)
    async with gateway(asking()) as server, Client(server, mode=mode, elicitation_callback=elicit) as client:
        result = await run(client, "erase a.txt b.txt")
    assert result.structured_content["result"] == ["erased a.txt", "erased b.txt"]
    assert len(seen) == 2
    for words in ("erase", "it cannot be undone", "a.txt"):
        assert words in seen[0]


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_no_is_a_denial(mode: str, action: str) -> None:
    elicit = answering(action, seen=[])
    async with gateway(asking()) as server, Client(server, mode=mode, elicitation_callback=elicit) as client:
        result = await run(client, "erase a.txt")
    assert result.is_error
    assert result.structured_content["calls"][0]["status"] == "denied"


async def test_a_client_that_cannot_ask_gets_a_denial(mode: str) -> None:
    async with gateway(asking()) as server, Client(server, mode=mode) as client:
        result = await run(client, "erase a.txt")
    assert result.is_error
    assert "approv" in text(result)


async def test_a_state_that_is_not_known_or_not_ones_own_is_refused() -> None:
    elicit = answering("accept", seen=[])
    adapter: TypeAdapter[Any] = TypeAdapter(CallToolResult | InputRequiredResult)
    async with gateway(asking()) as server, Client(server, mode="auto", elicitation_callback=elicit) as client:

        async def send(code: str, **fields: Any) -> Any:
            arguments = {"code": code, "description": "x"}
            params = CallToolRequestParams(name="run_code", arguments=arguments, **fields)
            return await client.session.send_request(CallToolRequest(params=params), adapter)

        with pytest.raises(MCPError, match="unknown or over"):
            await send("erase a.txt", request_state="guessed", input_responses={})
        asked = await send("erase a.txt")
        assert isinstance(asked, InputRequiredResult)
        with pytest.raises(MCPError, match="unknown or over"):
            await send("erase b.txt", request_state=asked.request_state, input_responses={})
        answers = {key: ElicitResult(action="accept", content={}) for key in asked.input_requests or {}}
        done = await send("erase a.txt", request_state=asked.request_state, input_responses=answers)
        assert done.structured_content["result"] == ["erased a.txt"]
        with pytest.raises(MCPError, match="unknown or over"):
            await send("erase a.txt", request_state=asked.request_state, input_responses=answers)


async def test_cancelling_the_request_stops_the_run(mode: str) -> None:
    registry = tools()
    log = registry.events
    assert isinstance(log, MemoryEventLog)
    async with gateway(registry) as server, Client(server, mode=mode) as client:

        async def started(kind: str) -> bool:
            return any(event.type == kind for event in log.events)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, client, "wait")
            await eventually(lambda: started("code/run-start"))
            tasks.cancel_scope.cancel()
        await eventually(lambda: started("code/run-end"))
        (end,) = [event for event in log.events if event.type == "code/run-end"]
        assert end.data["status"] == "abort"


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    with anyio.fail_after(PATIENCE):
        while not await condition():  # noqa: ASYNC110 (the other side of a connection)
            await anyio.sleep(0.01)


async def test_other_requests_are_answered_while_a_program_runs(mode: str) -> None:
    async with gateway(tools()) as server, Client(server, mode=mode) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(run, client, "wait")
        with anyio.fail_after(PATIENCE):
            assert (await client.list_tools()).tools
            assert (await run(client, "add 2 3")).structured_content["result"] == 5
        tasks.cancel_scope.cancel()


async def test_ten_clients_at_once_get_their_own_answers(mode: str) -> None:
    answers: dict[int, Any] = {}

    async with gateway(tools()) as server:

        async def one(number: int) -> None:
            answers[number] = (await run(clients[number], f"add {number} 0")).structured_content["result"]

        clients: dict[int, Client] = {}
        async with anyio.create_task_group() as holders:
            for number in range(10):
                ready = anyio.Event()
                holders.start_soon(hold, server, mode, number, clients, ready)
                await ready.wait()
            async with anyio.create_task_group() as tasks:
                for number in range(10):
                    tasks.start_soon(one, number)
            holders.cancel_scope.cancel()
    assert answers == {number: number for number in range(10)}


async def hold(server: Any, mode: str, number: int, clients: dict[int, Client], ready: anyio.Event) -> None:
    async with Client(server, mode=mode) as client:
        clients[number] = client
        ready.set()
        await anyio.sleep_forever()


async def test_a_changed_tool_set_is_told_and_stands_in_the_description() -> None:
    registry = tools()
    told = anyio.Event()

    async def on_message(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            told.set()

    async with gateway(registry) as server, Client(server, mode="legacy", message_handler=on_message) as client:
        assert client.server_capabilities.tools.list_changed is True  # type: ignore[union-attr]
        before = (await client.list_tools()).tools[0].description
        registry.tool(later, name="later")
        with anyio.fail_after(PATIENCE):
            await told.wait()
        after = (await client.list_tools()).tools[0].description
        assert "later" not in str(before)
        assert "async def later" in str(after)


async def later() -> int:
    """Comes later."""
    return 1


async def test_a_change_is_told_on_the_stream_of_the_new_era() -> None:
    registry = tools()
    async with gateway(registry) as server, Client(server, mode="auto", cache=None) as client:
        async with client.listen(tools_list_changed=True) as changes:
            registry.tool(later, name="later")
            with anyio.fail_after(PATIENCE):
                await anext(changes)
        assert "async def later" in str((await client.list_tools()).tools[0].description)


async def test_a_large_tool_set_is_named_by_namespaces_and_the_text_keeps() -> None:
    described: list[str] = []
    for order in (1, -1):
        registry = Registry()
        for number in range(120)[::order]:
            registry.tool(later, name=f"tool_{number}", namespace=f"space{number % 3}", description="x" * 300)
        async with gateway(registry) as server, Client(server, mode="auto") as client:
            described.append(str((await client.list_tools()).tools[0].description))
    assert described[0] == described[1]
    assert "tools.space1: 40 tools" in described[0]
    assert "tool_7" not in described[0]
    assert len(described[0]) < STUBS_IN_DESCRIPTION_CHARS


async def test_tools_are_found_and_their_stubs_read(mode: str) -> None:
    async with gateway(tools()) as server, Client(server, mode=mode) as client:
        brief = text(await client.call_tool("search_tools", {"query": "adding numbers"}))
        assert brief.startswith("math.add: ")
        assert "Add two numbers." in brief
        stubs = text(await client.call_tool("search_tools", {"query": "numbers", "detail": "stubs", "limit": 1}))
        assert "async def add(self, a: int, b: int) -> int" in stubs
        docs = text(await client.call_tool("get_tool_docs", {"names": ["erase", "tools.math.add"]}))
        assert "async def erase(self, name: str) -> str" in docs
        assert "the first one" in docs
        nothing = await client.call_tool("search_tools", {"query": "zzzz"})
        assert "No tool fits" in text(nothing)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("search_tools", {}, "query"),
        ("search_tools", {"query": "x", "limit": 0}, "limit"),
        ("search_tools", {"query": "x", "details": "stubs"}, "details"),
        ("get_tool_docs", {"names": []}, "names"),
        ("get_tool_docs", {"names": ["math.ad"]}, "math.add"),
        ("get_tool_docs", {"names": ["add"]}, "math.add"),
        ("math.add", {"a": 1, "b": 2}, "run_code"),
        ("nonsense", {}, "nonsense"),
    ],
)
async def test_a_wrong_question_is_answered_with_what_would_be_right(
    mode: str, tool: str, arguments: dict[str, Any], words: str
) -> None:
    async with gateway(tools()) as server, Client(server, mode=mode) as client:
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        assert words in text(result)


async def test_no_error_shows_a_place_of_this_machine(mode: str) -> None:
    async with gateway(tools()) as server, Client(server, mode=mode) as client:
        for code in ("call fail", "break"):
            result = await run(client, code)
            assert result.is_error
            shown = text(result) + str(result.structured_content)
            assert str(Path.home()) not in shown
            assert str(Path(jsonschema_rs.__file__).parent) not in shown


async def test_images_of_calls_come_with_the_answer(mode: str) -> None:
    registry = tools()

    @registry.tool(name="picture", render=lambda arguments, value: [IMAGE])
    async def picture() -> str:
        """Draw."""
        return "drawn"

    async with gateway(registry) as server, Client(server, mode=mode) as client:
        result = await run(client, "call picture")
    assert [block.type for block in result.content] == ["text", "image"]


async def test_tools_are_listed_beside_run_code_where_the_mode_says_so(mode: str) -> None:
    async with gateway(asking(), mode="both") as server:
        seen: list[str] = []
        elicit = answering("accept", seen=seen)
        async with Client(server, mode=mode, elicitation_callback=elicit) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert {"math.add", "erase", "run_code"} <= set(names)
            assert text(await client.call_tool("math.add", {"a": 1, "b": 2})) == "3"
            assert text(await client.call_tool("erase", {"name": "c"})) == "erased c"
            assert len(seen) == 1


async def test_an_upstreams_question_goes_to_the_client_whose_call_it_is(
    mode: str, odd: Callable[..., dict[str, Any]]
) -> None:
    registry = Registry()
    seen: list[str] = []
    form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    question = {"mode": "form", "message": "Who are you?", "requestedSchema": form}

    async def elicit(context: Any, params: ElicitRequestParams) -> ElicitResult:
        seen.append(params.message)
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def ask(request: CodeRunRequest) -> CodeRunResult:
        return CodeRunResult(value=await call(request, "odd.ask", params=question), has_value=True)

    async with McpUpstreams({"mcpServers": {"odd": odd()}}) as upstreams:
        upstreams.attach(registry)
        async with CodeMode(registry, runtime=FakeRuntime(ask)) as code_mode:
            server = to_mcp(code_mode, upstreams=upstreams)
            async with Client(server, mode=mode, elicitation_callback=elicit) as client:
                result = await run(client, "ask")
            async with Client(server, mode=mode) as silent:
                declined = await run(silent, "ask")
    assert result.structured_content["result"] == {"action": "accept", "content": {"name": "Ada"}}
    assert seen == ["odd: Who are you?"]
    assert declined.structured_content["result"] == {"action": "decline"}
