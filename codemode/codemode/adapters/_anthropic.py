"""The Anthropic SDK: runnable tools, for its tool runner or for requests of one's own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast

from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, ToolError

from codemode._code_mode import CodeMode
from codemode.adapters._presented import Presented, blocks_of, is_image, presented, text_of_block
from codemode.adapters._taken import Taken, canonical, take
from codemode_registry import JsonValue, Registration, Registry, Scope, Tool
from codemode_registry import ToolError as FailedTool


class PresentedTool(BetaAsyncBuiltinFunctionTool):
    """A tool that Anthropic's tool runner calls; `to_dict()` is its definition for a request."""

    def __init__(self, tool: Presented) -> None:
        self._presented = tool

    def to_dict(self) -> Any:
        """The definition: name, description, input_schema."""
        tool = self._presented
        return {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}

    async def call(self, input: object) -> Any:
        """Answer one `tool_use` block: content blocks in Anthropic's shape.

        Raises:
            ToolError: the call failed; the SDK makes it a result with `is_error`.
        """
        result = await self._presented.call(cast("Mapping[str, Any]", input))
        content = [_block(block) for block in blocks_of(result)]
        if result.is_error:
            raise ToolError(cast("Any", content))
        return content


def to_anthropic(code_mode: CodeMode, *, scope: Scope | None = None) -> list[PresentedTool]:
    """What the mode presents, as tools of the Anthropic SDK.

    Args:
        code_mode: an open code mode.
        scope: whose view; the code mode's own where None.

    Returns:
        Tools for `client.beta.messages.tool_runner(tools=...)`; in a loop of one's own, send `tool.to_dict()` and
        answer a `tool_use` block with `await tool.call(block.input)`.
    """
    return [PresentedTool(tool) for tool in presented(code_mode, scope)]


def from_anthropic(
    layer: Registry | Scope, tools: Iterable[Any], *, namespace: str | None = None, ask: Collection[str] = ()
) -> Registration:
    """Register runnable tools of the Anthropic SDK (`@beta_async_tool`, `@beta_tool`).

    Args:
        layer: the registry or scope that is to have them.
        tools: the runnable tools.
        namespace: put them under it.
        ask: names of tools whose every call is asked about.

    Returns:
        The registration of all of them.
    """
    return take(layer, [Taken(_taken(tool)) for tool in tools], namespace=namespace, ask=ask)


def _taken(tool: Any) -> Tool:
    definition = tool.to_dict()

    async def execute(arguments: Mapping[str, Any], ctx: Any) -> JsonValue:
        try:
            answer = tool.call(dict(arguments))
            return canonical(await answer if hasattr(answer, "__await__") else answer)
        except ToolError as error:
            content = error.content
            raise FailedTool(content if isinstance(content, str) else str(canonical(content))) from error

    return Tool(
        definition["name"], definition.get("description", ""), execute, parameters=dict(definition["input_schema"])
    )


def _block(block: Mapping[str, Any]) -> dict[str, Any]:
    if is_image(block):
        media_type = block.get("mimeType", "image/png")
        return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": block["data"]}}
    return {"type": "text", "text": text_of_block(block)}
