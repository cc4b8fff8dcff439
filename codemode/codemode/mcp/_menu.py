"""What the gateway offers: the tools of its `tools/list`, with texts that stay the same while the tools do.

Rules
- Deterministic: sorted, no counts of calls, no dates. A client's prompt cache holds until the tools change.
- A small set of tools stands in run_code's description as stubs, so that a model can write its program at once. A large
  one is named by namespaces only; its stubs come through `search_tools` and `get_tool_docs`.
- Where code mode presents tools directly (mode `native` or `both`), they are listed as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mcp_types import Tool as McpTool
from mcp_types import ToolAnnotations as McpAnnotations
from pydantic import BaseModel, ConfigDict, Field

from codemode._code_mode import CodeMode
from codemode_registry import RUN_CODE, Tool, ToolAnnotations
from codemode_stubs import render_stubs

from ._answers import RUN_OUTPUT_SCHEMA

SEARCH_TOOLS = "search_tools"
GET_TOOL_DOCS = "get_tool_docs"

STUBS_IN_DESCRIPTION_CHARS = 8_000
"""About 2,000 tokens: what a client pays in every conversation. More is fetched when it is needed."""

_SHORTEST_STUB_CHARS = 40
"""No method is shorter, so that thousands of stubs are not rendered only to find them too long."""

_MOST_MATCHES = 50
_MOST_NAMES = 50
_NAMES_SHOWN = 40


class SearchArguments(BaseModel):
    """Arguments of `search_tools`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    query: str = Field(description="Words that say what the tool should do, or its name.")
    limit: int = Field(default=10, ge=1, le=_MOST_MATCHES, description="Most tools to return.")
    detail: Literal["brief", "stubs"] = Field(
        default="brief", description="`brief`: name, signature and first sentence; `stubs`: full typed stubs."
    )


class DocsArguments(BaseModel):
    """Arguments of `get_tool_docs`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    names: list[str] = Field(
        min_length=1, max_length=_MOST_NAMES, description="Names of tools, as search_tools or run_code's text has them."
    )


@dataclass(frozen=True, slots=True)
class Menu:
    """The tools of `tools/list` at one time."""

    tools: tuple[McpTool, ...]


def menu(code_mode: CodeMode) -> Menu:
    """What a client of `code_mode` is offered now."""
    tools = program_tools(code_mode)
    offered: list[McpTool] = []
    for schema in code_mode.schemas():
        if schema["name"] == RUN_CODE:
            offered += [_run_code(schema, tools), _search_tools(), _get_tool_docs()]
        else:
            offered.append(_direct(schema, code_mode))
    return Menu(tuple(offered))


def program_tools(code_mode: CodeMode) -> list[Tool]:
    """The tools that a program can call, by name."""
    return sorted(code_mode.registry.tools(code_mode.scope), key=lambda tool: tool.full_name)


def _run_code(schema: dict[str, Any], tools: Sequence[Tool]) -> McpTool:
    return McpTool(
        name=RUN_CODE,
        title="Run a program",
        description=f"{schema['description']}\n\n{_available(tools)}",
        input_schema={**schema["input_schema"], "additionalProperties": False},
        output_schema=RUN_OUTPUT_SCHEMA,
        annotations=McpAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
        ),
    )


def _available(tools: Sequence[Tool]) -> str:
    """What can be called: stubs of a small set, namespaces of a large one."""
    if not tools:
        return "No tools are available at the moment."
    if len(tools) * _SHORTEST_STUB_CHARS <= STUBS_IN_DESCRIPTION_CHARS:
        stubs = render_stubs(tools, form="prompt").rstrip()
        if len(stubs) <= STUBS_IN_DESCRIPTION_CHARS:
            return f"The tools:\n```python\n{stubs}\n```"
    spaces = Counter(tool.namespace for tool in tools if tool.namespace is not None)
    lines = [f"- tools.{name}: {count} tool{'s' if count > 1 else ''}" for name, count in sorted(spaces.items())]
    alone = [tool.name for tool in tools if tool.namespace is None]
    if alone:
        more = f" and {len(alone) - _NAMES_SHOWN} more" if len(alone) > _NAMES_SHOWN else ""
        lines.append(f"- without a namespace: {', '.join(alone[:_NAMES_SHOWN])}{more}")
    notes = [f"- {tool.description}" for tool in tools if tool.name == "unavailable" and tool.namespace is not None]
    how = (
        f"{len(tools)} tools can be called, too many to show here. Find them with `{SEARCH_TOOLS}`, read their stubs "
        f"with `{GET_TOOL_DOCS}`, then write the program."
    )
    return "\n".join([how, *lines, *notes])


def _search_tools() -> McpTool:
    return McpTool(
        name=SEARCH_TOOLS,
        title="Search tools",
        description=f"Find tools that a {RUN_CODE} program can call, best match first. Returns names, signatures and "
        "what they do; with detail=stubs their full typed stubs.",
        input_schema=_schema(SearchArguments),
        annotations=_READ_ONLY,
    )


def _get_tool_docs() -> McpTool:
    return McpTool(
        name=GET_TOOL_DOCS,
        title="Read tool stubs",
        description=f"The typed Python stubs of tools that a {RUN_CODE} program can call: parameters, result types, "
        "documentation.",
        input_schema=_schema(DocsArguments),
        annotations=_READ_ONLY,
    )


_READ_ONLY = McpAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """A model's schema without the titles that pydantic adds and a reader does not need."""
    schema = model.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    for field in schema["properties"].values():
        field.pop("title", None)
    return schema


def _direct(schema: dict[str, Any], code_mode: CodeMode) -> McpTool:
    tool = code_mode.registry.get(schema["name"], code_mode.scope)
    hints = tool.annotations if tool is not None else ToolAnnotations()
    return McpTool(
        name=schema["name"],
        title=hints.title,
        description=schema["description"],
        input_schema={"type": "object", **schema["input_schema"]},
        annotations=McpAnnotations(
            title=hints.title,
            read_only_hint=hints.read_only,
            destructive_hint=hints.destructive,
            idempotent_hint=hints.idempotent,
            open_world_hint=hints.open_world,
        ),
    )
