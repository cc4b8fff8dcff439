"""Functions as tools: what the annotations say is the schema, what arrives is what the schema says."""

from __future__ import annotations

import functools
import re
import sys
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Callable, Literal, NamedTuple, NotRequired, Optional, TypedDict  # noqa: UP035

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator
from pydantic import JsonValue as PydanticJsonValue
from typing_extensions import TypedDict as ExtTypedDict

from codemode_registry import (
    Event,
    JsonValue,
    MemoryEventLog,
    RegistrationError,
    Registry,
    Tool,
    ToolContext,
    function_tool,
)

from .build import failed, label, ok


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Hit:
    title: str
    when: datetime | None = None
    tags: set[str] = field(default_factory=set)


class Item(BaseModel):
    id: uuid.UUID
    price: Decimal
    colour: Colour = Colour.RED
    kids: list[Item] = []

    @field_validator("price")
    @classmethod
    def positive(cls, price: Decimal) -> Decimal:
        if price <= 0:
            raise ValueError("a price is positive")
        return price


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    when: date
    n: int


class Pair(NamedTuple):
    a: int
    b: str


class Row(ExtTypedDict):
    name: str
    note: NotRequired[str]


async def call(function: Callable[..., Any], arguments: Any, **options: Any) -> Any:
    registry = Registry()
    registry.tool(**options)(function)
    return await registry.call(function_tool(function).full_name, arguments)


def test_the_decorator_gives_the_function_back_unchanged() -> None:
    registry = Registry()

    async def search(query: str) -> str:
        return query

    assert registry.tool(search) is search
    other = registry.tool(name="other", namespace="web", description="Another.", timeout=3, concurrency_safe=True)(
        search
    )
    assert other is search
    tool = registry.get("web.other")
    assert isinstance(tool, Tool)
    assert (tool.full_name, tool.description, tool.timeout, tool.concurrency_safe) == ("web.other", "Another.", 3, True)


def test_signature_and_docstring_become_the_schema() -> None:
    registry = Registry()

    @registry.tool
    async def search(
        query: str,
        limit: int = 10,
        kind: Literal["a", "b"] = "a",
        since: datetime | None = None,
        anything=None,  # type: ignore[no-untyped-def]
        ctx: ToolContext | None = None,
    ) -> list[Hit]:
        """Search the index,
        quickly.

        A second paragraph that the model need not read.

        Args:
            query: What to look for:
                words or phrases.
            limit (int): How many.
            kind: One of two.

        Returns:
            The hits.
        """
        return []

    assert registry.schemas() == [
        {
            "name": "search",
            "description": "Search the index, quickly.",
            "input_schema": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "What to look for: words or phrases."},
                    "limit": {"type": "integer", "description": "How many.", "default": 10},
                    "kind": {"type": "string", "enum": ["a", "b"], "description": "One of two.", "default": "a"},
                    "since": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}], "default": None},
                    "anything": {"default": None},
                },
                "required": ["query"],
                "additionalProperties": False,
            },
        }
    ]
    tool = registry.get("search")
    assert tool is not None
    assert tool.output is not None
    assert tool.output["type"] == "array"


async def test_no_annotation_means_any_json_and_the_value_is_the_functions_own() -> None:
    def change(data, more=1):  # type: ignore[no-untyped-def]
        data["rows"].append({"more": more})
        return data

    source = {"rows": []}
    assert ok(await call(change, {"data": source})) == {"rows": [{"more": 1}]}
    assert source == {"rows": []}


