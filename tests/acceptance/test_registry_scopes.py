"""api.md and pipeline.md: layers, scopes, restrictions, presentation, changes. Public names only."""

from __future__ import annotations

from typing import Any

import pytest

from codemode import (
    Allow,
    CancelSignal,
    CodeMode,
    Deny,
    JsonValue,
    Registration,
    RegistrationError,
    Registry,
    Scope,
    Tool,
    ToolContext,
    ToolFailure,
    ToolRequest,
    ToolSuccess,
)


def saying(name: str, text: str | None = None, **options: Any) -> Tool:
    async def body(arguments: Any, ctx: ToolContext) -> JsonValue:
        return text or name

    return Tool(name, "d", body, parameters={"type": "object"}, **options)


def names(registry: Registry, scope: Scope | None = None) -> list[str]:
    return [tool.full_name for tool in registry.tools(scope)]


async def said(registry: Registry, name: str, scope: Scope | None = None) -> JsonValue:
    result = await registry.call(name, {}, scope=scope)
    return result.value if isinstance(result, ToolSuccess) else result.error.code


async def test_a_scope_sees_global_then_ancestors_then_its_own_and_shadows_in_place() -> None:
    registry = Registry()
    registry.register(saying("a"))
    registry.register(saying("b"))
    parent = registry.scope("parent")
    child = parent.scope("child")
    assert isinstance(child, Scope)
    parent.register(saying("p"))
    child.register(saying("c"))
    parent.register(saying("b", "parent's b"))
    registry.register(saying("later"))
    assert names(registry) == ["a", "b", "later"]
    assert names(registry, parent) == ["a", "b", "later", "p"]
    assert names(registry, child) == ["a", "b", "later", "p", "c"]
    assert await said(registry, "b", child) == "parent's b"
    assert await said(registry, "b") == "b"
    assert await said(registry, "p") == "UNKNOWN_TOOL"
    assert await said(registry, "c", parent) == "UNKNOWN_TOOL"
    tool = registry.get("b", parent)
    assert tool is not None
    assert registry.get("b", scope=child) is tool
    assert [schema["name"] for schema in registry.schemas(scope=child)] == names(registry, child)


async def test_the_scope_decorator_registers_in_the_scope_only() -> None:
    registry = Registry()
    scope = registry.scope("s")

    @scope.tool
    async def mine() -> str:
        """Mine."""
        return "mine"

    @scope.tool(name="other")
    async def _other() -> str:
        """Other."""
        return "other"

    assert names(registry) == []
    assert names(registry, scope) == ["mine", "other"]
    assert await said(registry, "other", scope) == "other"


async def test_a_disposed_scope_takes_everything_with_it_and_frees_its_name() -> None:
    registry = Registry()
    registry.register(saying("a"))
    scope = registry.scope("s")
    with pytest.raises(RegistrationError):
        registry.scope("s")
    scope.scope("s")  # a nested one is no sibling
    scope.register(saying("b"))
    scope.restrict(deny=["a"])
    scope.guard(lambda call: "no")
    scope.dispose()
    scope.dispose()
    again = registry.scope("s")
    assert names(registry, again) == ["a"]
    assert await said(registry, "a", again) == "a"


async def test_restrictions_filter_what_is_inherited_only() -> None:
    registry = Registry()
    for name in ("a", "b", "c"):
        registry.register(saying(name))
    scope = registry.scope("s")
    scope.register(saying("own"))
    allowed = scope.restrict(allow=["a", "b"])
    assert isinstance(allowed, Registration)
    assert names(registry, scope) == ["a", "b", "own"]
    denied = scope.restrict(deny=["b"])
    assert names(registry, scope) == ["a", "own"]
    registry.register(saying("later"))
    assert names(registry, scope) == ["a", "own"]
    allowed.dispose()
    allowed.dispose()
    assert names(registry, scope) == ["a", "c", "later", "own"]
    denied()
    assert names(registry, scope) == ["a", "b", "c", "later", "own"]


async def test_a_hidden_tool_is_unknown_everywhere() -> None:
    registry = Registry()
    registry.register(saying("a"))
    registry.register(saying("b"))
    scope = registry.scope("s")
    child = scope.scope("child")
    scope.restrict(deny=["a"])
    for view in (scope, child):
        assert registry.get("a", view) is None
        assert names(registry, view) == ["b"]
        assert [schema["name"] for schema in registry.schemas(view)] == ["b"]
        hidden = await registry.call("a", {}, scope=view)
        never = await registry.call("zzz", {}, scope=view)
        assert isinstance(hidden, ToolFailure)
        assert isinstance(never, ToolFailure)
        assert hidden.error.code == never.error.code == "UNKNOWN_TOOL"
        assert hidden.error.name == never.error.name


