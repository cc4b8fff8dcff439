"""Adapters: code mode inside other agent frameworks, and their tools inside a registry.

Each framework has a module of its own, imported when its name is used, so that nobody needs a framework that they
do not use. `to_<framework>(code_mode)` gives the framework what its model is to see under the mode (`run_code`, the
tools, or both); `from_<framework>(registry, tools)` registers that framework's tools, where they pass the whole
pipeline and can be called from programs. A tool that its framework marks as needing approval is asked about here too:
the mark becomes a policy that answers `Ask`.

| framework | to | from | approval mark |
|---|---|---|---|
| anthropic | runnable tools for `tool_runner`, or `.to_dict()` for a request | the same kind of tools | `ask=` |
| openai | definitions and answers, `function` or `custom`, Responses or Chat | (the SDK has no tools that run) | |
| mcp | a low-level server | `codemode.mcp.McpUpstreams` | policies |
| pydantic_ai | a `FunctionToolset` | tools or a `FunctionToolset` | `requires_approval` |
| langchain | `StructuredTool`s | `BaseTool`s | `ask=` |
| openai_agents | `FunctionTool`s | `FunctionTool`s | `needs_approval` |
| inspect_ai | tools | tools | `ask=` |
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemode.adapters._anthropic import from_anthropic, to_anthropic
    from codemode.adapters._inspect_ai import from_inspect_ai, to_inspect_ai
    from codemode.adapters._langchain import from_langchain, to_langchain
    from codemode.adapters._openai import OpenAITools, to_openai
    from codemode.adapters._openai_agents import from_openai_agents, to_openai_agents
    from codemode.adapters._pydantic_ai import from_pydantic_ai, to_pydantic_ai
    from codemode.mcp import to_mcp

_HOMES = {
    "OpenAITools": "codemode.adapters._openai",
    "from_anthropic": "codemode.adapters._anthropic",
    "from_inspect_ai": "codemode.adapters._inspect_ai",
    "from_langchain": "codemode.adapters._langchain",
    "from_openai_agents": "codemode.adapters._openai_agents",
    "from_pydantic_ai": "codemode.adapters._pydantic_ai",
    "to_anthropic": "codemode.adapters._anthropic",
    "to_inspect_ai": "codemode.adapters._inspect_ai",
    "to_langchain": "codemode.adapters._langchain",
    "to_mcp": "codemode.mcp",
    "to_openai": "codemode.adapters._openai",
    "to_openai_agents": "codemode.adapters._openai_agents",
    "to_pydantic_ai": "codemode.adapters._pydantic_ai",
}

__all__ = [
    "OpenAITools",
    "from_anthropic",
    "from_inspect_ai",
    "from_langchain",
    "from_openai_agents",
    "from_pydantic_ai",
    "to_anthropic",
    "to_inspect_ai",
    "to_langchain",
    "to_mcp",
    "to_openai",
    "to_openai_agents",
    "to_pydantic_ai",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
