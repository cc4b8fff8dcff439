"""What two places say of one thing is the same: the README and `--help`, the battery and its documentation."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from codemode.testing.battery._forgeries import FORGERIES
from codemode.testing.battery._host import HOST
from codemode.testing.battery._programs import PROGRAMS

ROOT = Path(__file__).parent.parent.parent


def help_text(*command: str) -> str:
    """What `codemode ... --help` prints, without colours and wide enough to wrap nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "codemode", *command, "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"COLUMNS": "200", "NO_COLOR": "1", "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
    )
    return done.stdout


def readme_commands() -> set[str]:
    """The commands of the README's table."""
    table = ROOT.joinpath("README.md").read_text("utf-8").split("## From the command line")[1].split("## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `codemode")]
    return {name for row in rows for name in re.findall(r"`codemode (\w+)", row)}


def test_the_readme_names_exactly_the_commands_that_help_names() -> None:
    listed = {name for name in re.findall(r"^[│|]\s+(\w+)\s{2,}\S", help_text(), re.M) if name != "help"}
    assert readme_commands() == listed


@pytest.mark.parametrize("command", sorted(readme_commands()))
def test_each_commands_help_has_examples(command: str) -> None:
    assert f"$ codemode {command}" in help_text(command)


def test_every_attempt_of_the_battery_is_documented_as_it_is() -> None:
    text = ROOT.joinpath("codemode/codemode/testing/battery/README.md").read_text("utf-8")
    rows = [f"| `{row.name}` | {row.aims_at} | {row.about} |" for row in (*PROGRAMS, *FORGERIES, *HOST)]
    assert [row for row in rows if row not in text] == []