def test_empty_lists_and_unknown_names_of_restrictions() -> None:
    registry = Registry()
    registry.register(saying("a"))
    scope = registry.scope("s")
    scope.register(saying("own"))
    with scope.restrict(allow=[]):
        assert names(registry, scope) == ["own"]
    with scope.restrict(deny=[]):
        assert names(registry, scope) == ["a", "own"]
    for options in (
        {},
        {"allow": ["nope"]},
        {"deny": ["a", "nope"]},
        {"deny": ["own"]},
        {"deny": ["run_code"]},
        {"allow": ["run_code"]},
        {"allow": None, "deny": None},
    ):
        with pytest.raises(RegistrationError):
            scope.restrict(**options)
    with pytest.raises(RegistrationError, match="zip"):
        scope.restrict(allow=["nope", "zip"])
    assert names(registry, scope) == ["a", "own"]


def test_a_restrictions_list_is_read_once() -> None:
    registry = Registry()
    registry.register(saying("a"))
    registry.register(saying("b"))
    scope = registry.scope("s")
    allow = ["a"]
    scope.restrict(allow=iter(allow))
    allow.append("b")
    assert names(registry, scope) == ["a"]


def test_deny_wins_over_allow_in_one_restriction() -> None:
    registry = Registry()
    registry.register(saying("a"))
    registry.register(saying("b"))
    scope = registry.scope("s")
    scope.restrict(allow=["a", "b"], deny=["b"])
    assert names(registry, scope) == ["a"]


def test_on_change_tells_of_tools_and_restrictions_and_not_of_guards() -> None:
    registry = Registry()
    heard: list[int] = []
    listening = registry.on_change(lambda *_: heard.append(1))
    assert isinstance(listening, Registration)

    def count() -> int:
        number = len(heard)
        heard.clear()
        return number

    tool = registry.register(saying("a"))
    assert count() >= 1
    scope = registry.scope("s")
    count()
    restriction = scope.restrict(deny=["a"])
    assert count() >= 1
    restriction.dispose()
    assert count() >= 1
    guard = registry.guard(lambda call: None)
    guard.dispose()
    assert count() == 0
    tool.dispose()
    assert count() >= 1
    listening.dispose()
    registry.register(saying("b"))
    assert count() == 0


async def test_hooks_of_a_scope_hear_its_calls_and_its_descendants_only() -> None:
    registry = Registry()
    registry.register(saying("a"))
    parent = registry.scope("parent")
    child = parent.scope("child")
    other = registry.scope("other")
    heard: list[str] = []

    @parent.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        heard.append("pre")
        return await next()

    @parent.around_execute
    async def wrapper(call: Any, next: Any) -> Any:
        heard.append("around")
        return await next()

    @parent.post_execute
    async def review(call: Any, result: Any, next: Any) -> Any:
        heard.append("post")
        return await next()

    def guard(call: Any) -> None:
        heard.append("guard")

    parent.guard(guard)
    parent.on_result(lambda call, result: heard.append("result"))
    for scope, expected in (
        (None, []),
        (other, []),
        (parent, ["pre", "guard", "around", "post", "result"]),
        (child, ["pre", "guard", "around", "post", "result"]),
    ):
        heard.clear()
        await registry.call("a", {}, scope=scope)
        assert heard == expected


async def test_across_layers_the_order_is_global_ancestors_scope_outermost_first() -> None:
    registry = Registry()
    registry.register(saying("a"))
    parent = registry.scope("parent")
    child = parent.scope("child")
    order: list[str] = []

    def hook_up(layer: Registry | Scope, name: str) -> None:
        async def policy(call: Any, next: Any) -> Any:
            order.append(f"pre {name}")
            return await next()

        async def wrapper(call: Any, next: Any) -> Any:
            order.append(f"around {name}")
            return await next()

        async def review(call: Any, result: Any, next: Any) -> Any:
            order.append(f"post {name}")
            return await next()

        def guard(call: Any) -> None:
            order.append(f"guard {name}")

        layer.pre_execute(policy)
        layer.guard(guard)
        layer.around_execute(wrapper)
        layer.post_execute(review)

    hook_up(child, "child")
    hook_up(parent, "parent")
    hook_up(registry, "global")
    await registry.call("a", {}, scope=child)
    assert order == [
        f"{stage} {name}" for stage in ("pre", "guard", "around", "post") for name in ("global", "parent", "child")
    ]


