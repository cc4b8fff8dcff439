"""Inspect AI: tools for its solvers and agents, and its tools in a registry."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from inspect_ai.tool import ContentImage, ContentText, ToolDef, ToolParams
from inspect_ai.tool import Tool as InspectTool
from inspect_ai.tool import ToolError as InspectToolError

from codemode._code_mode import CodeMode
from codemode.adapters._presented import Presented, blocks_of, data_url, is_image, presented, text_of, text_of_block
from codemode.adapters._taken import Taken, canonical, take
from codemode_registry import RUN_CODE, JsonValue, Registration, Registry, Scope, Tool, ToolContext, ToolError


def to_inspect_ai(code_mode: CodeMode, *, scope: Scope | None = None) -> list[InspectTool]:
    """What the mode presents, as tools for `use_tools(...)` or an agent.

    Args:
        code_mode: an open code mode.
        scope: whose view; the code mode's own where None.

    Returns:
        The tools. A call that fails is a tool error that the model sees.
    """
    return [_presented(tool) for tool in presented(code_mode, scope)]


def from_inspect_ai(
    layer: Registry | Scope,
    tools: Iterable[InspectTool],
    *,
    namespace: str | None = None,
    ask: Collection[str] = (),
) -> Registration:
    """Register tools of Inspect AI. Its approval is a policy of an evaluation: name those to ask about in `ask`.

    Args:
        layer: the registry or scope that is to have them.
        tools: the tools.
        namespace: put them under it.
        ask: names of tools whose every call is asked about.

    Returns:
        The registration of all of them.
    """
    return take(layer, [Taken(_taken(ToolDef(tool))) for tool in tools], namespace=namespace, ask=ask)


def _presented(tool: Presented) -> InspectTool:
    async def execute(**arguments: Any) -> Any:
        result = await tool.call(arguments)
        if result.is_error:
            raise InspectToolError(text_of(result))
        return [
            ContentImage(image=data_url(block)) if is_image(block) else ContentText(text=text_of_block(block))
            for block in blocks_of(result)
        ]

    parameters = ToolParams.model_validate(
        {key: tool.input_schema[key] for key in ("properties", "required") if key in tool.input_schema}
    )
    return ToolDef(
        execute, name=tool.name, description=tool.description, parameters=parameters, parallel=tool.name != RUN_CODE
    ).as_tool()


def _taken(definition: ToolDef) -> Tool:
    async def execute(arguments: Mapping[str, Any], ctx: ToolContext) -> JsonValue:
        try:
            return canonical(await definition.tool(**arguments))
        except InspectToolError as error:
            raise ToolError(error.message) from error

    return Tool(
        definition.name,
        definition.description,
        execute,
        parameters=definition.parameters.model_dump(exclude_none=True),
    )
