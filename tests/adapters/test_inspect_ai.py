"""Inspect AI: its evaluation loop makes a turn with run_code over its mock model; and its tools in a registry."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log_async
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import Tool, ToolError, tool

from codemode import CodeMode, Registry
from codemode.adapters import from_inspect_ai, to_inspect_ai
from tests.adapters.conftest import RUN, Asked

# Inspect's own use of its libraries is not ours to mend: neither a deprecation inside it nor a stream that it leaves
# open may fail a test of ours.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Unclosed <MemoryObjectReceiveStream:ResourceWarning"),
]


@pytest.fixture(autouse=True)
def what_inspect_leaves_is_collected_here() -> Iterator[None]:
    """Not in whatever test comes next."""
    yield
    gc.collect()


@pytest.fixture
def anyio_backend() -> str:
    """Inspect's evaluations run on asyncio here."""
    return "asyncio"


async def test_an_evaluation_makes_a_turn_with_run_code(code_mode: CodeMode, tmp_path: Path) -> None:
    outputs = [
        ModelOutput.for_tool_call("mockllm/model", "run_code", RUN),
        ModelOutput.from_content("mockllm/model", "It is 730."),
    ]
    for output in outputs:
        output.usage = ModelUsage()  # else the mock model would load a tokenizer, from the network
    task = Task(
        dataset=[Sample(input="What do tea and cake cost?")],
        solver=[use_tools(*to_inspect_ai(code_mode)), generate()],
    )
    (log,) = await eval_async(task, model=get_model("mockllm/model", custom_outputs=outputs), log_dir=str(tmp_path))
    assert log.status == "success", log.error and log.error.message
    # Touching this log's own samples would read the file by a nested loop, and patch asyncio for the whole process.
    log = await read_eval_log_async(log.location)
    assert log.samples is not None
    messages = log.samples[0].messages
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[2].text == "730"
    assert messages[3].text == "It is 730."


@tool
def doubler() -> Tool:
    async def execute(n: int) -> int:
        """Twice a number.

        Args:
            n: the number
        """
        if n > 10:
            raise ToolError("too large")
        return 2 * n

    return execute


async def test_their_tools_can_be_called_from_programs_and_asked_about() -> None:
    asked = Asked("allowed-once")
    registry = Registry(approver=asked)
    from_inspect_ai(registry, [doubler()], ask=["doubler"])
    async with CodeMode(registry) as cm:
        result = await cm.run(
            "a = await tools.doubler(n=4)\n"
            "try:\n    await tools.doubler(n=40)\nexcept ToolCallError as error:\n    return [a, error.message]"
        )
    assert result.value == [8, "too large"]
    assert asked.names == ["doubler", "doubler"]