async def test_prepend_puts_before_and_first_registered_is_outermost() -> None:
    registry = Registry()
    registry.register(saying("a"))
    order: list[str] = []

    def named(name: str) -> Any:
        async def policy(call: Any, next: Any) -> Any:
            order.append(name)
            decision = await next()
            order.append(f"/{name}")
            return decision

        return policy

    registry.pre_execute(named("a"))
    registry.pre_execute(named("b"))
    first = registry.pre_execute(named("c"), prepend=True)
    assert isinstance(first, Registration)
    await registry.call("a", {})
    assert order == ["c", "a", "b", "/b", "/a", "/c"]
    first.dispose()
    order.clear()
    await registry.call("a", {})
    assert order == ["a", "b", "/b", "/a"]


async def test_the_same_function_twice_is_two_registrations() -> None:
    registry = Registry()
    registry.register(saying("a"))

    def guard(call: Any) -> str:
        return "no"

    one = registry.guard(guard)
    two = registry.guard(guard)
    one.dispose()
    one.dispose()
    assert await said(registry, "a") == "DENIED"
    two.dispose()
    assert await said(registry, "a") == "a"

    count: list[int] = []

    async def policy(call: Any, next: Any) -> Any:
        count.append(1)
        return await next()

    registry.pre_execute(policy)
    registry.pre_execute(policy)
    await registry.call("a", {})
    assert len(count) == 2


def test_policies_and_reviews_are_async_functions() -> None:
    registry = Registry()

    def sync(*_: Any) -> Any:
        return Allow()

    for door in (registry.pre_execute, registry.post_execute, registry.around_execute):
        with pytest.raises(RegistrationError):
            door(sync)
        with pytest.raises(RegistrationError):
            door("no function")  # type: ignore[arg-type]


async def test_presentation_is_native_then_nearest_declaration_wins() -> None:
    registry = Registry()
    registry.register(saying("a"))
    parent = registry.scope("parent")
    child = parent.scope("child")
    async with CodeMode(registry):
        declared = parent.present_as("code")
        assert isinstance(declared, Registration)
        assert await said(registry, "a") == "a"
        collapsed = await registry.call("a", {}, scope=parent)
        assert isinstance(collapsed, ToolFailure)
        assert collapsed.error.code == "UNKNOWN_TOOL"
        assert "run_code" in collapsed.error.message
        assert "a" in collapsed.error.message
        assert await said(registry, "a", child) == "UNKNOWN_TOOL"
        assert [schema["name"] for schema in registry.schemas(parent)] == [
            "a",
            "run_code",
        ]  # the catalogue, not the wire
        own = child.present_as("both")
        assert await said(registry, "a", child) == "a"
        assert [schema["name"] for schema in registry.schemas(child)] == ["a", "run_code"]
        own.dispose()
        assert await said(registry, "a", child) == "UNKNOWN_TOOL"
        with pytest.raises(RegistrationError):
            parent.present_as("native")
        declared.dispose()
        assert await said(registry, "a", parent) == "a"
        with pytest.raises(RegistrationError):
            parent.present_as("sideways")  # type: ignore[arg-type]
        assert [schema["name"] for schema in registry.schemas()] == ["a"]


async def test_a_collapsed_call_meets_no_policy_and_no_finalize_and_is_observed_once() -> None:
    registry = Registry()
    heard: list[str] = []

    def finalize(call: Any, result: Any) -> None:
        heard.append("finalize")

    registry.register(saying("a", finalize_content=finalize))

    @registry.pre_execute
    async def policy(call: Any, next: Any) -> Any:
        heard.append("pre")
        return Deny("no")

    @registry.post_execute
    async def review(call: Any, result: Any, next: Any) -> Any:
        heard.append("post")
        return await next()

    @registry.around_execute
    async def wrapper(call: Any, next: Any) -> Any:
        heard.append("around")
        return await next()

    registry.guard(lambda call: heard.append("guard"))
    registry.on_result(lambda call, result: heard.append("result"))
    scope = registry.scope("s")
    scope.present_as("code")
    async with CodeMode(registry):
        assert await said(registry, "a", scope) == "UNKNOWN_TOOL"
    assert heard == ["result"]


