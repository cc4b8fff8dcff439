"""Tools to render, real servers, and the type checkers as judges."""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from codemode_stubs import render_stubs


@dataclass(frozen=True)
class Effects:
    read_only: bool | None = None
    destructive: bool | None = None


@dataclass(frozen=True)
class FakeTool:
    """What the renderer needs of a tool, and nothing else."""

    name: str
    parameters: Mapping[str, Any]
    output: Mapping[str, Any] | None = None
    namespace: str | None = None
    description: str = ""
    annotations: Effects = field(default_factory=Effects)

    @property
    def full_name(self) -> str:
        return f"{self.namespace}.{self.name}" if self.namespace is not None else self.name


def tool(
    name: str,
    properties: Mapping[str, Any] | None = None,
    *,
    required: Sequence[str] = (),
    output: Any = None,
    namespace: str | None = None,
    description: str = "",
    effects: Effects | None = None,
    **keywords: Any,
) -> FakeTool:
    """A tool with a closed object of parameters; other keywords of the root schema as given."""
    schema = {"type": "object", "properties": dict(properties or {}), "required": list(required), **keywords}
    return FakeTool(name, schema, output, namespace, description, effects or Effects())


@dataclass(frozen=True)
class Server:
    """A real MCP server's list of tools."""

    name: str
    tools: tuple[FakeTool, ...]
    json_size: int
    """Characters of its schemas as compact JSON."""

    @property
    def module(self) -> str:
        return self.name.replace("-", "_")


@cache
def servers() -> tuple[Server, ...]:
    """The vendored servers; descriptions are filler, names and schemas are real."""
    with gzip.open(Path(__file__).parent / "servers.jsonl.gz", "rt", encoding="utf-8") as lines:
        return tuple(_server(json.loads(line)) for line in lines)


def _server(data: Mapping[str, Any]) -> Server:
    tools = tuple(read_tool(one) for one in data["tools"])
    size = sum(len(compact(one[key])) for one in data["tools"] for key in ("inputSchema", "outputSchema") if key in one)
    return Server(data["server"], tools, size)


def read_tool(data: Mapping[str, Any], namespace: str | None = None) -> FakeTool:
    hints = data.get("annotations", {})
    effects = Effects(hints.get("readOnlyHint"), hints.get("destructiveHint"))
    return FakeTool(
        data["name"], data["inputSchema"], data.get("outputSchema"), namespace, data.get("description", ""), effects
    )


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def stub(*tools: FakeTool) -> str:
    """The module's text, which parses."""
    text = render_stubs(tools)
    ast.parse(text)
    return text


def executed(text: str) -> ModuleType:
    """The module, executed; `typing.get_type_hints` finds it by its name."""
    name = f"stub_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    module = sys.modules[name] = ModuleType(name)
    exec(compile(text, f"<{name}>", "exec", dont_inherit=True), module.__dict__)
    return module


def methods(text: str, owner: str = "Tools") -> dict[str, str]:
    """Method name -> its `def` line, for one class of a module."""
    tree = ast.parse(text)
    found = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == owner]
    return {
        node.name: ast.get_source_segment(text, node).split("\n")[0]  # type: ignore[union-attr]
        for node in found[0].body
        if isinstance(node, ast.AsyncFunctionDef)
    }


def write_modules(folder: Path, modules: Mapping[str, str]) -> None:
    """Each module as .py and, under another name, as .pyi."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
        (folder / f"{name}_stub.pyi").write_text(text, encoding="utf-8")


def mypy_says(folder: Path) -> str:
    """The complaints of mypy --strict about all modules of a folder, '' for none."""
    files = sorted(str(path.name) for path in folder.iterdir() if path.suffix in (".py", ".pyi"))
    return _says(["mypy", "--strict", "--config-file=", "--cache-dir=.cache", "--no-error-summary", *files], folder)


def pyright_says(folder: Path) -> str:
    """The complaints of pyright in strict mode, '' for none."""
    (folder / "pyrightconfig.json").write_text(json.dumps({"include": ["."], "typeCheckingMode": "strict"}))
    said = json.loads(_run(["pyright", "--outputjson"], folder).stdout)
    return "\n".join(f"{one['file']}: {one['message']}" for one in said["generalDiagnostics"])


def ty_says(folder: Path) -> str:
    """The complaints of ty, '' for none."""
    done = _run(["ty", "check", "--output-format", "concise", "--color", "never", "."], folder)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _says(command: list[str], folder: Path) -> str:
    done = _run(command, folder)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
