"""Freezing: what is JSON is copied once and never changes; what is not is named with its path."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections import OrderedDict, UserDict, defaultdict, namedtuple
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from codemode_registry import FrozenDict, FrozenList, NotJsonError, freeze, thaw

from .build import label

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=25,
)


@given(JSON)
def test_json_survives_freezing_thawing_and_text_exactly(value: Any) -> None:
    frozen = freeze(value)
    assert frozen == value
    assert thaw(frozen) == value
    assert json.dumps(frozen) == json.dumps(value)
    assert json.loads(json.dumps(frozen)) == value
    assert freeze(frozen) is frozen or not isinstance(frozen, (dict, list))


@given(JSON)
def test_thawing_gives_plain_containers_all_the_way_down(value: Any) -> None:
    def plain(item: Any) -> bool:
        if isinstance(item, dict):
            return type(item) is dict and all(map(plain, item.values()))
        return all(map(plain, item)) if type(item) is list else not isinstance(item, list)

    assert plain(thaw(freeze(value)))


@given(JSON)
def test_nothing_in_a_frozen_value_can_be_changed(value: Any) -> None:
    def check(item: Any) -> None:
        if isinstance(item, dict):
            with pytest.raises(TypeError, match="frozen"):
                item["x"] = 1
            for child in item.values():
                check(child)
        elif isinstance(item, list):
            with pytest.raises(TypeError, match="frozen"):
                item.append(1)
            for child in item:
                check(child)

    check(freeze(value))


def test_every_mutator_of_a_frozen_container_raises() -> None:
    frozen = freeze({"a": [1, 2], "b": {}})
    items = frozen["a"]
    attempts: list[Any] = [
        lambda: frozen.update(a=1),
        lambda: frozen.pop("a"),
        lambda: frozen.popitem(),
        lambda: frozen.clear(),
        lambda: frozen.setdefault("c", 1),
        lambda: frozen.__delitem__("a"),
        lambda: frozen.__ior__({"c": 1}),
        lambda: items.extend([1]),
        lambda: items.insert(0, 1),
        lambda: items.pop(),
        lambda: items.remove(1),
        lambda: items.clear(),
        lambda: items.sort(),
        lambda: items.reverse(),
        lambda: items.__setitem__(0, 5),
        lambda: items.__delitem__(0),
        lambda: items.__iadd__([1]),
        lambda: items.__imul__(2),
    ]
    for attempt in attempts:
        with pytest.raises(TypeError, match="frozen"):
            attempt()
    assert frozen == {"a": [1, 2], "b": {}}


def test_a_frozen_value_serialises_and_copies_like_the_plain_one() -> None:
    value = {"b": [1, {"c": None}], "a": "ü"}
    frozen = freeze(value)
    assert json.dumps(frozen) == json.dumps(value)
    assert to_json(frozen) == to_json(value)
    assert type(copy.deepcopy(frozen)) is dict
    assert type(copy.copy(frozen)) is dict
    assert type(frozen.copy()) is dict
    assert type(frozen["b"].copy()) is list
    assert copy.deepcopy(frozen) == value
    again = pickle.loads(pickle.dumps(frozen))
    assert type(again) is FrozenDict
    assert again == value
    assert isinstance(frozen, dict)
    assert isinstance(frozen["b"], list)


def test_the_source_stays_as_it_was_and_is_no_longer_looked_at() -> None:
    shared = [1]
    source = {"a": shared, "b": shared, "c": {"d": shared}}
    frozen = freeze(source)
    shared.append(2)
    source["e"] = []
    assert frozen == {"a": [1], "b": [1], "c": {"d": [1]}}
    assert type(source) is dict


def test_key_order_and_odd_keys_are_kept() -> None:
    value = {"b": 1, "__class__": {}, "": 0, "a": 2}
    assert list(freeze(value)) == ["b", "__class__", "", "a"]


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Text(str):
    pass


@dataclass
class Point:
    x: int = 0


Pair = namedtuple("Pair", "a b")

NOT_JSON = [
    (math.nan, "nan"),
    (math.inf, "inf"),
    (-math.inf, "inf"),
    ((1, 2), "tuple"),
    (Pair(1, 2), "Pair"),
    ({1}, "set"),
    (frozenset(), "frozenset"),
    (b"x", "bytes"),
    (bytearray(b"x"), "bytearray"),
    (datetime(2020, 1, 1), "datetime"),
    (Decimal(1), "Decimal"),
    (1j, "complex"),
    (Colour.RED, "Colour"),
    (Level.LOW, "Level"),
    (Text("x"), "Text"),
    (Point(), "Point"),
    (OrderedDict(), "OrderedDict"),
    (defaultdict(list), "defaultdict"),
    (UserDict(), "UserDict"),
    (object(), "object"),
    (len, "builtin_function_or_method"),
    (iter([]), "list_iterator"),
    ({1: 2}, "keys are strings"),
    ({None: 2}, "keys are strings"),
    ({b"k": 2}, "keys are strings"),
]


@pytest.mark.parametrize(("value", "word"), NOT_JSON, ids=label)
def test_what_is_not_json_is_refused_with_its_path_and_its_type(value: Any, word: str) -> None:
    for wrapped, path in (
        (value, ""),
        ({"rows": [0, {"odd key": value}]}, 'rows[1]["odd key"]'),
        ([[value]], "[0][0]"),
    ):
        with pytest.raises(NotJsonError) as caught:
            freeze(wrapped)
        assert caught.value.path == path
        assert word in str(caught.value)


def test_integers_are_exact_at_any_size_and_negative_zero_stays() -> None:
    value = [2**53 + 1, 10**400, -(10**30), -0.0, 1e308, 5e-324]
    frozen = freeze(value)
    assert frozen == value
    assert math.copysign(1, frozen[3]) == -1


def test_lone_surrogates_are_kept() -> None:
    assert freeze(["\ud800"]) == ["\ud800"]


@pytest.mark.parametrize("loose", [False, True])
def test_a_value_that_contains_itself_is_refused_at_once(loose: bool) -> None:
    inner: dict[str, Any] = {}
    inner["again"] = [inner, inner]
    with pytest.raises(NotJsonError, match="contains itself"):
        freeze({"a": inner}, loose=loose)
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(NotJsonError, match="contains itself"):
        freeze(ring, loose=loose)


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_depth_500_is_fine_and_501_is_refused_however_it_is_put_together() -> None:
    deep = freeze(nested(500))
    assert thaw(deep) == nested(500)
    assert json.loads(json.dumps(deep)) == nested(500)
    for value in (nested(501), nested(100_000), [deep], {"a": deep}, [[freeze(nested(499))]]):
        with pytest.raises(NotJsonError, match="deeper than 500"):
            freeze(value)
    assert freeze([freeze(nested(499))]) == nested(500)
    with pytest.raises(NotJsonError, match="deeper than 500"):
        freeze([{"a": 1, "b": nested(500)}])


def test_loose_freezing_takes_tuples_and_mappings_as_lists_and_objects() -> None:
    value = {"a": (1, Pair(2, ())), "b": MappingProxyType({"c": OrderedDict(d=defaultdict(list))}), "e": UserDict(f=1)}
    assert freeze(value, loose=True) == {"a": [1, [2, []]], "b": {"c": {"d": {}}}, "e": {"f": 1}}
    assert freeze(MappingProxyType({}), loose=True) == {}
    for bad in ({"a": {1}}, MappingProxyType({1: 2}), (math.nan,), ({"x": b""},)):
        with pytest.raises(NotJsonError):
            freeze(bad, loose=True)


def test_each_slot_of_a_mapping_is_read_once() -> None:
    class Fickle(UserDict[str, Any]):
        reads = 0

        def __getitem__(self, key: str) -> Any:
            Fickle.reads += 1
            return Fickle.reads

    assert freeze({"m": Fickle(x=None)}, loose=True) == {"m": {"x": 1}}
    assert Fickle.reads == 1


def test_a_mapping_that_raises_is_refused_with_its_own_words() -> None:
    class Broken(UserDict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise ZeroDivisionError("boom")

    with pytest.raises(NotJsonError, match="ZeroDivisionError: boom"):
        freeze({"a": Broken(x=1)}, loose=True)


def test_a_wide_value_of_shared_parts_is_copied_in_time() -> None:
    row = {"a": [1, 2.5, None], "b": "x"}
    frozen = freeze([row] * 20_000)
    assert len(frozen) == 20_000
    assert type(frozen[19_999]["a"]) is FrozenList


@settings(max_examples=50)
@given(JSON, st.sampled_from([math.nan, b"", {1}, (1,), {2: 3}, object()]), st.data())
def test_one_bad_leaf_anywhere_is_found(value: Any, bad: Any, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(0, 4))):
        value = data.draw(st.sampled_from([[0, value], {"k": value}, [{}, [], value]]))
    holder = data.draw(st.sampled_from([[value, bad], {"a": value, "b": bad}, [[[bad]]]]))
    with pytest.raises(NotJsonError):
        freeze(holder)


@given(JSON)
def test_the_depth_that_a_frozen_value_remembers_is_its_own(value: Any) -> None:
    def depth(item: Any) -> int:
        if isinstance(item, dict):
            return 1 + max(map(depth, item.values()), default=0)
        return 1 + max(map(depth, item), default=0) if isinstance(item, list) else 0

    frozen = freeze([value, freeze({"again": freeze(value)})])
    assert frozen._levels == depth(frozen)