async def test_run_code_can_be_called_only_while_a_code_mode_is_open_and_presents_it() -> None:
    registry = Registry()
    registry.register(saying("a"))
    arguments: dict[str, Any] = {"code": "return await tools.a()", "description": "d"}
    scope = registry.scope("s")
    scope.present_as("code")
    before = await registry.call("run_code", arguments, scope=scope)
    assert isinstance(before, ToolFailure)
    assert before.error.code == "UNKNOWN_TOOL"
    async with CodeMode(registry):
        inside = await registry.call("run_code", arguments, scope=scope)
        assert isinstance(inside, ToolSuccess), inside
        native = await registry.call("run_code", arguments)
        assert isinstance(native, ToolFailure)
        assert native.error.code == "UNKNOWN_TOOL"
    after = await registry.call("run_code", arguments, scope=scope)
    assert isinstance(after, ToolFailure)
    assert after.error.code == "UNKNOWN_TOOL"


async def test_a_tool_named_ns_dot_tool_and_a_namespaced_one_are_reached_by_their_full_names() -> None:
    registry = Registry()
    registry.register(saying("get", "namespaced", namespace="web"))
    registry.register(saying("db.get", "dotted"))
    assert await said(registry, "web.get") == "namespaced"
    assert await said(registry, "db.get") == "dotted"
    assert await said(registry, "get") == "UNKNOWN_TOOL"


async def test_an_unknown_tool_message_has_a_near_name() -> None:
    registry = Registry()
    registry.register(saying("search_pages"))
    result = await registry.call("serach_pages", {})
    assert isinstance(result, ToolFailure)
    assert "serach_pages" in result.error.message
    assert "search_pages" in result.error.message
    far = await registry.call("zzz", {})
    assert isinstance(far, ToolFailure)
    assert "search_pages" not in far.error.message


async def test_a_collapsed_call_that_was_cancelled_or_is_no_json_fails_for_that_and_is_finalized() -> None:
    registry = Registry()
    finalized: list[str] = []

    def finalize(call: Any, result: Any) -> None:
        finalized.append(result.error.code)

    registry.register(saying("a", finalize_content=finalize))
    scope = registry.scope("s")
    scope.present_as("code")
    cancel = CancelSignal()
    cancel.cancel()
    aborted = await registry.call("a", {}, scope=scope, cancel=cancel)
    lossy = await registry.call("a", {"x": b""}, scope=scope, cancel=cancel)
    collapsed = await registry.call("a", {}, scope=scope)
    codes = [result.error.code for result in (aborted, lossy, collapsed) if isinstance(result, ToolFailure)]
    assert codes == ["ABORTED_BEFORE_DISPATCH", "INVALID_ARGS", "UNKNOWN_TOOL"]
    assert finalized == codes[:2]
    ghost = await registry.call("ghost", {}, scope=scope)
    assert isinstance(ghost, ToolFailure)
    assert "run_code" not in ghost.error.message


async def test_a_guard_that_a_guard_adds_is_heard_in_the_same_pass() -> None:
    registry = Registry()
    registry.register(saying("a"))
    added: list[Registration] = []

    def first(call: Any) -> None:
        if not added:
            added.append(registry.guard(lambda call: "added"))

    registry.guard(first)
    assert await said(registry, "a") == "DENIED"


@pytest.mark.parametrize(("mode", "names"), [("native", ["a"]), ("code", ["run_code"]), ("both", ["a", "run_code"])])
async def test_the_mode_of_a_code_mode_is_the_default_of_what_goes_through_it(mode: Any, names: list[str]) -> None:
    registry = Registry()
    registry.register(saying("a"))
    async with CodeMode(registry, mode=mode) as cm:
        assert [schema["name"] for schema in cm.schemas()] == names
        assert [set(schema) for schema in cm.schemas()] == [{"name", "description", "input_schema"}] * len(names)
        direct = await cm.call("a", {})
        assert isinstance(direct, ToolSuccess) is (mode != "code")
        batch = await cm.call_batch([ToolRequest("a", {})])
        assert batch[0].is_error is (mode == "code")
        program = await cm.call("run_code", {"code": "return await tools.a()", "description": "d"})
        assert isinstance(program, ToolSuccess) is (mode != "native")
        assert (await cm.run("return await tools.a()")).value == "a"
        assert await said(registry, "a") == "a"
