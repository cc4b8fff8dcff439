"""The Anthropic SDK: its own tool runner makes a whole turn with run_code, over a scripted transport."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import beta_async_tool
from anthropic.lib.tools import ToolError

from codemode import CodeMode, Registry, run_sync
from codemode.adapters import from_anthropic, to_anthropic
from tests.adapters.conftest import RUN, Asked


class Script:
    """A server that answers each request with the next message, and keeps what it was sent."""

    def __init__(self, *contents: list[dict[str, Any]]) -> None:
        self.contents = list(contents)
        self.requests: list[dict[str, Any]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(request.content))
        content = self.contents.pop(0)
        stop = "tool_use" if content[0]["type"] == "tool_use" else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "scripted", "usage": usage}
        return httpx2.Response(200, json={**message, "content": content, "stop_reason": stop, "stop_sequence": None})

    def client(self) -> anthropic.AsyncAnthropic:
        return anthropic.AsyncAnthropic(
            api_key="none", http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(self))
        )


def use(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": "use_1", "name": name, "input": arguments}


async def test_the_sdks_own_runner_makes_a_turn_with_run_code(code_mode: CodeMode) -> None:
    script = Script([use("run_code", RUN)], [{"type": "text", "text": "It is 730."}])
    async with script.client() as client:
        runner = client.beta.messages.tool_runner(
            model="scripted",
            max_tokens=100,
            tools=to_anthropic(code_mode),
            messages=[{"role": "user", "content": "What do tea and cake cost?"}],
        )
        final = await runner.until_done()
    assert final.content[0].text == "It is 730."
    first, second = script.requests
    assert [tool["name"] for tool in first["tools"]] == ["run_code"]
    (answer,) = second["messages"][-1]["content"]
    assert answer["tool_use_id"] == "use_1"
    assert answer["content"] == [{"type": "text", "text": "730"}]


async def test_a_failed_call_is_an_answer_in_error(code_mode: CodeMode) -> None:
    (tool,) = to_anthropic(code_mode)
    with pytest.raises(ToolError) as caught:
        await tool.call({"code": "return 1 / 0", "description": "divide"})
    assert "ZeroDivisionError" in str(caught.value.content)


async def test_their_tools_can_be_called_from_programs_and_are_asked_about_where_named() -> None:
    @beta_async_tool
    async def greet(name: str) -> str:
        """Greet somebody.

        Args:
            name: whom
        """
        if not name:
            raise ToolError("nobody to greet")
        return f"hello {name}"

    asked = Asked("allowed-once")
    registry = Registry(approver=asked)
    with from_anthropic(registry, [greet], ask=["greet"]):
        done = await registry.call("greet", {"name": "you"})
        failed = await registry.call("greet", {"name": ""})
    assert (done.value, failed.error.message) == ("hello you", "nobody to greet")
    assert asked.names == ["greet", "greet"]
    assert registry.tools() == []


def test_a_synchronous_caller_needs_no_loop() -> None:
    @beta_async_tool
    async def one() -> str:
        """One."""
        return "1"

    registry = Registry()
    from_anthropic(registry, [one], namespace="theirs")
    assert run_sync(registry, "return await tools.theirs.one()").value == "1"
