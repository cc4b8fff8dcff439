"""The README's before and after are what the schemas and the renderer say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codemode_stubs import __main__ as command
from codemode_stubs import render_stubs

from .support import compact, servers

README = (Path(__file__).parents[2] / "stubs" / "README.md").read_text(encoding="utf-8")
MEMORY = next(server for server in servers() if server.name == "npm-server-memory")


def test_before_and_after_are_true() -> None:
    (before,) = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    assert before.splitlines() == [
        compact({"name": tool.name, "inputSchema": tool.parameters, "outputSchema": tool.output})
        for tool in MEMORY.tools
    ]
    assert f"```python\n{render_stubs(MEMORY.tools, form='prompt')}```\n" in README


def test_the_numbers_are_true() -> None:
    schemas = sum(server.json_size for server in servers())
    module = sum(len(render_stubs(server.tools)) for server in servers())
    prompt = sum(len(render_stubs(server.tools, form="prompt")) for server in servers())
    assert f"the module takes {module / schemas:.0%} and the prompt {prompt / schemas:.0%}" in " ".join(README.split())
    assert f"({MEMORY.json_size:,} characters" in README
    assert f"stub ({len(render_stubs(MEMORY.tools, form='prompt')):,} with them)" in " ".join(README.split())


def test_the_table_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(Path(__file__).parent / "servers.jsonl.gz")
    assert command.main([path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 18
    assert lines[-1].split()[:3] == ["total", "334", str(sum(server.json_size for server in servers()))]
    assert command.main([]) == 2
    assert command.main(["--help"]) == 0
