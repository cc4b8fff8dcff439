"""A small MCP server over stdio, told by a JSON file what to be: the upstream of the MCP cases.

Written against the wire (newline-delimited JSON-RPC, the handshake era) and not with the SDK, so that a test can have
an upstream that pages, changes its mind, dies in the middle of a call or answers oddly, and that starts at once.
Run as `python upstream_server.py SPEC.json`. The spec:

* `tools`: each with `name`, `description`, `parameters`, `output`, `annotations`, `result` (a whole CallToolResult) and
  `does`: `slow` (waits `ms`, returns `id`, notes start and cancel in the journal), `die` (the process ends), `relist`
  (the list becomes `then`, and the client is told), `echo` (returns its arguments as JSON text), `fail` (an `isError`
  result), `odd` (the answer is no CallToolResult).
* `then`: the tools after a `relist`; `page_size`: how many tools a page of the list has; `journal`: a file for notes.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

Json = Any


class Upstream:
    """The server: one reader, a thread for each call, one lock on the output."""

    def __init__(self, spec: dict[str, Json]) -> None:
        self.spec = spec
        self.tools: list[dict[str, Json]] = spec["tools"]
        self.lock = threading.Lock()
        self.cancels: dict[Json, threading.Event] = {}

    def send(self, message: dict[str, Json]) -> None:
        with self.lock:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    def note(self, what: str, **fields: Json) -> None:
        if path := self.spec.get("journal"):
            with self.lock, open(path, "a", encoding="utf-8") as journal:
                journal.write(json.dumps({"what": what, **fields}) + "\n")

    def serve(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            method, ident = message.get("method"), message.get("id")
            params = message.get("params") or {}
            if method == "notifications/cancelled":
                if event := self.cancels.get(params.get("requestId")):
                    event.set()
            elif ident is None or method is None:
                continue
            elif method == "initialize":
                self.send({"id": ident, "result": self._hello(params)})
            elif method == "ping":
                self.send({"id": ident, "result": {}})
            elif method == "tools/list":
                self.send({"id": ident, "result": self._page(params.get("cursor"))})
            elif method == "tools/call":
                self.cancels[ident] = threading.Event()
                threading.Thread(target=self._call, args=(ident, params), daemon=True).start()
            else:
                self.send({"id": ident, "error": {"code": -32601, "message": f"Method not found: {method}"}})

    def _hello(self, params: dict[str, Json]) -> Json:
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "upstream", "version": "1"},
        }

    def _page(self, cursor: str | None) -> Json:
        size = self.spec.get("page_size") or len(self.tools) or 1
        start = int(cursor or 0)
        page: dict[str, Json] = {"tools": [self._listed(tool) for tool in self.tools[start : start + size]]}
        if start + size < len(self.tools):
            page["nextCursor"] = str(start + size)
        return page

    @staticmethod
    def _listed(tool: dict[str, Json]) -> Json:
        listed = {
            "name": tool["name"],
            "description": tool.get("description", "A tool of the upstream."),
            "inputSchema": tool.get("parameters", {"type": "object"}),
        }
        if tool.get("output"):
            listed["outputSchema"] = tool["output"]
        if tool.get("annotations"):
            listed["annotations"] = tool["annotations"]
        return listed

    def _call(self, ident: Json, params: dict[str, Json]) -> None:
        tool = next((tool for tool in self.tools if tool["name"] == params["name"]), None)
        if tool is None:
            self.send({"id": ident, "error": {"code": -32602, "message": f"Unknown tool: {params['name']}"}})
            return
        arguments = params.get("arguments") or {}
        result = self._do(tool, arguments, self.cancels[ident])
        if result is not None:
            self.send({"id": ident, "result": result})

    def _do(self, tool: dict[str, Json], arguments: dict[str, Json], cancelled: threading.Event) -> Json:
        match tool.get("does"):
            case "slow":
                self.note("started", id=arguments["id"])
                if cancelled.wait(arguments["ms"] / 1000):
                    self.note("cancelled", id=arguments["id"])
                    return None
                return text(arguments["id"])
            case "die":
                os._exit(3)
            case "relist":
                self.tools = self.spec["then"]
                self.send({"method": "notifications/tools/list_changed"})
                return text("changed")
            case "echo":
                return text(json.dumps(arguments))
            case "fail":
                return {**text(tool.get("message", "upstream failure")), "isError": True}
            case "odd":
                return {"nonsense": True}
            case _:
                self.note("called", name=tool["name"], arguments=arguments)
                return tool["result"]


def text(value: str) -> dict[str, Json]:
    """A result of one text block."""
    return {"content": [{"type": "text", "text": value}]}


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as spec_file:
        Upstream(json.load(spec_file)).serve()
