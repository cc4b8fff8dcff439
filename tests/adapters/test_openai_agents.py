"""The OpenAI Agents SDK: its Runner makes a turn with run_code, and its tools keep their approval mark."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from codemode import CodeMode, Registry
from codemode.adapters import from_openai_agents, to_openai_agents
from tests.adapters.conftest import RUN, Asked


@pytest.fixture
def anyio_backend() -> str:
    """The Agents SDK runs on asyncio."""
    return "asyncio"


class ScriptedModel(Model):
    """Asks for run_code once, then says what came back."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.arguments = arguments
        self.tools: list[str] = []

    async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **options: Any) -> ModelResponse:
        self.tools = [tool.name for tool in (rest[1] if len(rest) > 1 else options["tools"])]
        outputs = [item["output"] for item in input if isinstance(item, dict) and "output" in item]
        item: Any
        if outputs:
            text = ResponseOutputText(type="output_text", text=f"It is {outputs[0]}.", annotations=[])
            item = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        else:
            item = ResponseFunctionToolCall(
                type="function_call", call_id="c1", name="run_code", arguments=json.dumps(self.arguments)
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("the tests do not stream")


async def run(code_mode: CodeMode, arguments: dict[str, Any]) -> str:
    agent = Agent(name="shop", model=ScriptedModel(arguments), tools=[*to_openai_agents(code_mode)])
    result = await Runner.run(agent, "What do tea and cake cost?", run_config=RunConfig(tracing_disabled=True))
    return str(result.final_output)


async def test_the_sdks_runner_makes_a_turn_with_run_code(code_mode: CodeMode) -> None:
    assert await run(code_mode, RUN) == "It is 730."


async def test_a_failed_program_is_an_answer_and_the_runner_goes_on(code_mode: CodeMode) -> None:
    assert "ZeroDivisionError" in await run(code_mode, {"code": "return 1 / 0", "description": "divide"})


async def test_their_tools_are_asked_about_by_their_own_mark() -> None:
    async def large(ctx: Any, arguments: dict[str, Any], call_id: str) -> bool:
        return arguments["euros"] > 50

    @function_tool(needs_approval=large)
    async def refund(euros: int) -> str:
        """Pay an order back."""
        return f"refunded {euros}"

    @function_tool
    async def look(order: int) -> str:
        """Look an order up."""
        return f"order {order}"

    asked = Asked("rejected")
    registry = Registry(approver=asked)
    from_openai_agents(registry, [refund, look])
    async with CodeMode(registry) as cm:
        result = await cm.run(
            "seen = [await tools.look(order=1), await tools.refund(euros=20)]\n"
            "try:\n    await tools.refund(euros=80)\nexcept ToolCallError:\n    seen.append('refused')\nreturn seen"
        )
    assert result.value == ["order 1", "refunded 20", "refused"]
    assert asked.names == ["refund"]
