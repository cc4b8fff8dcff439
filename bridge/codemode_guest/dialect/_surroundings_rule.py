"""When `import os` is granted: if all that the program does with it is harmless here.

There is no system to see, so the module as such is not available.  But models write `os.environ.get("X", "default")`
and `os.path.join` out of habit, and both have an answer.  A program that does nothing else with `os` may import it.
"""

from __future__ import annotations

import ast
from typing import Final

from ._names import words

_PLAIN: Final = words("getenv sep linesep name curdir pardir extsep")
_ENVIRON: Final = words("get keys values items copy")


def os_is_harmless(body: list[ast.stmt]) -> bool:
    """Whether every use of `os`, `os.path` and `os.environ` in a program is on the short list, and there is one."""
    parents: dict[int, ast.AST] = {}
    uses: list[tuple[str, ast.AST]] = []
    stack: list[ast.AST] = list(body)
    names = {"os": "os"}
    found: list[ast.Name] = []
    while stack:
        node = stack.pop()
        for child in ast.iter_child_nodes(node):
            parents[id(child)] = node
            stack.append(child)
        if isinstance(node, ast.Import):
            names.update(
                {each.asname: each.name for each in node.names if each.asname and each.name in ("os", "os.path")}
            )
        elif isinstance(node, ast.ImportFrom) and node.module in ("os", "os.path"):
            names.update({each.asname or each.name: f"{node.module}.{each.name}" for each in node.names})
        elif isinstance(node, ast.Name):
            found.append(node)
    uses = [(names[node.id], node) for node in found if node.id in names]
    return bool(uses) and all(_harmless(path, node, parents) for path, node in uses)


def _harmless(path: str, node: ast.AST, parents: dict[int, ast.AST]) -> bool:
    parent = parents.get(id(node))
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return False
    if path == "os":
        return isinstance(parent, ast.Attribute) and _harmless(f"os.{parent.attr}", parent, parents)
    if path == "os.environ":
        if isinstance(parent, ast.Attribute):
            return parent.attr in _ENVIRON
        if isinstance(parent, ast.Subscript):
            return isinstance(parent.ctx, ast.Load)
        return isinstance(parent, ast.Compare) or (isinstance(parent, ast.Call) and node in parent.args)
    if path == "os.path":
        return isinstance(parent, ast.Attribute) and _harmless(f"os.path.{parent.attr}", parent, parents)
    if path.startswith("os.path."):
        return path.removeprefix("os.path.") in _PATH
    return path.removeprefix("os.") in _PLAIN


_PATH: Final = words("basename commonpath commonprefix dirname isabs join normpath sep split splitext")
