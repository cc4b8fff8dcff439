"""Layers: what a scope sees, shadows, hides and presents."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_registry import RegistrationError, Registry, Scope, Tool, ToolCall, ToolRequest

from .build import failed, ok, raw, returning


def names(registry: Registry, scope: Scope | None = None) -> list[str]:
    return [tool.full_name for tool in registry.tools(scope)]


async def test_a_scope_sees_the_global_tools_and_its_own_and_nobody_else_sees_those() -> None:
    registry = Registry()
    registry.register(returning("a", 1))
    scope, other = registry.scope("agent"), registry.scope("other")
    scope.register(returning("b", 2))
    assert names(registry, scope) == ["a", "b"]
    assert names(registry) == names(registry, other) == ["a"]
    assert ok(await registry.call("b", {}, scope=scope)) == 2
    for elsewhere in (None, other):
        assert failed(await registry.call("b", {}, scope=elsewhere), "UNKNOWN_TOOL") == 'unknown tool "b"'


@pytest.mark.parametrize("scope_first", [True, False])
async def test_a_scoped_tool_shadows_the_global_one_in_its_place(scope_first: bool) -> None:
    registry = Registry()
    registry.register(returning("a", 1))
    scope = registry.scope("agent")
    if scope_first:
        scope.register(returning("x", "own"))
        registry.register(returning("x", "global"))
    else:
        registry.register(returning("x", "global"))
        scope.register(returning("x", "own"))
    registry.register(returning("z", 3))
    scope.register(returning("last", 4))
    assert names(registry, scope) == ["a", "x", "z", "last"]
    assert ok(await registry.call("x", {}, scope=scope)) == "own"
    assert ok(await registry.call("x", {})) == "global"


def test_duplicates_are_refused_with_words_for_each_layer() -> None:
    registry = Registry()
    registry.register(raw("x", len))
    with pytest.raises(RegistrationError, match="through a scope"):
        registry.register(raw("x", len))
    scope = registry.scope("agent")
    scope.register(raw("x", len))
    with pytest.raises(RegistrationError, match="in this scope"):
        scope.register(raw("x", len))


async def test_scopes_nest_and_inherit() -> None:
    registry = Registry()
    registry.register(returning("a", 1))
    preset = registry.scope("preset")
    preset.register(returning("p", 2))
    child = preset.scope("child")
    child.register(returning("c", 3))
    assert names(registry, child) == ["a", "p", "c"]
    assert names(registry, preset) == ["a", "p"]
    assert child.parent is preset
    assert preset.parent is None
    assert child.registry is registry
    assert child.name == "child"
    assert "child" in repr(child)


def test_a_live_sibling_of_the_same_name_is_refused() -> None:
    registry = Registry()
    one = registry.scope("a")
    with pytest.raises(RegistrationError, match="'a'"):
        registry.scope("a")
    one.scope("a").scope("a")
    one.dispose()
    registry.scope("a")
    for name in ("", 5, None):
        with pytest.raises(RegistrationError):
            registry.scope(name)  # type: ignore[arg-type]


async def test_disposing_a_scope_drops_everything_of_it_and_refuses_its_calls() -> None:
    registry = Registry()
    registry.register(returning("a", 1))
    registry.register(returning("b", 1))
    scope = registry.scope("agent")
    child = scope.scope("child")
    scope.register(returning("own", 1))
    scope.restrict(deny=["a"])
    scope.guard(lambda call: "guarded")
    registration = scope.register(returning("more", 1))
    scope.dispose()
    scope.dispose()
    assert scope.disposed
    assert child.disposed
    assert names(registry, scope) == names(registry, child) == ["a", "b"]
    for gone in (scope, child):
        assert "disposed" in failed(await registry.call("a", {}, scope=gone), "PIPELINE_ERROR")
    for act in (
        lambda: scope.register(raw("x", len)),
        lambda: scope.guard(lambda call: None),
        lambda: scope.restrict(deny=["b"]),
        lambda: scope.present_as("code"),
        lambda: scope.scope("x"),
        lambda: scope.set_approval_policy("never"),
    ):
        with pytest.raises(RegistrationError, match="disposed"):
            act()
    registration.dispose()
    fresh = registry.scope("agent")
    assert ok(await registry.call("a", {}, scope=fresh)) == 1


def test_a_scope_is_a_context_manager() -> None:
    registry = Registry()
    with registry.scope("s") as scope:
        assert not scope.disposed
    assert scope.disposed


async def test_a_scope_of_another_registry_is_refused() -> None:
    registry, other = Registry(), Registry()
    registry.register(returning("a", 1))
    scope = other.scope("s")
    assert "another registry" in failed(await registry.call("a", {}, scope=scope), "PIPELINE_ERROR")
    with pytest.raises(RegistrationError):
        registry.tools(scope)


# ---- restrictions ----


def restricted() -> tuple[Registry, Scope]:
    registry = Registry()
    for name in "abc":
        registry.register(returning(name, name))
    return registry, registry.scope("agent")


async def test_allow_and_deny_filter_what_is_inherited() -> None:
    registry, scope = restricted()
    lifted = scope.restrict(allow=["a", "b"])
    assert names(registry, scope) == ["a", "b"]
    second = scope.restrict(deny=["a"])
    assert names(registry, scope) == ["b"]
    lifted.dispose()
    assert names(registry, scope) == ["b", "c"]
    second()
    assert names(registry, scope) == ["a", "b", "c"]


async def test_a_hidden_tool_is_unknown_everywhere() -> None:
    registry, scope = restricted()
    scope.restrict(deny=["a"])
    assert registry.get("a", scope) is None
    assert [entry["name"] for entry in registry.schemas(scope)] == ["b", "c"]
    assert failed(await registry.call("a", {}, scope=scope), "UNKNOWN_TOOL") == 'unknown tool "a"'
    (result,) = await registry.call_batch([ToolRequest("a", {})], scope=scope)
    failed(result, "UNKNOWN_TOOL")
    assert ok(await registry.call("a", {})) == "a"


def test_deny_wins_over_allow() -> None:
    registry, scope = restricted()
    scope.restrict(allow=["a", "b"], deny=["b"])
    assert names(registry, scope) == ["a"]


def test_own_tools_are_never_filtered_and_cannot_be_named() -> None:
    registry, scope = restricted()
    scope.register(raw("own", len))
    with pytest.raises(RegistrationError, match="own"):
        scope.restrict(deny=["own"])
    scope.restrict(allow=[])
    assert names(registry, scope) == ["own"]
    child = scope.scope("child")
    child.restrict(deny=["own"])
    assert names(registry, child) == []


def test_a_shadowing_tool_stays_where_the_shadowed_one_is_hidden() -> None:
    registry, scope = restricted()
    scope.restrict(deny=["a"])
    scope.register(raw("a", len))
    assert names(registry, scope) == ["b", "c", "a"]


def test_a_deny_list_admits_later_tools_and_an_allow_list_does_not() -> None:
    registry, scope = restricted()
    other = registry.scope("other")
    scope.restrict(deny=["a"])
    other.restrict(allow=["a"])
    registry.register(raw("later", len))
    assert names(registry, scope) == ["b", "c", "later"]
    assert names(registry, other) == ["a"]


def test_the_lists_are_captured() -> None:
    registry, scope = restricted()
    allow = ["a"]
    scope.restrict(allow=allow)
    allow.append("b")
    assert names(registry, scope) == ["a"]


def test_a_restriction_that_restricts_nothing_or_names_nothing_is_refused() -> None:
    registry, scope = restricted()
    with pytest.raises(RegistrationError, match="neither"):
        scope.restrict()
    with pytest.raises(RegistrationError, match=r"nope, zip.*known: a, b, c"):
        scope.restrict(allow=["a", "zip"], deny=["nope"])
    registry.register(raw("search", len))
    with pytest.raises(RegistrationError, match="did you mean"):
        scope.restrict(deny=["serach"])
    with pytest.raises(RegistrationError, match="run_code"):
        scope.restrict(deny=["run_code"])
    with pytest.raises(RegistrationError, match="list"):
        scope.restrict(allow="a")
    assert names(registry, scope) == ["a", "b", "c", "search"]
    scope.restrict(deny=[])
    empty = Registry().scope("s")
    with pytest.raises(RegistrationError, match=r"\(none\)"):
        empty.restrict(deny=["x"])


def test_a_restriction_covers_the_scopes_inside() -> None:
    registry, scope = restricted()
    child = scope.scope("child")
    scope.restrict(deny=["a"])
    assert names(registry, child) == ["b", "c"]
    with pytest.raises(RegistrationError):
        child.restrict(allow=["a"])


def test_restrictions_and_modes_are_told_and_a_raising_observer_takes_them_back() -> None:
    registry, scope = restricted()
    told: list[int] = []
    observer = registry.on_change(lambda: told.append(1))
    scope.restrict(deny=["a"]).dispose()
    scope.present_as("code").dispose()
    assert len(told) == 4
    observer.dispose()
    scope.on_change(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        scope.restrict(deny=["a"])
    with pytest.raises(ZeroDivisionError):
        scope.present_as("code")
    assert names(registry, scope) == ["a", "b", "c"]


def test_a_scope_is_told_of_changes_above_it_and_not_beside_it() -> None:
    registry = Registry()
    scope, other = registry.scope("s"), registry.scope("o")
    told: list[int] = []
    scope.on_change(lambda: told.append(1))
    other.register(raw("x", len))
    assert told == []
    registry.register(raw("y", len))
    scope.register(raw("z", len))
    assert told == [1, 1]


@given(
    st.lists(st.tuples(st.sampled_from(["global", "scope", "child"]), st.sampled_from("abcd")), max_size=10),
    st.lists(
        st.tuples(
            st.sampled_from(["scope", "child"]), st.sampled_from(["allow", "deny"]), st.sets(st.sampled_from("abcd"))
        ),
        max_size=4,
    ),
)
def test_every_view_follows_from_the_rules(
    entries: list[tuple[str, str]], filters: list[tuple[str, str, set[str]]]
) -> None:
    registry = Registry()
    scope = registry.scope("s")
    child = scope.scope("c")
    surfaces: dict[str, Any] = {"global": registry, "scope": scope, "child": child}
    own: dict[str, dict[str, Tool]] = {"global": {}, "scope": {}, "child": {}}
    for layer, name in entries:
        if name not in own[layer]:
            own[layer][name] = raw(name, len)
            surfaces[layer].register(own[layer][name])
    kept: dict[str, list[tuple[str, set[str]]]] = {"scope": [], "child": []}
    for layer, kind, listed in filters:
        try:
            surfaces[layer].restrict(**{kind: sorted(listed)})
        except RegistrationError:
            continue
        kept[layer].append((kind, listed))
    view: dict[str, Tool] = dict(own["global"])
    assert registry.tools() == list(view.values())
    for layer in ("scope", "child"):
        inherited = {
            name: tool
            for name, tool in view.items()
            if all((name in listed) == (kind == "allow") for kind, listed in kept[layer])
        }
        view = {**inherited, **own[layer]}
        assert registry.tools(surfaces[layer]) == list(view.values())
        for name in "abcd":
            assert registry.get(name, surfaces[layer]) is view.get(name)


# ---- presentation ----


def with_run_code() -> tuple[Registry, Tool]:
    registry = Registry()
    registry.register(returning("echo", "e"))
    transport = returning("run_code", "ran")
    registry._install_run_code(transport)
    return registry, transport


async def test_native_is_the_default_and_knows_no_run_code() -> None:
    registry, _ = with_run_code()
    assert [entry["name"] for entry in registry.schemas()] == ["echo"]
    assert registry.get("run_code") is None
    failed(await registry.call("run_code", {}), "UNKNOWN_TOOL")
    assert ok(await registry.call("echo", {})) == "e"


async def test_code_presents_run_code_alone_and_collapses_direct_calls() -> None:
    registry, transport = with_run_code()
    scope = registry.scope("s")
    scope.present_as("code")
    assert registry.get("run_code", scope) is transport
    assert [entry["name"] for entry in registry._schemas(scope)] == ["run_code"]
    assert [entry["name"] for entry in registry.schemas(scope)] == ["echo", "run_code"]
    assert names(registry, scope) == ["echo"]
    assert ok(await registry.call("run_code", {}, scope=scope)) == "ran"
    message = failed(await registry.call("echo", {}, scope=scope), "UNKNOWN_TOOL")
    assert message.count("run_code") >= 2
    assert "tools.echo" in message
    assert failed(await registry.call("ghost", {}, scope=scope), "UNKNOWN_TOOL") == 'unknown tool "ghost"'


async def test_both_presents_everything_with_run_code_last() -> None:
    registry, _ = with_run_code()
    scope = registry.scope("s")
    scope.present_as("both")
    scope.register(returning("own", 1))
    assert [entry["name"] for entry in registry._schemas(scope)] == ["echo", "own", "run_code"]
    assert ok(await registry.call("echo", {}, scope=scope)) == "e"
    assert ok(await registry.call("run_code", {}, scope=scope)) == "ran"


async def test_the_nearest_declaration_wins_over_the_default() -> None:
    registry, _ = with_run_code()
    preset = registry.scope("preset")
    child = preset.scope("child")
    sibling = registry.scope("sibling")
    preset.present_as("code")
    failed(await registry.call("echo", {}, scope=child), "UNKNOWN_TOOL")
    child.present_as("native")
    assert ok(await registry.call("echo", {}, scope=child)) == "e"
    failed(await registry.call("run_code", {}, scope=child), "UNKNOWN_TOOL")
    assert ok(await registry.call("echo", {}, scope=sibling)) == "e"
    failed(await registry._call("echo", {}, scope=sibling, mode="code"), "UNKNOWN_TOOL")
    assert ok(await registry._call("echo", {}, scope=child, mode="code")) == "e"


def test_a_scope_declares_once_and_only_a_mode_that_exists() -> None:
    registry = Registry()
    scope = registry.scope("s")
    declared = scope.present_as("code")
    with pytest.raises(RegistrationError, match="conflicts with 'code'"):
        scope.present_as("both")
    declared.dispose()
    scope.present_as("both")
    with pytest.raises(RegistrationError, match="native, code, both"):
        registry.scope("t").present_as("python")


async def test_a_collapsed_call_reaches_no_policy_no_review_and_no_finalizer() -> None:
    from .build import Trace

    registry = Registry()
    trace = Trace().watch(registry)
    registry.register(trace.tool("t"))
    scope = registry.scope("s")
    scope.present_as("code")
    failed(await registry.call("t", {}, scope=scope), "UNKNOWN_TOOL")
    assert trace == ["result"]


async def test_run_code_cannot_be_registered_shadowed_or_reached_by_a_nested_call() -> None:
    registry, _ = with_run_code()
    scope = registry.scope("s")
    scope.present_as("both")
    with pytest.raises(RegistrationError, match="reserved"):
        scope.register(returning("run_code", 1))
    results: list[Any] = []

    async def outer(arguments: Any, ctx: Any) -> None:
        results.append(await registry.call("run_code", {}, parent=ctx.call.token))

    registry.register(raw("outer", outer))
    ok(await registry.call("outer", {}, scope=scope))
    failed(results[0], "UNKNOWN_TOOL")


async def test_the_newest_open_code_mode_serves_the_registry_and_closing_it_uncovers_the_older() -> None:
    registry, _ = with_run_code()
    scope = registry.scope("s")
    scope.present_as("code")
    newer = registry._install_run_code(returning("run_code", "newer"))
    assert ok(await registry.call("run_code", {}, scope=scope)) == "newer"
    newer.dispose()
    assert ok(await registry.call("run_code", {}, scope=scope)) == "ran"
    with pytest.raises(RegistrationError):
        registry._install_run_code(returning("other", 1))


async def test_hooks_of_a_scope_see_its_calls_and_those_below_and_no_others() -> None:
    registry = Registry()
    registry.register(returning("t", 1))
    scope, other = registry.scope("s"), registry.scope("o")
    child = scope.scope("c")
    seen: list[str] = []

    @scope.pre_execute
    async def policy(call: ToolCall, next: Any) -> Any:
        seen.append("pre")
        return await next()

    @scope.guard
    def guard(call: ToolCall) -> None:
        seen.append("guard")

    @scope.on_result
    def observer(call: ToolCall, result: Any) -> None:
        seen.append("result")

    for where in (None, other):
        ok(await registry.call("t", {}, scope=where))
    assert seen == []
    for where in (scope, child):
        ok(await registry.call("t", {}, scope=where))
    assert seen == ["pre", "guard", "result"] * 2


async def test_across_layers_hooks_run_from_the_global_one_inwards() -> None:
    registry = Registry()
    registry.register(returning("t", 1))
    scope = registry.scope("s")
    child = scope.scope("c")
    seen: list[str] = []

    def policy(name: str) -> Any:
        async def fn(call: ToolCall, next: Any) -> Any:
            seen.append(name)
            return await next()

        return fn

    for surface, name in ((child, "child"), (scope, "scope"), (registry, "global")):
        surface.pre_execute(policy(f"{name} pre"))
        surface.guard(lambda call, name=name: seen.append(f"{name} guard"))
    ok(await registry.call("t", {}, scope=child))
    assert seen == [
        f"{name} {kind}" for kind, name in itertools.product(["pre", "guard"], ["global", "scope", "child"])
    ]
