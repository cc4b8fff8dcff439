"""`codemode demo`: a program looks through the current directory; nothing is needed and nothing is changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from codemode import CancelSignal, EventLog, RunResult

EPILOG = """[bold]Examples[/]

$ codemode demo

$ codemode demo ~/src/some-project

It works anywhere: the file tools are read-only, below that directory, and how much is looked at is bounded."""

WALL_SECONDS = 60.0
"""The longest a demo may take; the program itself stops looking after 20 seconds."""


def command(
    directory: Annotated[Path, typer.Argument(help="What to look through.")] = Path(),
    log: Annotated[Path | None, typer.Option("--log", metavar="FILE", help="Where the event log goes.")] = None,
    program: Annotated[bool, typer.Option("--program/--no-program", help="Show the program first.")] = True,
) -> None:
    """Run a bundled program that looks through a directory: big files, TODO markers, modules without tests."""
    from .._project import ProjectError
    from ._session import run_in_loop

    if not directory.is_dir():
        raise ProjectError(f"{str(directory)!r} is not a directory")
    raise typer.Exit(run_in_loop(lambda: _demo(directory, log, show_program=program)))


async def _demo(directory: Path, log: Path | None, *, show_program: bool) -> int:
    from codemode_registry import CancelSignal

    from .._demo import demo_program
    from .._project import Project
    from .._project_file import ProjectFile
    from ._session import Interrupted, interruptible, log_place, opened_log
    from ._terminal import complain, counted, duration, plain, write_stdout

    text = demo_program()
    cancel = CancelSignal()
    place = log_place(log, Project(Path.cwd(), None, ProjectFile.model_construct()))
    if show_program:
        _show_program(text)
    try:
        async with interruptible(cancel, what="the demo") as signals, opened_log(place) as events:
            _heading("The calls, as they happen")
            result = await _run(text, directory, events, cancel)
    except Interrupted as interrupted:
        return interrupted.code
    if not result.ok:
        complain("the demo did not finish")
        write_stdout(plain(result.text))
        return 128 + signals[0] if signals else 1
    _heading("The answer: all that would go back to the model")
    write_stdout(result.text)
    _heading("What it was")
    write_stdout(
        f"{counted(len(result.calls), 'tool call')} in one program, {duration(result.usage.wall_seconds)}\n"
        f"The event log, one line an event: {place}"
    )
    return 0


async def _run(text: str, directory: Path, events: EventLog, cancel: CancelSignal) -> RunResult:
    from codemode import CodeMode, Limits, Registry
    from codemode.toolsets import fs_tools

    from ._progress import Progress, WatchedLog
    from ._terminal import console

    registry = Registry()
    registry.add(fs_tools(directory), namespace="fs")
    with Progress(console(stderr=False)) as progress:
        watched = WatchedLog(events, progress)
        async with CodeMode(registry, limits=Limits(wall_seconds=WALL_SECONDS), events=watched) as code_mode:
            return await code_mode.run(text, description="Look around in a directory.", cancel=cancel)


def _heading(words: str) -> None:
    from rich.text import Text

    from ._terminal import console

    console(stderr=False).print(Text(f"\n{words}", style="bold"))


def _show_program(text: str) -> None:
    from rich.syntax import Syntax

    from ._terminal import console, write_stdout

    _heading("The program, as a model would write it")
    out = console(stderr=False)
    if out.is_terminal and not out.no_color:
        out.print(Syntax(text.rstrip(), "python", line_numbers=True, theme="ansi_dark", background_color="default"))
    else:
        write_stdout("\n".join(f"{number:>4} {line}" for number, line in enumerate(text.splitlines(), 1)))
