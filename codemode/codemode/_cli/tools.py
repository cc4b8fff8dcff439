"""`codemode tools`: which tools there are, what they do to the world, and what they cost in a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from . import _options as options

if TYPE_CHECKING:
    from codemode import Tool

    from .._policies import PolicyRules
    from .._project import Project
    from .._project_registry import Flags

EPILOG = """[bold]Examples[/]

$ codemode tools --fs . --fs-write

$ codemode tools --mcp mcp.json --json

Tokens are estimated from the length of the text (four characters a token)."""

CHARS_PER_TOKEN = 4
"""What a token of English or code comes to, roughly; exact counts need the model's own tokenizer."""


@dataclass(frozen=True, slots=True)
class Row:
    """One tool, as it is listed."""

    name: str
    effects: str
    """What it says that it does to the world."""
    parallel: bool | None
    """Whether its calls overlap; None where that depends on the arguments."""
    policy: str
    """What the project's policies say: allow, ask or deny."""
    stub_tokens: int
    schema_tokens: int
    description: str


def command(
    tools: options.Tools = None,
    mcp: options.Mcp = None,
    fs: options.Fs = None,
    fs_write: options.FsWrite = False,
    sqlite: options.Sqlite = None,
    sqlite_write: options.SqliteWrite = False,
    config: options.Config = None,
    json: options.Json = False,
    names: Annotated[bool, typer.Option("--names", help="Only the names, one a line.")] = False,
) -> None:
    """List the tools with their effects and what they cost in a prompt."""
    from .._project import load_project
    from .._project_registry import Flags
    from ._session import run_in_loop
    from ._terminal import note, write_json, write_stdout

    project = load_project(config)
    flags = Flags(tuple(tools or ()), tuple(mcp or ()), fs, fs_write, sqlite, sqlite_write)
    rows, totals = run_in_loop(lambda: _listed(project, flags))
    if json:
        write_json({"tools": [asdict(row) for row in rows], "tokens": totals})
    elif names:
        if rows:
            write_stdout("\n".join(row.name for row in rows))
    elif not rows:
        note("there are no tools: name some with --fs DIR, --sqlite FILE, --tools MODULE:NAME, --mcp FILE")
    else:
        _print(rows, totals)


async def _listed(project: Project, flags: Flags) -> tuple[list[Row], dict[str, int]]:
    from codemode_stubs import render_stubs

    from .._project_registry import open_registry
    from ._session import tell_down

    async with open_registry(project, flags) as opened:
        tell_down(opened)
        listed = opened.registry.tools()
        frame = len(render_stubs([], form="prompt"))
        rows = [_row(tool, opened.rules, frame) for tool in listed]
        totals = {
            "stubs": _tokens(len(render_stubs(listed, form="prompt"))),
            "schemas": sum(row.schema_tokens for row in rows),
        }
    return rows, totals


def _row(tool: Tool, rules: Sequence[PolicyRules], frame: int) -> Row:
    import json

    from codemode_stubs import render_stubs

    from .._policies import reads_only

    verdicts = [each.verdict(tool.full_name, read_only=reads_only(tool))[0] for each in rules]
    policy = "deny" if {"deny", "unlisted"} & set(verdicts) else "ask" if "ask" in verdicts else "allow"
    return Row(
        name=tool.full_name,
        effects=effects(tool),
        parallel=tool.concurrency_safe if isinstance(tool.concurrency_safe, bool) else None,
        policy=policy,
        stub_tokens=_tokens(max(0, len(render_stubs([tool], form="prompt")) - frame)),
        schema_tokens=_tokens(len(json.dumps(tool.schema_entry(), ensure_ascii=False))),
        description=tool.description.strip().partition("\n")[0],
    )


def effects(tool: Tool) -> str:
    """A tool's annotations in words. Nothing said counts as a write."""
    from .._policies import reads_only

    hints = tool.annotations
    if reads_only(tool):
        words = ["reads"]
    elif hints.read_only is None and hints.destructive is None:
        words = ["unknown"]
    else:
        words = ["destructive"] if hints.destructive else ["writes"]
    if hints.open_world:
        words.append("open world")
    return ", ".join(words)


def _tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)


def _print(rows: list[Row], totals: dict[str, int]) -> None:
    from rich.text import Text

    from ._terminal import console, counted, note, plain

    heads = ("tool", "effects", "parallel", "policy", "~tokens", "as schema", "description")
    cells = [
        (
            plain(row.name),
            row.effects,
            {True: "yes", False: "no", None: "depends"}[row.parallel],
            row.policy,
            f"{row.stub_tokens:>7}",
            f"{row.schema_tokens:>9}",
            plain(row.description),
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in (heads, *cells)) for column in range(len(heads))]
    out = console(stderr=False)
    for number, line in enumerate((heads, *cells)):
        text = Text(no_wrap=True, end="")
        for column, (cell, width) in enumerate(zip(line, widths, strict=True)):
            text.append(cell.ljust(width) + "  ", style="bold" if number == 0 else _style(column, cell))
        text.rstrip()
        if out.is_terminal:  # the description is what may be cut
            text.truncate(out.width, overflow="ellipsis")
        out.print(text, soft_wrap=True)
    count = counted(len(rows), "tool")
    note(f"{count}: ~{totals['stubs']:,} tokens as stubs, ~{totals['schemas']:,} as JSON schemas")


def _style(column: int, cell: str) -> str:
    if column == 1:
        return {"reads": "green", "destructive": "red"}.get(cell.partition(",")[0], "yellow")
    return {"allow": "green", "ask": "yellow", "deny": "red"}[cell] if column == 3 else ""
