"""The OpenAI Agents SDK: function tools for its agents, and its tools in a registry."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from agents import FunctionTool, RunContextWrapper, ToolOutputImage, ToolOutputText
from agents.tool_context import ToolContext as AgentsToolContext

from codemode._code_mode import CodeMode
from codemode.adapters._presented import Presented, blocks_of, data_url, is_image, presented, text_of_block
from codemode.adapters._taken import Asks, Taken, canonical, take
from codemode_registry import JsonValue, Registration, Registry, Scope, Tool, ToolContext


def to_openai_agents(code_mode: CodeMode, *, scope: Scope | None = None) -> list[FunctionTool]:
    """What the mode presents, as function tools for `Agent(tools=...)`.

    Args:
        code_mode: an open code mode.
        scope: whose view; the code mode's own where None.

    Returns:
        The tools. A call that fails is an answer that says so, never an end of the agent's run.
    """
    return [_presented(tool) for tool in presented(code_mode, scope)]


def from_openai_agents(
    layer: Registry | Scope,
    tools: Iterable[FunctionTool],
    *,
    context: Any = None,
    namespace: str | None = None,
    ask: Collection[str] = (),
) -> Registration:
    """Register function tools of the Agents SDK; what `needs_approval` marks (or decides, by call) is asked about.

    Args:
        layer: the registry or scope that is to have them.
        tools: the tools.
        context: what they find as `ctx.context`.
        namespace: put them under it.
        ask: names that are asked about without a mark.

    Returns:
        The registration of all of them.
    """
    return take(
        layer,
        [Taken(_taken(tool, context), asks=_asks(tool.needs_approval, context)) for tool in tools],
        namespace=namespace,
        ask=ask,
    )


def _presented(tool: Presented) -> FunctionTool:
    async def invoke(ctx: AgentsToolContext[Any], text: str) -> Any:
        arguments: Any
        try:
            arguments = json.loads(text or "{}")
        except ValueError:
            arguments = text  # the pipeline refuses it, with words for the model
        result = await tool.call(arguments, call_id=ctx.tool_call_id)
        blocks = blocks_of(result)
        if not any(is_image(block) for block in blocks):
            return "\n".join(text_of_block(block) for block in blocks)
        return [
            ToolOutputImage(image_url=data_url(block)) if is_image(block) else ToolOutputText(text=text_of_block(block))
            for block in blocks
        ]

    # Strict mode accepts only a part of JSON Schema; the pipeline validates.
    return FunctionTool(tool.name, tool.description, tool.input_schema, invoke, strict_json_schema=False)


def _asks(mark: bool | Callable[..., Any], context: Any) -> Asks:
    if isinstance(mark, bool):
        return mark

    async def asks(arguments: Mapping[str, Any], call_id: str) -> bool:
        return bool(await mark(RunContextWrapper(context), dict(arguments), call_id))

    return asks


def _taken(tool: FunctionTool, context: Any) -> Tool:
    async def execute(arguments: Mapping[str, Any], ctx: ToolContext) -> JsonValue:
        text = json.dumps(arguments)
        theirs = AgentsToolContext(context, tool_name=tool.name, tool_call_id=ctx.call.call_id, tool_arguments=text)
        return canonical(await tool.on_invoke_tool(theirs, text))

    return Tool(
        tool.name,
        tool.description,
        execute,
        parameters=dict(tool.params_json_schema),
        timeout=tool.timeout_seconds,
    )
