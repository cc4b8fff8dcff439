"""`codemode trace`, as a user types it."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

from tests.trace.logs import run_log


def trace(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "codemode", "trace", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def written(path: Path, calls: int) -> Path:
    path.write_text("".join(json.dumps(dataclasses.asdict(event)) + "\n" for event in run_log(calls)), "utf-8")
    return path


def test_a_log_is_shown_as_a_tree(tmp_path: Path) -> None:
    done = trace(written(tmp_path / "log.jsonl", 2))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1] == '├─ ✓ search {"page": 1}  4 ms  line 3'


def test_a_page_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = trace(written(tmp_path / "log.jsonl", 2), "--html", page)
    assert (done.returncode, done.stdout) == (0, "")
    assert "1 run written to" in done.stderr
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_a_torn_log_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", 3)
    text = log.read_text("utf-8")
    log.write_text(text[: text.index("outer:code:3") + 5], "utf-8")
    done = trace(log)
    assert done.returncode == 0
    assert "unfinished, 2 calls (2 done)" in done.stdout


def test_what_is_no_log_is_one_clear_line(tmp_path: Path) -> None:
    for path, text in ((tmp_path / "none.jsonl", None), (tmp_path / "prose.txt", "not a log\nat all\n")):
        if text is not None:
            path.write_text(text, "utf-8")
        done = trace(path)
        assert done.returncode == 2
        assert path.name in done.stderr
        assert "Traceback" not in done.stderr
