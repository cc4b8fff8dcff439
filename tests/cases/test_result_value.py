"""What a tool returns reaches the program whole, in the JSON form that its schema declares."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from pydantic import BaseModel, Field

from tests.cases.given import Case, Json, given, given_values
from tests.cases.world import World, assert_same


@given_values(
    {
        "args-result-mutation-isolated": 10,
        "res-numbers-stay-numbers": {"parts": [0, 1, 4, 9, 16], "avg": 6.0, "max": 16, "ok": True},
        "res-scalar-roots": [
            [0, "", False, None, [], {}, 1.5],
            ["int", "str", "bool", "NoneType", "list", "dict", "float"],
        ],
        "res-string-result-not-parsed": ["str", '{"a": 1}'],
    }
)
def test_results_arrive_as_the_schema_says(case: Case, expected: Json) -> None:
    assert_same(World(case).value(), expected)


@given("out-return-nan")
def test_nan_in_the_value_is_named_by_its_path(case: Case) -> None:
    result = World(case).run()
    assert not result.ok
    assert result.error.kind == "invalid-output"
    assert "mean" in result.error.message
    assert "NaN" not in result.text.replace(case.text, "") or "null" not in result.text
    assert not result.has_value


@given("res-int-keyed-mapping")
def test_int_keys_of_a_host_mapping_are_strings(case: Case) -> None:
    world = World(case, register=False)

    @world.registry.tool
    async def labels() -> dict[int, str]:
        """The labels by number."""
        return {1: "one"}

    assert_same(world.value(), ["one", ["1"]])


@given("res-non-json-host-types")
def test_host_types_have_the_json_form_of_the_stub(case: Case) -> None:
    class Receipt(BaseModel):
        amount: Decimal
        ident: UUID
        when: datetime

    @dataclass
    class PlainReceipt:
        amount: Decimal
        ident: UUID
        when: datetime

    def made(kind: type) -> object:
        return kind(amount=Decimal("1.50"), ident=UUID(int=1), when=datetime(2026, 1, 1))

    expected = ["1.50", "00000000-0000-0000-0000-000000000001", "2026-01-01T00:00:00", ["str", "str", "str"]]
    world = World(case, register=False)

    @world.registry.tool(name="receipt")
    async def model() -> Receipt:
        """The receipt."""
        return made(Receipt)  # type: ignore[return-value]

    assert_same(world.value(), expected)
    stubs = world.code_mode().stubs()
    assert "amount: str" in stubs
    assert "when: str" in stubs

    plain = World(case, register=False)

    @plain.registry.tool(name="receipt")
    def record() -> PlainReceipt:
        """The receipt, from a thread."""
        return made(PlainReceipt)  # type: ignore[return-value]

    assert_same(plain.value(), expected)


@given("res-wire-names-not-host-names")
def test_fields_have_their_declared_names(case: Case) -> None:
    class Profile(BaseModel):
        id: int
        display_name: str = Field(serialization_alias="displayName")
        created_at: datetime = Field(serialization_alias="createdAt")

    world = World(case, register=False)

    @world.registry.tool
    async def profile(id: int) -> Profile:
        """The profile of a user."""
        return Profile(id=id, display_name="Ana", created_at=datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC))

    assert_same(world.value(), [["createdAt", "displayName", "id"], "Ana", "2024-01-02T03:04:05Z"])
    assert "display_name" not in world.code_mode().stubs()


@given("ux-tool-result-not-truncated-for-program")
def test_the_models_cap_does_not_cut_values_between_tools_and_program(case: Case) -> None:
    from codemode import Limits

    world = World(case)
    result = world.run(limits=Limits(text_chars=50_000))
    assert_same(result.value, [180000, "end"])
