"""Pydantic AI: an agent's own loop makes a turn with run_code, and its tools keep their approval mark."""

from __future__ import annotations

import pytest
from pydantic_ai import Agent, FunctionToolset, ModelRetry, RunContext
from pydantic_ai import Tool as PydanticTool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from codemode import CodeMode, Registry
from codemode.adapters import from_pydantic_ai, to_pydantic_ai
from tests.adapters.conftest import RUN, Asked


@pytest.fixture
def anyio_backend() -> str:
    """Pydantic AI's agents run on asyncio."""
    return "asyncio"


def returned(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


async def test_an_agents_own_loop_makes_a_turn_with_run_code(code_mode: CodeMode) -> None:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if answers := returned(messages):
            return ModelResponse([TextPart(f"It is {answers[0].content}.")])
        assert [tool.name for tool in info.function_tools] == ["run_code"]
        return ModelResponse([ToolCallPart("run_code", RUN)])

    agent = Agent(FunctionModel(model), toolsets=[to_pydantic_ai(code_mode)])
    assert (await agent.run("What do tea and cake cost?")).output == "It is 730."


async def test_a_failed_program_is_a_failed_result_and_the_agent_goes_on(code_mode: CodeMode) -> None:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if answers := returned(messages):
            return ModelResponse([TextPart(answers[0].model_response_str())])
        return ModelResponse([ToolCallPart("run_code", {"code": "return 1 / 0", "description": "divide"})])

    agent = Agent(FunctionModel(model), toolsets=[to_pydantic_ai(code_mode)])
    assert "ZeroDivisionError" in (await agent.run("Divide.")).output


async def test_their_tools_keep_schema_deps_and_approval() -> None:
    def erase(ctx: RunContext[dict[str, str]], key: str) -> str:
        """Erase an entry.

        Args:
            key: which one
        """
        if key not in ctx.deps:
            raise ModelRetry(f"there is no {key}")
        return f"erased {ctx.deps[key]}"

    def count(words: list[str]) -> int:
        """Count words."""
        return len(words)

    toolset = FunctionToolset([PydanticTool(erase, requires_approval=True), PydanticTool(count)])
    asked = Asked("allowed-once")
    registry = Registry(approver=asked)
    from_pydantic_ai(registry, toolset, deps={"a": "apple"})
    async with CodeMode(registry) as cm:
        result = await cm.run(
            "n = await tools.count(words=['x', 'y'])\n"
            "done = await tools.erase(key='a')\n"
            "try:\n    await tools.erase(key='b')\nexcept ToolCallError as error:\n    return [n, done, error.message]"
        )
    assert result.value == [2, "erased apple", "there is no b"]
    assert asked.names == ["erase", "erase"]


async def test_a_refused_approval_keeps_their_tool_from_running() -> None:
    ran: list[str] = []

    def erase(key: str) -> None:
        """Erase an entry."""
        ran.append(key)

    registry = Registry(approver=Asked("rejected"))
    from_pydantic_ai(registry, [PydanticTool(erase, requires_approval=True)])
    result = await registry.call("erase", {"key": "a"})
    assert (result.error.code, ran) == ("APPROVAL_REJECTED", [])


async def test_their_schema_is_what_the_model_sees() -> None:
    def count(words: list[str]) -> int:
        """Count words."""
        return len(words)

    registry = Registry()
    from_pydantic_ai(registry, [PydanticTool(count)])
    (schema,) = registry.schemas()
    assert schema["input_schema"]["properties"]["words"] == {"items": {"type": "string"}, "type": "array"}
    assert (await registry.call("count", {"words": "xy"})).error.code == "INVALID_ARGS"
