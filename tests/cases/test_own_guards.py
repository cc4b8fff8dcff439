"""More of policy: each hook sees each call of a program, and a program has no way around one."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from codemode import Accept, Ask, Block, Deny, MemoryEventLog, RegistrationError, ToolFailure, ToolSuccess
from tests.cases.world import ScriptedHuman, World, assert_same, tool

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
READ = tool("read", {"path": STRING}, STRING, "read-only")
WRITE = tool("write", {"path": STRING, "text": STRING}, STRING)
WIPE = tool("wipe", {}, STRING)


def files(program: str, **options: Any) -> World:
    return World(
        program,
        [READ, WRITE, WIPE],
        bodies={
            "read": lambda w, a, c: f"text of {a['path']}",
            "write": lambda w, a, c: f"wrote {a['path']}",
            "wipe": lambda w, a, c: "wiped",
        },
        **options,
    )


WAYS = {
    "by name": "await tools.wipe()",
    "by subscript": "await tools['wipe']()",
    "by getattr": "await getattr(tools, 'wi' + 'pe')()",
    "by an alias": "f = tools.wipe\nawait f()",
    "through map": "for c in map(lambda f: f(), [tools.wipe]):\n    await c",
    "through partial": "import functools\nawait functools.partial(tools.wipe)()",
    "in a task": "import asyncio\nawait asyncio.create_task(tools.wipe())",
    "in a gather with others": "import asyncio\nawait asyncio.gather(tools.read(path='a'), tools.wipe())",
    "in a finally": "try:\n    pass\nfinally:\n    await tools.wipe()",
    "in a generator": "async def g():\n    yield await tools.wipe()\nasync for _ in g():\n    pass",
    "in an except": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    await tools.wipe()",
    "by a stored bound method": "class A:\n    w = tools.wipe\nawait A.w()",
    "by import": "from tools import wipe\nawait wipe()",
    "in run_code": "await tools.run_code(code='await tools.wipe()', description='inner')",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("bar", ["guard", "policy", "restriction", "approval"])
def test_no_way_of_calling_gets_past(way: str, bar: str) -> None:
    world = files(WAYS[way])
    scope = world.registry.scope("agent")
    match bar:
        case "guard":
            world.registry.guard(lambda call: "never" if call.name == "wipe" else None)
        case "policy":

            @scope.pre_execute
            async def policy(call: Any, next: Any) -> Any:
                return Deny("never") if call.name == "wipe" else await next()

        case "restriction":
            scope.restrict(deny=["wipe"])
        case _:

            @world.registry.pre_execute
            async def ask(call: Any, next: Any) -> Any:
                return Ask() if call.name == "wipe" else await next()

    result = world.run(scope=scope)
    assert not result.ok
    assert world.ran("wipe") == []


def test_hooks_see_every_sub_call_in_order_and_with_its_parent() -> None:
    world = files("await tools.read(path='a')\nawait tools.write(path='b', text='c')\nreturn 1")
    seen: list[str] = []
    parents: set[Any] = set()

    @world.registry.pre_execute
    async def before(call: Any, next: Any) -> Any:
        seen.append(f"pre {call.name}")
        parents.add((call.name, call.parent is None, call.root_call_id))
        return await next()

    @world.registry.around_execute
    async def around(call: Any, next: Any) -> Any:
        seen.append(f"in {call.name}")
        result = await next()
        seen.append(f"out {call.name}")
        return result

    @world.registry.post_execute
    async def after(call: Any, result: Any, next: Any) -> Any:
        seen.append(f"post {call.name}")
        return await next()

    world.registry.guard(lambda call: seen.append(f"guard {call.name}"))
    world.registry.on_result(lambda call, result: seen.append(f"result {call.name}"))
    assert world.value() == 1

    def stages(name: str) -> list[str]:
        return [f"pre {name}", f"guard {name}", f"in {name}", f"out {name}", f"post {name}", f"result {name}"]

    outer = stages("run_code")
    assert seen == outer[:3] + stages("read") + stages("write") + outer[3:]
    roots = {root for _, _, root in parents}
    assert len(roots) == 1
    assert {(name, top) for name, top, _ in parents} == {("run_code", True), ("read", False), ("write", False)}


def test_a_value_replaced_by_review_is_what_the_program_gets_and_content_alone_is_not() -> None:
    world = files(
        "return [await tools.read(path='value'), await tools.read(path='content'), await tools.read(path='x')]"
    )

    @world.registry.post_execute
    async def review(call: Any, result: Any, next: Any) -> Any:
        if call.name != "read" or result.is_error:
            return await next()
        match call.arguments["path"]:
            case "value":
                return Accept(value="clean")
            case "content":
                return Accept(content=[{"type": "text", "text": "shown"}])
            case _:
                return await next()

    assert_same(world.value(), ["clean", "text of content", "text of x"])
    contents = [data["content"][0]["text"] for data in world.settles()]
    assert contents == ["clean", "shown", "text of x"]


def test_a_wrapper_that_retries_is_one_call_for_the_program() -> None:
    tries: list[int] = []

    def flaky(world: World, a: Any, ctx: Any) -> Any:
        tries.append(1)
        if len(tries) < 3:
            raise RuntimeError("not yet")
        return "at last"

    world = World("return await tools.flaky()", [tool("flaky")], bodies={"flaky": flaky})

    @world.registry.around_execute
    async def retry(call: Any, next: Any) -> Any:
        result = await next()
        while result.is_error and call.name == "flaky" and len(tries) < 5:
            result = await next()
        return result

    assert world.value() == "at last"
    assert len(world.starts()) == 1
    assert len(tries) == 3


def test_a_policy_that_fails_is_closed() -> None:
    for broken in (_raises, _returns_nonsense):
        world = files("return await tools.read(path='a')")
        world.registry.pre_execute(broken)
        result = world.run()
        assert not result.ok
        assert result.error.kind == "exception"
        assert result.error.type == "ToolCallError"
        assert world.visits == []
        assert world.settles()[0]["error"]["code"] == "PIPELINE_ERROR"


async def _raises(call: Any, next: Any) -> Any:
    if call.name == "run_code":
        return await next()
    raise RuntimeError("policy broke at /srv/secret.py")


async def _returns_nonsense(call: Any, next: Any) -> Any:
    return await next() if call.name == "run_code" else "yes"


def test_guards_and_policies_of_the_wrong_kind_are_refused() -> None:
    world = files("")
    with pytest.raises(RegistrationError):
        world.registry.pre_execute(lambda call, next: None)
    with pytest.raises(RegistrationError):
        world.registry.post_execute(lambda call, result, next: None)


def test_an_approval_covers_one_call_and_its_arguments() -> None:
    human = ScriptedHuman(["allowed-once", "rejected"])
    world = files(
        "a = await tools.write(path='a', text='x')\ntry:\n    b = await tools.write(path='/etc/passwd', text='x')\n"
        "except ToolCallError as e:\n    b = 'no'\nreturn [a, b]",
        approver=human,
    )

    @world.registry.pre_execute
    async def ask(call: Any, next: Any) -> Any:
        return Ask("a write") if call.name == "write" else await next()

    assert_same(world.value(), ["wrote a", "no"])
    assert [request.arguments["path"] for request in human.asked] == ["a", "/etc/passwd"]
    assert [(e.data.get("tool_name"), e.data.get("reason")) for e in world.of("approval/asked")] == [
        ("write", "a write")
    ] * 2
    assert [e.data["outcome"] for e in world.of("approval/decided")] == ["allowed-once", "rejected"]


@pytest.mark.parametrize("answer", ["yes", "", None, True, "ALLOWED-ONCE"])
def test_any_other_answer_of_an_approver_is_no(answer: Any) -> None:
    async def odd(request: Any) -> Any:
        return answer

    world = files("await tools.wipe()", approver=odd)
    world.registry.pre_execute(_ask_wipe)
    assert not world.run().ok
    assert world.visits == []
    assert world.of("approval/decided")[0].data["outcome"] == "unavailable"


async def _ask_wipe(call: Any, next: Any) -> Any:
    return Ask() if call.name == "wipe" else await next()


def test_policy_never_denies_without_asking_and_a_scope_inherits_it() -> None:
    human = ScriptedHuman(["allowed-once"])
    world = files("await tools.wipe()", approver=human)
    world.registry.pre_execute(_ask_wipe)
    world.registry.set_approval_policy("never")
    scope = world.registry.scope("child")
    assert not world.run(scope=scope).ok
    assert human.asked == []
    scope.set_approval_policy("ask")
    assert world.run(scope=scope).ok
    assert len(human.asked) == 1


def test_calls_go_on_while_a_human_is_asked() -> None:
    order: list[str] = []

    async def waits_for_the_reads(request: Any) -> str:
        with anyio.fail_after(10):
            while len(world.ran("read")) < 1 or any(visit.ended is None for visit in world.visits):  # noqa: ASYNC110
                await anyio.sleep(0.002)
        order.append("answered")
        return "allowed-once"

    world = files(
        "import asyncio\nreturn await asyncio.gather(tools.read(path='a'), tools.wipe())", approver=waits_for_the_reads
    )
    world.registry.pre_execute(_ask_wipe)
    assert_same(world.value(), ["text of a", "wiped"])
    assert order == ["answered"]


def test_an_event_log_that_fails_fails_the_call_and_never_hangs() -> None:
    class Full(MemoryEventLog):
        async def append(self, type: str, data: dict[str, Any]) -> Any:
            if type == "tool/code-dispatch-start" and data["name"] == "write":
                raise OSError("disk full")
            return await super().append(type, data)

    world = files("await tools.read(path='a')\nawait tools.write(path='b', text='c')\nreturn 'done'", events=Full())
    result = world.run()
    assert not result.ok
    assert world.ran("write") == []
    assert world.ran("read") == [{"path": "a"}]


def test_modes_decide_what_the_model_is_sent_and_may_call() -> None:
    world = files("")
    code = world.code_mode(mode="code")
    native = world.code_mode(mode="native")
    both = world.code_mode(mode="both")
    assert [entry["name"] for entry in code.schemas()] == ["run_code"]
    assert sorted(entry["name"] for entry in native.schemas()) == ["read", "wipe", "write"]
    assert sorted(entry["name"] for entry in both.schemas()) == ["read", "run_code", "wipe", "write"]

    async def main() -> Any:
        async with code:
            direct = await code.call("read", {"path": "a"})
            unknown = await code.call("raed", {"path": "a"})
            inside = await code.call("run_code", {"code": "return await tools.read(path='a')", "description": "try"})
            return direct, unknown, inside

    direct, unknown, inside = world.drive(main)
    assert direct.is_error
    assert direct.error.code == "UNKNOWN_TOOL"
    assert "run_code" in direct.error.message
    assert unknown.is_error
    assert not inside.is_error
    assert inside.value["result"] == "text of a"
    assert inside.value["logs"] == []
    assert len(world.visits) == 1


def test_contexts_and_images_of_sub_calls_ride_on_the_outer_result() -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}

    def shot(world: World, a: Any, ctx: Any) -> Any:
        ctx.defer_context("look at this")
        return {"ok": True}

    from codemode import Tool

    world = World("await tools.shot()\nawait tools.shot()\n1 / 0", [])
    world.registry.register(
        Tool(
            "shot",
            "A picture.",
            execute=lambda a, ctx: shot(world, a, ctx),
            parameters={"type": "object"},
            render=lambda a, value: [{"type": "text", "text": "taken"}, image],
        )
    )
    result = world.run()
    assert not result.ok
    flat = repr(list(result.result.contexts))
    assert flat.count("look at this") == 2
    assert flat.count("aGk=") == 2


def test_a_failed_or_made_result_of_a_wrapper_reaches_the_program() -> None:
    world = files(
        "try:\n    await tools.read(path='no')\nexcept ToolCallError as e:\n    r = e.message\n"
        "return [r, await tools.read(path='yes')]"
    )

    @world.registry.around_execute
    async def cache(call: Any, next: Any) -> Any:
        if call.name != "read":
            return await next()
        if call.arguments["path"] == "no":
            return ToolFailure.of("closed today")
        return ToolSuccess("from the cache")

    assert_same(world.value(), ["closed today", "from the cache"])
    assert world.visits == []


def test_a_block_with_feedback_is_what_the_program_reads() -> None:
    world = files("try:\n    return await tools.read(path='a')\nexcept ToolCallError as e:\n    return e.message")

    @world.registry.post_execute
    async def review(call: Any, result: Any, next: Any) -> Any:
        return Block("use another file") if call.name == "read" else await next()

    assert world.value() == "use another file"
    assert world.settles()[0]["content"] == [{"type": "text", "text": "use another file"}]
