"""What a framework gives its model: the tools under the mode, and the answer to a call of one.

Shared by every `to_<framework>`. Images that a program's calls deferred come back as contexts of the result; a
framework that knows one answer per call gets them in that answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codemode._code_mode import CodeMode
from codemode_registry import Scope, ToolResult


@dataclass(frozen=True, slots=True)
class Presented:
    """One tool as a model sees it, bound to the code mode that answers its calls."""

    code_mode: CodeMode
    scope: Scope | None
    name: str
    description: str
    input_schema: dict[str, Any]

    async def call(self, arguments: Mapping[str, Any], *, call_id: str | None = None) -> ToolResult:
        """Call the tool as the model; the mode, and every policy, applies."""
        return await self.code_mode.call(self.name, arguments, scope=self.scope, call_id=call_id)


def presented(code_mode: CodeMode, scope: Scope | None) -> list[Presented]:
    """The tools that the mode presents to a model now, in order."""
    tools: list[dict[str, Any]] = code_mode.schemas(scope)
    return [Presented(code_mode, scope, tool["name"], tool["description"], tool["input_schema"]) for tool in tools]


def blocks_of(result: ToolResult) -> list[Mapping[str, Any]]:
    """The result's content blocks, then those of its contexts (deferred images and messages)."""
    blocks: list[Any] = list(result.content)
    for context in result.contexts:
        content: Any = context.get("content", ())
        blocks += [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    return [block for block in blocks if isinstance(block, Mapping)]


def text_of(result: ToolResult) -> str:
    """The text blocks of the result's own content, joined by newlines."""
    return "\n".join(str(block["text"]) for block in result.content if "text" in block)


def is_image(block: Mapping[str, Any]) -> bool:
    """True for an image that carries its data."""
    return block.get("type") == "image" and isinstance(block.get("data"), str)


def data_url(block: Mapping[str, Any]) -> str:
    """An image block as a `data:` URL."""
    return f"data:{block.get('mimeType', 'image/png')};base64,{block['data']}"


def text_of_block(block: Mapping[str, Any]) -> str:
    """A block as text, for a framework that has no shape for its kind."""
    text = block.get("text")
    return text if isinstance(text, str) else f"[{block.get('type', 'unknown')} content]"
