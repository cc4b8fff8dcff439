"""`codemode trace`: what a run did, from its event log; as a tree here, or as one page for a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EPILOG = """[bold]Examples[/]

$ codemode run program.py --fs . --log run.jsonl

$ codemode trace run.jsonl

$ codemode trace run.jsonl --html run.html"""


def command(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="An event log (JSONL), as `codemode run --log` writes it.")
    ],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write one self-contained page to this file.")
    ] = None,
    calls: Annotated[int, typer.Option("--calls", min=1, help="How many calls of a run the tree lists.")] = 200,
) -> None:
    """Show the runs of an event log: each call, its outcome, and what came of it."""
    from codemode_registry import read_events

    from .._project import ProjectError
    from ..trace import read_trace, render_page, render_tree
    from ._terminal import note, write_stdout

    try:
        trace = read_trace(read_events(log))
    except OSError as error:
        raise ProjectError(f"{str(log)!r} cannot be read: {error.strerror}") from None
    if html is None:
        write_stdout(render_tree(trace, max_calls=calls))
        return
    try:
        html.write_text(render_page(trace, title=f"codemode trace: {log.name}"), "utf-8")
    except OSError as error:
        raise ProjectError(f"{str(html)!r} cannot be written: {error.strerror}") from None
    count = len(trace.runs)
    note(f"{count} {'run' if count == 1 else 'runs'} written to {html}")
