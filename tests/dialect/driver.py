"""Runs one program in this process, under the dialect or as plain CPython, and says what came of it."""

from __future__ import annotations
import __future__

import ast
import asyncio
import builtins
import io
import sys
import traceback
import warnings
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from codemode_guest.dialect import (
    Program,
    ProgramRefused,
    allow_type,
    compile_program,
    is_program_frame,
    make_globals,
    start,
)

PLAIN_FILENAME = "<plain>"


@dataclass(frozen=True)
class Outcome:
    """What a program did."""

    has_value: bool
    value: Any
    text: str
    error: str | None = None
    message: str = ""
    line: int | None = None
    notes: tuple[str, ...] = ()


class ToolCallError(Exception):
    """A tool call that failed."""

    def __init__(self, tool_name: str, message: str) -> None:
        super().__init__(message)
        self.name = "ToolCallError"
        self.tool_name = tool_name
        self.message = message


async def _get_user(user_id: int = 0) -> Any:
    if user_id > 13:
        raise ToolCallError("get_user", "user not found")
    return {"id": user_id, "name": f"User {user_id}", "age": 20 + user_id, "team": "red" if user_id % 2 else "blue"}


async def _list_items() -> Any:
    return {"items": [{"title": f"Item {index}", "price": index * 1.5} for index in range(10)]}


async def _search(query: str = "", limit: int = 5) -> Any:
    return [{"title": f"{query} {index}", "rank": index} for index in range(limit)]


async def _echo(value: Any = None) -> Any:
    return value


async def _fail(message: str = "failed") -> Any:
    raise ToolCallError("fail", message)


async def _page(cursor: int | None = None) -> Any:
    at = cursor or 0
    following = at + 2 if at + 2 < 6 else None
    return {"items": [at + 1, at + 2][: 2 if following else 1], "next": following}


TOOLS: dict[str, Callable[..., Any]] = {
    "get_user": _get_user,
    "list_items": _list_items,
    "search": _search,
    "echo": _echo,
    "fail": _fail,
    "page": _page,
}


class BoundTool:
    """One tool, as a program holds it."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return TOOLS[self._name](*arguments, **keywords)


class Tools:
    """The program's `tools`."""

    __slots__ = ()

    def __getitem__(self, name: str) -> BoundTool:
        if name not in TOOLS:
            raise KeyError(name)
        return BoundTool(name)

    def __contains__(self, name: object) -> bool:
        return name in TOOLS

    def __dir__(self) -> list[str]:
        return sorted(TOOLS)


def _tool(tools: Any, name: str) -> BoundTool:
    if name not in TOOLS:
        raise AttributeError(f"no tool named {name!r}")
    return BoundTool(name)


allow_type(Tools, (), getattr=_tool)
allow_type(BoundTool, ())


class Text:
    """Collects what a run prints."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def write(self, text: str, /) -> None:
        """Take one piece."""
        assert type(text) is str
        self.parts.append(text)


def refusals(source: str) -> list[tuple[int, int, str]]:
    """Why a program is refused: line, column, message; empty if it compiles."""
    try:
        compile_program(source)
    except ProgramRefused as error:
        return [(each.line, each.column, each.message) for each in error.refusals]
    return []


def run_async(main: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on a fresh loop, and leave none of its tasks behind."""

    async def bounded() -> Any:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda *ignored: None)
        return await asyncio.wait_for(main, 20)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return asyncio.run(bounded())


def _line(error: BaseException, belongs: Callable[[str], bool]) -> int | None:
    found = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if belongs(frame.filename)]
    return found[-1] if found else None


def run(source: str) -> Outcome:
    """Run a program under the dialect."""
    program: Program = compile_program(source)
    text = Text()
    names = make_globals(program, tools=Tools(), tool_call_error=ToolCallError, stdout=text)
    try:
        done = run_async(start(program, names))
    except BaseException as error:
        return Outcome(
            False, None, "".join(text.parts), type(error).__name__, str(error), _line(error, is_program_frame)
        )
    return Outcome(done.has_value, done.value, "".join(text.parts), notes=program.notes)


def value_of(source: str) -> Any:
    """The value of a program that must end well."""
    outcome = run(source)
    assert outcome.error is None, f"{outcome.error}: {outcome.message} (line {outcome.line})"
    return outcome.value


def run_plain(source: str) -> Outcome:
    """Run the same body as an async function of plain CPython, with the real modules."""
    tree = ast.parse(source)
    body = [each for each in tree.body if not (isinstance(each, ast.ImportFrom) and each.module == "__future__")]
    if body and isinstance(body[-1], ast.Expr) and not any(isinstance(n, ast.Return) for s in body for n in _own(s)):
        body[-1] = ast.copy_location(ast.Return(body[-1].value), body[-1])
    flags = __future__.annotations.compiler_flag if len(body) < len(tree.body) else 0
    shared = sorted({name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names})
    if shared:
        body.insert(0, ast.Global(shared))
    main = ast.parse("async def main(): pass").body[0]
    assert isinstance(main, ast.AsyncFunctionDef)
    main.body = body or [ast.Pass()]
    module = ast.Module([main], [])
    ast.fix_missing_locations(module)
    names: dict[str, Any] = {
        "__name__": "__main__",
        "__builtins__": builtins,
        "tools": Tools(),
        "ToolCallError": ToolCallError,
    }
    stdout, real = io.StringIO(), sys.stdout
    error: BaseException | None = None
    value = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(module, PLAIN_FILENAME, "exec", flags, dont_inherit=True), names)
        sys.stdout = stdout
        try:
            value = run_async(names["main"]())
        except BaseException as raised:
            error = raised
        finally:
            sys.stdout = real
    if error is not None:
        line = _line(error, lambda filename: filename == PLAIN_FILENAME)
        return Outcome(False, None, stdout.getvalue(), type(error).__name__, str(error), line)
    return Outcome(value is not None, value, stdout.getvalue())


def _own(node: ast.AST) -> list[ast.AST]:
    found = [node]
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            found += _own(child)
    return found
