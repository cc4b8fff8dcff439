"""From a project file and flags to a registry that a run, a gateway or a listing can use.

Rules
- At most one source is a whole Registry (the user's module): its own policies and hooks stay in force for everything
  that is added to it. Two registries are refused: merging their tools would leave one's guards behind.
- What is added, in this order: the user's tools, the built-in toolsets, the MCP upstreams, then the policies.
- Everything that was opened is closed on the way out, whatever happens; the user's registry gets back what it had.
- A user's mistake (a wrong name, a module that fails) is one ProjectError; only our own bugs show a traceback.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import sys
import traceback
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from codemode_registry import CodeModeError, EventLog, Registry, Tool
from codemode_registry import Toolset as ToolsetProtocol

from ._policies import PolicyRules, install_policies
from ._project import Project, ProjectError, limits_of, policy_rules
from .toolsets import Toolset

if TYPE_CHECKING:
    from codemode_bridge import Limits

    from .mcp import McpUpstreams


@dataclass(frozen=True, slots=True)
class Flags:
    """What a command line adds to the project file."""

    tools: tuple[str, ...] = ()
    """`module:name`, each a Registry, a toolset or a list of tools."""
    mcp: tuple[Path, ...] = ()
    """Files with `mcpServers`."""
    fs: Path | None = None
    fs_write: bool = False
    sqlite: Path | None = None
    sqlite_write: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """A registry with everything in it."""

    registry: Registry
    rules: tuple[PolicyRules, ...]
    """The policies that were put in force."""
    upstreams: McpUpstreams | None
    """None where no MCP server is named."""
    limits: Limits
    """Of each run, as the project says."""
    sources: tuple[str, ...]
    """What was added, in words."""


@contextlib.asynccontextmanager
async def open_registry(
    project: Project,
    flags: Flags = Flags(),
    *,
    connect: bool = True,
    events: EventLog | None = None,
) -> AsyncGenerator[Opened]:
    """Open everything that a project and flags name.

    Args:
        project: the project file.
        flags: what the command line adds.
        connect: start the MCP upstreams.
        events: becomes the registry's event log where it has none of its own.

    Raises:
        ProjectError: something is named wrongly, or cannot be opened.
    """
    servers, rules = _servers_and_rules(project, flags)
    async with contextlib.AsyncExitStack() as stack:
        registry, sources = _user_tools(project, flags, stack)
        if registry.events is None and events is not None:
            registry.events = events
            stack.callback(setattr, registry, "events", None)
        for toolset, source in _toolsets(project, flags):
            stack.callback(toolset.close)
            _add(registry, toolset, toolset.name, source, stack)
            sources.append(source)
        upstreams = None
        if servers and connect:
            upstreams = await stack.enter_async_context(_upstreams(servers))
            attached = upstreams.attach(registry)
            stack.callback(attached.dispose)
            sources.extend(f"MCP server {name}" for name in servers)
        for each in rules:
            stack.callback(install_policies(registry, each).dispose)
        yield Opened(registry, rules, upstreams, limits_of(project.content.limits), tuple(sources))


def _servers_and_rules(project: Project, flags: Flags) -> tuple[dict[str, Any], tuple[PolicyRules, ...]]:
    servers = dict(project.mcp_servers)
    rules = [project.content.policies.rules()]
    for file in flags.mcp:
        content = _mcp_file(file)
        for name, server in content.get("mcpServers", {}).items():
            if name in servers:
                raise ProjectError(f"the MCP server {name!r} is named twice (again in {file.name})")
            servers[name] = server
        if "policies" in content:
            rules.append(policy_rules(content["policies"], file.name))
    return servers, tuple(each for each in rules if each)


def _mcp_file(file: Path) -> dict[str, Any]:
    try:
        content: Any = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise ProjectError(f"there is no file {str(file)!r}") from None
    except OSError as error:
        raise ProjectError(f"{file.name} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ProjectError(f"{file.name} is not valid JSON: {error}") from None
    if not isinstance(content, dict) or not isinstance(cast("dict[str, Any]", content).get("mcpServers", {}), dict):
        raise ProjectError(f'{file.name}: expected an object with "mcpServers": {{name: {{"command": ...}}}}')
    return cast("dict[str, Any]", content)


def _upstreams(servers: dict[str, Any]) -> McpUpstreams:
    if importlib.util.find_spec("mcp") is None:
        raise ProjectError("MCP servers need an extra: pip install 'codemode-runtime[mcp]'")
    from .mcp import McpUpstreams

    return McpUpstreams({"mcpServers": servers})


def _user_tools(project: Project, flags: Flags, stack: contextlib.AsyncExitStack) -> tuple[Registry, list[str]]:
    named = [(spec, project.directory) for spec in project.content.tools]
    named += [(spec, Path.cwd()) for spec in flags.tools]
    loaded = [(spec, load_object(spec, directory)) for spec, directory in named]
    registries = [(spec, value) for spec, value in loaded if isinstance(value, Registry)]
    if len(registries) > 1:
        names = ", ".join(spec for spec, _ in registries)
        raise ProjectError(f"only one of the tools can be a whole Registry, there are {len(registries)}: {names}")
    registry = registries[0][1] if registries else Registry()
    for spec, value in loaded:
        if not isinstance(value, Registry):
            tools, namespace = _tools_of(spec, value)
            _add(registry, tools, namespace, spec, stack)
    return registry, [spec for spec, _ in loaded]


def _tools_of(spec: str, value: object) -> tuple[Iterable[Tool], str | None]:
    kind = type(value).__name__
    if isinstance(value, Toolset):
        return value, value.name
    if isinstance(value, Tool):
        return [value], None
    if isinstance(value, ToolsetProtocol):
        return value.tools(), None
    if isinstance(value, list | tuple):
        tools = list(cast("list[object]", value))
        if tools and all(isinstance(tool, Tool) for tool in tools):
            return cast("list[Tool]", tools), None
    raise ProjectError(f"{spec} is {_a(kind)}: expected a Registry, a toolset, a Tool or a list of Tools")


def _a(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _add(
    registry: Registry, tools: Iterable[Tool], namespace: str | None, source: str, stack: contextlib.AsyncExitStack
) -> None:
    try:
        stack.callback(registry.add(tools, namespace=namespace).dispose)
    except CodeModeError as error:
        raise ProjectError(f"{source}: {error}") from None


def _toolsets(project: Project, flags: Flags) -> Iterator[tuple[Toolset, str]]:
    said = project.content.toolsets
    if flags.fs is None and flags.sqlite is None and said.fs is None and said.sqlite is None and said.jobs is None:
        return
    from .toolsets import fs_tools, job_tools, sqlite_tools  # with what they are made of, which no other run loads

    try:
        if flags.fs is not None:
            yield fs_tools(flags.fs, write=flags.fs_write), f"fs {flags.fs}"
        elif said.fs is not None:
            yield fs_tools(project.path(said.fs.root), write=said.fs.write or flags.fs_write), f"fs {said.fs.root}"
        if flags.sqlite is not None:
            yield sqlite_tools(flags.sqlite, write=flags.sqlite_write), f"sqlite {flags.sqlite}"
        elif said.sqlite is not None:
            database = project.path(said.sqlite.path)
            yield sqlite_tools(database, write=said.sqlite.write or flags.sqlite_write), f"sqlite {said.sqlite.path}"
        if said.jobs is not None:
            yield job_tools(cwd=project.path(said.jobs.cwd)), "jobs"
    except CodeModeError as error:
        raise ProjectError(str(error)) from None


def load_object(spec: str, directory: Path) -> object:
    """What `module:name` or `path/to/file.py:name` stands for; the name is `registry` where none is said.

    Raises:
        ProjectError: there is no such module or name, or the module fails while it is imported.
    """
    where, _, name = spec.partition(":")
    name = name or "registry"
    if not where:
        raise ProjectError(f"{spec!r}: expected module:name, for example tools:registry")
    module = _import_file(spec, directory / where) if where.endswith(".py") else _import_name(spec, where, directory)
    value: object = module
    for part in name.split("."):
        if not hasattr(value, part):
            known = [key for key, held in vars(module).items() if isinstance(held, Registry | Toolset | Tool)]
            there = f"; there is: {', '.join(sorted(known))}" if known else ""
            raise ProjectError(f"{spec}: {where} has no {name!r}{there}")
        value = getattr(value, part)
    return value


def _import_name(spec: str, name: str, directory: Path) -> object:
    with _importing(spec, directory):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
                raise ProjectError(f"{spec}: there is no module {name!r} (looked in {directory} too)") from None
            raise
        except (TypeError, ValueError) as error:
            if isinstance(error, TypeError) and not name.startswith("."):
                raise
            raise ProjectError(f"{spec!r}: expected module:name, for example tools:registry") from None


def _import_file(spec: str, file: Path) -> object:
    if not file.is_file():
        raise ProjectError(f"{spec}: there is no file {str(file)!r}")
    found = importlib.util.spec_from_file_location(f"codemode_user_{file.stem}", file)
    if found is None or found.loader is None:
        raise ProjectError(f"{spec}: {str(file)!r} cannot be imported")
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # dataclasses and pydantic look their module up there
    with _importing(spec, file.parent):
        found.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _importing(spec: str, directory: Path) -> Generator[None]:
    """Import with the user's directory on the path; a failure inside their module is told by its place."""
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))
    try:
        yield
    except ProjectError:
        raise
    except (Exception, SystemExit) as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
        last = frames[-1] if len(frames) > 1 else None
        place = f" ({Path(last.filename).name}, line {last.lineno})" if last else ""
        if isinstance(error, SyntaxError):
            place = f" ({Path(error.filename or '?').name}, line {error.lineno})"
        raise ProjectError(f"{spec} fails when it is imported: {type(error).__name__}: {error}{place}") from error
