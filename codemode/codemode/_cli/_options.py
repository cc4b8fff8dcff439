"""Options that several commands have, said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

SOURCES = "Tools"

Tools = Annotated[
    list[str] | None,
    typer.Option(
        "--tools",
        metavar="MODULE:NAME",
        help="A Registry, toolset or list of tools in your module, or FILE.py:NAME. May be given more than once.",
        rich_help_panel=SOURCES,
    ),
]
Mcp = Annotated[
    list[Path] | None,
    typer.Option(
        "--mcp",
        metavar="FILE",
        help="A JSON file with mcpServers. May be given more than once.",
        rich_help_panel=SOURCES,
    ),
]
Fs = Annotated[
    Path | None,
    typer.Option("--fs", metavar="DIR", help="File tools below this directory (read only).", rich_help_panel=SOURCES),
]
FsWrite = Annotated[bool, typer.Option("--fs-write", help="Let the file tools write too.", rich_help_panel=SOURCES)]
Sqlite = Annotated[
    Path | None,
    typer.Option("--sqlite", metavar="FILE", help="Tools over this SQLite file (read only).", rich_help_panel=SOURCES),
]
SqliteWrite = Annotated[
    bool, typer.Option("--sqlite-write", help="Let the SQLite tools write too.", rich_help_panel=SOURCES)
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="The project file (default: codemode.toml in the current directory, if there is one).",
        rich_help_panel=SOURCES,
    ),
]
Backend = Annotated[
    Literal["trio", "asyncio"],
    typer.Option(
        "--backend",
        help="The event loop of the tools: asyncio where they need it (asyncio.sleep, aiohttp, asyncpg).",
        rich_help_panel=SOURCES,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable JSON on stdout, everything else on stderr.")]
