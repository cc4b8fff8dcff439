"""Small constructors of syntax nodes, and the pass that gives generated nodes a place.

Generated nodes are made without a location; `fill_locations` hands each the place of the node it stands under, so that
an error inside generated code points at the program's own construct.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeVar

LOAD = ast.Load()
STORE = ast.Store()

Node = TypeVar("Node", bound=ast.AST)


def load(name: str) -> ast.Name:
    """Read a name."""
    return ast.Name(name, LOAD)


def store(name: str) -> ast.Name:
    """A name as a target."""
    return ast.Name(name, STORE)


def hook(name: str, *arguments: ast.expr) -> ast.Call:
    """Call a hook; hook names are listed in `_names.HOOKS`."""
    return ast.Call(func=load(name), args=list(arguments), keywords=[])


def assign(target: ast.expr, value: ast.expr) -> ast.Assign:
    """One assignment statement."""
    return ast.Assign(targets=[target], value=value)


def truth(tests: Sequence[ast.expr]) -> ast.expr:
    """All tests hold, tried from left to right."""
    if not tests:
        return ast.Constant(True)
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), list(tests))


def at(new: Node, old: ast.AST) -> Node:
    """Give `new` (not what stands under it) the place of `old`."""
    new.lineno = old.lineno  # type: ignore[attr-defined]
    new.col_offset = old.col_offset  # type: ignore[attr-defined]
    new.end_lineno = old.end_lineno  # type: ignore[attr-defined]
    new.end_col_offset = old.end_col_offset  # type: ignore[attr-defined]
    return new


def fill_locations(tree: ast.AST) -> None:
    """Give each node without a place that of its parent."""
    stack: list[tuple[ast.AST, tuple[int, int, int, int]]] = [(tree, (1, 0, 1, 0))]
    while stack:
        node, place = stack.pop()
        if "lineno" in node._attributes:
            line: int | None = getattr(node, "lineno", None)
            if line is None:
                node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = place  # type: ignore[attr-defined]
            else:
                place = (
                    line,
                    node.col_offset,  # type: ignore[attr-defined]
                    node.end_lineno,  # type: ignore[attr-defined]
                    node.end_col_offset,  # type: ignore[attr-defined]
                )
        for name in node._fields:
            value: Any = getattr(node, name, None)
            if value.__class__ is list:
                stack.extend([(item, place) for item in value if isinstance(item, ast.AST)])
            elif isinstance(value, ast.AST) and value._fields:
                stack.append((value, place))
