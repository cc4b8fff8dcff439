"""The dialect on the newest CPython, which npm's `pyodide` package brings: the interpreter itself, built for wasm.

Tests of compiling, of the policy and of what is reachable, and every attack of our own, under the dialect and by the
child's runner. Downloaded once into pytest's cache; where it cannot be had, the test says why and is skipped.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_PACKAGE = "pyodide@314.0.7"
_HOUSE = Path(__file__).parents[2]
_STACK = "--stack-size=7000"
"""KiB; the tests of deep programs need more than node gives, and the thread has 8 MiB."""


def _folder(config: pytest.Config) -> Path:
    """Where the package is installed."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("there is no node, or no npm, to run the newest Python with")
    folder = config.cache.mkdir(_PACKAGE.replace("@", "-"))
    if not (folder / "node_modules" / "pyodide" / "package.json").exists():
        command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), _PACKAGE]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm did not bring {_PACKAGE} in a minute")
        if done.returncode:
            pytest.skip(f"npm could not bring {_PACKAGE}: {done.stderr.strip().splitlines()[-1:]}")
    return folder


def test_the_newest_python_compiles_guards_and_withstands_the_same(request: pytest.FixtureRequest) -> None:
    folder = _folder(request.config)
    shutil.copy(_HOUSE / "tests" / "dialect" / "wasm.mjs", folder / "wasm.mjs")  # node looks for packages beside it
    packages = Path(pytest.__file__).parents[1]
    done = subprocess.run(
        ["node", _STACK, str(folder / "wasm.mjs"), str(_HOUSE), str(packages)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert "all well on 3." in done.stdout, (done.stdout + done.stderr)[-4000:]
