"""From a program's text to a code object: read, parse, bound, analyse, transform, verify, compile.

`compile_program` is that process, top to bottom.  It runs in the sealed child only: no text of a program is ever
compiled in the host.  Whatever is wrong with a program comes out as `ProgramRefused`, with all refusals at once.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Final

from . import _bounds
from . import _messages as messages
from ._analysis import Analysis, analyse
from ._build import at, fill_locations, hook
from ._names import MAIN_NAME, PROGRAM_FILENAME, words
from ._refusal import ProgramRefused, Refusal
from ._source import SourceText, is_indented, read_source
from ._statements import Transformer
from ._surroundings_rule import os_is_harmless
from ._verify import VerifyError, verify
from .modules import MODULES

_COMPILE_STACK: Final = 12_000
"""Recursion limit while compiling.  The transformer needs about 6 Python frames per level of nesting."""

_MODULES: Final[Mapping[str, frozenset[str]]] = {
    **MODULES,
    "tools": frozenset(["*"]),
    "codemode": frozenset(["*"]),
}
"""The modules that a program may import, and the names in them; of two of ours, any name."""

_OTHER_LANGUAGES: Final = words(
    """
    ls cd cat pip pip3 npm npx curl wget git echo grep rm mkdir cp mv python python3 node sudo apt bash sh cmd
    const let var function SELECT INSERT #!/bin/bash #!/bin/sh
    """
)
"""What a program in another language begins with."""
_FIRST_WORD: Final = re.compile(r"\s*([\w./#!]+)")


@dataclass(frozen=True, slots=True)
class Program:
    """A program that may run."""

    code: CodeType
    """Executed once in the globals of `make_globals`, it defines the main coroutine function."""
    notes: tuple[str, ...]
    """What its author should know although it compiles."""
    text: str
    """The text that was compiled, without fence."""
    lines: list[str]
    """`text` by lines."""
    filename: str
    """`co_filename` of the program's frames."""
    implicit_modules: tuple[str, ...]
    """Listed modules that are used without an import."""


def compile_program(source: str) -> Program:
    """Compile the body of an async function.

    Args:
        source: what the model sent.

    Returns:
        The compiled program.

    Raises:
        ProgramRefused: it is no Python, too large, or uses what programs do not have.
    """
    refusal = _bounds.source_refusal(source)
    if refusal is not None:
        raise ProgramRefused((refusal,))
    text = read_source(source)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _COMPILE_STACK))
    try:
        return _compile(text)
    except (RecursionError, MemoryError):
        raise ProgramRefused((Refusal(1, 1, "the program is nested too deeply", "refused"),)) from None
    finally:
        sys.setrecursionlimit(limit)


def _compile(text: SourceText) -> Program:
    tree = _parse(text)
    refusal = _bounds.tree_refusal(tree)
    if refusal is not None:
        raise ProgramRefused((refusal,))
    facts = analyse(tree.body)
    _refuse_other_languages(text, tree, facts)
    _value_of_last_expression(tree.body, facts)
    notes = _notes(tree.body, facts)
    transformer = Transformer(facts, _MODULES, text.lines)
    if "os" in text.text:
        transformer.os_allowed = os_is_harmless(tree.body)
    body = transformer.visit_list(tree.body)
    if transformer.refusals:
        raise ProgramRefused(tuple(transformer.refusals))
    code = _code(body, facts, text)
    implicit = tuple(transformer.implicit_modules)
    notes += [messages.implicit_import(name) for name in implicit]
    return Program(code, tuple(notes), text.text, list(text.lines), PROGRAM_FILENAME, implicit)


def _parse(text: SourceText) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.text, PROGRAM_FILENAME, "exec")
    except SyntaxError as error:
        if isinstance(error, IndentationError) and is_indented(text):
            tree = _parse_indented(text)
            if tree is not None:
                return tree
        raise ProgramRefused((_syntax_refusal(error, text),)) from None
    except (ValueError, OverflowError) as error:
        raise ProgramRefused((Refusal(1, 1, f"the program does not parse: {error}", "syntax"),)) from None


def _parse_indented(text: SourceText) -> ast.Module | None:
    """Parse a program that is indented as a whole, as the body of a block, so that its strings stay as they are."""
    try:
        block = ast.parse("if 1:\n" + text.text, PROGRAM_FILENAME, "exec")
    except (SyntaxError, ValueError):
        return None
    first = block.body[0]
    if len(block.body) != 1 or not isinstance(first, ast.If) or first.orelse:
        return None
    tree = ast.Module(first.body, [])
    ast.increment_lineno(tree, -1)
    return tree


