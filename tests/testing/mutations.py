"""Ways to break the pipeline, one at a time: the proof that the battery would see it.

Each mutation patches one function of ours so that it does what a plausible mistake would do, and names attempts of
which at least one must then find a bypass. A battery that still passes is the defect.

A patch that does not fit our code any more breaks every call, which would look like a mutation that was seen. So what a
patch itself raises is written down, and fails the mutation's test.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import trio

from codemode import _program_run, _spelling
from codemode_bridge import Binding, VisibleTool, VisibleTools
from codemode_bridge._dispatcher import Dispatcher
from codemode_registry import (
    Allow,
    CallStream,
    Registry,
    ToolFailure,
    ToolSuccess,
    _approval,
    _dispatch,
    _pipeline,
    freeze,
)
from codemode_registry._layers import Layer
from codemode_registry._run import Run
from codemode_registry._tool import Tool


class Patch:
    """Replaces functions of ours, and watches the replacements."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self.broken: list[str] = []
        """What replacements raised themselves, not what came through them from our code."""

    def setattr(self, target: Any, name: str, value: Any) -> None:
        """Replace an attribute; a function is watched."""
        self._patch.setattr(target, name, self.watched(value) if inspect.isfunction(value) else value)

    def watched(self, function: Callable[..., Any]) -> Any:
        """The same function, whose own failures are written down."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def watching(*given: Any, **options: Any) -> Any:
                try:
                    return await function(*given, **options)
                except Exception as error:
                    self._note(error)
                    raise

            return watching

        @functools.wraps(function)
        def looking(*given: Any, **options: Any) -> Any:
            try:
                return function(*given, **options)
            except Exception as error:
                self._note(error)
                raise

        return looking

    def _note(self, error: Exception) -> None:
        for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
            home = str(frame.f_globals.get("__name__"))
            if home.startswith("codemode"):
                return  # it is the pipeline's own, on its way through
            if home.startswith("tests."):
                self.broken.append(f"{home}, line {line}: {type(error).__name__}: {error}")
                return


@dataclass(frozen=True, slots=True)
class Mutation:
    """One way to break the pipeline."""

    name: str
    apply: Callable[[Patch], None]
    seen_by: tuple[str, ...]
    """Attempts of which at least one must find it."""


def guards_skip_nested_calls(patch: Patch) -> None:
    guards = _pipeline._guards
    patch.setattr(_pipeline, "_guards", lambda run: None if run.call.parent is not None else guards(run))


def guards_are_never_asked(patch: Patch) -> None:
    patch.setattr(_pipeline, "_guards", lambda run: None)


def guards_that_raise_allow(patch: Patch) -> None:
    _allow_on(patch, RuntimeError)


def guards_of_a_wrong_type_allow(patch: Patch) -> None:
    _allow_on(patch, TypeError)


def _allow_on(patch: Patch, kind: type[Exception]) -> None:
    guards = _pipeline._guards

    def forgiving(run: Run) -> Any:
        try:
            return guards(run)
        except kind:
            return None

    patch.setattr(_pipeline, "_guards", forgiving)


def an_approval_undoes_a_guard(patch: Patch) -> None:
    guards, ask = _pipeline._guards, _pipeline.ask
    granted: set[int] = set()

    async def remembered(run: Run, *rest: Any) -> Any:
        answer = await ask(run, *rest)
        if answer is None:
            granted.add(id(run))
        return answer

    patch.setattr(_pipeline, "ask", remembered)

    def lenient(run: Run) -> Any:
        return None if run.call.name == "asked_guarded" or id(run) in granted else guards(run)

    patch.setattr(_pipeline, "_guards", lenient)


def policies_skip_nested_calls(patch: Patch) -> None:
    policies = _pipeline._policies

    async def skipping(run: Run, *rest: Any) -> Any:
        return Allow() if run.call.parent is not None else await policies(run, *rest)

    patch.setattr(_pipeline, "_policies", skipping)


def policies_that_raise_allow(patch: Patch) -> None:
    _allow_policy(patch, RuntimeError)


def odd_decisions_allow(patch: Patch) -> None:
    _allow_policy(patch, TypeError)


def _allow_policy(patch: Patch, kind: type[Exception]) -> None:
    policies = _pipeline._policies

    async def forgiving(*given: Any) -> Any:
        try:
            return await policies(*given)
        except kind:
            return Allow()

    patch.setattr(_pipeline, "_policies", forgiving)


def rejections_are_not_heard(patch: Patch) -> None:
    ask = _pipeline.ask

    async def deaf(*given: Any) -> None:
        await ask(*given)

    patch.setattr(_pipeline, "ask", deaf)


def nobody_is_asked_about_nested_calls(patch: Patch) -> None:
    ask = _pipeline.ask

    async def silent(run: Run, *rest: Any) -> Any:
        return None if run.call.parent is not None else await ask(run, *rest)

    patch.setattr(_pipeline, "ask", silent)


def a_grant_is_good_for_the_whole_tool(patch: Patch) -> None:
    _remember_grants(patch, lambda run: run.call.name)


def a_grant_is_good_for_the_same_arguments(patch: Patch) -> None:
    _remember_grants(patch, lambda run: (run.call.name, str(run.call.arguments)))


def _remember_grants(patch: Patch, key: Callable[[Run], Any]) -> None:
    ask = _pipeline.ask
    granted: set[Any] = set()

    async def remembering(run: Run, *rest: Any) -> Any:
        if key(run) in granted:
            return None
        answer = await ask(run, *rest)
        if answer is None:
            granted.add(key(run))
        return answer

    patch.setattr(_pipeline, "ask", remembering)


def any_answer_is_a_grant(patch: Patch) -> None:
    refusal = _approval._refusal
    patch.setattr(
        _approval,
        "_refusal",
        lambda run, outcome, reason: None if outcome == "unavailable" else refusal(run, outcome, reason),
    )


def never_is_not_heard(patch: Patch) -> None:
    patch.setattr(Layer, "approval_policy", lambda layer: "ask")


def tokens_live_for_ever(patch: Patch) -> None:
    patch.setattr(Registry, "_ended", lambda core, run: None)


def any_parent_will_do(patch: Patch) -> None:
    def trusting(core: Registry, token: object) -> Run | None:
        return next(iter(core._live.values()), None) if token is not None else None

    patch.setattr(Registry, "_in_progress", trusting)
    patch.setattr(Registry, "_refusal", lambda core, run: None)
    init = Run.__init__

    def forgetful(run: Run, *given: Any, **options: Any) -> None:
        init(run, *given, **options)
        run.refusal = None

    patch.setattr(Run, "__init__", forgetful)


def the_mode_is_not_heard(patch: Patch) -> None:
    presentation = Run.presentation
    patch.setattr(Run, "presentation", lambda run: "both" if presentation(run) == "code" else presentation(run))


def sub_calls_run_in_the_global_scope(patch: Patch) -> None:
    init = CallStream.__init__

    def globally(stream: CallStream, registry: Registry, **options: Any) -> None:
        init(stream, registry, **{**options, "scope": None})

    patch.setattr(CallStream, "__init__", globally)
    place = Run._place
    patch.setattr(Run, "_place", lambda run, scope, parent, outer: None if parent else place(run, scope, parent, outer))


def restrictions_are_not_heard(patch: Patch) -> None:
    patch.setattr(Layer, "_admits", lambda layer, name: True)


def the_childs_name_is_trusted(patch: Patch) -> None:
    class Trusting(dict[str, Binding]):
        def get(self, name: Any, default: Any = None) -> Any:
            known = super().get(name)
            return known if known is not None else self.made(str(name))

    init = Dispatcher.__init__

    def trusting(dispatcher: Dispatcher, registry: Registry, **options: Any) -> None:
        init(dispatcher, registry, **options)
        bindings = Trusting(dispatcher.bindings)

        def made(name: str) -> Binding:
            # What a host does that looks the name up itself, anywhere in the registry.
            async def call(arguments: Any) -> Any:
                for layer in (registry._layer, *registry._layer.descendants()):
                    for tool in layer.tools.values():
                        if tool.full_name == name:
                            run = Run(registry, name, arguments, scope=None, call_id=None, cancel=None, parent=None,
                                      mode="native", run_code=None, audit=None, events=None, approver=None)  # fmt: skip
                            run.tool = tool
                            await _dispatch._run_body(run, tool, run.call, None, _dispatch.BodyOutcome())

            return Binding(name, (), patch.watched(call))

        bindings.made = made
        dispatcher.bindings = bindings

    patch.setattr(Dispatcher, "__init__", trusting)


def run_code_is_among_the_tools_of_a_program(patch: Patch) -> None:
    def with_run_code(tools: Any) -> Any:
        made = list(_spelling.visible_tools(tools).by_name.values())
        added = replace(made[0], name="run_code", namespace=None, method="run_code", parameters=("code",))
        return VisibleTools([*made, added])

    patch.setattr(_program_run, "visible_tools", with_run_code)


def reviews_skip_nested_calls(patch: Patch) -> None:
    reviewed = _pipeline._reviewed

    async def skipping(run: Run, result: Any) -> Any:
        return result if run.call.parent is not None else await reviewed(run, result)

    patch.setattr(_pipeline, "_reviewed", skipping)


def a_replaced_value_is_replaced_in_the_content_only(patch: Patch) -> None:
    review = _pipeline.review

    async def content_only(run: Run, reviews: Any, result: Any) -> Any:
        after = await review(run, reviews, result)
        if isinstance(result, ToolSuccess) and isinstance(after, ToolSuccess):
            return replace(after, value=result.value)
        return after

    patch.setattr(_pipeline, "review", content_only)


def a_block_keeps_the_value(patch: Patch) -> None:
    review = _pipeline.review

    async def weak(run: Run, reviews: Any, result: Any) -> Any:
        after = await review(run, reviews, result)
        return result if isinstance(after, ToolFailure) and isinstance(result, ToolSuccess) else after

    patch.setattr(_pipeline, "review", weak)


def values_are_not_validated(patch: Patch) -> None:
    patch.setattr(Tool, "output_schema", property(lambda tool: None))


def arguments_are_not_validated(patch: Patch) -> None:
    patch.setattr(_pipeline, "check_arguments", lambda run, tool: None)
    patch.setattr(_dispatch, "check_arguments", lambda run, tool: None)


def timeouts_do_not_fire(patch: Patch) -> None:
    run_body = _dispatch._run_body

    async def patient(run: Run, tool: Any, call: Any, seconds: Any, *rest: Any) -> Any:
        return await run_body(run, tool, call, None, *rest)

    patch.setattr(_dispatch, "_run_body", patient)


def starts_are_not_recorded(patch: Patch) -> None:
    append = Dispatcher._append

    async def skipping(dispatcher: Dispatcher, kind: str, record: Any) -> int:
        return 0 if kind == "tool/code-dispatch-start" else await append(dispatcher, kind, record)

    patch.setattr(Dispatcher, "_append", skipping)


def settles_are_not_recorded(patch: Patch) -> None:
    append = Dispatcher._append

    async def skipping(dispatcher: Dispatcher, kind: str, record: Any) -> int:
        return 0 if kind == "tool/code-dispatch" else await append(dispatcher, kind, record)

    patch.setattr(Dispatcher, "_append", skipping)


def a_failed_append_is_swallowed(patch: Patch) -> None:
    append = Dispatcher._append

    async def forgiving(dispatcher: Dispatcher, kind: str, record: Any) -> int:
        assert dispatcher._events is not None
        try:
            return (await dispatcher._events.append(kind, record)).seq
        except OSError:
            return 0

    assert append is not forgiving
    patch.setattr(Dispatcher, "_append", forgiving)


def values_are_posted_before_they_settle(patch: Patch) -> None:
    append = Dispatcher._append

    async def late(dispatcher: Dispatcher, kind: str, record: Any) -> int:
        if kind != "tool/code-dispatch":
            return await append(dispatcher, kind, record)
        trio.lowlevel.spawn_system_task(append, dispatcher, kind, record)
        return 0

    patch.setattr(Dispatcher, "_append", late)


def calls_are_not_counted(patch: Patch) -> None:
    init = Dispatcher.__init__

    def boundless(dispatcher: Dispatcher, registry: Registry, **options: Any) -> None:
        init(dispatcher, registry, **{**options, "max_calls": 10**9})

    patch.setattr(Dispatcher, "__init__", boundless)


def late_calls_find_another_way(patch: Patch) -> None:
    binding_of = Dispatcher._binding

    def generous(dispatcher: Dispatcher, tool: VisibleTool) -> Binding:
        binding = binding_of(dispatcher, tool)

        def call(arguments: Any) -> Any:
            if dispatcher._over is None:
                return binding.call(arguments)
            return dispatcher._registry._call(tool.name, arguments, scope=dispatcher._outer.scope)

        return replace(binding, call=call)

    patch.setattr(Dispatcher, "_binding", generous)


def sub_calls_lose_their_parent(patch: Patch) -> None:
    submit = CallStream.submit

    def orphan(stream: CallStream, *given: Any, **options: Any) -> Any:
        return submit(stream, *given, **{**options, "parent": None})

    patch.setattr(CallStream, "submit", orphan)


def arguments_are_copied_late(patch: Patch) -> None:
    init, run_body = Run.__init__, _dispatch._run_body
    given: dict[int, Any] = {}

    def keeping(run: Run, core: Any, name: Any, arguments: Any, **options: Any) -> None:
        init(run, core, name, arguments, **options)
        given[id(run)] = arguments

    async def late(run: Run, tool: Any, call: Any, *rest: Any) -> Any:
        return await run_body(run, tool, replace(call, arguments=freeze(given[id(run)])), *rest)

    patch.setattr(Run, "__init__", keeping)
    patch.setattr(_dispatch, "_run_body", late)


def a_denial_reaches_the_wrappers(patch: Patch) -> None:
    decide = _pipeline.decide

    async def nosy(run: Run, turn: Any) -> Any:
        denied = await decide(run, turn)
        if denied is not None:
            for hook in run.hooks("wrappers"):

                async def next() -> Any:
                    return denied

                await hook.fn(run.call, patch.watched(next))
        return denied

    patch.setattr(_pipeline, "decide", nosy)


MUTATIONS: tuple[Mutation, ...] = (
    Mutation("guards skip nested calls", guards_skip_nested_calls, ("guard.direct", "frames.denied")),
    Mutation("guards are never asked", guards_are_never_asked, ("guard.direct", "direct.denied")),
    Mutation("guards that raise allow", guards_that_raise_allow, ("guard.broken",)),
    Mutation("guards of a wrong type allow", guards_of_a_wrong_type_allow, ("guard.broken",)),
    Mutation("an approval undoes a guard", an_approval_undoes_a_guard, ("approval.overruled",)),
    Mutation("policies skip nested calls", policies_skip_nested_calls, ("policy.direct",)),
    Mutation("policies that raise allow", policies_that_raise_allow, ("policy.broken",)),
    Mutation("odd decisions allow", odd_decisions_allow, ("policy.broken",)),
    Mutation("rejections are not heard", rejections_are_not_heard, ("approval.rejected",)),
    Mutation("nobody is asked about nested calls", nobody_is_asked_about_nested_calls, ("approval.rejected",)),
    Mutation("a grant is good for the whole tool", a_grant_is_good_for_the_whole_tool, ("approval.reuse",)),
    Mutation("a grant is good for the same arguments", a_grant_is_good_for_the_same_arguments, ("approval.reuse",)),
    Mutation("any answer is a grant", any_answer_is_a_grant, ("approval.odd",)),
    Mutation("never is not heard", never_is_not_heard, ("approval.never",)),
    Mutation("tokens live for ever", tokens_live_for_ever, ("token.replayed",)),
    Mutation("any parent will do", any_parent_will_do, ("token.made_up", "token.replayed", "token.foreign")),
    Mutation("the mode is not heard", the_mode_is_not_heard, ("mode.direct", "mode.scope")),
    Mutation("sub-calls run in the global scope", sub_calls_run_in_the_global_scope, ("guard.retry", "log.order")),
    Mutation("restrictions are not heard", restrictions_are_not_heard, ("names.dot", "scope.bindings")),
    Mutation("the child's name is trusted", the_childs_name_is_trusted, ("frames.hidden",)),
    Mutation("run_code is among a program's tools", run_code_is_among_the_tools_of_a_program, ("scope.bindings",)),
    Mutation("reviews skip nested calls", reviews_skip_nested_calls, ("review.block", "review.replace")),
    Mutation("a value is replaced in the content only", a_replaced_value_is_replaced_in_the_content_only,
             ("review.replace", "frames.withheld")),
    Mutation("a block keeps the value", a_block_keeps_the_value, ("review.block", "frames.withheld")),
    Mutation("values are not validated", values_are_not_validated, ("output.mistyped",)),
    Mutation("arguments are not validated", arguments_are_not_validated, ("args.schema", "frames.arguments")),
    Mutation("timeouts do not fire", timeouts_do_not_fire, ("timeout.slow",)),
    Mutation("starts are not recorded", starts_are_not_recorded, ("log.order",)),
    Mutation("settles are not recorded", settles_are_not_recorded, ("log.order",)),
    Mutation("a failed append is swallowed", a_failed_append_is_swallowed, ("log.no_start", "log.no_settle")),
    Mutation("values are posted before they settle", values_are_posted_before_they_settle, ("log.overtaken",)),
    Mutation("calls are not counted", calls_are_not_counted, ("limit.calls", "frames.flood")),
    Mutation("late calls find another way", late_calls_find_another_way, ("late.binding",)),
    Mutation("sub-calls lose their parent", sub_calls_lose_their_parent, ("log.order", "guard.gather")),
    Mutation("arguments are copied late", arguments_are_copied_late, ("arguments.changed",)),
    Mutation("a denial reaches the wrappers", a_denial_reaches_the_wrappers, ("wrapper.denied",)),
)  # fmt: skip
