"""On a terminal: calls as they happen, questions that are answered by hand, Ctrl-C, colour or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from .commands import Terminal
from .test_run import TOOLS


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "mytools.py").write_text(TOOLS)
    (tmp_path / "codemode.toml").write_text('tools = "mytools:registry"\n[policies]\nask = ["wipe", "slow"]\n')
    return tmp_path


ASKS = "a = await tools.wipe(what='one')\nb = await tools.wipe(what='two')\nreturn [a, b]"


def test_calls_are_shown_as_they_happen_in_colour(here: Path) -> None:
    screen = Terminal("run", "-c", "return await tools.double(number=4)", cwd=here)
    assert screen.wait() == 0
    assert "+ double(number=4)" in screen.text
    assert "8\n" in screen.text
    assert "\x1b[32m" in screen.raw


def test_no_color_is_no_colour(here: Path) -> None:
    screen = Terminal("run", "-c", "return await tools.double(number=4)", cwd=here, NO_COLOR="1")
    assert screen.wait() == 0
    assert "+ double(number=4)" in screen.text
    assert "\x1b[3" not in screen.raw
    assert "\x1b[1m" not in screen.raw


def test_a_question_is_answered_at_the_terminal(here: Path) -> None:
    screen = Terminal("run", "-c", ASKS, cwd=here)
    screen.expect("wipe wants to run with")
    screen.expect("run it?")
    assert '"what": "one"' in screen.text
    assert "because: project policy: ask 'wipe'" in screen.text
    screen.send("maybe\n")
    screen.send("y\n")
    screen.expect('"what": "two"')
    screen.send("y\n")
    assert screen.wait() == 0
    assert "wiped two" in screen.text


def test_a_no_denies_and_always_is_remembered_for_the_run(here: Path) -> None:
    screen = Terminal("run", "-c", ASKS, cwd=here)
    screen.expect("run it?")
    screen.send("n\n")
    assert screen.wait() == 1
    screen = Terminal("run", "-c", ASKS, cwd=here)
    screen.expect("run it?")
    screen.send("a\n")
    assert screen.wait() == 0
    assert screen.text.count("run it?") == 1


def test_control_c_at_a_question_ends_the_run(here: Path) -> None:
    screen = Terminal("run", "-c", ASKS, cwd=here)
    screen.expect("run it?")
    screen.send("\x03")
    assert screen.wait() == 130
    assert "interrupted" in screen.text
    assert "Traceback" not in screen.text


def test_control_c_in_a_call_says_what_was_done(here: Path) -> None:
    code = "await tools.double(number=3)\nawait tools.slow(name='started')"
    screen = Terminal("run", "-c", code, "--yes", cwd=here)
    screen.expect("1 running: slow")
    screen.send("\x03")
    assert screen.wait() == 130
    assert "double" in screen.text.rpartition("interrupted")[2]


def test_what_a_program_says_does_not_steer_the_terminal(here: Path) -> None:
    screen = Terminal("run", "-c", "return '\\x1b]0;owned\\x07' + await tools.double(number=1) * 'x'", cwd=here)
    screen.wait()
    assert "\x1b]0;" not in screen.raw
    code = "await tools.wipe(what='\\x1b[2J\\u202ex')"
    screen = Terminal("run", "-c", code, cwd=here)
    screen.expect("run it?")
    screen.send("n\n")
    screen.wait()
    assert "\x1b[2J" not in screen.raw
    assert "\u202e" not in screen.raw
