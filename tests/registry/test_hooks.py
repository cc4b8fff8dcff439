"""Hooks and callbacks that can never be called are refused when they are registered; whatever might work is not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock, create_autospec

import pytest

from codemode_registry import RegistrationError, Registry

from .build import failed, ok, returning

ASYNC = {"pre_execute": 2, "around_execute": 2, "post_execute": 3}
"""Hooks that must be async, and how many arguments they are given."""
SYNC = {"guard": 1, "on_result": 2, "on_change": 0, "on_progress": 4, "shape_dispatch_log": 1}
CALLBACKS = {
    "render": 2,
    "presentation_meta": 2,
    "finalize_content": 2,
    "present_call": 1,
    "present_result": 2,
    "concurrency_safe": 1,
}


def taking(count: int, *, is_async: bool, varied: str = "") -> Callable[..., Any]:
    """A function of so many positional parameters."""
    parameters = ", ".join([*(f"p{number}" for number in range(count)), *([varied] if varied else [])])
    names: dict[str, Any] = {}
    exec(f"{'async ' if is_async else ''}def given({parameters}): pass", names)
    return names["given"]  # type: ignore[no-any-return]


def register(registry: Registry, what: str, function: Callable[..., Any]) -> None:
    if what in CALLBACKS:
        registry.register(returning("t", 1, **{what: function}))
    else:
        getattr(registry, what)(function)


@pytest.mark.parametrize(("what", "count"), [*ASYNC.items(), *SYNC.items(), *CALLBACKS.items()])
def test_a_wrong_number_of_parameters_is_refused_with_what_is_given(what: str, count: int) -> None:
    registry = Registry()
    wrong = [count + 1, *([count - 1] if count else [])]
    for one in wrong:
        function = taking(one, is_async=what in ASYNC)
        with pytest.raises(RegistrationError, match="is called with") as caught:
            register(registry, what, function)
        assert "given(" in str(caught.value)
    with pytest.raises(RegistrationError, match=r"keyword-only|required argument"):
        register(registry, what, taking(count, is_async=what in ASYNC, varied="*, needed"))
    assert registry.tools() == []
    register(registry, what, taking(count, is_async=what in ASYNC))


def test_the_refusal_says_all_that_is_needed() -> None:
    def two(call: Any, reason: Any) -> None: ...

    with pytest.raises(RegistrationError) as caught:
        Registry().guard(two)
    text = str(caught.value)
    assert text.startswith("a guard is called with (call), and two(call: 'Any', reason: 'Any') -> 'None' is not")
    assert text.endswith("missing a required argument: 'reason'")


@pytest.mark.parametrize(("what", "count"), [*ASYNC.items(), *SYNC.items(), *CALLBACKS.items()])
def test_what_could_work_is_taken(what: str, count: int) -> None:
    is_async = what in ASYNC
    fits = taking(count, is_async=is_async)
    more = taking(count + 1, is_async=is_async)

    class Called:
        """Is no function, and has a method of the right form."""

        if is_async:

            async def __call__(self, *given: Any) -> None: ...

        else:

            def __call__(self, *given: Any) -> None: ...

    possible: list[Any] = [
        taking(0, is_async=is_async, varied="*given"),
        taking(count, is_async=is_async, varied="optional=None"),
        taking(count, is_async=is_async, varied="*, optional=None"),
        taking(count, is_async=is_async, varied="**options"),
        functools.partial(more, "bound"),
        Called(),
    ]
    if not is_async:
        possible += [
            functools.wraps(more)(lambda *given: more("added", *given)),  # another signature than what it wraps
            Mock(),
            create_autospec(fits),
            *([dict, print] if count <= 1 else []),  # without a signature on some versions; with any
        ]
    for function in possible:
        register(Registry(), what, function)


def test_a_decorator_that_adds_an_argument_is_judged_by_itself() -> None:
    def with_limit(guard: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(guard)
        def guarded(call: Any) -> Any:
            return guard(call, 5)

        return guarded

    @with_limit
    def guard(call: Any, limit: int) -> str | None:
        return None

    Registry().guard(guard)


def test_a_signature_that_is_only_claimed_refuses_nothing() -> None:
    def guard(*given: Any) -> None: ...

    guard.__signature__ = __import__("inspect").signature(lambda: None)  # type: ignore[attr-defined]
    Registry().guard(guard)


def test_an_async_observer_of_changes_is_refused() -> None:
    async def late() -> None: ...

    registry = Registry()
    with pytest.raises(RegistrationError, match="an on_change observer must be a sync function"):
        registry.on_change(late)
    registry.register(returning("t", 1))


async def test_an_async_guard_still_denies_everything() -> None:
    async def late(call: Any) -> None: ...

    registry = Registry()
    registry.register(returning("t", 1))
    assert ok(await registry.call("t")) == 1
    registry.guard(late)
    assert "sync" in failed(await registry.call("t"), "PIPELINE_ERROR")
