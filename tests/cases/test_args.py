"""What a program gives a tool arrives as it is, or is refused before anything is sent."""

from __future__ import annotations

from tests.cases.given import Case, Json, given, given_values
from tests.cases.world import CUT_WORDS, World, assert_same


@given_values(
    {
        "args-line-ends-and-escapes-exact": [True, [6, 6, 7, 10, 7, 17, 0, 1]],
        "args-negative-zero-and-floats": [True, -1.0, ["float"] * 5],
        "args-no-arg-tool": ["2026-01-01", "2026-01-01"],
        "args-none-arrives-as-null": True,
        "args-single-positional-scalar": {"ok": "ABC"},
        "args-string-number-lookalikes": ["007", "1e5", "true", "null", "", " ", "12345678901234567890"],
        "args-string-that-looks-like-json": '{"message": "hello"}',
        "args-union-string-or-list": ["[1, 2]", ["a"], "plain", '{"a": 1}'],
    }
)
def test_arguments_cross_exactly(case: Case, expected: Json) -> None:
    world = World(case)
    assert_same(world.value(), expected)
    assert_same([data["arguments"] for data in world.starts()], [visit.arguments for visit in world.visits])


@given("args-big-id-from-one-tool-to-another")
def test_a_64_bit_id_keeps_all_its_digits(case: Case) -> None:
    world = World(case)
    result = world.run()
    assert_same(result.value, {"id": 725653563933458433, "same": True, "parity": 1, "text": "725653563933458433"})
    assert world.ran("by_id") == [{"id": 725653563933458433}]
    assert '"id": 725653563933458433' in result.text


@given("args-cycle-and-depth")
def test_a_cycle_is_refused_and_too_deep_says_so(case: Case) -> None:
    world = World(case)
    cycle, depth = world.value()
    assert cycle in {"ValueError", "TypeError", "ToolCallError"}
    # Depth over 500 is refused, with a message that mentions it.
    assert depth in {"ValueError:deep", "TypeError:deep", "ToolCallError:deep"}
    assert world.visits == []


@given("args-json-string-for-object")
def test_json_text_is_no_list(case: Case) -> None:
    world = World(case)
    error = world.value()["error"]
    assert "ids" in error
    assert "array" in error or "list" in error
    assert "str" in error
    assert world.visits == []


@given("args-mutated-after-call")
def test_arguments_are_a_snapshot(case: Case) -> None:
    world = World(case)
    count, payload = world.value()
    assert_same(count, 1)
    assert_same(payload, {"items": [1, 2], "extra": True})
    assert world.ran("slow_count") == [{"items": [1]}]
    assert [data["arguments"] for data in world.starts()] == [{"items": [1]}]


@given("args-nan-inf-rejected")
def test_nan_and_infinity_are_refused_before_anything_is_sent(case: Case) -> None:
    world = World(case)
    rows = world.value()
    assert len(rows) == 3
    for kind, told in rows:
        assert kind in {"ToolCallError", "ValueError", "TypeError"}
        assert told is True
    assert world.visits == []
    assert world.starts() == []


@given("args-non-string-keys-collide")
def test_keys_that_would_collide_are_refused(case: Case) -> None:
    world = World(case)
    outcome = world.value()
    assert "ok" not in outcome
    assert "1" in outcome["text"]
    assert "key" in outcome["text"]
    assert world.visits == []


@given("args-optional-explicit-none")
def test_null_for_an_optional_string_is_refused_by_name(case: Case) -> None:
    world = World(case)
    outcome = world.value()
    assert outcome["type"] == "ToolCallError"
    assert "greeting" in outcome["error"]
    assert "string" in outcome["error"]
    assert world.visits == []


@given("args-required-but-nullable-missing")
def test_a_missing_key_is_named_even_if_null_would_do(case: Case) -> None:
    world = World(case)
    error = world.value()["error"]
    assert "after" in error
    assert "find" in error
    assert world.visits == []


@given("args-unicode-everything")
def test_every_character_crosses(case: Case) -> None:
    world = World(case)
    equal, length, keyed, surrogate = world.value()
    assert equal is True
    assert length is True
    assert keyed == {"ключ 😀": "v"}
    assert surrogate == "sent" or surrogate.endswith("Error")
    assert world.run("return 1").ok


@given("args-unknown-key")
def test_an_undeclared_key_is_named_with_the_accepted_ones(case: Case) -> None:
    world = World(case)
    outcome = world.value()
    assert outcome["type"] == "ToolCallError"
    assert "kind" in outcome["text"]
    assert "q" in outcome["text"]
    assert "limit" in outcome["text"]
    assert world.visits == []


@given("ux-truncation-placeholder-as-arg")
def test_a_text_that_looks_cut_is_passed_as_it_is(case: Case) -> None:
    world = World(case)
    assert world.value() == "failed: id ab12... not found"
    assert world.ran("by_id") == [{"id": "ab12..."}]
    # And what was cut for the model does not look like data.
    cut = world.run("return 'x' * 500_000")
    assert len(cut.text) <= 100_000
    assert any(word in cut.text for word in CUT_WORDS)
    assert "500" in cut.text
