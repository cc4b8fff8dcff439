"""Upstream servers: isolated from each other, followed as they change, and told when a call is over."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from codemode.mcp import Elicitation, ElicitationAnswer, McpUpstreams
from codemode_registry import ApprovalRequest, CancelSignal, MemoryEventLog, Registry, ToolResult

Config = Callable[..., dict[str, Any]]
SECRET = "s3cr3t-key-0123456789"
FORM = {"type": "object", "properties": {}}
PATIENCE = 20.0
"""Seconds that anything may take on a crowded machine before the test gives up."""


@asynccontextmanager
async def opened(servers: dict[str, Any], **options: Any) -> AsyncIterator[tuple[Registry, McpUpstreams]]:
    registry = Registry(events=MemoryEventLog(), approver=options.pop("approver", None))
    with anyio.fail_after(60.0):
        async with McpUpstreams({"mcpServers": servers}, **options) as upstreams:
            with upstreams.attach(registry):
                yield registry, upstreams


async def value(registry: Registry, tool: str, arguments: dict[str, Any] | None = None) -> Any:
    result = await registry.call(tool, arguments or {})
    assert not result.is_error, result.error
    return result.value


async def message(registry: Registry, tool: str, arguments: dict[str, Any] | None = None) -> str:
    result = await registry.call(tool, arguments or {})
    assert result.is_error
    return result.error.message


def warnings(registry: Registry) -> list[str]:
    events = registry.events
    assert isinstance(events, MemoryEventLog)
    return [str(event.data["message"]) for event in events.events if event.type == "warning"]


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    """A bounded wait for what another process does."""
    with anyio.fail_after(PATIENCE):
        while not await condition():  # noqa: ASYNC110 (another process, not a task of ours)
            await anyio.sleep(0.01)


def names(registry: Registry, namespace: str) -> list[str]:
    return [tool.name for tool in registry.tools() if tool.namespace == namespace]


async def test_tools_of_all_pages_are_there_under_the_servers_name(odd: Config) -> None:
    async with opened({"odd": odd()}) as (registry, upstreams):
        assert {"first", "second", "listed"} <= set(names(registry, "odd"))
        assert names(registry, "odd").count("first") == 1
        assert await value(registry, "odd.first") == "first"
        assert await value(registry, "odd.second") == "second"
        (status,) = upstreams.status()
        assert (status.state, status.server, status.transport, status.error) == ("up", "odd 1", "stdio", None)
        assert status.protocol == "2025-11-25"
    assert registry.tools() == []


async def test_two_servers_with_the_same_tools_are_kept_apart(odd: Config) -> None:
    async with opened({"a": odd(env={"API_KEY": "of-server-a"}), "my server.β": odd()}) as (registry, _):
        assert names(registry, "a") == names(registry, "my server.β")
        await value(registry, "a.change", {"add": True})
        assert await value(registry, "my server.β.first") == "first"


async def test_read_only_tools_are_parallel_and_all_others_are_not(odd: Config) -> None:
    async with opened({"odd": odd()}) as (registry, _):
        first, second = registry.get("odd.first"), registry.get("odd.second")
        assert first is not None
        assert second is not None
        assert first.concurrency_safe is True
        assert second.concurrency_safe is False
        assert first.annotations.read_only is True


async def test_a_broken_server_is_named_and_disturbs_no_other(odd: Config) -> None:
    servers = {"none": {"command": "no-such-program-here"}, "dead": odd("dead"), "odd": odd()}
    async with opened({**servers, "off": odd(disabled=True)}) as (registry, upstreams):
        assert await value(registry, "odd.first") == "first"
        states = {status.name: status for status in upstreams.status()}
        assert [states[name].state for name in ("odd", "off")] == ["up", "disabled"]
        assert "no such program" in str(states["none"].error)
        assert "cannot open the database" in str(states["dead"].error)
        assert names(registry, "off") == []
        assert names(registry, "dead") == ["unavailable"]
        tool = registry.get("dead.unavailable")
        assert tool is not None
        assert "'dead' is unavailable" in tool.description
        assert "'none' is unavailable" in await message(registry, "none.unavailable")


async def test_a_silent_server_does_not_hold_up_the_others(odd: Config) -> None:
    async with opened({"silent": odd("silent"), "odd": odd()}, startup_seconds=2.0) as (registry, upstreams):
        assert await value(registry, "odd.first") == "first"
        assert [status.state for status in upstreams.status()] == ["starting", "up"]


async def test_a_server_that_cannot_stand_the_probe_gets_the_handshake(odd: Config) -> None:
    async with opened({"odd": odd("handshake-only")}) as (registry, _):
        assert await value(registry, "odd.first") == "first"


async def test_a_listing_without_end_is_cut_and_said(odd: Config) -> None:
    async with opened({"odd": odd("endless")}) as (registry, _):
        assert names(registry, "odd") == ["only"]
        await eventually(lambda: _has(registry, "does not end"))


async def _has(registry: Registry, words: str) -> bool:
    return any(words in warning for warning in warnings(registry))


async def test_broken_schemas_live_on_as_any_with_a_warning(odd: Config) -> None:
    async with opened({"odd": odd()}) as (registry, _):
        for name in ("bad_output", "bad_input", "remote", "array_root"):
            assert await value(registry, f"odd.{name}", {"n": [1]}) == name
            await eventually(lambda name=name: _has(registry, repr(name)))  # type: ignore[misc]
        tool = registry.get("odd.remote")
        assert tool is not None
        assert tool.output is None
        await eventually(lambda: _has(registry, "a second tool named 'first'"))


async def test_a_value_that_breaks_its_schema_is_a_warning_and_still_there(odd: Config) -> None:
    async with opened({"odd": odd()}) as (registry, _):
        assert await value(registry, "odd.off_schema") == {"n": "eleven"}
        assert await _has(registry, "eleven") or await _has(registry, "off_schema") or warnings(registry)
        assert await value(registry, "odd.listed") == [{"number": 11}, {"number": 12}]


async def test_a_changed_list_is_followed(odd: Config) -> None:
    async with opened({"odd": odd()}) as (registry, _):
        kept = registry.get("odd.first")
        await value(registry, "odd.change", {"add": True})

        async def there() -> bool:
            return registry.get("odd.added") is not None

        await eventually(there)
        assert registry.get("odd.first") is kept
        assert await value(registry, "odd.added") == "added"
        await value(registry, "odd.change", {"add": False})

        async def gone() -> bool:
            return registry.get("odd.added") is None

        await eventually(gone)
        assert (await registry.call("odd.added", {})).is_error


async def test_a_modern_server_is_spoken_to_in_its_own_revision(modern: dict[str, Any]) -> None:
    async with opened({"modern": modern}) as (registry, upstreams):
        assert await value(registry, "modern.era") == "2026-07-28"
        assert await value(registry, "modern.list") == [1, 2, 3]
        assert upstreams.status()[0].protocol == "2026-07-28"
        await value(registry, "modern.change")

        async def there() -> bool:
            return registry.get("modern.added0") is not None

        await eventually(there)


@pytest.mark.parametrize("kind", ["odd", "modern"])
async def test_cancelling_a_call_reaches_the_server(kind: str, odd: Config, modern: dict[str, Any]) -> None:
    async with opened({"it": odd() if kind == "odd" else modern}) as (registry, _):
        begun = anyio.Event()
        registry.on_progress(lambda *_: begun.set())
        cancel = CancelSignal()
        results: list[ToolResult] = []

        async def call() -> None:
            results.append(await registry.call("it.wait", {}, cancel=cancel))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            with anyio.fail_after(PATIENCE):
                await begun.wait()
            cancel.cancel()
        assert results[0].is_error
        assert results[0].error.code == "ABORTED"

        async def noticed() -> bool:
            return "wait" in json.dumps(await value(registry, "it.noticed"))

        await eventually(noticed)


async def test_a_timeout_reaches_the_server(odd: Config) -> None:
    async with opened({"odd": odd(timeout=0.2)}) as (registry, _):
        result = await registry.call("odd.wait", {})
        assert result.is_error
        assert result.error.code == "TOOL_TIMEOUT"
        assert '"odd.wait" timed out after 0.2' in result.error.message
        assert (await value(registry, "odd.noticed"))["cancelled"] == ["wait"]


async def test_calls_are_multiplexed_on_one_connection(odd: Config) -> None:
    async with opened({"odd": odd()}) as (registry, _):
        begun = anyio.Event()
        registry.on_progress(lambda *_: begun.set())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(registry.call, "odd.wait", {})
            with anyio.fail_after(PATIENCE):
                await begun.wait()
            assert await value(registry, "odd.first") == "first"
            tasks.cancel_scope.cancel()


async def test_progress_is_passed_on(odd: Config) -> None:
    async with opened({"odd": odd()}) as (registry, _):
        seen: list[tuple[Any, ...]] = []
        registry.on_progress(lambda *progress: seen.append(progress))
        assert await value(registry, "odd.steps") == "done"

        async def all_there() -> bool:
            return len(seen) == 3

        await eventually(all_there)
        assert "step 3" in str(seen[-1])


async def test_a_server_that_dies_in_a_call_fails_it_at_once_and_comes_back(odd: Config) -> None:
    async with opened({"odd": odd(), "other": odd()}) as (registry, upstreams):
        said = await message(registry, "odd.die")
        assert "'odd' closed the connection" in said
        assert await value(registry, "other.first") == "first"
        assert await value(registry, "odd.first") == "first"
        assert upstreams.status()[0].state == "up"


async def test_an_error_of_the_protocol_is_the_calls_failure(odd: Config) -> None:
    async with opened({"odd": odd()}) as (registry, _):
        result = {"content": [{"type": "text", "text": "no such file"}], "isError": True}
        assert await message(registry, "odd.values", {"result": result}) == "no such file"


async def test_images_are_values_for_a_program_and_images_for_a_model(odd: Config) -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    async with opened({"odd": odd()}) as (registry, _):
        result = await registry.call("odd.values", {"result": {"content": [image]}})
        assert not result.is_error
        assert result.value == image
        assert result.content == [image]
        beside = await registry.call("odd.values", {"result": {"content": [image], "structuredContent": {"n": 1}}})
        assert not beside.is_error
        assert beside.value == {"n": 1}
        assert image in beside.contexts[0]["content"]


async def test_a_secret_of_the_configuration_is_nowhere_to_be_seen(
    odd: Config, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    servers = {
        "odd": odd(env={"API_KEY": SECRET}),
        "gone": {"command": "no-such-program", "env": {"API_KEY": SECRET}, "args": [SECRET]},
        "http": {"url": f"http://127.0.0.1:9/mcp?key={SECRET}", "headers": {"Authorization": f"Bearer {SECRET}"}},
    }
    async with opened(servers) as (registry, upstreams):
        assert await value(registry, "odd.secret") == "key [redacted]"
        assert await message(registry, "odd.secret", {"fail": True}) == "key [redacted]"
        assert SECRET not in await message(registry, "gone.unavailable")
        assert SECRET not in await message(registry, "http.unavailable")
        events = registry.events
        assert isinstance(events, MemoryEventLog)
        seen = [repr(events.events), repr(upstreams.status()), repr(registry.schemas())]
        seen += [tool.description for tool in registry.tools()]
    assert SECRET not in "".join(seen)
    assert SECRET not in caplog.text


QUESTION = {"mode": "form", "message": "Really?", "requestedSchema": FORM}


async def answer_to(registry: Registry, params: dict[str, Any]) -> Any:
    return await value(registry, "odd.ask", {"params": params})


async def test_a_question_nobody_can_answer_is_declined(odd: Config, modern: dict[str, Any]) -> None:
    async with opened({"odd": odd(), "modern": modern}) as (registry, _):
        assert await answer_to(registry, QUESTION) == {"action": "decline"}
        assert await value(registry, "modern.ask") == "decline"


async def test_a_question_goes_to_the_approver_with_the_call_it_is_about(odd: Config, modern: dict[str, Any]) -> None:
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> str:
        asked.append(request)
        return "allowed-once"

    async with opened({"odd": odd(), "modern": modern}, approver=approve) as (registry, _):
        assert await answer_to(registry, QUESTION) == {"action": "accept", "content": {}}
        assert await value(registry, "modern.ask") == "accept"
        assert [request.tool_name for request in asked] == ["odd.ask", "modern.ask"]
        assert "Really?" in str(asked[0].reason)
        assert asked[0].arguments == {"params": QUESTION}


async def test_a_yes_cannot_fill_in_a_form(odd: Config) -> None:
    async def approve(request: ApprovalRequest) -> str:
        return "allowed-once"

    needy = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    easy = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}, "required": ["n"]}
    async with opened({"odd": odd()}, approver=approve) as (registry, _):
        assert await answer_to(registry, {**QUESTION, "requestedSchema": needy}) == {"action": "decline"}
        accepted = await answer_to(registry, {**QUESTION, "requestedSchema": easy})
        assert accepted == {"action": "accept", "content": {"n": 3}}


async def test_an_approver_that_fails_or_says_no_declines(odd: Config) -> None:
    answers = iter(["rejected", "nonsense", "cancelled"])

    async def approve(request: ApprovalRequest) -> str:
        return next(answers)

    async with opened({"odd": odd()}, approver=approve) as (registry, _):
        assert await answer_to(registry, QUESTION) == {"action": "decline"}
        assert await answer_to(registry, QUESTION) == {"action": "decline"}
        assert await answer_to(registry, QUESTION) == {"action": "cancel"}
        assert await answer_to(registry, QUESTION) == {"action": "decline"}
        events = registry.events
        assert isinstance(events, MemoryEventLog)
        decided = [event.data["outcome"] for event in events.events if event.type == "approval/decided"]
        assert decided == ["rejected", "unavailable", "cancelled", "unavailable"]


async def test_a_policy_of_never_asking_declines_without_asking(odd: Config) -> None:
    async def elicit(question: Elicitation) -> ElicitationAnswer:
        raise AssertionError("asked")

    async with opened({"odd": odd()}, elicitor=elicit) as (registry, _):
        registry.set_approval_policy("never")
        assert await answer_to(registry, QUESTION) == {"action": "decline"}


async def test_an_elicitor_is_asked_before_the_approver_and_can_fill_in_forms(odd: Config) -> None:
    asked: list[Elicitation] = []

    async def elicit(question: Elicitation) -> ElicitationAnswer:
        asked.append(question)
        return ElicitationAnswer("accept", {"name": "Ada"})

    async with opened({"odd": odd()}, elicitor=elicit) as (registry, _):
        assert await answer_to(registry, QUESTION) == {"action": "accept", "content": {"name": "Ada"}}
    assert (asked[0].server, asked[0].tool_name, asked[0].message) == ("odd", "odd.ask", "Really?")


async def test_a_question_that_could_be_anybodys_is_put_to_nobody(odd: Config) -> None:
    async def elicit(question: Elicitation) -> ElicitationAnswer:
        raise AssertionError("asked")

    async with opened({"odd": odd()}, elicitor=elicit) as (registry, _):
        begun = anyio.Event()
        registry.on_progress(lambda *_: begun.set())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(registry.call, "odd.wait", {})
            with anyio.fail_after(PATIENCE):
                await begun.wait()
            assert await answer_to(registry, QUESTION) == {"action": "decline"}
            tasks.cancel_scope.cancel()
        await eventually(lambda: _has(registry, "no single open call"))


async def test_tools_can_go_into_a_scope_only(odd: Config) -> None:
    registry = Registry()
    async with McpUpstreams({"mcpServers": {"odd": odd()}}) as upstreams:
        scope = registry.scope("agent")
        attachment = upstreams.attach(scope)
        assert registry.tools() == []
        assert "odd.first" in [tool.full_name for tool in registry.tools(scope)]
        attachment.dispose()
        attachment.dispose()
        assert registry.tools(scope) == []
