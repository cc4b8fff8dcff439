"""What a project file may say, as models. `_project_settings` reads it, `_project` finds it and words its errors."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ._policies import PolicyRules


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)


class Upstream(_Part):
    """One MCP server, as clients' `mcpServers` files say it."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True, defer_build=True)

    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    timeout: Annotated[float, Field(gt=0)] | None = None
    disabled: bool = False


class FsToolset(_Part):
    """`[toolsets.fs]`, or `fs = "."` for short."""

    root: str
    write: bool = False


class SqliteToolset(_Part):
    """`[toolsets.sqlite]`, or `sqlite = "data.db"` for short."""

    path: str
    write: bool = False


class JobsToolset(_Part):
    """`[toolsets.jobs]`, or `jobs = true` for short."""

    cwd: str = "."


def _short(key: str) -> BeforeValidator:
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


def _switch(value: Any) -> Any:
    return {} if value is True else None if value is False else value


class Toolsets(_Part):
    """`[toolsets]`: the built-in ones that are on."""

    fs: Annotated[FsToolset | None, _short("root")] = None
    sqlite: Annotated[SqliteToolset | None, _short("path")] = None
    jobs: Annotated[JobsToolset | None, BeforeValidator(_switch)] = None


class Policies(_Part):
    """`[policies]`: shell-style patterns on full names."""

    allow: list[str] = []
    deny: list[str] = []
    ask: list[str] = []
    ask_unless_read_only: bool = False

    def rules(self) -> PolicyRules:
        return PolicyRules(tuple(self.allow), tuple(self.deny), tuple(self.ask), self.ask_unless_read_only)


class LogPlace(_Part):
    """`[log]`, or `log = "codemode.jsonl"` for short."""

    path: str
    fsync: bool = False


class LimitValues(_Part):
    """`[limits]`: as `Limits` in Python; what is not said keeps its default."""

    compute_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    wall_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    memory_bytes: Annotated[int, Field(gt=0)] | None = None
    output_bytes: Annotated[int, Field(gt=0)] | None = None
    max_calls: Annotated[int, Field(gt=0)] | None = None
    max_parallel: Annotated[int, Field(gt=0)] | None = None
    source_bytes: Annotated[int, Field(gt=0)] | None = None
    text_chars: Annotated[int, Field(gt=0)] | None = None


class ProjectFile(_Part):
    """Everything that a project file may say."""

    tools: Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)] = []
    mcpServers: dict[str, Upstream] = {}
    upstreams: dict[str, Upstream] = {}
    toolsets: Toolsets = Toolsets()
    limits: LimitValues = LimitValues()
    policies: Policies = Policies()
    log: Annotated[LogPlace | None, _short("path")] = None
