"""How the arguments of a Python call become the arguments object of a tool."""

from __future__ import annotations

import pytest

from codemode_guest._binding import bind

SIGNATURE = "tools.search(query: str, limit: int = 10)"


def call(*args: object, parameters: tuple[str, ...] = ("query", "limit"), **kwargs: object) -> dict[object, object]:
    return bind("tools.search", SIGNATURE, parameters, args, kwargs)


def test_keywords_are_the_arguments_object() -> None:
    assert call(query="x", limit=3) == {"query": "x", "limit": 3}


def test_no_arguments_are_an_empty_object() -> None:
    assert call() == {}


def test_one_dict_is_the_arguments_object() -> None:
    given = {"query": "x", "other": 1}
    bound = call(given)
    assert bound == given
    assert bound is not given


def test_positional_values_fill_the_parameters_in_the_order_of_the_stub() -> None:
    assert call("x", 3) == {"query": "x", "limit": 3}


def test_keywords_add_to_positional_values() -> None:
    assert call("x", limit=3) == {"query": "x", "limit": 3}


def test_none_is_a_value_like_any_other() -> None:
    assert call(None) == {"query": None}


def test_a_dict_that_does_not_name_the_only_parameter_is_its_value() -> None:
    assert call({"a": 1}, parameters=("value",)) == {"value": {"a": 1}}


@pytest.mark.parametrize("given", [{}, {"value": 1}, {"value": 1, "more": 2}])
def test_a_dict_that_fits_the_only_parameter_is_the_arguments_object(given: dict[str, object]) -> None:
    assert call(given, parameters=("value",)) == given


def test_a_dict_for_a_tool_without_parameters_is_the_arguments_object() -> None:
    assert call({"forged": 1}, parameters=()) == {"forged": 1}


def test_keywords_alone_are_for_the_schema_to_judge() -> None:
    assert call(nope=1) == {"nope": 1}


def test_a_signature_that_is_open_takes_other_names_in_a_mix() -> None:
    bound = bind("tools.post", "tools.post(url: str, **arguments: Any)", ("url",), ("u",), {"depth": 1})
    assert bound == {"url": "u", "depth": 1}


def test_two_dicts_are_values() -> None:
    assert call({"a": 1}, {"b": 2}) == {"query": {"a": 1}, "limit": {"b": 2}}


def test_a_dict_that_is_no_arguments_object_may_stand_before_keywords() -> None:
    assert call({"text": "x"}, limit=3) == {"query": {"text": "x"}, "limit": 3}


def test_a_subclass_of_dict_is_read_without_its_own_methods() -> None:
    class Odd(dict[str, int]):
        def items(self) -> object:  # type: ignore[override]
            raise AssertionError("called")

    assert call(Odd(query=1)) == {"query": 1}


@pytest.mark.parametrize(
    ("args", "kwargs", "parameters", "says"),
    [
        (({"query": "x"},), {"limit": 3}, ("query", "limit"), "an arguments dict and keywords"),
        (("x",), {"query": "y"}, ("query", "limit"), "multiple values for argument 'query'"),
        (("x", 3, 4), {}, ("query", "limit"), "at most 2 positional arguments but 3 were given"),
        (("x", 3), {}, ("query",), "at most 1 positional argument but 2 were given"),
        (("x",), {"nope": 1}, ("query", "limit"), "unexpected keyword argument 'nope'"),
        (("x",), {}, (), "no positional arguments but 1 was given"),
    ],
)
def test_what_is_ambiguous_surplus_or_double_names_the_signature(
    args: tuple[object, ...], kwargs: dict[str, object], parameters: tuple[str, ...], says: str
) -> None:
    with pytest.raises(TypeError) as caught:
        bind("tools.search", SIGNATURE, parameters, args, kwargs)
    assert says in str(caught.value)
    assert SIGNATURE in str(caught.value)