STRICT: list[tuple[Any, list[Any], list[Any]]] = [
    (int, [1, 1.0, -5, 10**30], [True, "1", 1.5, None, [1]]),
    (float, [1, 1.5], [True, "1.5", None]),
    (bool, [True, False], [0, 1, "true", None]),
    (str, ["", "x"], [1, None, ["x"]]),
    (list[int], [[], [1, 2.0]], [["1"], [True], 1, {"0": 1}, "12"]),
    (dict[str, int], [{}, {"a": 1}], [{"a": "1"}, [], None]),
    (dict[int, str], [{"1": "a"}], [{"x": "a"}, {"1": 1}]),
    (tuple[int, str], [[1, "a"]], [[1], [1, 2], [1, "a", 3], "1a"]),
    (set[int], [[1, 2], []], [[1, 1], {"a": 1}]),
    (Optional[int], [None, 1], ["1", True]),  # noqa: UP045
    (int | str, [1, "1"], [True, None, 1.5]),
    (Literal["a", 1], ["a", 1], [True, "b", "1"]),
    (Colour, ["red"], ["RED", "green", 1]),
    (Level, [1, 2], [3, "1", True]),
    (datetime, ["2020-01-01T00:00:00", "2020-01-01T00:00:00Z"], ["soon", 5, None]),
    (date, ["2020-01-01"], ["2020-13-01", 1]),
    (timedelta, ["PT5S", "P1D"], ["x"]),
    (uuid.UUID, [str(uuid.UUID(int=5))], ["no", 5]),
    (Decimal, ["1.50", 1, 1.5], ["x", True, None]),
    (bytes, ["abc"], [1, None]),
    (Path, ["a/b"], [1]),
    (
        Hit,
        [{"title": "x"}, {"title": "x", "when": "2020-01-01T00:00:00", "tags": ["a"]}],
        [{}, {"title": 1}, "x", {"title": "x", "when": "?"}],
    ),
    (
        Item,
        [{"id": str(uuid.UUID(int=1)), "price": "1", "kids": []}],
        [{"id": "x", "price": 1}, {"price": 1}, {"id": str(uuid.UUID(int=1)), "price": -1}],
    ),
    (Strict, [{"when": "2020-01-01", "n": 1}], [{"when": "x", "n": 1}, {"when": "2020-01-01", "n": "1"}]),
    (Pair, [[1, "x"]], [["x", 1], [1]]),
    (Row, [{"name": "x"}, {"name": "x", "note": "y"}], [{}, {"name": "x", "note": None}]),
    (Annotated[int, Field(ge=1, le=5)], [1, 5], [0, 6, "1"]),
    (Annotated[str, Field(min_length=2, pattern="^a")], ["ab"], ["a", "bb"]),
    (Sequence[int], [[1]], [["x"], 5]),
    (Mapping[str, int], [{"a": 1}], [{"a": "x"}]),
    (Any, [None, 1, "x", [{}]], []),
    (object, [None, 1, "x", [{}]], []),
    (None, [None], [0, False, ""]),
]


@pytest.mark.parametrize(("annotation", "good", "bad"), STRICT, ids=label)
async def test_arguments_are_as_strict_as_json_and_arrive_as_annotated(
    annotation: Any, good: list[Any], bad: list[Any]
) -> None:
    seen: list[Any] = []
    registry = Registry()

    async def t(x) -> None:  # type: ignore[no-untyped-def]
        seen.append(x)

    t.__annotations__["x"] = annotation
    registry.tool(t)
    for value in good:
        seen.clear()
        assert ok(await registry.call("t", {"x": value})) is None, value
        if (
            isinstance(annotation, type)
            and annotation not in (float, object, Any)
            and not hasattr(annotation, "__total__")
        ):
            assert isinstance(seen[0], annotation), (value, seen)
    for value in bad:
        message = failed(await registry.call("t", {"x": value}), "INVALID_ARGS")
        assert '"t"' in message, value
        assert "x" in message.partition(": ")[2], value


async def test_what_pydantic_alone_can_see_is_worded_with_path_and_value() -> None:
    def t(items: list[Item], when: datetime | None = None) -> None: ...

    message = failed(
        await call(t, {"items": [{"id": str(uuid.UUID(int=1)), "price": -3}], "when": "soon"}), "INVALID_ARGS"
    )
    assert "items[0].price: a price is positive" in message
    assert "when: " in message
    assert 'the string "soon"' in message
    assert "https://" not in message


async def test_an_unknown_argument_is_refused_with_the_accepted_names() -> None:
    def t(query: str, limit: int = 3) -> None: ...

    message = failed(await call(t, {"query": "x", "limt": 3}), "INVALID_ARGS")
    assert 'limt: unknown name; did you mean "limit"? (accepted: query, limit)' in message


