"""Pydantic AI: a toolset for its agents, and its tools in a registry."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic_ai import BinaryContent, FunctionToolset, RunContext, ToolReturn
from pydantic_ai import Tool as PydanticTool
from pydantic_ai.exceptions import ApprovalRequired, ModelRetry, ToolFailed
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from codemode._code_mode import CodeMode
from codemode.adapters._presented import Presented, blocks_of, is_image, presented, text_of, text_of_block
from codemode.adapters._taken import Taken, canonical, take
from codemode_registry import RUN_CODE, JsonValue, Registration, Registry, Scope, Tool, ToolContext, ToolError


def to_pydantic_ai(code_mode: CodeMode, *, scope: Scope | None = None) -> FunctionToolset[Any]:
    """What the mode presents, as a toolset for `Agent(toolsets=[...])`.

    Args:
        code_mode: an open code mode.
        scope: whose view; the code mode's own where None.

    Returns:
        A toolset. A call that fails is a failed tool result for the model (`ToolFailed`), never an end of the run.
    """
    return FunctionToolset([_presented(tool) for tool in presented(code_mode, scope)])


def from_pydantic_ai(
    layer: Registry | Scope,
    tools: Iterable[PydanticTool[Any]] | FunctionToolset[Any],
    *,
    deps: Any = None,
    namespace: str | None = None,
    ask: Collection[str] = (),
) -> Registration:
    """Register tools of Pydantic AI. One with `requires_approval` is asked about at each call.

    Args:
        layer: the registry or scope that is to have them.
        tools: the tools, or a function toolset.
        deps: what a tool that takes a `RunContext` finds as `ctx.deps`; there is no agent and no model in that context.
        namespace: put them under it.
        ask: names that are asked about without a mark.

    Returns:
        The registration of all of them.
    """
    given = list(tools.tools.values()) if isinstance(tools, FunctionToolset) else list(tools)
    return take(
        layer, [Taken(_taken(tool, deps), asks=tool.requires_approval) for tool in given], namespace=namespace, ask=ask
    )


def _presented(tool: Presented) -> PydanticTool[Any]:
    async def call(ctx: RunContext[Any], **arguments: Any) -> ToolReturn:
        result = await tool.call(arguments, call_id=ctx.tool_call_id)
        if result.is_error:
            raise ToolFailed(text_of(result))
        images = [
            BinaryContent(base64.b64decode(block["data"]), media_type=block.get("mimeType", "image/png"))
            for block in blocks_of(result)
            if is_image(block)
        ]
        text = "\n".join(text_of_block(block) for block in blocks_of(result) if not is_image(block))
        return ToolReturn(text, content=images or None)

    # run_code is exclusive among a model's own calls, and the pipeline orders the others itself.
    return PydanticTool.from_schema(
        call, tool.name, tool.description, tool.input_schema, takes_ctx=True, sequential=tool.name == RUN_CODE
    )


def _taken(tool: PydanticTool[Any], deps: Any) -> Tool:
    schema = tool.function_schema

    async def execute(arguments: Mapping[str, Any], ctx: ToolContext) -> JsonValue:
        context = RunContext[Any](
            deps=deps,
            model=TestModel(),
            usage=RunUsage(),
            tool_call_id=ctx.call.call_id,
            tool_name=tool.name,
            tool_call_approved=True,
        )
        try:
            value = await schema.call(schema.validator.validate_python(dict(arguments)), context)
        except (ModelRetry, ToolFailed) as error:
            raise ToolError(error.message) from error
        except ApprovalRequired as error:
            raise ToolError("the tool asks for an approval in the middle of its call; mark it instead") from error
        return canonical(value.return_value if isinstance(value, ToolReturn) else value)

    return Tool(
        tool.name,
        tool.description or "",
        execute,
        parameters=dict(schema.json_schema),
        concurrency_safe=False,
        timeout=tool.timeout,
    )
