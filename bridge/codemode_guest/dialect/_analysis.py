"""What a program binds, reads and returns: one walk over its tree, before it is changed.

Nothing is refused here; `_transform` asks.  The walk is iterative (the tree is as deep as `_bounds` allows).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(slots=True)
class Analysis:
    """Facts about a whole program."""

    bound: set[str] = field(default_factory=set[str])
    """Every name that is bound anywhere, in whatever scope."""
    read: dict[str, int] = field(default_factory=dict[str, int])
    """Every name that is read anywhere -> the line of one reading."""
    declared_global: set[str] = field(default_factory=set[str])
    """Names that some `global` statement declares."""
    modules: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """Names bound by `import` -> the module; None where something else binds the name as well."""
    returns: bool = False
    """Whether the program itself (not a function in it) has a `return`."""


def analyse(body: list[ast.stmt]) -> Analysis:
    """Collect the facts about the body of a program."""
    facts = Analysis()
    others: set[str] = set()
    stack: list[tuple[ast.AST, bool]] = [(statement, True) for statement in body]
    while stack:
        node, own = stack.pop()
        kind = type(node)
        if kind is ast.Name:
            if isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
                facts.read.setdefault(node.id, node.lineno)  # type: ignore[attr-defined]
            else:
                others.add(node.id)  # type: ignore[attr-defined]
            continue
        if kind is ast.Constant:
            continue
        if kind is ast.Return:
            facts.returns = facts.returns or own
        elif kind is ast.alias:
            continue
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            _note_import(node, facts, others)
        elif isinstance(node, ast.Global):
            facts.declared_global.update(node.names)
            others.update(node.names)
        else:
            others.update(_bound_by(node))
        inside = own and not isinstance(node, _SCOPES)
        for name in node._fields:
            value: Any = getattr(node, name, None)
            if value.__class__ is list:
                stack.extend([(item, inside) for item in value if isinstance(item, ast.AST)])
            elif isinstance(value, ast.AST) and value._fields:
                stack.append((value, inside))
    for name in others & facts.modules.keys():
        facts.modules[name] = None
    facts.bound = others | facts.modules.keys()
    return facts


def _bound_by(node: ast.AST) -> list[str]:
    """The names that a node binds by itself, not through a `Name` below it."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name, *(each.name for each in getattr(node, "type_params", ()))]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return [node.name] if node.name else []
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest else []
    return []


def _note_import(node: ast.Import | ast.ImportFrom, facts: Analysis, others: set[str]) -> None:
    for each in node.names:
        if isinstance(node, ast.ImportFrom):
            others.add(each.asname or each.name)
            continue
        name = each.asname or each.name.partition(".")[0]
        module = each.name if each.asname else name
        if facts.modules.setdefault(name, module) != module:
            facts.modules[name] = None