async def test_defaults_are_the_functions_own_and_never_validated_or_shared() -> None:
    marker = object()

    def t(
        a: int = marker,
        b: list[int] = Field(default_factory=list),  # noqa: B008
        c: int = Field(7, description="Seven."),
        d: int = Field(ge=1),
    ) -> list[Any]:  # type: ignore[assignment]
        b.append(1)
        return [a is marker, b, c, d]

    registry = Registry()
    registry.tool(t)
    for _ in range(2):
        assert ok(await registry.call("t", {"d": 1})) == [True, [1], 7, 1]
    schema = registry.schemas()[0]["input_schema"]
    assert schema["required"] == ["d"]
    assert "default" not in schema["properties"]["a"]
    assert schema["properties"]["c"] == {"type": "integer", "description": "Seven.", "default": 7}
    assert "c" in failed(await registry.call("t", {"c": "x", "d": 1}), "INVALID_ARGS")


async def test_a_context_parameter_is_filled_in_and_not_part_of_the_schema() -> None:
    seen: list[ToolContext] = []

    async def t(x: int, ctx: ToolContext, *, y: int = 2) -> int:
        seen.append(ctx)
        return x + y

    registry = Registry()
    registry.tool(t)
    assert list(registry.schemas()[0]["input_schema"]["properties"]) == ["x", "y"]
    assert ok(await registry.call("t", {"x": 1}, call_id="c-1")) == 3
    assert seen[0].call.call_id == "c-1"
    assert seen[0].call.arguments == {"x": 1}


async def test_positional_only_parameters_and_odd_names_work() -> None:
    def t(a: int, b: int = 2, /, c: int = 3, *, schema: int = 4, self: int = 5) -> list[int]:
        return [a, b, c, schema, self]

    assert ok(await call(t, {"a": 1, "self": 9})) == [1, 2, 3, 4, 9]


class Service:
    """A class whose methods are tools."""

    def __init__(self) -> None:
        self.count = 0

    async def hit(self, by: int = 1) -> int:
        """Hit it."""
        self.count += by
        return self.count

    async def __call__(self, x: int) -> int:
        """Called."""
        return x


async def test_methods_callable_objects_and_partials_are_tools() -> None:
    service = Service()
    registry = Registry()
    registry.tool(service.hit)
    registry.tool(name="called")(service)
    registry.tool(name="half")(functools.partial(service.hit, by=5))
    assert [tool["description"] for tool in registry.schemas()][:1] == ["Hit it."]
    assert ok(await registry.call("hit", {})) == 1
    assert ok(await registry.call("called", {"x": 4})) == 4
    assert ok(await registry.call("half", {})) == 6


async def test_sync_functions_run_in_a_worker_thread_and_async_ones_in_the_loop() -> None:
    async def loop() -> int:
        return threading.get_ident()

    def thread() -> int:
        return threading.get_ident()

    assert ok(await call(loop, {})) == threading.get_ident()
    assert ok(await call(thread, {})) != threading.get_ident()


OUTPUTS: list[tuple[Any, Any, Any]] = [
    (Hit, Hit("x", datetime(2020, 1, 1), {"a"}), {"title": "x", "when": "2020-01-01T00:00:00", "tags": ["a"]}),
    (list[Hit], [Hit("x")], [{"title": "x", "when": None, "tags": []}]),
    (
        Item,
        Item(id=uuid.UUID(int=1), price=Decimal("1.50")),
        {"id": str(uuid.UUID(int=1)), "price": "1.50", "colour": "red", "kids": []},
    ),
    (tuple[int, str], (1, "a"), [1, "a"]),
    (set[int], {3}, [3]),
    (frozenset[str], frozenset({"a"}), ["a"]),
    (Colour, Colour.BLUE, "blue"),
    (Level, Level.HIGH, 2),
    (Decimal, Decimal("0.10"), "0.10"),
    (uuid.UUID, uuid.UUID(int=0), str(uuid.UUID(int=0))),
    (date, date(2020, 1, 2), "2020-01-02"),
    (timedelta, timedelta(seconds=90), "PT1M30S"),
    (Pair, Pair(1, "x"), [1, "x"]),
    (Row, {"name": "x"}, {"name": "x"}),
    (dict[int, str], {1: "a"}, {"1": "a"}),
    (bytes, b"abc", "abc"),
    (Path, Path("a/b"), "a/b"),
    (None, None, None),
    (int, 10**40, 10**40),
    (
        Any,
        [Hit("x"), {"k": Decimal(1)}, (Colour.RED,)],
        [{"title": "x", "when": None, "tags": []}, {"k": "1"}, ["red"]],
    ),
]


