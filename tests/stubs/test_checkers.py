"""Three type checkers, each asked once about every module: real servers, odd tools, random schemas; as .py and .pyi."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from codemode_stubs._check_stub import CheckStub

from . import odd
from .schemas import documents, objects, schemas
from .support import FakeTool, mypy_says, pyright_says, servers, stub, ty_says, write_modules

RANDOM_TOOLS = 30


def random_tools() -> list[FakeTool]:
    """The same random tools in each run."""
    found: list[FakeTool] = []

    @settings(
        max_examples=RANDOM_TOOLS, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(documents(objects(schemas())), documents())
    def collect(root: object, output: object) -> None:
        found.append(FakeTool(f"random_{len(found)}", root, output, "ns" if len(found) % 2 else None))  # type: ignore[arg-type]

    collect()
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every module, written once for all three checkers."""
    modules: dict[str, str] = {server.module: stub(*server.tools) for server in servers()}
    modules.update({name: stub(*tools) for name, tools in odd.modules().items()})
    modules["random_tools"] = stub(*random_tools())
    modules["all_servers"] = stub(*(
        FakeTool(tool.name, tool.parameters, tool.output, server.name) for server in servers() for tool in server.tools
    ))  # fmt: skip
    place = tmp_path_factory.mktemp("modules")
    write_modules(place, modules)
    return place


def test_mypy_strict_accepts_every_module(folder: Path) -> None:
    assert mypy_says(folder) == ""


def test_pyright_strict_accepts_every_module(folder: Path) -> None:
    assert pyright_says(folder) == ""


def test_ty_accepts_every_module(folder: Path) -> None:
    assert ty_says(folder) == ""


def test_ty_accepts_the_modules_that_programs_are_checked_against(tmp_path: Path) -> None:
    sets: Mapping[str, list[FakeTool]] = {**odd.modules(), "random": random_tools()}
    for name, tools in sets.items():
        (tmp_path / f"{name}.pyi").write_text(CheckStub(tools).text("all"), encoding="utf-8")
    assert ty_says(tmp_path) == ""
