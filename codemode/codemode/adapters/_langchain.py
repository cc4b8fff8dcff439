"""LangChain: structured tools for its agents, and its tools in a registry."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from codemode._code_mode import CodeMode
from codemode.adapters._presented import Presented, blocks_of, data_url, is_image, presented, text_of, text_of_block
from codemode.adapters._taken import Taken, canonical, take
from codemode_registry import JsonValue, Registration, Registry, Scope, Tool, ToolContext, ToolError


def to_langchain(code_mode: CodeMode, *, scope: Scope | None = None) -> list[BaseTool]:
    """What the mode presents, as structured tools (async: `ainvoke`).

    Args:
        code_mode: an open code mode.
        scope: whose view; the code mode's own where None.

    Returns:
        Tools for `model.bind_tools(...)` or an agent. A call that fails is a tool message with status `error`.
    """
    return [_presented(tool) for tool in presented(code_mode, scope)]


def from_langchain(
    layer: Registry | Scope,
    tools: Iterable[BaseTool],
    *,
    namespace: str | None = None,
    ask: Collection[str] = (),
) -> Registration:
    """Register tools of LangChain. It has no approval mark on a tool: name those to ask about in `ask`.

    Args:
        layer: the registry or scope that is to have them.
        tools: the tools.
        namespace: put them under it.
        ask: names of tools whose every call is asked about.

    Returns:
        The registration of all of them.
    """
    return take(layer, [Taken(_taken(tool)) for tool in tools], namespace=namespace, ask=ask)


def _presented(tool: Presented) -> StructuredTool:
    async def call(**arguments: Any) -> str | list[dict[str, Any]]:
        result = await tool.call(arguments)
        if result.is_error:
            raise ToolException(text_of(result))
        blocks = blocks_of(result)
        if not any(is_image(block) for block in blocks):
            return "\n".join(text_of_block(block) for block in blocks)
        return [
            {"type": "image_url", "image_url": {"url": data_url(block)}}
            if is_image(block)
            else {"type": "text", "text": text_of_block(block)}
            for block in blocks
        ]

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.input_schema,
        coroutine=call,
        handle_tool_error=True,
    )


def _taken(tool: BaseTool) -> Tool:
    schema: Any = tool.tool_call_schema
    parameters = cast("dict[str, Any]", schema if isinstance(schema, dict) else schema.model_json_schema())

    async def execute(arguments: Mapping[str, Any], ctx: ToolContext) -> JsonValue:
        try:
            return canonical(await tool.ainvoke(dict(arguments)))
        except ToolException as error:
            raise ToolError(str(error)) from error

    return Tool(tool.name, tool.description, execute, parameters=parameters)
