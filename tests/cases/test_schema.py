"""Schemas of every kind are held, and never changed, by the bridge."""

from __future__ import annotations

import pytest

from codemode import RegistrationError, Tool
from tests.cases.given import Case, Json, given, given_values
from tests.cases.world import World, assert_same


@given_values({"schema-defaults-applied-once": {"task": "t"}, "schema-tuple-additional-format": ["ok", [True, True]]})
def test_arguments_are_held_against_the_whole_schema(case: Case, expected: Json) -> None:
    world = World(case)
    assert_same(world.value(), expected)


def test_violations_name_the_path_into_tuples_and_open_objects() -> None:
    from tests.cases.given import CASES

    world = World(CASES["schema-tuple-additional-format"])
    texts = world.value(
        """out = []
for bad in [{"pair": ["x", "y"], "scores": {}, "maybe": None}, {"pair": ["x", 1], "scores": {"a": "no"}, "maybe": None},
            {"pair": ["x", 1, 2], "scores": {}, "maybe": None}, {"pair": ["x", 1], "scores": {}, "maybe": 3}]:
    try:
        await tools.shape(bad)
    except ToolCallError as e:
        out.append(e.message)
return out
"""
    )
    assert len(texts) == 4
    assert "pair[1]" in texts[0]
    assert "scores.a" in texts[1]
    assert "pair" in texts[2]
    assert "maybe" in texts[3]
    assert world.visits == []


@given("schema-real-schema-not-placeholder")
def test_every_place_shows_the_same_parameters(case: Case) -> None:
    from tests.cases.world import tool

    spec = tool("file_issue", {"repo": {"type": "string"}, "title": {"type": "string"}, "labels?": {"type": "array"}})
    world = World(
        "await tools.file_issue({'repo': 'r', 'title': 't', 'nope': 1})", [spec], bodies={"file_issue": _nothing}
    )
    code_mode = world.code_mode()
    for text in (code_mode.stubs(), code_mode.instructions()):
        assert "async def file_issue(self, repo: str, title: str, labels: list[" in text
    schema = next(entry for entry in world.registry.schemas() if entry["name"] == "file_issue")["input_schema"]
    assert schema["required"] == ["repo", "title"]
    hints = world.run().text
    for name in ("repo", "title", "labels"):
        assert name in hints
    bound = world.run("await tools.file_issue('r', title='t', repo='r')").text
    for name in ("repo", "title", "labels"):
        assert name in bound


def _nothing(world: World, a: Json, ctx: Json) -> None:
    return None


@given("stub-hostile-schema-degrades")
def test_a_broken_schema_is_refused_by_name_and_the_rest_works(case: Case) -> None:
    world = World(case)
    broken = next(spec for spec in case.tools if spec["name"] == "broken")
    for parameters, output in (
        (broken["parameters"], None),
        ({"type": "object", "properties": {"a": {"enum": 3}}}, None),
        ({"type": "object"}, broken["output"]),
    ):
        with pytest.raises(RegistrationError, match="broken"):
            world.registry.register(
                Tool("broken", "A broken one.", execute=lambda a, ctx: None, parameters=parameters, output=output)
            )
    assert world.value() == 3
    assert "async def add" in world.code_mode().stubs()
    assert "broken" not in world.code_mode().stubs()
