"""What a README shows is what happens: each Python block runs as it stands, and prints what the block after it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
READMES = [
    ROOT / "README.md",
    *(
        readme
        for part in ("codemode", "bridge", "registry", "stubs")
        for readme in sorted((ROOT / part).rglob("README.md"))
    ),
]
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```$(?:\n+^```text\n(?P<printed>.*?)^```$)?", re.M | re.S)


def blocks() -> list[object]:
    """Every Python block of every README, named by its file and line."""
    found = []
    for readme in READMES:
        text = readme.read_text("utf-8") if readme.exists() else ""
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            name = f"{readme.parent.relative_to(ROOT)}:{line}"
            found.append(pytest.param(match["code"], match["printed"], id=name))
    return found


@pytest.mark.parametrize(("code", "printed"), blocks())
def test_a_block_runs_and_prints_what_the_readme_says(code: str, printed: str | None, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(code, "utf-8")
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    if printed is not None:
        assert done.stdout == printed
