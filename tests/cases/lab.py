"""The laboratory's tools, over which the snippets and the attacks are written."""

from __future__ import annotations

from typing import Any

from codemode import ToolError
from tests.cases.world import World, tool

INTEGER = {"type": "integer"}
STRING = {"type": "string"}

LAB_TOOLS = (
    tool("get_user", {"user_id": INTEGER}, behaviour="read-only"),
    tool("list_items", behaviour="read-only"),
    tool("search", {"query": STRING, "limit?": INTEGER}, behaviour="read-only"),
    tool("fail", {"message": STRING}),
    tool("echo", {"value": {}}, behaviour="read-only"),
)


def _get_user(world: World, a: Any, ctx: Any) -> Any:
    number = a["user_id"]
    if number == 13:
        raise ToolError("user not found")
    return {"id": number, "name": f"User {number}", "team": "red" if number % 2 else "blue", "age": 20 + number}


def _fail(world: World, a: Any, ctx: Any) -> Any:
    raise ToolError(a["message"])


LAB_BODIES = {
    "get_user": _get_user,
    "list_items": lambda world, a, ctx: {"items": [{"title": f"Item {n}", "price": n * 1.5} for n in range(1, 10)]},
    "search": lambda world, a, ctx: [{"title": f"hit {n}"} for n in range(a.get("limit", 5))],
    "fail": _fail,
    "echo": lambda world, a, ctx: a["value"],
}


def lab(program: str) -> World:
    """A world with the laboratory's tools."""
    return World(program, LAB_TOOLS, bodies=LAB_BODIES)
