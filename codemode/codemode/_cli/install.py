"""`codemode install CLIENT`: put the gateway into a client's configuration, or show what to put there."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from . import _options as options

EPILOG = """[bold]Examples[/]

$ codemode install claude-code

$ codemode install cursor --config codemode.toml --write

Without --write nothing is changed: what to put where is printed. With it, the file keeps everything else that \
it says, and the old file stays beside it as FILE.bak."""


@dataclass(frozen=True, slots=True)
class Client:
    """Where a client keeps its MCP servers, and in which form."""

    title: str
    place: Path
    key: str
    form: Literal["json", "toml"] = "json"
    typed: bool = False
    """Servers say `"type": "stdio"`."""


def clients(home: Path, here: Path) -> dict[str, Client]:
    """The clients that are known. Places are from the clients' own documentation."""
    if sys.platform == "darwin":
        support = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        support = Path(os.environ.get("APPDATA", home / "AppData" / "Roaming"))
    else:
        support = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return {
        "claude-code": Client("Claude Code, for this project", here / ".mcp.json", "mcpServers", typed=True),
        "claude-desktop": Client("Claude Desktop", support / "Claude" / "claude_desktop_config.json", "mcpServers"),
        "codex": Client("Codex", home / ".codex" / "config.toml", "mcp_servers", form="toml"),
        "cursor": Client("Cursor, for this project", here / ".cursor" / "mcp.json", "mcpServers"),
        "gemini": Client("Gemini CLI", home / ".gemini" / "settings.json", "mcpServers"),
        "vscode": Client("VS Code, for this project", here / ".vscode" / "mcp.json", "servers", typed=True),
        "windsurf": Client("Windsurf", home / ".codeium" / "windsurf" / "mcp_config.json", "mcpServers"),
    }


def _complete(incomplete: str) -> list[str]:
    return [name for name in clients(Path(), Path()) if name.startswith(incomplete)]


def command(
    client: Annotated[
        str,
        typer.Argument(
            metavar="CLIENT",
            help="claude-code, claude-desktop, codex, cursor, gemini, vscode or windsurf.",
            autocompletion=_complete,
        ),
    ],
    tools: options.Tools = None,
    mcp: options.Mcp = None,
    config: options.Config = None,
    name: Annotated[str, typer.Option("--name", help="What the client calls the server.")] = "codemode",
    write: Annotated[bool, typer.Option("--write", help="Change the client's file.")] = False,
) -> None:
    """Show or write the configuration with which a client starts `codemode serve`."""
    from .._project import FILE_NAME, ProjectError
    from ._terminal import note, write_stdout

    known = clients(Path.home(), Path.cwd())
    if client not in known:
        raise ProjectError(f"the client {client!r} is not known: {', '.join(known)}")
    if config is None and Path(FILE_NAME).is_file():
        config = Path(FILE_NAME)
    if config is None and not tools and not mcp:
        raise ProjectError(f"nothing to serve: there is no {FILE_NAME} here; name --config, --mcp or --tools")
    for file in (config, *(mcp or ())):
        if file is not None and not file.is_file():
            raise ProjectError(f"there is no file {str(file)!r}")
    target = known[client]
    server = _server(target, _arguments(config, mcp or [], tools or []))
    if write:
        done = _write(target, name, server)
        note(f"{target.title}: {name!r} {done} {target.place}; restart the client")
        return
    if client == "claude-code":
        note("for this project, in a shell:")
        write_stdout(shlex.join(["claude", "mcp", "add", name, "--", server["command"], *server["args"]]))
        note(f"or in {target.place}:")
    else:
        note(f"{target.title}, in {target.place}:")
    write_stdout(_toml(name, server) if target.form == "toml" else _json({target.key: {name: server}}))


def _arguments(config: Path | None, mcp: list[Path], tools: list[str]) -> list[str]:
    """What comes after `codemode`: paths absolute, because a client starts it from anywhere."""
    words = ["serve"]
    if config is not None:
        words += ["--config", str(config.absolute())]
    for file in mcp:
        words += ["--mcp", str(file.absolute())]
    for spec in tools:
        where, _, attribute = spec.partition(":")
        file = Path(where if where.endswith(".py") else where.replace(".", "/") + ".py")
        local = str(file.absolute()) if file.is_file() else where
        words += ["--tools", f"{local}:{attribute or 'registry'}"]
    return words


def _server(target: Client, words: list[str]) -> dict[str, Any]:
    found = shutil.which("codemode")
    beside = Path(sys.executable).with_name("codemode")
    command = str(beside) if beside.is_file() else found
    start = [command] if command else [sys.executable, "-m", "codemode"]
    kind = {"type": "stdio"} if target.typed else {}
    return {**kind, "command": start[0], "args": [*start[1:], *words]}


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _toml(name: str, server: Mapping[str, Any]) -> str:
    key = name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else json.dumps(name)
    words = ", ".join(json.dumps(word, ensure_ascii=False) for word in server["args"])
    return f"[mcp_servers.{key}]\ncommand = {json.dumps(server['command'], ensure_ascii=False)}\nargs = [{words}]\n"


def _write(target: Client, name: str, server: dict[str, Any]) -> str:
    """Change the client's file; -> what was done, in a word."""
    from .._project import ProjectError

    try:
        old = target.place.read_text("utf-8") if target.place.exists() else ""
        text, done = (
            _with_toml(target, old, name, server) if target.form == "toml" else _with_json(target, old, name, server)
        )
        target.place.parent.mkdir(parents=True, exist_ok=True)
        real = target.place.resolve()  # a linked dotfile stays a link
        if old:
            shutil.copy2(real, real.with_name(real.name + ".bak"))
        draft = real.with_name(f".{real.name}.codemode-{os.getpid()}")
        draft.write_text(text, "utf-8")
        if old:
            shutil.copymode(real, draft)
        draft.replace(real)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ProjectError(f"{str(target.place)!r} cannot be changed: {reason}") from None
    return done


def _with_json(target: Client, old: str, name: str, server: dict[str, Any]) -> tuple[str, str]:
    from .._project import ProjectError

    try:
        content: Any = json.loads(old) if old.strip() else {}
    except ValueError as error:
        raise ProjectError(
            f"{target.place} is not plain JSON ({error}), so it is left alone: run without --write and paste it in"
        ) from None
    whole = cast("dict[str, Any]", content) if isinstance(content, dict) else None
    servers: Any = None if whole is None else whole.setdefault(target.key, {})
    if whole is None or not isinstance(servers, dict):
        raise ProjectError(f"{target.place} is not what {target.title} reads ({target.key!r} is no object)")
    done = "replaced in" if name in servers else "added to"
    servers[name] = server
    return _json(whole) + "\n", done


def _with_toml(target: Client, old: str, name: str, server: dict[str, Any]) -> tuple[str, str]:
    import tomllib

    from .._project import ProjectError

    try:
        content = tomllib.loads(old)
    except tomllib.TOMLDecodeError as error:
        raise ProjectError(f"{target.place} is not valid TOML ({error}), so it is left alone") from None
    if name in content.get(target.key, {}):
        raise ProjectError(f"{target.place} has a server {name!r} already: take it out first, or use --name")
    gap = "" if not old or old.endswith("\n\n") else "\n" if old.endswith("\n") else "\n\n"
    return f"{old}{gap}{_toml(name, server)}", "added to"
