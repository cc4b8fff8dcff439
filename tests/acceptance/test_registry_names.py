"""api.md: what is importable, the error tree, the decisions' fields, the built-in toolsets. Public names only."""

from __future__ import annotations

import inspect
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import codemode
import codemode.testing
from codemode import (
    Accept,
    Allow,
    Ask,
    Block,
    CodeModeError,
    Deny,
    Registration,
    RegistrationError,
    Registry,
    RuntimeUnavailableError,
    Tool,
    ToolAnnotations,
    ToolContext,
    ToolError,
    ToolFailure,
    ToolRequest,
    ToolSuccess,
)
from codemode.toolsets import fs_tools, job_tools, sqlite_tools

NAMES = [
    "Accept",
    "Allow",
    "ApprovalPolicy",
    "ApprovalRequest",
    "Approver",
    "Ask",
    "Binding",
    "BindingError",
    "Block",
    "CallRecord",
    "CancelSignal",
    "CodeMode",
    "CodeModeError",
    "CodeRunRequest",
    "CodeRunResult",
    "CodeRuntime",
    "Deny",
    "Diagnostic",
    "Event",
    "EventLog",
    "JsonValue",
    "JsonlEventLog",
    "Limits",
    "MemoryEventLog",
    "ProcessRuntime",
    "Registration",
    "RegistrationError",
    "Registry",
    "RunError",
    "RunResult",
    "RuntimeUnavailableError",
    "Scope",
    "Tool",
    "ToolAnnotations",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolFailure",
    "ToolRequest",
    "ToolResult",
    "ToolSuccess",
    "check_program",
    "read_events",
    "run_sync",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_the_api_is_importable(name: str) -> None:
    assert getattr(codemode, name) is not None
    assert name in codemode.__all__
    assert name in dir(codemode)


def test_the_fakes_are_in_testing() -> None:
    assert callable(codemode.testing.FakeRuntime)
    assert inspect.iscoroutinefunction(codemode.testing.runtime_self_check)
    assert inspect.iscoroutinefunction(codemode.testing.run_unrestricted)


def test_the_error_tree() -> None:
    assert issubclass(CodeModeError, Exception)
    assert issubclass(RegistrationError, CodeModeError)
    assert issubclass(RegistrationError, ValueError)
    assert issubclass(RuntimeUnavailableError, CodeModeError)
    assert issubclass(ToolError, Exception)
    assert str(ToolError("message for the model")) == "message for the model"


def test_decisions_have_their_fields_and_defaults() -> None:
    assert Deny("why").reason == "why"
    assert Ask().reason is None
    assert Ask("why").reason == Ask(reason="why").reason == "why"
    assert Allow() == Allow()
    assert tuple(Accept().contexts) == ()
    assert Accept(value=1).value == 1
    assert Accept(value=None) != Accept()
    assert Block("feedback").feedback == "feedback"
    assert tuple(Block("feedback", contexts=({"a": 1},)).contexts) == ({"a": 1},)
    request = ToolRequest("t", {"a": 1})
    assert (request.name, request.arguments, request.call_id) == ("t", {"a": 1}, None)


@pytest.mark.parametrize(
    "made", [Deny("x"), Ask(), Allow(), Accept(), Block("x"), ToolRequest("t", {}), ToolAnnotations()]
)
def test_the_small_values_are_frozen(made: Any) -> None:
    with pytest.raises((AttributeError, TypeError)):
        made.reason = "other"


def test_every_hook_is_on_the_registry_and_on_a_scope_and_gives_a_registration() -> None:
    registry = Registry()

    async def hook(*given: Any) -> Any:
        return await given[-1]()

    def observer(*_: Any) -> None:
        return None

    for layer in (registry, registry.scope("s")):
        for name in ("pre_execute", "around_execute", "post_execute"):
            assert isinstance(getattr(layer, name)(hook), Registration)
            assert isinstance(getattr(layer, name)(hook, prepend=True), Registration)
        for name in ("guard", "on_result", "on_change", "shape_dispatch_log", "on_progress"):
            assert isinstance(getattr(layer, name)(observer), Registration)
        layer.set_approval_policy("never")
        layer.set_approval_policy("ask")


async def test_a_tool_error_may_be_raised_from_within_and_others_too() -> None:
    registry = Registry()

    @registry.tool
    def threaded() -> None:
        """Fails in a thread."""
        raise ToolError("from a thread")

    result = await registry.call("threaded", {})
    assert isinstance(result, ToolFailure)
    assert (result.error.message, result.error.code, result.error.name) == ("from a thread", "TOOL_ERROR", "ToolError")


async def test_codes_are_the_names_of_failures_that_no_exception_made() -> None:
    registry = Registry()
    ghost = await registry.call("ghost", {})
    assert isinstance(ghost, ToolFailure)
    assert ghost.error.name in ("UNKNOWN_TOOL", "ToolNotFoundError")
    assert ghost.meta is None
    assert list(ghost.contexts) == []


def test_the_toolsets_have_the_pinned_signatures() -> None:
    for toolset in (fs_tools, sqlite_tools):
        parameters = inspect.signature(toolset).parameters
        assert parameters["write"].default is False
        assert parameters["write"].kind is inspect.Parameter.KEYWORD_ONLY


async def test_fs_tools_stay_below_their_root_and_write_only_when_told(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("hello")
    (tmp_path / "secret.txt").write_text("secret")
    registry = Registry()
    reading = registry.add(fs_tools(root), namespace="fs")
    assert isinstance(reading, Registration)
    names = [tool.full_name for tool in registry.tools()]
    assert names
    assert all(name.startswith("fs.") for name in names)
    reading.dispose()
    assert registry.tools() == []
    registry.add(fs_tools(root, write=True), namespace="fs")
    more = [tool.full_name for tool in registry.tools()]
    assert set(names) < set(more)


async def test_sqlite_tools_are_a_toolset_too(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("create table t (a integer)")
    database.close()
    registry = Registry()
    registry.add(sqlite_tools(path), namespace="db")
    assert registry.tools()
    registry.add(job_tools(), namespace="jobs")
    assert any(tool.full_name.startswith("jobs.") for tool in registry.tools())


def test_a_toolset_is_added_all_or_none() -> None:
    registry = Registry()

    async def body(arguments: Any, ctx: ToolContext) -> None:
        return None

    registry.register(Tool("b", "d", body, parameters={"type": "object"}))
    with pytest.raises(RegistrationError):
        registry.add([Tool(name, "d", body, parameters={"type": "object"}) for name in ("a", "b")])
    assert [tool.full_name for tool in registry.tools()] == ["b"]
    scope = registry.scope("s")
    scope.add([Tool("c", "d", body, parameters={"type": "object"})], namespace="n")
    assert [tool.full_name for tool in registry.tools(scope)] == ["b", "n.c"]


async def test_success_may_be_made_by_a_wrapper_with_contexts_and_a_conclusion() -> None:
    registry = Registry()

    async def body(arguments: Any, ctx: ToolContext) -> None:
        return None

    registry.register(Tool("t", "d", body, parameters={"type": "object"}))

    async def wrapper(call: Any, next: Any) -> Any:
        return ToolSuccess("own", contexts=({"from": "wrapper"},))

    registry.around_execute(wrapper)
    result = await registry.call("t", {})
    assert isinstance(result, ToolSuccess)
    assert (result.value, list(result.contexts)) == ("own", [{"from": "wrapper"}])
