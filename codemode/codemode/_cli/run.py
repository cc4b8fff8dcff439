"""`codemode run`: run one program against the tools that are named."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import _options as options

if TYPE_CHECKING:
    from codemode import Approver, CancelSignal, EventLog, Limits, RunResult

    from .._project import Project
    from .._project_registry import Flags, Opened
    from ._progress import Progress

EPILOG = """[bold]Examples[/]

$ codemode run program.py --fs .

$ codemode run -c 'return len(await tools.fs.glob("**/*.py"))' --fs .

$ generate | codemode run - --tools mytools:registry --mcp mcp.json --json

$ codemode run report.py --sqlite shop.db --log run.jsonl

The value that the program returns is printed on stdout. Exit codes: 0 done, 1 the program failed, 2 a mistake \
in the command, 130 interrupted."""


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
    backend: options.Backend = "trio",
    log: Annotated[
        Path | None,
        typer.Option("--log", metavar="FILE", help="Where the event log goes (JSONL, appended to)."),
    ] = None,
    json: options.Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the result.")] = False,
    progress: Annotated[
        bool | None, typer.Option("--progress/--no-progress", help="Show the calls (default: on a terminal).")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Allow every call that a policy would ask about (denials stay).")
    ] = False,
    description: Annotated[
        str, typer.Option("--description", help="What the program is for, for the log.")
    ] = "program",
    wall_seconds: Annotated[float | None, typer.Option(help="The longest the run may take.")] = None,
    compute_seconds: Annotated[float | None, typer.Option(help="The most CPU time of the program.")] = None,
    memory_mib: Annotated[int | None, typer.Option(help="The most memory of the program, in MiB.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="The most tool calls.")] = None,
    seal: Annotated[
        Literal["required", "preferred"] | None,
        typer.Option(help="Whether an unsealed child may run the program (preferred) or not."),
    ] = None,
) -> None:
    """Run a program: its calls go through the tools' policies, its value comes out on stdout."""
    from .._project import limits_of, load_project
    from .._project_registry import Flags
    from ._session import read_program, run_in_loop

    text = read_program(program, code)
    project = load_project(config)
    limits = limits_of(
        project.content.limits,
        wall_seconds=wall_seconds,
        compute_seconds=compute_seconds,
        memory_bytes=None if memory_mib is None else memory_mib << 20,
        max_calls=max_calls,
    )
    flags = Flags(tuple(tools or ()), tuple(mcp or ()), fs, fs_write, sqlite, sqlite_write)
    job = RunJob(text, project, flags, limits, description, log, quiet=quiet, show=progress, yes=yes, seal=seal)
    raise typer.Exit(run_in_loop(lambda: job.run(as_json=json), backend=backend))


class RunJob:
    """One run: what was asked for, and how it goes."""

    def __init__(
        self,
        text: str,
        project: Project,
        flags: Flags,
        limits: Limits,
        description: str,
        log: Path | None,
        *,
        quiet: bool,
        show: bool | None,
        yes: bool,
        seal: Literal["required", "preferred"] | None,
    ) -> None:
        self.text, self.project, self.flags, self.limits = text, project, flags, limits
        self.description, self.log = description, log
        self.quiet, self.show, self.yes = quiet, show, yes
        self.seal: Literal["required", "preferred"] | None = seal

    async def run(self, *, as_json: bool) -> int:
        """Open everything, run, tell; -> the exit code."""
        from codemode_registry import CancelSignal

        from .._project_registry import open_registry
        from ._progress import Progress, WatchedLog
        from ._session import Interrupted, interruptible, log_place, opened_log, tell_down
        from ._terminal import console, note, on_terminal

        cancel = CancelSignal()
        place = log_place(self.log, self.project)
        fsync = self.project.content.log is not None and self.project.content.log.fsync
        shown = not self.quiet and (on_terminal() if self.show is None else self.show)
        progress = Progress(console()) if shown else None
        try:
            async with (
                interruptible(cancel, what="the run") as signals,
                opened_log(place, fsync=fsync) as file,
                open_registry(
                    self.project, self.flags, events=(events := WatchedLog(file, progress) if progress else file)
                ) as opened,
            ):
                tell_down(opened)
                with progress or contextlib.nullcontext():
                    result = await self._program(opened, events, cancel, progress)
        except Interrupted as interrupted:
            note(f"left where it was; what was done is in the log: {place}")
            return interrupted.code
        _tell(result, as_json=as_json)
        if not self.quiet:
            _sum_up(result, place, told="" if as_json else result.text)
        if signals and not result.ok:
            return 128 + signals[0]
        return 0 if result.ok else 1

    async def _program(
        self, opened: Opened, events: EventLog, cancel: CancelSignal, progress: Progress | None
    ) -> RunResult:
        from codemode import CodeMode, ProcessRuntime

        from ._approver import TerminalApprover, approve_everything
        from ._session import BothLogs

        registry = opened.registry
        approver: Approver | None = registry.approver
        if self.yes:
            approver = approve_everything
        elif approver is None:
            approver = TerminalApprover(progress)
        own = registry.events
        log = events if own is None or own is events else BothLogs(events, own)
        async with (
            ProcessRuntime(warm=1, seal=self.seal) as runtime,
            CodeMode(registry, limits=self.limits, events=log, approver=approver, runtime=runtime) as code_mode,
        ):
            return await code_mode.run(self.text, description=self.description, cancel=cancel)


def _tell(result: RunResult, *, as_json: bool) -> None:
    """The result: on stdout what a program made, on stderr why one failed."""
    from ._session import result_fields
    from ._terminal import plain, write_json, write_stdout

    if as_json:
        write_json(result_fields(result))
    elif result.ok:
        write_stdout(result.text)
    else:
        sys.stderr.write(plain(result.text.rstrip("\n")) + "\n")


def _sum_up(result: RunResult, place: Path, *, told: str) -> None:
    """The notes that what was `told` does not have, one line of figures, and where the log is."""
    from ._terminal import counted, duration, note

    for remark in result.notes:
        if f"note: {remark}" not in told:
            note(f"note: {remark}")
    failed = sum(call.status != "done" for call in result.calls)
    words = counted(len(result.calls), "call") + (f" ({failed} not done)" if failed else "")
    note(f"{words}, {duration(result.usage.wall_seconds)}; log: {place}")
