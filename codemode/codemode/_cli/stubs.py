"""`codemode stubs`: the tools as typed Python, for a model or for an editor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import _options as options

if TYPE_CHECKING:
    from .._project import Project
    from .._project_registry import Flags

EPILOG = """[bold]Examples[/]

$ codemode stubs --mcp mcp.json

$ codemode stubs --tools mytools:registry --output codemode_tools.pyi"""


def command(
    tools: options.Tools = None,
    mcp: options.Mcp = None,
    fs: options.Fs = None,
    fs_write: options.FsWrite = False,
    sqlite: options.Sqlite = None,
    sqlite_write: options.SqliteWrite = False,
    config: options.Config = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file, not to stdout.")
    ] = None,
    form: Annotated[
        Literal["pyi", "prompt"], typer.Option(help="pyi: a module for editors and checkers; prompt: for a model.")
    ] = "pyi",
) -> None:
    """Write the typed stubs of the tools."""
    from .._project import ProjectError, load_project
    from .._project_registry import Flags
    from ._session import run_in_loop
    from ._terminal import note, write_stdout

    project = load_project(config)
    flags = Flags(tuple(tools or ()), tuple(mcp or ()), fs, fs_write, sqlite, sqlite_write)
    text, count = run_in_loop(lambda: _stubs(project, flags, form))
    if output is None:
        write_stdout(text)
        return
    try:
        output.write_text(text, "utf-8")
    except OSError as error:
        raise ProjectError(f"{str(output)!r} cannot be written: {error.strerror}") from None
    note(f"{count} tools written to {output}")


async def _stubs(project: Project, flags: Flags, form: Literal["pyi", "prompt"]) -> tuple[str, int]:
    from codemode_stubs import render_stubs

    from .._project_registry import open_registry
    from ._session import tell_down

    async with open_registry(project, flags) as opened:
        tell_down(opened)
        listed = opened.registry.tools()
        return render_stubs(listed, form=form), len(listed)
