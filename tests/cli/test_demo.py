"""`codemode demo`: it shows the program, the calls, the answer and the log, and works in any directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemode._demo import demo_program
from codemode_registry import read_events

from .commands import Terminal, codemode


@pytest.fixture
def project(tmp_path: Path) -> Path:
    here = tmp_path / "project"
    for folder in ("src/pkg", "tests", "docs", "node_modules/big", ".git"):
        (here / folder).mkdir(parents=True)
    (here / "src/pkg/known.py").write_text("# TODO: tidy up\n" + "x = 1\n" * 100)
    (here / "src/pkg/mentioned.py").write_text("y = 1\n" * 100)
    (here / "src/pkg/orphan.py").write_text("def f():\n    return 1  # FIXME soon\n" + "z = 1\n" * 100)
    (here / "tests/test_known.py").write_text("import pkg.mentioned\n")
    (here / "docs/big.md").write_text("text\n" * 10_000)
    (here / "node_modules/big/x.js").write_text("// TODO not ours\n" * 100)
    return here


def place_of(said: str) -> Path:
    return Path(said.rpartition("The event log, one line an event: ")[2].strip())


def test_the_program_the_calls_the_answer_and_the_log_are_shown(project: Path) -> None:
    done = codemode("demo", cwd=project)
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "await tools.fs.list(" in said
    assert '+ fs.list(path="src/pkg"' in said
    assert "+ fs.grep(" in said
    answer = said.rpartition("The answer")[2]
    assert "docs/big.md (50.0 kB)" in answer
    assert "Markers: 2 lines" in answer
    assert "src/pkg/orphan.py" in answer.partition("without a test")[2]
    assert "mentioned.py" not in answer.partition("without a test")[2]
    assert "known.py" not in answer.partition("without a test")[2]
    assert "node_modules" not in answer
    events = list(read_events(place_of(said)))
    assert sum(event.type == "tool/code-dispatch" for event in events) >= 10
    assert done.stderr == ""


def test_nothing_is_left_in_the_directory(project: Path) -> None:
    before = sorted(path for path in project.rglob("*"))
    assert codemode("demo", str(project), cwd=project.parent).returncode == 0
    assert sorted(path for path in project.rglob("*")) == before


def test_an_empty_directory_is_fine(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = codemode("demo", "empty", "--no-program", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0 files" in done.stdout


def test_a_huge_directory_is_bounded(tmp_path: Path) -> None:
    for number in range(300):
        folder = tmp_path / "many" / f"d{number:03}"
        folder.mkdir(parents=True)
        (folder / "a.py").write_text("# TODO\n")
    for number in range(3000):
        (tmp_path / "many" / f"f{number:05}.txt").touch()
    done = codemode("demo", "many", "--no-program", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "more not looked at" in done.stdout


def test_odd_names_and_closed_directories_are_no_trouble(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.mkdir()
    (odd / "a(b[c.py").write_text("# TODO odd\n" + "x = 1\n" * 100)
    (odd / "test_x.py").write_text("pass\n")
    (odd / "line\nbreak.py").write_text("x = 1\n" * 100)
    (odd / "dangling").symlink_to("nowhere")
    (odd / "loop").symlink_to(".")
    (odd / "closed").mkdir(mode=0o000)
    try:
        done = codemode("demo", "odd", "--no-program", cwd=tmp_path)
    finally:
        (odd / "closed").chmod(0o700)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Markers: 1 lines" in done.stdout


def test_a_place_for_the_log_that_cannot_be_written_falls_back(project: Path) -> None:
    done = codemode("demo", "--no-program", cwd=project, XDG_STATE_HOME="/dev/null/x")
    assert done.returncode == 0, done.stderr
    assert place_of(done.stdout).is_file()


def test_on_a_terminal_the_program_has_colours(project: Path) -> None:
    screen = Terminal("demo", cwd=project)
    assert screen.wait() == 0
    assert "\x1b[" in screen.raw
    assert "Markers: 2 lines" in screen.text


def test_the_program_is_a_text_file_of_the_package() -> None:
    assert "tools.fs" in demo_program()
    assert max(len(line) for line in demo_program().splitlines()) <= 140