def _syntax_refusal(error: SyntaxError, text: SourceText) -> Refusal:
    line = min(max(error.lineno or 1, 1), len(text.lines))
    message = error.msg
    first = next((each.split() for each in text.lines if each.strip()), [""])
    if first and first[0] in _OTHER_LANGUAGES:
        message = f"{message}; {messages.not_python(first[0])}"
    elif _is_around_code(line, text):
        message = f"{message}; {messages.MORE_THAN_CODE}"
    return Refusal(line, max(error.offset or 1, 1), message, "syntax")


def _is_around_code(line: int, text: SourceText) -> bool:
    """Whether what does not parse is a fence, or the words before one."""
    fences = [number for number, each in enumerate(text.lines, 1) if each.lstrip().startswith("```")]
    return line in fences or (bool(fences) and not any(each.strip() for each in text.lines[: line - 1]))


def _refuse_other_languages(text: SourceText, tree: ast.Module, facts: Analysis) -> None:
    """`ls -la` is a Python expression; what it says is that the author means another language."""
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return
    first = _FIRST_WORD.match(text.text)
    if first is not None and first[1] in _OTHER_LANGUAGES and first[1] not in facts.bound:
        raise ProgramRefused((Refusal(1, 1, messages.not_python(first[1]), "syntax"),))


def _value_of_last_expression(body: list[ast.stmt], facts: Analysis) -> None:
    """Without any `return`, a bare expression at the end is the value of the program."""
    if facts.returns or not body:
        return
    last = body[-1]
    if isinstance(last, ast.If) and not last.orelse and _is_main_test(last.test):
        _value_of_last_expression(last.body, facts)
    elif isinstance(last, ast.Expr) and not isinstance(last.value, (ast.Yield, ast.YieldFrom)):
        body[-1] = at(ast.Return(at(hook("<last>", last.value), last)), last)


def _is_main_test(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Eq)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value == "__main__"
    )


def _notes(body: list[ast.stmt], facts: Analysis) -> list[str]:
    """Notes for programs that compile and do nothing."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    idle = all(
        isinstance(each, definitions)
        or (isinstance(each, (ast.Assign, ast.AnnAssign)) and not any(isinstance(n, ast.Call) for n in ast.walk(each)))
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in body
    )
    functions = [each.name for each in body if isinstance(each, ast.AsyncFunctionDef) and each.name not in facts.read]
    return [messages.main_not_called(functions[-1])] if idle and functions else []


def _code(body: list[ast.stmt], facts: Analysis, text: SourceText) -> CodeType:
    if facts.declared_global:
        body.insert(0, ast.Global(sorted(facts.declared_global)))
    template = ast.parse("async def main(): pass").body[0]
    assert isinstance(template, ast.AsyncFunctionDef)
    template.name = MAIN_NAME
    template.body = body or [ast.Pass()]
    module = ast.Module([template], [])
    fill_locations(module)
    try:
        verify(module)
    except VerifyError as error:
        message = f"the program uses a construct that could not be checked ({error}): write it in a simpler way"
        raise ProgramRefused((Refusal(1, 1, message, "refused"),)) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _short_names(compile(module, PROGRAM_FILENAME, "exec", dont_inherit=True))
    except SyntaxError as error:
        raise ProgramRefused((_syntax_refusal(error, text),)) from None
    except (ValueError, OverflowError, SystemError) as error:
        raise ProgramRefused((Refusal(1, 1, f"the program does not compile: {error}", "syntax"),)) from None


def _short_names(code: CodeType) -> CodeType:
    """Take `<main>.<locals>.` off qualified names, so that messages and reprs read as of a module's own."""
    constants: list[object] = []
    changed = False
    for each in code.co_consts:
        new: object = each
        if isinstance(each, CodeType):
            new = _short_names(each)
        elif each == code.co_qualname and type(each) is str:
            new = each.removeprefix(_MAIN_PREFIX)
        changed = changed or new is not each
        constants.append(new)
    name = code.co_qualname.removeprefix(_MAIN_PREFIX)
    if not changed and name == code.co_qualname:
        return code
    return code.replace(co_consts=tuple(constants), co_qualname=name)


_MAIN_PREFIX: Final = f"{MAIN_NAME}.<locals>."