@pytest.mark.parametrize(("annotation", "returned", "expected"), OUTPUTS, ids=label)
async def test_what_a_function_returns_has_its_pydantic_json_form_and_fits_the_schema(
    annotation: Any, returned: Any, expected: Any
) -> None:
    registry = Registry()

    def t():  # type: ignore[no-untyped-def]
        return returned

    t.__annotations__["return"] = annotation
    registry.tool(t)
    value = ok(await registry.call("t", {}))
    assert value == expected
    assert type(value) in (str, int, type(None)) or isinstance(value, (dict, list))

    def unannotated():  # type: ignore[no-untyped-def]
        return returned

    registry.tool(unannotated)
    tool = registry.get("unannotated")
    assert tool is not None
    assert tool.output is None
    assert ok(await registry.call("unannotated", {})) == expected


def test_the_output_schema_says_that_dumped_defaults_are_always_there() -> None:
    def t() -> Hit: ...  # type: ignore[empty-body]

    tool = function_tool(t)
    assert tool.output is not None
    assert sorted(tool.output["required"]) == ["tags", "title", "when"]

    def row() -> Row: ...  # type: ignore[empty-body]

    output = function_tool(row).output
    assert output is not None
    assert output["required"] == ["name"]


BAD_OUTPUTS: list[tuple[Any, Any, str]] = [
    (int, "x", "expected an integer"),
    (int, True, "expected an integer"),
    (str, None, "expected a string"),
    (Hit, {"title": "x"}, "missing"),
    (Hit, None, "object"),
    (None, 5, "null"),
    (list[int], [1, "x"], "[1]: expected an integer"),
    (float, float("nan"), "nan"),
    (Any, [float("inf")], "infinity"),
    (dict[str, Any], {"a": None, "b": (float("nan"),)}, "NaN"),
    (list[float], [float("nan")], "[0]: nan"),
    (Any, object(), "object"),
    (Any, {"a": lambda: 1}, "function"),
    (bytes, b"\xff", "utf"),
]


@pytest.mark.parametrize(("annotation", "returned", "word"), BAD_OUTPUTS, ids=label)
async def test_a_value_that_is_not_what_was_promised_is_invalid_output(
    annotation: Any, returned: Any, word: str
) -> None:
    def t():  # type: ignore[no-untyped-def]
        return returned

    t.__annotations__["return"] = annotation
    message = failed(await call(t, {}), "INVALID_TOOL_OUTPUT")
    assert message.startswith('tool "t" returned invalid output: ')
    assert word in message


async def test_aliases_are_spelt_alike_in_schema_arguments_and_values() -> None:
    class Aliased(BaseModel):
        some_name: int = Field(alias="someName")

    def t(item: Aliased) -> Aliased:
        assert item.some_name == 3
        return item

    assert ok(await call(t, {"item": {"someName": 3}})) == {"someName": 3}
    assert "item.someName" in failed(await call(t, {"item": {"some_name": 3}}), "INVALID_ARGS")


async def test_classes_that_are_local_to_the_registering_function_are_found() -> None:
    @dataclass
    class Local:
        n: int

    registry = Registry()

    @registry.tool
    async def t(item: Local) -> Local:
        return Local(item.n + 1)

    assert ok(await registry.call("t", {"item": {"n": 1}})) == {"n": 2}


