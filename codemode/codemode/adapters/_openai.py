"""The OpenAI SDK: tool definitions, and the answers to the calls of a response.

The SDK runs no tools and has no loop, so this needs nothing of it: definitions and answers are plain dicts in the
shapes of the Responses API or of Chat Completions. With `form="custom"`, `run_code` is a custom tool: the model writes
the program as free text, with no JSON string around it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from codemode._code_mode import CodeMode
from codemode.adapters._presented import Presented, blocks_of, data_url, is_image, presented, text_of_block
from codemode_registry import RUN_CODE, Scope, ToolRequest, ToolResult

_CUSTOM_DESCRIPTION = "the program of a custom tool call"


class OpenAITools:
    """What the mode presents to a model of OpenAI's.

    Attributes:
        tools: the definitions, for the request's `tools`.
    """

    def __init__(
        self,
        code_mode: CodeMode,
        scope: Scope | None,
        form: Literal["function", "custom"],
        api: Literal["responses", "chat"],
    ) -> None:
        self._code_mode = code_mode
        self._scope = scope
        self._form = form
        self._api = api
        self.tools: list[dict[str, Any]] = [self._definition(tool) for tool in presented(code_mode, scope)]

    async def answer(self, calls: Iterable[Any]) -> list[dict[str, Any]]:
        """Answer the tool calls of one response, as one batch, in their order.

        Args:
            calls: the response's `output` (Responses) or the message's `tool_calls` (Chat), as SDK objects or dicts;
                items that are no tool call are passed over.

        Returns:
            Input items, or messages, for the next request. Arguments that are not JSON are answered with an error.
        """
        given = [_Call.read(call) for call in calls]
        wanted = [call for call in given if call is not None]
        # What cannot be read as arguments still passes the pipeline, which refuses it with words for the model.
        requests = [ToolRequest(call.name, call.arguments, call_id=call.call_id) for call in wanted]
        results = await self._code_mode.call_batch(requests, scope=self._scope)
        answers: list[dict[str, Any]] = []
        for call, result in zip(wanted, results, strict=True):
            answers += self._answer(call, result)
        return answers

    def _definition(self, tool: Presented) -> dict[str, Any]:
        if tool.name == RUN_CODE and self._form == "custom":
            custom = {"name": tool.name, "description": tool.description, "format": {"type": "text"}}
            return {"type": "custom", **custom} if self._api == "responses" else {"type": "custom", "custom": custom}
        # Strict mode accepts only a part of JSON Schema and would refuse most tools; the pipeline validates.
        function = {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema,
            "strict": False,
        }
        return (
            {"type": "function", **function} if self._api == "responses" else {"type": "function", "function": function}
        )

    def _answer(self, call: _Call, result: ToolResult) -> list[dict[str, Any]]:
        blocks = blocks_of(result)
        text = "\n".join(text_of_block(block) for block in blocks if not is_image(block))
        images = [data_url(block) for block in blocks if is_image(block)]
        if self._api == "chat":
            answers: list[dict[str, Any]] = [{"role": "tool", "tool_call_id": call.call_id, "content": text}]
            if images:
                parts = [{"type": "image_url", "image_url": {"url": url}} for url in images]
                answers.append({"role": "user", "content": parts})
            return answers
        kind = "custom_tool_call_output" if call.custom else "function_call_output"
        answers = [{"type": kind, "call_id": call.call_id, "output": text}]
        if images:
            parts = [{"type": "input_image", "image_url": url, "detail": "auto"} for url in images]
            answers.append({"role": "user", "content": parts})
        return answers


def to_openai(
    code_mode: CodeMode,
    *,
    scope: Scope | None = None,
    form: Literal["function", "custom"] = "function",
    api: Literal["responses", "chat"] = "responses",
) -> OpenAITools:
    """What the mode presents, for OpenAI's Responses API or Chat Completions.

    Args:
        code_mode: an open code mode.
        scope: whose view; the code mode's own where None.
        form: `custom` makes `run_code` a tool whose input is the program itself.
        api: whose shapes definitions and answers have.

    Returns:
        `.tools` for the request and `await .answer(response.output)` for what comes back.
    """
    return OpenAITools(code_mode, scope, form, api)


class _Call:
    """One tool call of a response, whichever API and form it came in."""

    __slots__ = ("arguments", "call_id", "custom", "name")

    def __init__(self, call_id: str, name: str, arguments: Any, custom: bool) -> None:
        self.call_id = call_id
        self.name = name
        self.arguments = arguments
        self.custom = custom

    @classmethod
    def read(cls, item: Any) -> _Call | None:
        data = cast("Mapping[str, Any]", item if isinstance(item, Mapping) else item.model_dump())
        kind = data.get("type")
        if kind in ("function_call", "custom_tool_call"):
            custom = kind == "custom_tool_call"
            return cls(data["call_id"], data["name"], _arguments(data, custom), custom)
        if kind in ("function", "custom") and "id" in data:
            custom = kind == "custom"
            inner = data[kind]
            return cls(data["id"], inner["name"], _arguments(inner, custom), custom)
        return None


def _arguments(data: Mapping[str, Any], custom: bool) -> Any:
    if custom:
        return {"code": data["input"], "description": _CUSTOM_DESCRIPTION}
    try:
        return json.loads(data["arguments"] or "{}")
    except ValueError:
        return data["arguments"]
