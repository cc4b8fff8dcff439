"""api.md, "Tools and the registry": what a typed function becomes. Public names only."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import datetime as dt
import decimal
import enum
import threading
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import anyio
import anyio.lowlevel
import pydantic
import pytest
from typing_extensions import TypedDict

import codemode
from codemode import JsonValue, RegistrationError, Registry, ToolContext, ToolFailure, ToolSuccess


@dataclasses.dataclass
class Hit:
    title: str
    score: float


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(serialize_by_alias=True)
    when: dt.datetime
    price: decimal.Decimal
    alias_me: int = pydantic.Field(alias="aliasMe", default=1)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Number(enum.IntEnum):
    ONE = 1


class Pair(NamedTuple):
    left: int
    right: str


class Options(TypedDict, total=False):
    deep: bool


def the_tool(registry: Registry, name: str) -> codemode.Tool:
    tool = registry.get(name)
    assert tool is not None
    return tool


async def value_of(registry: Registry, name: str, arguments: dict[str, Any]) -> Any:
    result = await registry.call(name, arguments)
    assert isinstance(result, ToolSuccess), result
    return result.value


async def failure_of(registry: Registry, name: str, arguments: Any) -> ToolFailure:
    result = await registry.call(name, arguments)
    assert isinstance(result, ToolFailure), result
    return result


def test_the_decorator_returns_the_function_unchanged_in_both_forms() -> None:
    registry = Registry()

    def bare(x: int) -> int:
        """Bare."""
        return x

    async def given(x: int) -> int:
        """Given."""
        return x

    assert registry.tool(bare) is bare
    assert registry.tool(name="other", namespace="space", description="said")(given) is given
    assert [tool.full_name for tool in registry.tools()] == ["bare", "space.other"]
    other = the_tool(registry, "space.other")
    assert (other.name, other.namespace, other.description) == ("other", "space", "said")
    assert the_tool(registry, "bare").namespace is None


def test_the_first_paragraph_is_the_description_and_args_describe_the_parameters() -> None:
    registry = Registry()

    @registry.tool
    async def search(query: str, limit: int = 10, *, deep: bool = False) -> list[Hit]:
        """Search the index
        for pages.

        A second paragraph, not for the model.

        Args:
            query: What to look for,
                over two lines.
            limit (int): How many: at most.
            deep: Whether to look deeper.

        Returns:
            The hits.
        """
        return []

    tool = the_tool(registry, "search")
    assert " ".join(tool.description.split()) == "Search the index for pages."
    assert tool.parameters["type"] == "object"
    properties = tool.parameters["properties"]
    assert list(properties) == ["query", "limit", "deep"]
    assert " ".join(properties["query"]["description"].split()) == "What to look for, over two lines."
    assert properties["limit"]["description"] == "How many: at most."
    assert properties["limit"]["default"] == 10
    assert properties["deep"]["description"] == "Whether to look deeper."
    assert tool.parameters["required"] == ["query"]
    assert tool.output is not None
    assert tool.output["type"] == "array"


async def test_a_tool_context_parameter_is_filled_in_and_not_in_the_schema() -> None:
    registry = Registry()
    seen: list[ToolContext] = []

    @registry.tool
    async def one(context: ToolContext, x: int) -> int:
        """One."""
        seen.append(context)
        return x

    @registry.tool
    def two(x: int, *, ctx: ToolContext) -> int:
        """Two."""
        seen.append(ctx)
        return x

    for name in ("one", "two"):
        assert list(the_tool(registry, name).parameters["properties"]) == ["x"]
        assert await value_of(registry, name, {"x": 3}) == 3
    assert [context.call.name for context in seen] == ["one", "two"]
    failure = await failure_of(registry, "one", {"x": 3, "context": 1})
    assert failure.error.code == "INVALID_ARGS"


async def test_sync_functions_run_in_a_worker_thread() -> None:
    registry = Registry()
    threads: list[threading.Thread] = []

    @registry.tool
    def sync() -> str:
        """Sync."""
        threads.append(threading.current_thread())
        return "ok"

    @registry.tool
    async def inside() -> str:
        """Async."""
        threads.append(threading.current_thread())
        return "ok"

    await value_of(registry, "sync", {})
    await value_of(registry, "inside", {})
    assert threads[0] is not threading.current_thread()
    assert threads[1] is threading.current_thread()


STRICT: list[tuple[Any, Any, bool]] = [
    (int, True, False),
    (int, "1", False),
    (int, 1.0, True),
    (int, 1.5, False),
    (int, None, False),
    (int, 10**40, True),
    (float, 1, True),
    (float, "1", False),
    (float, True, False),
    (bool, 1, False),
    (bool, "true", False),
    (bool, False, True),
    (str, 1, False),
    (str, "x", True),
    (list[int], [1, 2], True),
    (list[int], {"a": 1}, False),
    (list[int], ["1"], False),
    (dict[str, int], {"a": 1}, True),
    (dict[str, int], [["a", 1]], False),
    (int | None, None, True),
    (Literal["a", "b"], "c", False),
    (Literal["a", "b"], "b", True),
    (Annotated[int, pydantic.Field(ge=1, le=5)], 6, False),
    (Annotated[int, pydantic.Field(ge=1, le=5)], 5, True),
    (Annotated[str, pydantic.Field(min_length=2)], "a", False),
]


@pytest.mark.parametrize(("annotation", "value", "accepted"), STRICT)
async def test_arguments_are_strict_about_json_types(annotation: Any, value: Any, accepted: bool) -> None:
    registry = Registry()

    async def tool(x) -> JsonValue:  # type: ignore[no-untyped-def]
        """Tool."""
        return repr((type(x).__name__, x))

    tool.__annotations__["x"] = annotation
    registry.tool(tool)
    result = await registry.call("tool", {"x": value})
    if accepted:
        assert isinstance(result, ToolSuccess), result
        if annotation is int and value == 1.0:
            assert result.value == "('int', 1)"
    else:
        assert isinstance(result, ToolFailure)
        assert result.error.code == "INVALID_ARGS"
        assert "tool" in result.error.message
        assert "x" in result.error.message


async def test_arguments_arrive_as_what_the_annotation_says() -> None:
    registry = Registry()
    seen: dict[str, Any] = {}

    @registry.tool
    async def typed(
        when: dt.datetime,
        day: dt.date,
        ident: uuid.UUID,
        price: decimal.Decimal,
        colour: Colour,
        number: Number,
        hit: Hit,
        model: Model,
        pair: tuple[int, str],
        many: set[int],
        options: Options,
    ) -> None:
        """Typed."""
        seen.update(locals())

    await value_of(
        registry,
        "typed",
        {
            "when": "2026-01-02T03:04:05Z",
            "day": "2026-01-02",
            "ident": "12345678-1234-5678-1234-567812345678",
            "price": "1.50",
            "colour": "blue",
            "number": 1,
            "hit": {"title": "t", "score": 1},
            "model": {"when": "2026-01-02T03:04:05Z", "price": "2", "aliasMe": 7},
            "pair": [1, "b"],
            "many": [1, 2],
            "options": {"deep": True},
        },
    )
    assert seen["when"] == dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    assert seen["day"] == dt.date(2026, 1, 2)
    assert seen["ident"] == uuid.UUID("12345678-1234-5678-1234-567812345678")
    assert seen["price"] == decimal.Decimal("1.50")
    assert seen["colour"] is Colour.BLUE
    assert seen["number"] is Number.ONE
    assert seen["hit"] == Hit("t", 1.0)
    assert isinstance(seen["model"], Model)
    assert seen["model"].alias_me == 7
    assert seen["pair"] == (1, "b")
    assert seen["many"] == {1, 2}
    assert seen["options"] == {"deep": True}


async def test_defaults_are_the_functions_own() -> None:
    registry = Registry()
    marker = object()

    @registry.tool
    async def tool(x: int, y: Any = marker, z: list[int] | None = None) -> bool:
        """Tool."""
        return y is marker and z is None

    assert the_tool(registry, "tool").parameters["required"] == ["x"]
    assert await value_of(registry, "tool", {"x": 1}) is True


RETURNS: list[tuple[Any, Callable[[], Any], Any]] = [
    (Hit, lambda: Hit("t", 0.5), {"title": "t", "score": 0.5}),
    (list[Hit], lambda: [Hit("t", 0.5)], [{"title": "t", "score": 0.5}]),
    (dt.datetime, lambda: dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC), "2026-01-02T03:04:05Z"),
    (dt.date, lambda: dt.date(2026, 1, 2), "2026-01-02"),
    (dt.timedelta, lambda: dt.timedelta(seconds=90), "PT1M30S"),
    (decimal.Decimal, lambda: decimal.Decimal("1.50"), "1.50"),
    (uuid.UUID, lambda: uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Colour, lambda: Colour.RED, "red"),
    (tuple[int, str], lambda: (1, "a"), [1, "a"]),
    (Pair, lambda: Pair(1, "a"), [1, "a"]),
    (set[int], lambda: {3}, [3]),
    (dict[int, str], lambda: {1: "a"}, {"1": "a"}),
    (Options, lambda: {"deep": True}, {"deep": True}),
    (None, lambda: None, None),
    (Any, lambda: {"a": [1, 2.5, None, True, "x"]}, {"a": [1, 2.5, None, True, "x"]}),
    (JsonValue, lambda: [1, {"a": None}], [1, {"a": None}]),
    (bytes, lambda: b"text", "text"),
    (int, lambda: 10**30, 10**30),
    (
        Model,
        lambda: Model(when=dt.datetime(2026, 1, 2, tzinfo=dt.UTC), price=decimal.Decimal(3), aliasMe=4),
        {"when": "2026-01-02T00:00:00Z", "price": "3", "aliasMe": 4},
    ),
]


@pytest.mark.parametrize(("annotation", "make", "expected"), RETURNS, ids=[str(case[0]) for case in RETURNS])
async def test_the_returned_object_has_its_pydantic_json_form(
    annotation: Any, make: Callable[[], Any], expected: Any
) -> None:
    registry = Registry()

    async def tool():  # type: ignore[no-untyped-def]
        """Tool."""
        return make()

    tool.__annotations__["return"] = annotation
    registry.tool(tool)
    assert await value_of(registry, "tool", {}) == expected


async def test_a_returned_object_that_breaks_the_annotation_is_invalid_output_naming_tool_and_path() -> None:
    registry = Registry()

    @registry.tool
    async def hits() -> list[Hit]:
        """Hits."""
        return [{"title": 1, "score": "x"}]  # type: ignore[list-item]

    failure = await failure_of(registry, "hits", {})
    assert failure.error.code == "INVALID_TOOL_OUTPUT"
    assert "hits" in failure.error.message
    assert "title" in failure.error.message
    assert "score" in failure.error.message


async def test_nothing_annotated_means_any_json_both_ways() -> None:
    registry = Registry()

    @registry.tool
    async def echo(x, y=2):  # type: ignore[no-untyped-def]
        """Echo."""
        return {"x": x, "y": y}

    assert await value_of(registry, "echo", {"x": [1, {"a": None}]}) == {"x": [1, {"a": None}], "y": 2}


def test_var_arguments_and_types_without_schema_are_registration_errors() -> None:
    registry = Registry()

    async def stars(*args: int) -> None:
        """Stars."""

    async def keywords(**kwargs: int) -> None:
        """Keywords."""

    class Opaque:
        pass

    async def opaque(x: Opaque) -> None:
        """Opaque."""

    opaque.__annotations__["x"] = Opaque

    async def call(x: int) -> None:
        """Callable."""

    call.__annotations__["x"] = Callable[[int], int]
    for function in (stars, keywords, opaque, call):
        with pytest.raises(RegistrationError):
            registry.tool(function)
    assert registry.tools() == []


async def test_positional_only_and_keyword_only_parameters_work() -> None:
    registry = Registry()

    @registry.tool
    async def tool(a: int, /, b: int, *, c: int = 3) -> list[int]:
        """Tool."""
        return [a, b, c]

    assert await value_of(registry, "tool", {"b": 2, "a": 1}) == [1, 2, 3]


async def test_invalid_args_names_tool_every_path_expected_came_and_accepted_names() -> None:
    registry = Registry()

    @registry.tool
    async def search(query: str, limit: int = 10) -> str:
        """Search."""
        return query

    failure = await failure_of(registry, "search", {"qeury": "x", "limit": "many"})
    message = failure.error.message
    assert failure.error.code == "INVALID_ARGS"
    for part in ("search", "query", "limit", "qeury", "integer", "many"):
        assert part in message, (part, message)
    assert "pydantic" not in message.lower()
    assert "http" not in message


async def test_methods_partials_and_callables_are_tools_too() -> None:
    registry = Registry()

    class Service:
        def __init__(self) -> None:
            self.base = 10

        async def add(self, x: int) -> int:
            """Add."""
            return self.base + x

    registry.tool(Service().add)
    assert await value_of(registry, "add", {"x": 1}) == 11


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
async def test_a_sync_function_may_run_a_loop_of_its_own_in_its_thread(backend: str) -> None:
    registry = Registry()

    async def five() -> int:
        await anyio.lowlevel.checkpoint()
        return 5

    @registry.tool
    def looping() -> int:
        """Loop."""
        return anyio.run(five, backend=backend)

    assert await value_of(registry, "looping", {}) == 5


async def test_context_variables_reach_bodies_of_both_kinds() -> None:
    registry = Registry()
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="nobody")

    @registry.tool
    def threaded() -> str:
        """In a thread."""
        return variable.get()

    @registry.tool
    async def awaited() -> str:
        """On the loop."""
        return variable.get()

    variable.set("alice")
    assert await value_of(registry, "threaded", {}) == "alice"
    assert await value_of(registry, "awaited", {}) == "alice"


async def test_two_sync_tools_of_a_batch_overlap_when_they_are_concurrency_safe() -> None:
    registry = Registry()
    both = threading.Barrier(2, timeout=10)

    @registry.tool(concurrency_safe=True)
    def meet(x: int) -> int:
        """Meet."""
        both.wait()
        return x

    results = await registry.call_batch([codemode.ToolRequest("meet", {"x": n}) for n in range(2)])
    assert [result.value for result in results if isinstance(result, ToolSuccess)] == [0, 1]


def test_a_decorator_takes_every_option_that_a_tool_takes() -> None:
    registry = Registry()
    annotations = codemode.ToolAnnotations(title="T", read_only=True)

    @registry.tool(
        name="n",
        namespace="s",
        description="d",
        concurrency_safe=lambda arguments: True,
        timeout=3.0,
        render=lambda arguments, value: "r",
        presentation_meta=lambda arguments, value: {"m": 1},
        finalize_content=lambda call, result: None,
        present_call=lambda arguments: None,
        present_result=lambda arguments, result: None,
        annotations=annotations,
    )
    async def tool() -> str:
        """Not this."""
        return "x"

    registered = the_tool(registry, "s.n")
    assert registered.timeout == 3.0
    assert registered.annotations == annotations
    assert registered.annotations.title == "T"
    assert registered.annotations.read_only is True
    assert registered.annotations.destructive is None
    assert registered.annotations.idempotent is None
    assert registered.annotations.open_world is None


async def test_asyncio_tools_may_use_asyncio_on_asyncio(anyio_backend_name: str) -> None:
    registry = Registry()

    @registry.tool
    async def nap() -> str:
        """Nap."""
        await asyncio.sleep(0)
        return "ok"

    if anyio_backend_name == "asyncio":
        assert await value_of(registry, "nap", {}) == "ok"
    else:
        failure = await failure_of(registry, "nap", {})
        assert failure.error.code == "TOOL_ERROR"
