"""The project file: what `codemode.toml` may say, and one clear message where it is wrong.

Rules
- The file is read by pydantic-settings; `CODEMODE_*` variables stand above it (`CODEMODE_LIMITS__WALL_SECONDS=30`),
  flags of a command above both. Nothing is looked for but the file that is named, or `codemode.toml` in the current
  directory: what a project file names is started, so it is never picked up from somewhere above.
- Paths in the file are relative to the file.
- A wrong file is one `ProjectError` with one line a mistake: where, what was expected, a near name. Values are not
  repeated in it: `env` and `headers` hold secrets.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from codemode_registry import CodeModeError

from ._policies import PolicyRules
from ._project_file import (
    FsToolset,
    JobsToolset,
    LimitValues,
    LogPlace,
    Policies,
    ProjectFile,
    SqliteToolset,
    Toolsets,
)

if TYPE_CHECKING:
    from codemode_bridge import Limits

FILE_NAME = "codemode.toml"
PREFIX = "CODEMODE_"


class ProjectError(CodeModeError):
    """A project file or a flag is wrong. The message is for the person who wrote it."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project file that was read, or nothing said at all."""

    directory: Path
    """What its paths are relative to."""
    file: Path | None
    """The file, or None where there is none."""
    content: ProjectFile

    @property
    def mcp_servers(self) -> dict[str, dict[str, Any]]:
        """The upstreams as an `mcpServers` mapping; a relative `cwd` is made absolute. Holds secrets."""
        servers = {**self.content.mcpServers, **self.content.upstreams}
        said = {name: server.model_dump(exclude_unset=True) for name, server in servers.items()}
        for server in said.values():
            if server.get("cwd"):
                server["cwd"] = str(self.path(server["cwd"]))
        return said

    def path(self, text: str) -> Path:
        """A path of the file, made absolute."""
        return (self.directory / Path(text).expanduser()).absolute()


def load_project(path: Path | None = None) -> Project:
    """Read a project file.

    Args:
        path: the file; None: `codemode.toml` in the current directory, if there is one.

    Raises:
        ProjectError: it is missing (where it was named) or wrong.
    """
    file = Path(FILE_NAME) if path is None else path
    if path is None and not file.is_file():
        return Project(Path.cwd(), None, _read(None))
    if not file.is_file():
        raise ProjectError(f"there is no project file {str(file)!r}")
    return Project(file.absolute().parent, file.absolute(), _read(file))


def _read(file: Path | None) -> ProjectFile:
    shown = "the environment (CODEMODE_*)" if file is None else file.name
    if file is None and not any(name.upper().startswith(PREFIX) for name in os.environ):
        return ProjectFile.model_construct()  # nothing to validate: the defaults, without building validators
    from ._project_settings import read_settings

    try:
        content = read_settings(file)
    except tomllib.TOMLDecodeError as error:
        raise ProjectError(f"{shown} is not valid TOML: {error}") from None
    except UnicodeDecodeError:
        raise ProjectError(f"{shown} is not UTF-8 text") from None
    except OSError as error:
        raise ProjectError(f"{shown} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise ProjectError(said_wrong(error, shown)) from None
    except Exception as error:  # pydantic-settings' own error for a variable that is no JSON
        raise ProjectError(f"{shown}: {error}") from None
    twice = content.mcpServers.keys() & content.upstreams.keys()
    if twice:
        raise ProjectError(f"{shown}: {sorted(twice)[0]!r} stands both in mcpServers and in upstreams")
    return content


def policy_rules(said: Mapping[str, Any], shown: str) -> PolicyRules:
    """The rules of a `policies` object that stands in another file (an mcp.json).

    Raises:
        ProjectError: it is wrong.
    """
    try:
        return Policies.model_validate(said, strict=True).rules()
    except ValidationError as error:
        raise ProjectError(said_wrong(error, shown, under=("policies",))) from None


def said_wrong(error: ValidationError, shown: str, *, under: tuple[str, ...] = ()) -> str:
    """A validation error as one line a mistake, without the values."""
    lines: list[str] = []
    for mistake in error.errors(include_input=False, include_url=False, include_context=False):
        place = (*under, *mistake["loc"])
        where = ".".join(str(part) for part in place) or "the file"
        words = mistake["msg"]
        if mistake["type"] == "extra_forbidden":
            words = "is not known"
            if near := difflib.get_close_matches(str(place[-1]), _known(tuple(str(p) for p in place[:-1])), n=1):
                words += f" (did you mean {near[0]!r}?)"
        lines.append(f"{shown}: {where}: {words[:1].lower()}{words[1:]}")
    return "\n".join(lines)


@cache
def _known(place: tuple[str, ...]) -> tuple[str, ...]:
    """The keys that may stand at a place of the file."""
    tables: dict[tuple[str, ...], type[BaseModel]] = {
        (): ProjectFile,
        ("toolsets",): Toolsets,
        ("toolsets", "fs"): FsToolset,
        ("toolsets", "sqlite"): SqliteToolset,
        ("toolsets", "jobs"): JobsToolset,
        ("policies",): Policies,
        ("limits",): LimitValues,
        ("log",): LogPlace,
    }
    table = tables.get(place)
    return () if table is None else tuple(table.model_fields)


def limits_of(values: LimitValues, **flags: float | int | None) -> Limits:
    """The limits of a run: the defaults, what the file says, what the flags say.

    Raises:
        ProjectError: a flag's value is not possible.
    """
    from codemode_bridge import Limits

    said = {name: value for name, value in values.model_dump().items() if value is not None}
    said |= {name: value for name, value in flags.items() if value is not None}
    try:
        return Limits(**said)
    except (TypeError, ValueError) as error:
        raise ProjectError(f"limits: {error}") from None
