"""The house keeps its shape: who may import whom, what ships, how big a room's parts may grow.

Rules are tables; a test walks the source and compares. An exemption stands here with its reason, and one that is no
longer needed fails the test, so the lists cannot rot.
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {
    "codemode": ROOT / "codemode/codemode",
    "codemode_bridge": ROOT / "bridge/codemode_bridge",
    "codemode_guest": ROOT / "bridge/codemode_guest",
    "codemode_registry": ROOT / "registry/codemode_registry",
    "codemode_stubs": ROOT / "stubs/codemode_stubs",
}
COMPONENTS = ("codemode", "bridge", "registry", "stubs")
MAY_IMPORT = {
    "codemode": {"codemode_bridge", "codemode_stubs", "codemode_registry", "codemode_guest"},
    "codemode_bridge": {"codemode_registry", "codemode_guest"},
    "codemode_stubs": {"codemode_registry", "codemode_guest"},
    "codemode_registry": set[str](),
    "codemode_guest": set[str](),
}
TOP_LEVEL = {
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "codemode",
    "bridge",
    "registry",
    "stubs",
    "tests",
}
OPTIONAL = ("mcp", "typer", "rich", "pydantic_settings", "ty", "opentelemetry", "anthropic", "openai", "langchain_core")

MODULE_LINES = 400
FUNCTION_LINES = 60
LONGER_MODULES: dict[str, str] = {}
LONGER_FUNCTIONS: dict[str, str] = {}


def modules(package: str) -> Iterator[tuple[str, Path, ast.Module]]:
    """Each module of a package: its path below the component folder, its file, its tree."""
    folder = PACKAGES[package]
    for path in sorted(folder.rglob("*.py")):
        yield str(path.relative_to(folder.parent)), path, ast.parse(path.read_text("utf-8"), str(path))


def imported_roots(tree: ast.Module) -> set[str]:
    """The first component of every absolute import of a module, those inside functions included."""
    roots: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            roots.add(node.module.partition(".")[0])
    return roots


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_the_rooms_below_it(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package}
    wrong = [
        f"{name} imports {root}"
        for name, _, tree in modules(package)
        for root in imported_roots(tree)
        if root in PACKAGES and root not in allowed
    ]
    assert wrong == []


def test_the_guest_imports_the_standard_library_and_restricted_python_only() -> None:
    allowed = sys.stdlib_module_names | {"codemode_guest", "RestrictedPython"}
    wrong = [
        f"{name}: {root}" for name, _, tree in modules("codemode_guest") for root in imported_roots(tree) - allowed
    ]
    assert wrong == []


def test_the_core_works_without_any_optional_package() -> None:
    program = f"""
import sys
for name in {OPTIONAL!r}:
    sys.modules[name] = None
import codemode
for name in codemode.__all__:
    getattr(codemode, name)
registry = codemode.Registry()
registry.tool(lambda: 20, name="twenty")
print(codemode.run_sync(registry, "return 1 + await tools.twenty()").value)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.strip(), done.returncode) == ("21", 0), done.stderr


def test_importing_the_product_is_free_until_a_name_is_used() -> None:
    program = "import sys, codemode; print(sorted({'pydantic', 'anyio', 'trio', 'codemode_bridge'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_it_exports_in_order(package: str) -> None:
    module = importlib.import_module(package)
    exported = list(module.__all__)
    # The order that ruff's RUF022 keeps: constants, classes, the rest.
    assert exported == sorted(exported, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert [name for name in exported if not hasattr(module, name)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_module_opens_with_its_rules(package: str) -> None:
    assert [name for name, _, tree in modules(package) if tree.body and ast.get_docstring(tree) is None] == []


def test_modules_stay_readable_in_one_sitting() -> None:
    longer = {
        name: lines
        for package in PACKAGES
        for name, path, _ in modules(package)
        if (lines := len(path.read_text("utf-8").splitlines())) > MODULE_LINES
    }
    assert {name: lines for name, lines in longer.items() if name not in LONGER_MODULES} == {}
    assert LONGER_MODULES.keys() - longer.keys() == set()


def test_functions_stay_readable_on_one_page() -> None:
    longer: dict[str, int] = {}
    for package in PACKAGES:
        for name, _, tree in modules(package):
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    lines = (node.end_lineno or node.lineno) - node.lineno + 1
                    if lines > FUNCTION_LINES:
                        longer[f"{name}:{node.name}"] = lines
    assert {name: lines for name, lines in longer.items() if name not in LONGER_FUNCTIONS} == {}
    assert LONGER_FUNCTIONS.keys() - longer.keys() == set()


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_component_has_a_readme_and_no_module_of_its_own(component: str) -> None:
    assert len((ROOT / component / "README.md").read_text("utf-8").split()) > 80
    assert not (ROOT / component / "__init__.py").exists()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_ships_its_types(package: str) -> None:
    assert (PACKAGES[package] / "py.typed").exists()


def test_the_wheel_lists_every_package_and_no_other() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    hatch = project["tool"]["hatch"]["build"]
    assert {ROOT / name for name in hatch["targets"]["wheel"]["packages"]} == set(PACKAGES.values())
    assert set(hatch["dev-mode-dirs"]) == set(COMPONENTS)


def tracked() -> list[str]:
    """The files git knows; an unpacked source archive has none to check."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    return done.stdout.splitlines()


def test_the_top_level_holds_what_the_design_names() -> None:
    top = {name.partition("/")[0] for name in tracked()}
    assert {name for name in top if not name.startswith(".")} <= TOP_LEVEL


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    homes = b"|".join((rb"(?<![\w.])/(?:work|root|home/\w+)/[\w.]", rb"file:///" + rb"opt/", rb"\.lib" + rb"rary/"))
    place = re.compile(homes)
    wrong = [name for name in tracked() if (ROOT / name).is_file() and place.search((ROOT / name).read_bytes())]
    assert wrong == []
