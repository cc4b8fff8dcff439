"""A server's tool definitions become tools of a registry.

Rules
- A tool of ours is parallel only if its server says that it is read-only; silence counts as a write.
- A broken schema costs its own precision, nothing else: output first, then input, is replaced by "anything", with a
  problem said. Only a name that no registry can hold loses the tool.
- Values are checked leniently: the server's fault is a warning event, and the program still gets the value.
- A server that is not up and has never listed a tool is one tool, `unavailable`, that says why: so it stands in the
  prompt and in the program, and the first call tries to reach it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from codemode_registry import RegistrationError, Tool, ToolAnnotations, ToolContext, ToolError, thaw

from ._json import JsonObject
from ._listing import OPEN_OBJECT, ToolDefinition
from ._upstream import Upstream
from ._values import outcome, render

UNAVAILABLE = "unavailable"
"""The method of the one tool that a server has while it cannot be reached."""

Problem = Callable[[str], None]
"""Takes words about a tool."""


class UpstreamTool(Tool):
    """A tool whose declared output is what stubs say and what values are held against, but not what they must be."""

    __slots__ = ()

    @property
    def output_schema(self) -> None:
        """None: the pipeline takes any value."""
        return

    def broken_promises(self, value: Any) -> str:
        """How `value` breaks the declared output schema, in words; empty where it does not."""
        schema = super().output_schema
        if schema is None or schema.is_valid(value):
            return ""
        return "; ".join(str(violation) for violation in schema.violations(value))


class _Body:
    """The body of one tool: calls the server, maps what it answers."""

    def __init__(self, upstream: Upstream, definition: ToolDefinition) -> None:
        self._upstream = upstream
        self._definition = definition
        self.tool: UpstreamTool | None = None

    async def __call__(self, arguments: Mapping[str, Any], ctx: ToolContext) -> Any:
        async def passed_on(progress: float, total: float | None, message: str | None) -> None:
            ctx.progress(progress, total, message if message is None else self._upstream.redactor.text(message))

        definition = self._definition
        result = await self._upstream.call(
            definition.name, cast("JsonObject", thaw(arguments)), ctx=ctx, progress=passed_on
        )
        found = outcome(
            result,
            output=definition.output,
            wrapped=definition.wrapped,
            accepts=None if definition.output is None else self._accepts,
        )
        if found.failed:
            raise ToolError(self._upstream.redactor.text(str(found.value)))
        assert self.tool is not None
        broken = found.off_schema or self.tool.broken_promises(found.value)
        if broken:
            await ctx.warn(
                f"mcp:{self._upstream.name}",
                f"tool {definition.name!r} broke its declared output schema, its value is passed on as it is: {broken}",
            )
        if found.attachments:
            ctx.defer_context({"role": "user", "content": [dict(block) for block in found.attachments]})
        return found.value

    def _accepts(self, value: Any) -> bool:
        return self.tool is not None and not self.tool.broken_promises(value)


def tool_for(upstream: Upstream, definition: ToolDefinition, problem: Problem) -> Tool | None:
    """The tool for a definition, with as much of its schemas as holds; None if its name cannot be used.

    Args:
        upstream: whose tool it is.
        definition: as the server listed it.
        problem: called with words for what had to be given up.
    """
    reason: RegistrationError | None = None
    for given_up, parameters, output in (
        ("", definition.parameters, definition.output),
        ("its output schema is broken: its result is Any", definition.parameters, None),
        ("its input schema is broken: it takes any arguments", dict(OPEN_OBJECT), definition.output),
        ("both its schemas are broken: it takes any arguments, its result is Any", dict(OPEN_OBJECT), None),
    ):
        tool = _tool(upstream, definition, parameters, output)
        try:
            tool.ready()
        except RegistrationError as error:
            reason = reason or error
            continue
        for words in (*definition.problems, *([f"{given_up} ({reason})"] if given_up else [])):
            problem(upstream.redactor.text(f"tool {definition.name!r}: {words}"))
        return tool
    problem(upstream.redactor.text(f"tool {definition.name!r} was left out: {reason}"))
    return None


def _tool(upstream: Upstream, definition: ToolDefinition, parameters: JsonObject, output: JsonObject | None) -> Tool:
    body = _Body(upstream, definition)
    body.tool = UpstreamTool(
        definition.name,
        upstream.redactor.text(definition.description),
        body,
        parameters=parameters,
        output=output,
        namespace=upstream.name,
        concurrency_safe=definition.read_only,
        timeout=upstream.config.timeout,
        render=render,
        annotations=ToolAnnotations(title=definition.title, **definition.hints),
    )
    return body.tool


def unavailable_tool(upstream: Upstream) -> Tool:
    """The tool of a server that has none to show: says why, and tries again when called."""

    async def say_why(arguments: Mapping[str, Any], ctx: ToolContext) -> str:
        await upstream.reach()
        return f"MCP server {upstream.name!r} is available again: its tools are there from the next run on"

    reason = upstream.error or "it has not answered yet"
    return Tool(
        UNAVAILABLE,
        f"The MCP server {upstream.name!r} is unavailable, and its tools are missing: {reason}",
        say_why,
        parameters={"type": "object", "properties": {}, "additionalProperties": False},
        output={"type": "string"},
        namespace=upstream.name,
        annotations=ToolAnnotations(read_only=True, open_world=True),
    )
