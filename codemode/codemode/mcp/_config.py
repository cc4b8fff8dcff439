"""The `mcpServers` JSON that MCP clients use, read and checked.

Rules
- The file is other programs' format, so unknown keys are let be; a key that is nearly one of ours is a typing error
  and is refused, since a misspelt `disabled` would start a server that the user switched off.
- `${NAME}` and `${NAME:-default}` stand for environment variables in every string, as in the clients' own files.
- An error names the server, the key and what is expected, never a value: values may be secrets.
- Timeouts are seconds.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from codemode_registry import CodeModeError

from ._json import is_list, is_object

ConfigSource: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"
"""A path to the JSON file, or what it holds."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")

_TYPO_CUTOFF = 0.82
"""Similarity (0 to 1, difflib) from which an unknown key counts as a misspelling of ours."""


class McpConfigError(CodeModeError, ValueError):
    """The configuration of upstream servers is wrong; the message says where and what is expected."""


class UpstreamConfig(BaseModel):
    """One entry of `mcpServers`: a process to start, or a URL to call."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    command: str | None = None
    """The program of a stdio server."""
    args: tuple[str, ...] = Field(default=(), repr=False)
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    """Added to the few harmless variables (`PATH`, `HOME` ...) that the SDK hands on."""
    cwd: str | None = None
    url: str | None = Field(default=None, repr=False)
    """The endpoint of a streamable HTTP server."""
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Seconds that one call may take; None leaves it to the registry's default."""
    disabled: bool = False
    transport: Literal["stdio", "http"] = "stdio"
    """Follows from `command` or `url`; `type` in the file is checked against it."""

    @field_validator("env", "headers", mode="before")
    @classmethod
    def _plain_scalars(cls, value: object) -> object:
        """Numbers and switches are what people write for ports and flags; a process takes text."""
        if not is_object(value):
            return value
        return {key: json.dumps(item) if isinstance(item, bool | int | float) else item for key, item in value.items()}

    @model_validator(mode="before")
    @classmethod
    def _one_transport(cls, data: object) -> object:
        if not is_object(data):
            raise ValueError("expected an object with `command` or `url`")
        fields = dict(data)
        _refuse_misspelt(fields)
        declared = fields.pop("type", fields.pop("transport", None))
        has_command, has_url = fields.get("command") is not None, fields.get("url") is not None
        if has_command == has_url:
            raise ValueError("needs either `command` (a stdio server) or `url` (a streamable HTTP server)")
        if declared == "sse":
            raise ValueError("the old SSE transport is not supported: give the server's streamable HTTP `url`")
        kind = "stdio" if has_command else "http"
        if (
            declared is not None
            and str(declared).replace("_", "-")
            not in {
                "stdio": ("stdio",),
                "http": ("http", "streamable-http", "streamableHttp"),
            }[kind]
        ):
            raise ValueError(f"`type` does not go with `{'command' if has_command else 'url'}`")
        if has_url and not str(fields["url"]).startswith(("http://", "https://")):
            raise ValueError("`url` must start with http:// or https://")
        return {**fields, "transport": kind}

    @property
    def endpoint(self) -> str:
        """What a report may show: the program's name, or the URL without user info and query."""
        from ._secrets import public_url

        return public_url(self.url) if self.url is not None else Path(self.command or "").name


def load_config(source: ConfigSource) -> dict[str, UpstreamConfig]:
    """The servers of `source`, by name, in the file's order.

    Args:
        source: path of a JSON file, or its content: `{"mcpServers": {name: {...}}}`.

    Raises:
        McpConfigError: unreadable, not JSON, or an entry that is wrong; one message for all that is wrong.
    """
    content = source if isinstance(source, Mapping) else _read(Path(source))
    servers = _plain(content.get("mcpServers"))
    if not is_object(servers):
        raise McpConfigError('the MCP configuration needs an object `mcpServers`: {"mcpServers": {"name": {...}}}')
    configs: dict[str, UpstreamConfig] = {}
    problems: list[str] = []
    for name, entry in servers.items():
        if not str(name).strip():
            problems.append("a server needs a name")
            continue
        try:
            configs[name] = UpstreamConfig.model_validate(_expand(entry))
        except ValidationError as error:
            problems.extend(f"server {name!r}: {_sentence(detail)}" for detail in error.errors(include_input=False))
        except McpConfigError as error:
            problems.append(f"server {name!r}: {error}")
    if problems:
        raise McpConfigError("; ".join(problems))
    return configs


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise McpConfigError(f"no such file: {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise McpConfigError(f"cannot read {path}: {type(error).__name__}") from None
    except json.JSONDecodeError as error:
        raise McpConfigError(f"{path} is not JSON: {error.msg} (line {error.lineno})") from None
    if not is_object(content):
        raise McpConfigError(f"{path}: expected a JSON object")
    return content


def _expand(value: Any) -> Any:
    """`value` with the environment's variables put in, in every string of it."""
    if isinstance(value, str):
        return _VARIABLE.sub(_variable, value)
    if is_object(value):
        return {key: _expand(item) for key, item in value.items()}
    return [_expand(item) for item in value] if is_list(value) else value


def _plain(value: Any) -> Any:
    """`value` with dicts and lists where a caller's mapping or tuple stood."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[object, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    return value


def _variable(match: re.Match[str]) -> str:
    name = str(match.group(1))
    default: str | None = match.group(2)
    found: str | None = os.environ.get(name, default)
    if found is None:
        raise McpConfigError(f"the environment variable {name} is not set")
    return found


def _refuse_misspelt(fields: Mapping[str, Any]) -> None:
    ours = [*UpstreamConfig.model_fields, "type"]
    for key in fields:
        if key in ours:
            continue
        near = difflib.get_close_matches(key.lower(), ours, n=1, cutoff=_TYPO_CUTOFF)
        if near:
            raise ValueError(f"unknown key `{key}` (did you mean `{near[0]}`?)")


def _sentence(detail: Any) -> str:
    """One pydantic error as a phrase without the value."""
    place = ".".join(str(part) for part in detail["loc"])
    message = str(detail["msg"]).removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    return f"`{place}`: {message}" if place else message
