"""The OpenAI SDK: definitions it accepts, and answers to what it parsed, in both APIs and both forms."""

from __future__ import annotations

import json
from typing import Any, Literal

import httpx2
import openai
import pytest

from codemode import CodeMode
from codemode.adapters import to_openai
from tests.adapters.conftest import PROGRAM, RUN


class Script:
    """A server that answers each request with the next body, and keeps what it was sent."""

    def __init__(self, *bodies: dict[str, Any]) -> None:
        self.bodies = list(bodies)
        self.requests: list[dict[str, Any]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(request.content))
        return httpx2.Response(200, json=self.bodies.pop(0))

    def client(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(api_key="none", http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(self)))


def response(*output: dict[str, Any]) -> dict[str, Any]:
    same = {"id": "r", "object": "response", "created_at": 0, "model": "scripted", "parallel_tool_calls": True}
    return {**same, "tool_choice": "auto", "tools": [], "output": list(output)}


def said(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}


CALLS: dict[str, dict[str, Any]] = {
    "function": {"type": "function_call", "id": "f", "call_id": "c1", "name": "run_code", "arguments": json.dumps(RUN)},
    "custom": {"type": "custom_tool_call", "id": "f", "call_id": "c1", "name": "run_code", "input": PROGRAM},
}


@pytest.mark.parametrize("form", ["function", "custom"])
async def test_a_turn_over_the_responses_api(form: Literal["function", "custom"], code_mode: CodeMode) -> None:
    script = Script(response(CALLS[form]), response(said("It is 730.")))
    tools = to_openai(code_mode, form=form)
    async with script.client() as client:
        first: Any = await client.responses.create(model="scripted", input="How much?", tools=tools.tools)
        answers = await tools.answer(first.output)
        final = await client.responses.create(model="scripted", input=answers, tools=tools.tools)
    assert final.output_text == "It is 730."
    assert script.requests[0]["tools"][0]["type"] == form
    kind = {"function": "function_call_output", "custom": "custom_tool_call_output"}[form]
    assert script.requests[1]["input"] == [{"type": kind, "call_id": "c1", "output": "730"}]


async def test_a_turn_over_chat_completions(code_mode: CodeMode) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "run_code", "arguments": json.dumps(RUN)}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "scripted"}
    script = Script({**body, "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]})
    tools = to_openai(code_mode, api="chat")
    async with script.client() as client:
        completion = await client.chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": "How much?"}], tools=tools.tools
        )
    answers = await tools.answer(completion.choices[0].message.tool_calls or [])
    assert answers == [{"role": "tool", "tool_call_id": "c1", "content": "730"}]
    assert script.requests[0]["tools"][0]["function"]["name"] == "run_code"


async def test_arguments_that_are_not_json_are_answered_and_not_raised(code_mode: CodeMode) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "run_code", "arguments": "{code: return 1"}
    (answer,) = await to_openai(code_mode).answer([said("thinking"), call])
    assert answer["call_id"] == "c1"
    assert "run_code" in answer["output"]
    assert answer["output"].startswith("Error")
