"""`codemode check`: what is wrong with a program, before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import _options as options

if TYPE_CHECKING:
    from codemode import Diagnostic

    from .._project import Project
    from .._project_registry import Flags

EPILOG = """[bold]Examples[/]

$ codemode check program.py --fs .

$ codemode check -c 'return await tools.fs.reed("a.txt")' --fs .

Prints FILE:LINE:COLUMN: MESSAGE. Exit codes: 0 nothing found, 1 something found, 2 a mistake in the command."""


def command(
    program: Annotated[
        Path | None, typer.Argument(metavar="PROGRAM", help="A file with the program, or - for stdin.")
    ] = None,
    code: Annotated[str | None, typer.Option("--code", "-c", metavar="CODE", help="The program itself.")] = None,
    tools: options.Tools = None,
    mcp: options.Mcp = None,
    fs: options.Fs = None,
    fs_write: options.FsWrite = False,
    sqlite: options.Sqlite = None,
    sqlite_write: options.SqliteWrite = False,
    config: options.Config = None,
    json: options.Json = False,
) -> None:
    """Check a program against the tools: syntax, what the dialect refuses, unknown tools, wrong arguments."""
    from .._project import load_project
    from .._project_registry import Flags
    from ._session import read_program, run_in_loop
    from ._terminal import note, write_json, write_stdout

    text = read_program(program, code)
    flags = Flags(tuple(tools or ()), tuple(mcp or ()), fs, fs_write, sqlite, sqlite_write)
    project = load_project(config)
    found = run_in_loop(lambda: _check(text, project, flags))
    name = "program" if program is None or str(program) == "-" else str(program)
    if json:
        write_json([{"line": d.line, "column": d.column, "message": d.message, "code": d.code} for d in found])
    elif found:
        write_stdout("\n".join(_shown(diagnostic, name, text.splitlines()) for diagnostic in found))
    else:
        note(f"{name}: nothing found")
    raise typer.Exit(1 if found else 0)


async def _check(text: str, project: Project, flags: Flags) -> list[Diagnostic]:
    import anyio

    from codemode import check_program

    from .._project_registry import open_registry
    from ._session import tell_down

    async with open_registry(project, flags) as opened:
        tell_down(opened)
        # check_program is synchronous: it has a loop of its own for the child that reads the program
        return await anyio.to_thread.run_sync(check_program, text, opened.registry)


def _shown(diagnostic: Diagnostic, name: str, lines: list[str]) -> str:
    said = f"{name}:{diagnostic.line}:{diagnostic.column}: {diagnostic.message} [{diagnostic.code}]"
    if 0 < diagnostic.line <= len(lines) and len(line := lines[diagnostic.line - 1]) <= 200:
        said += f"\n    {line.expandtabs(1)}\n    {' ' * (diagnostic.column - 1)}^"
    return said
