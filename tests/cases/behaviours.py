"""The bodies of the given cases' tools: a table from (name, prose) to a function, and no more.

Each function takes the world, the frozen arguments and the tool's context. What a policy, an approver or a
time-out does to a tool is no part of its body: the cases' tests arrange that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio

from codemode import ToolContext, ToolError

Arguments = Mapping[str, Any]
Body = Callable[..., Any]

_BY_NAME: dict[str, Body] = {}
_BY_PROSE: dict[tuple[str, str], Body] = {}


def find_body(name: str, prose: str) -> Body:
    """The body for a tool: by its name and exact prose where there is one, else by its name."""
    found = _BY_PROSE.get((name, prose)) or _BY_NAME.get(name)
    if found is None:
        raise LookupError(f"no behaviour for the tool {name!r}: {prose!r}")
    return found


def body(*names: str, prose: str | None = None) -> Callable[[Body], Body]:
    """Enter a body under these tool names; with `prose`, only where the behaviour reads so."""

    def enter(function: Body) -> Body:
        for name in names:
            if prose is None:
                _BY_NAME[name] = function
            else:
                _BY_PROSE[name, prose] = function
        return function

    return enter


def constant(name: str, value: Any, prose: str | None = None) -> None:
    """A tool that always returns the same."""
    body(name, prose=prose)(lambda world, a, ctx: value)


for _name, _value in {
    "2fa": "code",
    "Größe": 3,
    "__class__": "c",
    "api.lookup": "found",
    "approve_transfer": "transferred",
    "balance": {"amount": 12.5},
    "broken": None,
    "class": "klass",
    "config": {"limits": {"max": 10}},
    "dead_tool": None,
    "delete_file": "deleted",
    "ephemeral": "still here",
    "fetch": {"id": 7},
    "first_page_tool": "one",
    "get": "g",
    "get-data": "hyphen",
    "get-weather": "sunny",
    "get.data": "dot",
    "get_company": "c",
    "get_user": "u",
    "inventory": {"us": {"r9": 5}, "eu": {"r1": 3, "r2": 4}},
    "items": "i",
    "legacy": {"a": 1},
    "list_users": [{"name": "ana"}],
    "lit": "lit",
    "newest": {"id": 725653563933458433},
    "now": "2026-01-01",
    "one": 1,
    "read": '{"a": 1}',
    "read_file": "x" * 179_997 + "end",
    "rm": None,
    "search": [{"id": 1}],
    "second_page_tool": "two",
    "secret": "secret-ok",
    "shape": "ok",
    "sites": [{"id": 1}, {"id": 2}],
    "tree": 1,
    "typed": {"id": 1, "tags": []},
    "untyped": {"any": ["thing"]},
    "user": {"name": "ana", "mail": "a@x.org"},
    "users": [{"id": 1, "name": "ana"}, {"id": 2, "name": "bo"}, {"id": 3, "name": "cy"}],
}.items():
    constant(_name, _value)


@body("add")
def add(world: Any, a: Arguments, ctx: ToolContext) -> int:
    return int(a["a"]) + int(a["b"])


@body("boom")
def boom(world: Any, a: Arguments, ctx: ToolContext) -> None:
    raise ToolError("deliberate tool failure")


@body("boom", prose="always fails with message 'async boom'")
def async_boom(world: Any, a: Arguments, ctx: ToolContext) -> None:
    raise ToolError("async boom")


@body("by_id")
def by_id(world: Any, a: Arguments, ctx: ToolContext) -> dict[str, Any]:
    if a["id"] != 725653563933458433:
        raise ToolError(f"unknown id {a['id']}")
    return {"id": a["id"]}


@body("by_id", prose="fails with 'id ab12... not found'")
def by_text_id(world: Any, a: Arguments, ctx: ToolContext) -> None:
    raise ToolError(f"id {a['id']} not found")


@body("conf", "fields")
def whole_argument(world: Any, a: Arguments, ctx: ToolContext) -> Any:
    return a


@body("crashy")
def crashy(world: Any, a: Arguments, ctx: ToolContext) -> None:
    raise KeyError("internal")


@body("echo")
def echo(world: Any, a: Arguments, ctx: ToolContext) -> Any:
    return a["value"]


@body("events")
def events(world: Any, a: Arguments, ctx: ToolContext) -> Any:
    return [{"ts": ts} for ts in ("2024-03-30T23:20:00Z", "2024-03-30T23:50:00Z", "2024-03-31T00:00:00Z")]


@body("fetch", prose="returns 'hello' or 'TOP-SECRET'; the result reviewer blocks values containing 'TOP-SECRET'")
def fetch(world: Any, a: Arguments, ctx: ToolContext) -> str:
    return "TOP-SECRET" if a["what"] == "secret" else "hello"


@body("find")
def find(world: Any, a: Arguments, ctx: ToolContext) -> str:
    return f"{a['q']}|{a['after']}"


@body("greet")
def greet(world: Any, a: Arguments, ctx: ToolContext) -> str:
    return f"{a.get('greeting', 'Hello')}, {a['name']}!"


@body("greet", prose="returns 'Hello ' + name")
def greet_plainly(world: Any, a: Arguments, ctx: ToolContext) -> str:
    return "Hello " + str(a["name"])


@body("is_even")
def is_even(world: Any, a: Arguments, ctx: ToolContext) -> bool:
    return bool(a["n"] % 2 == 0)


@body("label")
def label(world: Any, a: Arguments, ctx: ToolContext) -> Any:
    return a["v"]


@body("maybe")
def maybe(world: Any, a: Arguments, ctx: ToolContext) -> str:
    if a["fail"]:
        raise ToolError("maybe failed")
    return "fine"


@body("name")
def name(world: Any, a: Arguments, ctx: ToolContext) -> str:
    return "n" + str(a["id"])


@body("orders")
def orders(world: Any, a: Arguments, ctx: ToolContext) -> Any:
    if a["user_id"] == 2:
        raise ToolError("locked")
    return [{"amount": 5}, {"amount": 7}] if a["user_id"] == 1 else []


@body("page")
def page(world: Any, a: Arguments, ctx: ToolContext) -> Any:
    return {
        None: {"items": [1, 2], "next": "p2"},
        "p2": {"items": [3, 4], "next": "p3"},
        "p3": {"items": [5], "next": None},
    }[a["cursor"]]


@body("pay")
def pay(world: Any, a: Arguments, ctx: ToolContext) -> str:
    return "paid " + str(a["amount"])


@body("post")
def post(world: Any, a: Arguments, ctx: ToolContext) -> str:
    return f"posted {a['n']}"


@body("quote")
async def quote(world: Any, a: Arguments, ctx: ToolContext) -> None:
    await anyio.sleep_forever()


@body("rows")
def rows(world: Any, a: Arguments, ctx: ToolContext) -> Any:
    return [{"g": i % 10, "v": i % 10} for i in range(a["n"])]


@body("save")
def save(world: Any, a: Arguments, ctx: ToolContext) -> str:
    if not isinstance(a["data"], str):
        raise ToolError("data is not a string")
    return a["data"]


@body("slow")
async def slow(world: Any, a: Arguments, ctx: ToolContext) -> str:
    await anyio.sleep(a["ms"] / 1000)
    return str(a["id"])


@body("slow_count")
async def slow_count(world: Any, a: Arguments, ctx: ToolContext) -> int:
    await anyio.sleep(0.03)
    return len(a["items"])


@body("square")
def square(world: Any, a: Arguments, ctx: ToolContext) -> int:
    return int(a["n"]) ** 2


@body("stubborn")
async def stubborn(world: Any, a: Arguments, ctx: ToolContext) -> int:
    with anyio.CancelScope(shield=True):
        await anyio.sleep(0.5)
    world.state["stubborn"] = world.state.get("stubborn", 0) + 1
    return 5


@body("tag")
def tag(world: Any, a: Arguments, ctx: ToolContext) -> int:
    return len(a["ids"])


@body("unlock")
def unlock(world: Any, a: Arguments, ctx: ToolContext) -> str:
    world.registry.register(world.tools["secret"])
    return "unlocked"


@body("upper")
def upper(world: Any, a: Arguments, ctx: ToolContext) -> str:
    return str(a["text"]).upper()


@body("upper", prose="returns 'N' + str(id)")
def upper_id(world: Any, a: Arguments, ctx: ToolContext) -> str:
    return "N" + str(a["id"])


@body("whoami")
def whoami(world: Any, a: Arguments, ctx: ToolContext) -> str:
    return str(getattr(ctx.call.scope, "name", None))


@body("write")
def write(world: Any, a: Arguments, ctx: ToolContext) -> str:
    return "ok:" + str(a["key"])
