"""What a model is told about writing programs: the description of `run_code`, and the prompt with the stubs.

One home per fact: the modules that the text lists are the dialect's own table. The text depends on the tools, the
scope's view and nothing else, so that prompt caches hold.
"""

from __future__ import annotations

from functools import cache

from codemode_registry import JsonValue

__all__ = ["CODE_PARAMETERS", "OUTPUT_SCHEMA", "instructions", "tool_description"]

OUTPUT_SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"logs": {"type": "array", "items": {"type": "string"}}, "result": {}},
    "required": ["logs"],
    "additionalProperties": False,
}

CODE_PARAMETERS: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "description": "The body of an async Python function: the program."},
        "description": {
            "type": "string",
            "pattern": r"\S",
            "description": "What the program does, as a short label in the active voice, such as "
            "'Count open issues by label'; the user sees it.",
        },
    },
    "required": ["code", "description"],
    "additionalProperties": False,
}

_RULES = """\
- `code` is the body of an async Python function: `await` and `return` work at the top level. Write plain Python, no \
class or function around it is needed.
- Call tools with `await tools.<name>(...)`: keywords (`await tools.search(query="x", limit=3)`) or one dict \
(`await tools.search({"query": "x"})`). A namespace is one more dot (`await tools.github.create_issue(...)`); a name \
that is no Python name goes in brackets (`await tools["name-with-dashes"](...)`).
- A call gives the tool's value, already parsed: objects are dicts (`value["title"]`), arrays are lists. The types of \
the stubs are for reading only; pass plain dicts and lists.
- A call that fails raises `ToolCallError` (`.tool_name`, `.message`); catch it where the program can go on.
- Run independent calls together: `await asyncio.gather(...)`. Tools that change something run alone, in order.
- Only what the program prints or returns comes back; everything else stays out of the conversation. Return a small \
JSON value (dicts, lists, texts, numbers), and filter large results in the program.
- Images in results of calls are attached after the run; they need not be returned.
- Each run starts fresh: no variable of an earlier program exists.
- Calls have their effect at once, whatever becomes of the program. If a result says that calls were done, do not run \
the same program again; go on from there."""


def tool_description() -> str:
    """The description of the tool `run_code`."""
    return (
        "Run one Python program that calls the available tools. Both arguments are required: `code`, the program, and "
        "`description`, a short label of what it does.\n"
        f"{_RULES}\n"
        f"- These modules can be imported, and no others: {_modules()}. There is no file, network or process; the "
        "tools are the only way out."
    )


def instructions(stubs: str) -> str:
    """The prompt text: how to write programs, then the stubs.

    Args:
        stubs: the stub text of the tools that the program can call.
    """
    return (
        "# Calling tools from code\n\n"
        "You have the tool `run_code`. It runs a Python program in which the object `tools` has a method for each tool "
        f"below.\n\n{_RULES}\n"
        f"- These modules can be imported, and no others: {_modules()}.\n\n"
        "A program has exactly two names of ours: `tools` and `ToolCallError`.\n\n"
        f"```python\n{stubs.rstrip()}\n```\n"
    )


@cache
def _modules() -> str:
    # Imported here: a host that never renders a prompt need not load the dialect.
    from codemode_guest.dialect import MODULES

    return ", ".join(sorted(MODULES))
