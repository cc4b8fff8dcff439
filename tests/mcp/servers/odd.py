"""An MCP server written by hand, line by line, so that it can do what no SDK lets a server do.

Handshake era, stdio. `python odd.py FEATURE...`; what it noticed is told by its tools, so a test needs no clock.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

FEATURES = set(sys.argv[1:])
OPEN = {"type": "object"}
WRITE = threading.Lock()


def send(message: dict[str, Any]) -> None:
    with WRITE:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def text(*texts: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": item} for item in texts]}


def tool(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": f"The tool {name}.", "inputSchema": OPEN, **fields}


NUMBERED = {"type": "array", "items": {"type": "object", "properties": {"number": {"type": "integer"}}}}
PAGES: dict[str | None, tuple[list[Any], str | None]] = {
    None: ([tool("first", annotations={"readOnlyHint": True}), tool("values")], "p2"),
    "p2": ([tool("second"), tool("wait"), tool("noticed"), tool("die"), tool("ask"), tool("secret")], "p3"),
    "p3": (
        [
            tool("listed", outputSchema=NUMBERED),
            tool("off_schema", outputSchema={"type": "object", "properties": {"n": {"type": "integer"}}}),
            tool("bad_output", outputSchema={"type": "object", "properties": {"n": {"type": "strnig"}}}),
            tool("bad_input", inputSchema={"type": "object", "properties": {"n": {"$ref": "#/nowhere"}}}),
            tool("remote", outputSchema={"type": "object", "properties": {"n": {"$ref": "https://example.org/s"}}}),
            tool("array_root", inputSchema={"type": "array"}),
            tool("change"),
            tool("steps"),
            {"no": "name"},
            "junk",
            tool("first", description="a second one"),
        ],
        None,
    ),
}
noticed: list[str] = []
waiting: dict[Any, Any] = {}
questions: dict[str, Any] = {}
extra: list[dict[str, Any]] = []
said: list[Any] = []


def call(request_id: Any, name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any] | None:
    if name in ("first", "second", "bad_output", "bad_input", "remote", "array_root", "added"):
        return text(name)
    if name == "values":
        return dict(arguments["result"])
    if name == "listed":
        return text('[{"number": 11}, {"number": 12}]')
    if name == "off_schema":
        return {"content": [], "structuredContent": {"n": "eleven"}}
    if name == "noticed":
        return text(json.dumps({"cancelled": noticed, "answers": said}))
    if name == "secret":
        return {**text(f"key {os.environ.get('API_KEY')}"), "isError": bool(arguments.get("fail"))}
    if name == "wait":
        waiting[request_id] = name
        send(
            {"method": "notifications/progress", "params": {"progressToken": meta.get("progressToken"), "progress": 0}}
        )
        return None
    if name == "steps":
        for step in range(1, 4):
            params = {
                "progressToken": meta.get("progressToken"),
                "progress": step,
                "total": 3,
                "message": f"step {step}",
            }
            send({"method": "notifications/progress", "params": params})
        return text("done")
    if name == "change":
        extra[:] = [tool("added")] if arguments.get("add") else []
        send({"method": "notifications/tools/list_changed"})
        return text("changed")
    if name == "ask":
        question = f"q{len(questions)}"
        questions[question] = request_id
        send({"id": question, "method": "elicitation/create", "params": arguments["params"]})
        return None
    if name == "die":
        print("last words: out of memory", file=sys.stderr)
        sys.stderr.flush()
        os._exit(3)
    return {**text(f"unknown tool {name}"), "isError": True}


def handle(message: dict[str, Any]) -> None:
    method, params = message.get("method"), message.get("params") or {}
    request_id = message.get("id")
    if method is None:
        said.append(message.get("result") or message.get("error"))
        send({"id": questions[str(request_id)], "result": text(json.dumps(said[-1]))})
    elif method == "initialize":
        info = {"name": "odd", "version": "1"}
        capabilities = {"tools": {"listChanged": True}}
        version = params.get("protocolVersion")
        send(
            {"id": request_id, "result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}}
        )
    elif method == "tools/list":
        tools, cursor = PAGES[None if "endless" in FEATURES else params.get("cursor")]
        result: dict[str, Any] = {"tools": tools + (extra if cursor is None else [])}
        if cursor is not None:
            result["nextCursor"] = cursor
        if "endless" in FEATURES:
            result = {"tools": [tool("only")], "nextCursor": "again"}
        send({"id": request_id, "result": result})
    elif method == "tools/call":
        result_or_none = call(request_id, params["name"], params.get("arguments") or {}, params.get("_meta") or {})
        if result_or_none is not None:
            send({"id": request_id, "result": result_or_none})
    elif method == "notifications/cancelled":
        if waiting.pop(params.get("requestId"), None):
            noticed.append("wait")
    elif request_id is not None:
        send({"id": request_id, "error": {"code": -32601, "message": f"no method {method}"}})


if "dead" in FEATURES:
    print("cannot open the database", file=sys.stderr)
    sys.exit(3)
if "silent" in FEATURES:
    sys.stdin.read()
first = True
for line in sys.stdin:
    incoming = json.loads(line)
    if first and "handshake-only" in FEATURES and incoming.get("method") != "initialize":
        sys.exit(1)
    first = False
    handle(incoming)
