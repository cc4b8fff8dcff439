"""How large a program may be, measured before anything recursive sees it.

The compiler is attack surface: a few hundred bytes can keep it busy for minutes (nested `finally` clauses double the
code on each level) or overflow the C stack (deep nesting).  All walks here are iterative, so that they cannot overflow
themselves.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import ast
from typing import Any, Final

from ._refusal import Refusal

MAX_SOURCE_BYTES: Final = 256 * 1024
"""Bytes of UTF-8.  The host has its own, configurable bound (`Limits.source_bytes`); this is the child's last word."""

MAX_NODES: Final = 120_000
"""Nodes of the syntax tree.  256 KiB of dense JSON-like literals have about 90,000; a 30-line program has 300."""

MAX_DEPTH: Final = 400
"""Nesting of syntax nodes.  CPython's own parser gives up at 200 parentheses; programs of people stay under 60."""

MAX_CODE: Final = 4 * MAX_NODES
"""Estimated nodes after `finally` bodies have been copied once per way out of their `try`."""

_TRY: Final = (ast.Try, ast.TryStar)
_JUMPS: Final = (ast.Return, ast.Break, ast.Continue)


def source_refusal(text: str) -> Refusal | None:
    """Refuse text that is too long, or that is no text."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - (text.rfind("\n", 0, error.start) + 1) + 1
        return Refusal(line, column, "the program contains a lone surrogate, which is no character", "syntax")
    if size > MAX_SOURCE_BYTES:
        return Refusal(1, 1, f"the program is {size} bytes long; at most {MAX_SOURCE_BYTES} are allowed", "syntax")
    if "\0" in text:
        at = text.index("\0")
        return Refusal(text.count("\n", 0, at) + 1, 1, "the program contains a null character", "syntax")
    return None


def tree_refusal(tree: ast.Module) -> Refusal | None:
    """Refuse a tree with too many nodes, too deep nesting, or too much code to come out of it."""
    count = 0
    line = 1
    order: list[tuple[ast.AST, int]] = []
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    has_finally = False
    while stack:
        node, depth = stack.pop()
        count += 1
        line = getattr(node, "lineno", line)
        if depth > MAX_DEPTH:
            return Refusal(line, 1, "the program is nested too deeply here: use variables or functions", "refused")
        if count > MAX_NODES:
            return Refusal(line, 1, "the program is too large: move data out of the code", "refused")
        order.append((node, depth))
        if isinstance(node, _TRY) and node.finalbody:
            has_finally = True
        below = depth + 1
        for name in node._fields:
            value: Any = getattr(node, name, None)
            if isinstance(value, list):
                # `elif` chains nest in `orelse`; they are as flat as they look only to the reader, not to the compiler
                stack.extend((item, below) for item in value if isinstance(item, ast.AST))
            elif isinstance(value, ast.AST) and not isinstance(value, (ast.expr_context, ast.operator, ast.cmpop)):
                stack.append((value, below))
    if has_finally and _code_size(order) > MAX_CODE:
        return Refusal(1, 1, "too many `finally` clauses are nested in one another: use functions", "refused")
    return None


def _code_size(order: list[tuple[ast.AST, int]]) -> int:
    """Estimate the size of the compiled code: a `finally` body is copied once per way out of its `try`.

    `order` lists each node before its children, so that going backwards every child is known before its parent.
    """
    known: dict[int, tuple[int, int]] = {}
    for node, _ in reversed(order):
        size, jumps = 1, int(isinstance(node, _JUMPS))
        final_size = final_jumps = 0
        tail: set[int] = set()
        if isinstance(node, _TRY) and node.finalbody:
            tail = {id(each) for each in node.finalbody}
        for child in ast.iter_child_nodes(node):
            child_size, child_jumps = known.get(id(child), (1, 0))
            if id(child) in tail:
                final_size, final_jumps = final_size + child_size, final_jumps + child_jumps
            else:
                size, jumps = size + child_size, jumps + child_jumps
        if tail:
            copies = 2 + jumps
            size, jumps = size + final_size * copies, jumps + final_jumps * copies
        known[id(node)] = (min(size, MAX_CODE * 2), min(jumps, MAX_CODE * 2))
    return known[id(order[0][0])][0]
