"""`codemode audit`: the bypass battery on your own tools and rules, as a table and an exit code."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from . import _options as options

if TYPE_CHECKING:
    from .._project import Project
    from .._project_registry import Flags
    from ..testing import BatteryReport

EPILOG = """[bold]Examples[/]

$ codemode audit --tools mytools:registry

$ codemode audit --mcp mcp.json --examples denied.json

$ codemode audit --tools mytools:registry --json > audit.json

The examples file holds arguments that your rules should refuse, by tool: {"refund": [{"order": 1, "euros": 80}]}"""


def command(
    tools: options.Tools = None,
    mcp: options.Mcp = None,
    fs: options.Fs = None,
    fs_write: options.FsWrite = False,
    sqlite: options.Sqlite = None,
    sqlite_write: options.SqliteWrite = False,
    config: options.Config = None,
    examples: Annotated[
        Path | None, typer.Option("--examples", metavar="FILE", help="Arguments that your rules should refuse (JSON).")
    ] = None,
    pipeline: Annotated[
        bool, typer.Option("--pipeline/--no-pipeline", help="Also try the pipeline itself, over rules that are known.")
    ] = True,
    json: options.Json = False,
) -> None:
    """Try to get past every guard, policy, restriction, approval and review from inside programs. No tool runs."""
    from .._project import load_project
    from .._project_registry import Flags
    from ._session import run_in_loop
    from ._terminal import write_json, write_stdout

    project = load_project(config)
    flags = Flags(tuple(tools or ()), tuple(mcp or ()), fs, fs_write, sqlite, sqlite_write)
    given = _examples(examples)
    report = run_in_loop(lambda: _report(project, flags, given, pipeline))
    if json:
        write_json(report.to_json())
    else:
        write_stdout(report.text)
    if not report.ok:
        raise typer.Exit(1)


async def _report(project: Project, flags: Flags, examples: dict[str, list[Any]], pipeline: bool) -> BatteryReport:
    from .._project import ProjectError
    from .._project_registry import open_registry
    from ..testing import bypass_battery
    from ._session import tell_down

    async with open_registry(project, flags) as opened:
        tell_down(opened)
        try:
            return await bypass_battery(opened.registry, examples=examples, pipeline=pipeline)
        except ValueError as error:
            raise ProjectError(str(error)) from None


def _examples(path: Path | None) -> dict[str, list[Any]]:
    from .._project import ProjectError

    if path is None:
        return {}
    try:
        given: Any = json_module.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ProjectError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ProjectError(f"{str(path)!r} is not JSON: {error}") from None
    if not isinstance(given, dict) or not all(
        isinstance(each, list) for each in cast("dict[str, Any]", given).values()
    ):
        raise ProjectError(f"{str(path)!r} must hold an object: tool name -> list of arguments")
    return cast("dict[str, list[Any]]", given)