def starred(*names: str) -> None: ...
def keywords(**names: str) -> None: ...
def callback(fn: Callable[[int], int]) -> None: ...
def lock(thing: threading.Thread) -> None: ...
def missing(x: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def thread() -> threading.Thread: ...  # type: ignore[empty-body]
def generator() -> Any:
    yield 1


async def stream() -> Any:
    yield 1


@pytest.mark.parametrize(
    "function", [starred, keywords, callback, lock, missing, thread, generator, stream, 5, None.__class__]
)
def test_a_function_without_a_schema_is_refused_and_named(function: Any) -> None:
    registry = Registry()
    with pytest.raises(RegistrationError) as caught:
        registry.tool(name="t")(function)
    if callable(function):
        assert "'t'" in str(caught.value)
    assert registry.tools() == []


async def test_a_pretty_docstring_is_not_needed() -> None:
    def t(x: int) -> int:
        return x

    assert function_tool(t).description == ""
    assert ok(await call(t, {"x": 1})) == 1


async def test_a_retry_gets_fresh_arguments() -> None:
    registry = Registry(events=MemoryEventLog())
    seen: list[list[int]] = []

    @registry.tool
    async def t(rows: list[int]) -> int:
        seen.append(list(rows))
        rows.append(99)
        return len(rows)

    @registry.around_execute
    async def twice(call: Any, next: Any) -> Any:
        await next()
        return await next()

    assert ok(await registry.call("t", {"rows": [1]})) == 2
    assert seen == [[1], [1]]


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c", "d"]),
        st.none() | st.integers() | st.text() | st.booleans() | st.lists(st.integers()),
    )
)
def test_conversion_accepts_exactly_what_the_schema_accepts(arguments: dict[str, Any]) -> None:
    def t(a: int, b: str = "x", c: list[int] | None = None) -> None: ...

    tool = function_tool(t)
    tool.ready()
    fits = (
        type(arguments.get("a")) is int
        and set(arguments) <= {"a", "b", "c"}
        and type(arguments.get("b", "")) is str
        and (arguments.get("c") is None or type(arguments["c"]) is list)
    )
    assert tool.input_schema.is_valid(arguments) == fits
    if fits:
        body: Any = tool.execute
        assert body.convert(arguments) == (arguments, [])


class Legacy(TypedDict):
    x: int


def test_a_typed_dict_that_pydantic_refuses_before_python_3_12_is_said_in_its_words() -> None:
    def t(x: Legacy) -> None: ...

    if sys.version_info >= (3, 12):
        assert function_tool(t).name == "t"
    else:
        with pytest.raises(RegistrationError, match="typing_extensions"):
            function_tool(t)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"time_out": 3}, "there is no option 'time_out'; there are annotations, concurrency_safe"),
        ({"read_only": True}, "annotations=ToolAnnotations(read_only=...)"),
        ({"parameters": {}}, "there is no option 'parameters'"),
    ],
)
def test_an_unknown_option_is_named_with_what_there_is(options: dict[str, Any], said: str) -> None:
    def tool() -> None: ...

    with pytest.raises(RegistrationError, match=re.escape(said)):
        Registry().tool(**options)(tool)


@pytest.mark.parametrize(
    "around",
    [
        lambda json: json,
        lambda json: list[json],
        lambda json: dict[str, json],
        lambda json: json | None,
        lambda json: tuple[json, list[json]],
        lambda json: Annotated[json, Field(description="said")],
    ],
)
def test_any_json_of_ours_is_pydantics(around: Callable[[Any], Any]) -> None:
    ours, theirs = TypeAdapter(around(JsonValue)), TypeAdapter(around(PydanticJsonValue))
    for mode in ("validation", "serialization"):
        assert ours.json_schema(mode=mode) == theirs.json_schema(mode=mode)
    for value in (None, 1, "x", [1, [2.5]], {"a": [None]}, (1, []), {1: 2}, {1}, object(), b"x", [{"a": object()}]):
        assert _verdict(ours, value) == _verdict(theirs, value)


def _verdict(adapter: TypeAdapter[Any], value: object) -> object:
    try:
        return adapter.validate_python(value)
    except ValueError as error:
        return str(error)


async def test_an_object_of_ours_that_holds_any_json_can_be_returned() -> None:
    async def last() -> Event:
        return Event(1, 2, "x", {"a": [None, 1]})

    assert ok(await call(last, {})) == {"seq": 1, "time": 2, "type": "x", "data": {"a": [None, 1]}}
