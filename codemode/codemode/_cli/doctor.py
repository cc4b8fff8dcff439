"""`codemode doctor`: what is up and what is sealed, and why not where it is not."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import typer

from . import _options as options

if TYPE_CHECKING:
    from .._project import Project
    from .._project_registry import Flags

EPILOG = """[bold]Examples[/]

$ codemode doctor

$ codemode doctor --mcp mcp.json --json

Exit codes: 0 everything holds, 1 the seal does not, a test program fails, or an upstream is down, 2 a mistake."""

EXTRAS = (("cli", "typer"), ("mcp", "mcp"), ("check", "ty"), ("otel", "opentelemetry-api"))
"""Extras, and a distribution that each brings."""

MAX_DETAIL = 100
"""Characters of a detail that is well; what is not well is shown whole."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    area: str
    name: str
    ok: bool | None
    """None: not good or bad, only said."""
    detail: str


def command(
    tools: options.Tools = None,
    mcp: options.Mcp = None,
    fs: options.Fs = None,
    sqlite: options.Sqlite = None,
    config: options.Config = None,
    json: options.Json = False,
) -> None:
    """Say what works here: the sealed child, the project file, the tools and the MCP servers."""
    from .._project import load_project
    from .._project_registry import Flags
    from ._session import run_in_loop
    from ._terminal import write_json

    project = load_project(config)
    flags = Flags(tuple(tools or ()), tuple(mcp or ()), fs=fs, sqlite=sqlite)
    findings = run_in_loop(lambda: _examine(project, flags))
    well = all(finding.ok is not False for finding in findings)
    if json:
        write_json({"ok": well, "findings": [asdict(finding) for finding in findings]})
    else:
        _print(findings)
    raise typer.Exit(0 if well else 1)


async def _examine(project: Project, flags: Flags) -> list[Finding]:
    findings = [*_installed(), *await _child(), *await _sources(project, flags)]
    findings.append(Finding("project", "codemode.toml", None, str(project.file) if project.file else "none here"))
    return findings


def _installed() -> list[Finding]:
    from codemode import __version__

    found = [
        Finding("install", "codemode", None, __version__),
        Finding("install", "python", None, f"{platform.python_version()} on {sys.platform} {platform.machine()}"),
    ]
    for extra, distribution in EXTRAS:
        try:
            detail = f"{distribution} {importlib.metadata.version(distribution)}"
        except importlib.metadata.PackageNotFoundError:
            detail = f"not there: pip install 'codemode-runtime[{extra}]'"
        found.append(Finding("install", f"[{extra}]", None, detail))
    return found


async def _child() -> list[Finding]:
    """The child's seal, layer by layer, and one program from end to end."""
    from codemode import CodeMode, CodeModeError, ProcessRuntime, Registry

    registry = Registry()

    @registry.tool
    async def double(number: int) -> int:
        return number * 2

    found: list[Finding] = []
    try:
        async with ProcessRuntime(warm=1) as runtime:
            found += [
                Finding("sandbox", layer.name, layer.holds, layer.why or layer.tried)
                for layer in await runtime.report()
            ]
            async with CodeMode(registry, runtime=runtime) as code_mode:
                began = time.monotonic()
                result = await code_mode.run("return await tools.double(number=21)", description="doctor")
                seconds = time.monotonic() - began
    except CodeModeError as error:
        return [*found, Finding("sandbox", "a program", False, str(error))]
    good = result.ok and result.value == 42
    words = f"ran with one call in {seconds * 1000:.0f} ms ({runtime.isolation})" if good else result.text
    return [*found, Finding("sandbox", "a program", good, words)]


async def _sources(project: Project, flags: Flags) -> list[Finding]:
    import anyio

    from .._project_registry import open_registry

    found: list[Finding] = []
    async with open_registry(project, flags) as opened:
        upstreams = opened.upstreams
        if upstreams is not None:
            with anyio.move_on_after(UPSTREAM_SECONDS):
                while any(status.state == "starting" for status in upstreams.status()):  # noqa: ASYNC110
                    await anyio.sleep(0.05)  # states have no event to wait for
            for status in upstreams.status():
                ok = None if status.state == "disabled" else status.state == "up"
                detail = status.error or f"{len(status.tools)} tools"
                found.append(Finding("mcp", status.name, ok, f"{status.state}: {detail}"))
        tools = opened.registry.tools()
        found += [
            Finding("tools", source, None, "loaded") for source in opened.sources if not source.startswith("MCP ")
        ]
        found.append(Finding("tools", "in all", None, str(len(tools))))
    return found


UPSTREAM_SECONDS = 20.0
"""How long doctor waits for a server that is still starting (a first `npx` downloads)."""


def _print(findings: list[Finding]) -> None:
    from rich.text import Text

    from ._terminal import console, plain

    out = console(stderr=False)
    area = ""
    for finding in findings:
        if finding.area != area:
            area = finding.area
            out.print(Text(area, style="bold"))
        mark, style = {True: ("ok  ", "green"), False: ("BAD ", "bold red"), None: ("    ", "")}[finding.ok]
        line = Text("  ")
        line.append(mark, style=style)
        detail = plain(finding.detail)
        if finding.ok and len(detail) > MAX_DETAIL:
            detail = f"{detail[: MAX_DETAIL - 3]}..."
        line.append(f"{plain(finding.name)}: {detail}")
        out.print(line)
