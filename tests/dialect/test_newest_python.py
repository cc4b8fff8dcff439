"""The dialect on the newest CPython, which npm's `pyodide` package brings: the interpreter itself, built for wasm.

Tests of compiling, of the policy and of what is reachable, and every attack of our own, under the dialect and by the
child's runner. Downloaded once into pytest's cache; where it cannot be had, the test says why and is skipped.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

_PACKAGE = "pyodide@314.0.7"
_HOUSE = Path(__file__).parents[2]
_STACK = "--stack-size=7000"
"""KiB; the tests of deep programs need more than node gives."""
_ROOMY = ["sh", "-c", 'ulimit -s 16384 2>/dev/null; exec "$@"', "sh"]
"""Before a command: its first thread has 16 MiB, where that may be had, whatever the limit of this session is."""


def _packages(config: pytest.Config) -> Path:
    """Where the package is installed: a `node_modules`, whole or not there, whoever else installs or gave up."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("there is no node, or no npm, to run the newest Python with")
    cache = config.cache.mkdir(_PACKAGE.replace("@", "-"))
    installed = cache / "installed"
    if not installed.exists():
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", fresh, _PACKAGE]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            except subprocess.TimeoutExpired:
                pytest.skip(f"npm did not bring {_PACKAGE} in a minute")
            if done.returncode:
                pytest.skip(f"npm could not bring {_PACKAGE}: {done.stderr.strip().splitlines()[-1:]}")
            with contextlib.suppress(OSError):  # another session was quicker
                (Path(fresh) / "node_modules").rename(installed)
    return installed


def test_the_newest_python_compiles_guards_and_withstands_the_same(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    (tmp_path / "node_modules").symlink_to(_packages(request.config))  # node looks for packages beside the script
    shutil.copy(_HOUSE / "tests" / "dialect" / "wasm.mjs", tmp_path)
    packages = Path(pytest.__file__).parents[1]
    done = subprocess.run(
        [*_ROOMY, "node", _STACK, str(tmp_path / "wasm.mjs"), str(_HOUSE), str(packages)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert "all well on 3." in done.stdout, (done.stdout + done.stderr)[-4000:]
