"""A server of the 2026-07-28 protocol (and of the handshake), made with the SDK: `modern.py [http PORT]`."""

from __future__ import annotations

import sys
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ListToolsResult,
    TextContent,
    Tool,
)

OPEN: dict[str, Any] = {"type": "object"}
BUS = InMemorySubscriptionBus()
NAMES = ["ask", "change", "wait", "noticed", "era", "list"]
extra: list[str] = []
noticed: list[str] = []


async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
    output = {"type": "array", "items": {"type": "integer"}} if ctx.protocol_version == "2026-07-28" else None
    tools = [Tool(name=name, input_schema=OPEN) for name in [*NAMES, *extra]]
    tools[NAMES.index("list")].output_schema = output
    return ListToolsResult(tools=tools)


async def call_tool(ctx: Any, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
    match params.name:
        case "era":
            return said(ctx.protocol_version)
        case "list":
            return CallToolResult(content=[], structured_content=[1, 2, 3])
        case "change":
            extra.append(f"added{len(extra)}")
            await BUS.publish(ToolsListChanged())
            return said("changed")
        case "wait":
            try:
                await ctx.session.report_progress(0.0)
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                noticed.append("wait")
                raise
        case "noticed":
            return said(",".join(noticed))
        case "ask" if params.input_responses is None:
            form = ElicitRequestFormParams(message="Proceed?", requested_schema={"type": "object", "properties": {}})
            return InputRequiredResult(input_requests={"q": ElicitRequest(params=form)}, request_state="s")
        case "ask":
            return said(params.input_responses["q"].action)  # type: ignore[union-attr]
        case _:
            pass
    return CallToolResult(content=[TextContent(text=f"no tool {params.name}")], is_error=True)


def said(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)])


server: Server[Any] = Server(
    "modern", on_list_tools=list_tools, on_call_tool=call_tool, on_subscriptions_listen=ListenHandler(BUS)
)


async def serve_stdio() -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def serve_http(port: int) -> None:
    import uvicorn

    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        serve_http(int(sys.argv[2]))
    else:
        anyio.run(serve_stdio)
