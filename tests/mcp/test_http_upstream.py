"""A server over HTTP: reached in its own revision, lost, and reached again."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from codemode.mcp import McpUpstreams
from codemode_registry import Registry

from .conftest import LEFT_STREAMS, HttpServer

pytestmark = [pytest.mark.filterwarnings(LEFT_STREAMS), pytest.mark.usefixtures("collected_streams")]


async def test_a_server_over_http_is_called_and_found_again_after_a_restart(http_server: HttpServer) -> None:
    registry = Registry()
    servers: dict[str, Any] = {"web": {"url": http_server.url, "headers": {"X-Team": "tests-of-codemode"}}}
    with anyio.fail_after(60.0):
        async with McpUpstreams({"mcpServers": servers}) as upstreams:
            upstreams.attach(registry)
            first = await registry.call("web.era", {})
            assert not first.is_error
            assert first.value == "2026-07-28"

            http_server.stop()
            lost = await registry.call("web.era", {})
            assert lost.is_error
            assert "'web'" in lost.error.message
            again = await registry.call("web.era", {})
            assert again.is_error
            assert "unavailable" in again.error.message
            assert "web.era" in [tool.full_name for tool in registry.tools()]

            http_server.start()
            while (found := await registry.call("web.era", {})).is_error:  # noqa: ASYNC110 (another process; bounded)
                await anyio.sleep(0.05)
            assert found.value == "2026-07-28"
            assert upstreams.status()[0].state == "up"


async def test_a_refused_address_says_its_status(http_server: HttpServer) -> None:
    servers = {"web": {"url": http_server.url.replace("/mcp", "/nothing")}}
    with anyio.fail_after(60.0):
        async with McpUpstreams({"mcpServers": servers}) as upstreams:
            (status,) = upstreams.status()
            assert status.state == "down"
            assert "404" in str(status.error)
