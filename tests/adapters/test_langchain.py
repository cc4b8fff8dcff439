"""LangChain: a chat model's tool call answered by the tool itself, as its agents do; and its tools in a registry."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import ToolException, tool

from codemode import CodeMode, Registry
from codemode.adapters import from_langchain, to_langchain
from tests.adapters.conftest import RUN, Asked


@pytest.fixture
def anyio_backend() -> str:
    """LangChain runs on asyncio."""
    return "asyncio"


def call(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"name": "run_code", "args": arguments, "id": "c1", "type": "tool_call"}


async def test_a_models_tool_call_becomes_a_tool_message(code_mode: CodeMode) -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("", tool_calls=[call(RUN)]), AIMessage("It is 730.")]))
    (run_code,) = to_langchain(code_mode)
    wanted = await model.ainvoke("What do tea and cake cost?")
    answer = await run_code.ainvoke(wanted.tool_calls[0])
    assert isinstance(answer, ToolMessage)
    assert (answer.content, answer.tool_call_id, answer.status) == ("730", "c1", "success")
    assert (await model.ainvoke([wanted, answer])).content == "It is 730."


async def test_a_failed_program_is_a_message_in_error(code_mode: CodeMode) -> None:
    (run_code,) = to_langchain(code_mode)
    answer = await run_code.ainvoke(call({"code": "return 1 / 0", "description": "divide"}))
    assert answer.status == "error"
    assert "ZeroDivisionError" in answer.content


async def test_their_tools_can_be_called_from_programs_and_asked_about() -> None:
    @tool
    async def square(n: int) -> int:
        """The square of a number."""
        if n < 0:
            raise ToolException("no negative numbers")
        return n * n

    asked = Asked("allowed-once")
    registry = Registry(approver=asked)
    from_langchain(registry, [square], namespace="maths", ask=["square"])
    async with CodeMode(registry) as cm:
        result = await cm.run(
            "a = await tools.maths.square(n=7)\n"
            "try:\n    await tools.maths.square(n=-1)\nexcept ToolCallError as error:\n    return [a, error.message]"
        )
    assert result.value == [49, "no negative numbers"]
    assert asked.names == ["maths.square", "maths.square"]


def test_a_name_to_ask_about_that_is_not_there_is_an_error() -> None:
    @tool
    def one() -> int:
        """One."""
        return 1

    registry = Registry()
    with pytest.raises(ValueError, match="two"):
        from_langchain(registry, [one], ask=["two"])
    assert registry.tools() == []
