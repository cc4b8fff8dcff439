"""MCP on both sides: upstream servers whose tools a registry takes, and the gateway that serves `run_code`.

Needs the extra `mcp`. The gateway's names are loaded when they are first used: who only takes tools in needs no code
mode. Sources: the Model Context Protocol, revisions 2025-11-25 and 2026-07-28.
"""

import importlib
from typing import TYPE_CHECKING

from ._attachment import McpAttachment
from ._config import McpConfigError, UpstreamConfig, load_config
from ._elicitation import Elicitation, ElicitationAnswer, Elicitor
from ._status import UpstreamStatus
from ._upstreams import McpUpstreams

if TYPE_CHECKING:
    from ._gateway import to_mcp
    from ._serve import serve_http, serve_stdio

__all__ = [
    "Elicitation",
    "ElicitationAnswer",
    "Elicitor",
    "McpAttachment",
    "McpConfigError",
    "McpUpstreams",
    "UpstreamConfig",
    "UpstreamStatus",
    "load_config",
    "serve_http",
    "serve_stdio",
    "to_mcp",
]

_LATER = {"serve_http": "_serve", "serve_stdio": "_serve", "to_mcp": "_gateway"}


def __getattr__(name: str) -> object:
    home = _LATER.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
