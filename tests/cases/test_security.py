"""What a program must not reach."""

from __future__ import annotations

import pytest

from codemode import CodeMode, ProcessRuntime, Registry, RuntimeUnavailableError
from tests.cases.given import Case, Json, given, given_values
from tests.cases.world import World, assert_same


@given_values({"sec-helper-globals": [], "sec-string-formatter-class": [False, "ana has 3"]})
def test_internals_cannot_be_read(case: Case, expected: Json) -> None:
    result = World(case).run()
    if result.ok:
        assert_same(result.value, expected)
    else:
        assert case.id == "sec-string-formatter-class"
        assert "Formatter" in result.text


@given("lang-str-format-attribute-leak")
def test_a_format_template_cannot_walk_to_internals(case: Case) -> None:
    assert_same(World(case).value(), [False, False, False])


@given("par-threads-not-available")
def test_threads_are_refused_with_the_way_out(case: Case) -> None:
    result = World(case).run()
    assert not result.ok
    assert result.error.kind == "syntax"
    assert result.error.line == 1
    assert "concurrent.futures" in result.text
    assert "asyncio" in result.text


@given("sec-exception-object-leak")
def test_exceptions_carry_no_objects_of_ours(case: Case) -> None:
    world = World(case)
    rows = dict(world.value())
    assert rows["args"] == "tuple"
    assert rows["name"] in {"str", "no"}
    assert rows["obj"] in {"no", "Quiet"}
    from tests.cases.world import tool

    failing = World(
        "try:\n    await tools.boom()\nexcept ToolCallError as e:\n"
        "    return [n for n in dir(e) if n not in dir(ValueError())] + [type(v).__name__ for v in e.args]",
        [tool("boom")],
    )
    names = failing.value()
    assert set(names) <= {"name", "tool_name", "message", "str", "args", "add_note"}, names


@given("sec-getattr-dynamic-dunder")
def test_a_name_built_at_run_time_obeys_the_same_policy(case: Case) -> None:
    first, second, _ = World(case).value()
    assert (first, second) == ("no", "no")
    walk = World(
        "out = []\nfor n in ('mro', '__mro__', '__base__', '__bases__', '__subclasses__', '__dict__', '__init__'):\n"
        "    try:\n        getattr(list, n)\n        out.append(n)\n"
        "    except AttributeError:\n        pass\nreturn out"
    )
    assert walk.value() == []


@given("sec-match-class-pattern")
def test_a_class_pattern_cannot_read_guarded_attributes(case: Case) -> None:
    result = World(case).run()
    if result.ok:
        assert result.value != "leak"
    else:
        assert result.error.kind == "syntax"
        assert result.error.line == 6
        assert "__class__" in result.text


@given("sec-module-attribute-hop")
def test_listed_modules_lead_to_no_other(case: Case) -> None:
    world = World(case)
    result = world.run()
    if result.ok:
        assert_same(result.value, [False] * 6)
    else:
        assert result.error.kind == "syntax"
        assert "_os" in result.text
    for hop in ("json.codecs", "json.decoder.scanner", "json.codecs.builtins", "random.os", "collections.sys"):
        hopped = world.run(f"import json, random, collections\nreturn {hop} is not None")
        assert not hopped.ok, hop
        assert hopped.error.line == 2
        assert hop.split(".")[1] in hopped.text
    assert world.value("import json, random\nreturn [json.loads('[1]'), 0 <= random.random() < 1]") == [[1], True]


@given("sec-no-silent-weaker-isolation")
def test_nothing_runs_where_the_seal_cannot_be_had(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(case)
    assert_same(world.value(), 1)
    assert world.of("code/run-start")[0].data["isolation"] == "sealed-process"

    class Unsealed:
        """A runtime that finds no seal, as ProcessRuntime does where the kernel has none."""

        language = "python"
        isolation = "process"
        ran = 0

        async def run(self, request: object) -> object:
            raise RuntimeUnavailableError("seccomp is not available, and seal='required'")

        async def aclose(self) -> None:
            return None

        async def __aenter__(self) -> Unsealed:
            return self

        async def __aexit__(self, *exc: object) -> None:
            return None

    async def main() -> object:
        async with CodeMode(Registry(), runtime=Unsealed()) as code_mode:
            return await code_mode.run("print('ran')\nreturn 1")

    try:
        result = world.drive(main)
    except RuntimeUnavailableError as error:
        told = str(error)
    else:
        told = result.text
        assert not result.ok
        assert result.logs == []
    assert "seccomp" in told
    with pytest.raises(ValueError, match="seal"):
        ProcessRuntime(seal="if you like")


@given("sec-star-import-and-shadow")
def test_guards_cannot_be_replaced_from_program_text(case: Case) -> None:
    world = World(case)
    result = world.run()
    if result.ok:
        # A parameter of that name is a plain local: the guards have names that cannot be spelled.
        assert_same(result.value, 1)
        assert_same(
            world.value(
                "def f(_getattr_):\n    return [].__class__ if False else _getattr_\n_getattr_ = print\nreturn f(2)"
            ),
            2,
        )
    else:
        assert result.error.kind == "syntax"
        assert "_getattr_" in result.text
    star = world.run("from math import *\nreturn [sqrt(16), 'x']")
    if not star.ok:
        assert star.error.kind == "syntax"
        assert star.error.line == 1
        assert "*" in star.text
    else:
        assert star.value == [4.0, "x"]


@given("std-open-and-files-refused")
def test_files_are_refused_and_no_content_comes_back(case: Case) -> None:
    world = World(case)
    result = world.run()
    if result.ok:
        assert all(isinstance(name, str) and name.endswith("Error") for name in result.value)
    else:
        assert result.error.kind == "syntax"
        assert "open" in result.text
        assert "__import__" in result.text
    assert "root:" not in result.text
    assert world.value("return 1") == 1
