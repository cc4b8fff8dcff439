"""MCP on both sides: upstream servers whose tools a registry takes, and the gateway that serves `run_code`.

Needs the extra `mcp`. Sources: the Model Context Protocol, revisions 2025-11-25 and 2026-07-28.
"""

from ._attachment import McpAttachment
from ._config import McpConfigError, UpstreamConfig, load_config
from ._elicitation import Elicitation, ElicitationAnswer, Elicitor
from ._gateway import to_mcp
from ._serve import serve_http, serve_stdio
from ._status import UpstreamStatus
from ._upstreams import McpUpstreams

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
