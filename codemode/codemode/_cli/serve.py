"""`codemode serve`: the tools of a project behind one MCP server."""

from __future__ import annotations

import importlib
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import _options as options

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from codemode import Limits
    from codemode._project import Project
    from codemode._project_registry import Flags, Opened

EPILOG = """[bold]Examples[/]

$ codemode serve --mcp mcp.json

$ codemode serve --mcp mcp.json --tools mytools:registry --http --port 8000

$ claude mcp add tools -- codemode serve --mcp /path/to/mcp.json

Over stdio the client starts this command and talks to it; over HTTP clients connect to the printed address. A call that
a policy asks about is put to the client's user, where the client can do that, else denied. HTTP runs on asyncio."""


def command(
    tools: options.Tools = None,
    mcp: options.Mcp = None,
    fs: options.Fs = None,
    fs_write: options.FsWrite = False,
    sqlite: options.Sqlite = None,
    sqlite_write: options.SqliteWrite = False,
    config: options.Config = None,
    backend: options.Backend = "trio",
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP at /mcp instead of stdio.")] = False,
    host: Annotated[str, typer.Option(help="The address to listen on, with --http.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port, with --http; 0 picks a free one.")] = 8000,
    mode: Annotated[
        Literal["code", "both"], typer.Option(help="Whether the tools are listed beside run_code as well (both).")
    ] = "code",
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="Where the event log goes (JSONL, appended to).")
    ] = None,
    seal: Annotated[
        Literal["required", "preferred"] | None,
        typer.Option(help="Whether an unsealed child may run programs (preferred) or not."),
    ] = None,
) -> None:
    """Serve run_code over MCP: programs over your tools, for any MCP client."""
    from codemode._project import ProjectError, limits_of, load_project
    from codemode._project_registry import Flags

    try:
        importlib.import_module("mcp")
    except ImportError:
        raise ProjectError("serving needs an extra: pip install 'codemode-runtime[mcp]'") from None
    project = load_project(config)
    flags = Flags(tuple(tools or ()), tuple(mcp or ()), fs, fs_write, sqlite, sqlite_write)
    gateway = ServeJob(project, flags, limits_of(project.content.limits), log, mode=mode, seal=seal)
    raise typer.Exit(gateway.over_http(host, port) if http else gateway.over_stdio(backend))


class ServeJob:
    """One gateway: what it serves, and how it ends."""

    def __init__(
        self,
        project: Project,
        flags: Flags,
        limits: Limits,
        log: Path | None,
        *,
        mode: Literal["code", "both"],
        seal: Literal["required", "preferred"] | None,
    ) -> None:
        self.project, self.flags, self.limits, self.log = project, flags, limits, log
        self.mode: Literal["code", "both"] = mode
        self.seal: Literal["required", "preferred"] | None = seal

    def over_stdio(self, backend: Literal["trio", "asyncio"]) -> int:
        """Serve the client at the other end of stdin and stdout; -> the exit code."""
        from ._session import run_in_loop

        return run_in_loop(lambda: self._serve(None), backend=backend)

    def over_http(self, host: str, port: int) -> int:
        """Serve clients that connect; -> the exit code. uvicorn needs asyncio's loop."""
        from ._session import run_in_loop

        return run_in_loop(lambda: self._serve((host, port)), backend="asyncio")

    async def _serve(self, address: tuple[str, int] | None) -> int:
        """Open everything, serve until the client leaves or a signal comes, close everything."""
        import anyio

        from codemode import CodeMode, ProcessRuntime
        from codemode._project_registry import open_registry
        from codemode.mcp._gateway import to_mcp
        from codemode.mcp._serve import serve_http, serve_stdio

        from ._session import log_place, opened_log

        place = log_place(self.log, self.project)
        fsync = self.project.content.log is not None and self.project.content.log.fsync
        caught: list[int] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_signal, caught, tasks.cancel_scope.cancel)
            async with (
                opened_log(place, fsync=fsync) as events,
                open_registry(self.project, self.flags, events=events) as opened,
                ProcessRuntime(seal=self.seal) as runtime,
                CodeMode(opened.registry, mode=self.mode, limits=self.limits, events=events, runtime=runtime) as code,
            ):
                _tell(opened)
                server = to_mcp(code, upstreams=opened.upstreams)
                if address is None:
                    await serve_stdio(server)
                else:
                    await _over_http(serve_http, server, *address)
            tasks.cancel_scope.cancel()
        return 128 + caught[0] if caught else 0


async def _over_http(serve: Callable[..., Awaitable[None]], server: object, host: str, port: int) -> None:
    from codemode._project import ProjectError
    from codemode.mcp._serve import is_loopback

    from ._terminal import note

    if not is_loopback(host):
        note(f"warning: {host} can be reached by others, and nothing asks them who they are; put a guard in front")
    try:

        def listening(url: str) -> None:
            note(f"listening on {url}")

        await serve(server, host=host, port=port, on_listening=listening)
    except OSError as error:
        raise ProjectError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None


async def _until_signal(caught: list[int], stop: Callable[[], None]) -> None:
    """Turns the first signal into an orderly end; a second one ends the process as it would without us."""
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            caught.append(int(number))
            stop()
            return


def _tell(opened: Opened) -> None:
    """What is served, on stderr: stdout belongs to the protocol."""
    from ._terminal import note

    for source in opened.sources:
        note(f"serving {source}")
    for upstream in opened.upstreams.status() if opened.upstreams is not None else ():
        if upstream.state != "up":
            note(f"MCP server {upstream.name} is {upstream.state}: {upstream.error or 'no answer yet'}")
