"""An independent check of the final tree: whatever the transformer did, only these shapes reach `compile()`.

It knows the tables of names and the direct set, and nothing of the transformer.  A failure here is our bug, not the
program's; `VerifyError` never blames the author.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from ._direct import is_direct, is_foreign
from ._format import is_plain_template
from ._names import (
    CLASS_MAGIC,
    CLASS_SETTINGS,
    ENUM_SETTINGS,
    FRAME_NAMES,
    HOOKS,
    MAIN_NAME,
    REFUSED_BUILTINS,
    is_dunder,
    is_reserved,
    words,
)

_PLAIN_NODES: Final = words(
    """
    Module Return Delete For AsyncFor While If With AsyncWith Raise Try TryStar Assert Expr Pass Break Continue
    BoolOp BinOp UnaryOp IfExp Dict Set ListComp SetComp DictComp GeneratorExp Await Yield YieldFrom Compare
    FormattedValue JoinedStr Constant Subscript Starred List Tuple Slice Load Store Del And Or Add Sub Mult MatMult Div
    Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv Invert Not UAdd USub Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn
    comprehension arguments keyword withitem Lambda Assign AugAssign NamedExpr
    """
)
"""Nodes that may stand anywhere; every other kind has a check of its own, or is refused."""

_GENERATED: Final = frozenset(["__class__", "__annotations__"])


class VerifyError(Exception):
    """The transformer let something through; the program does not run."""


def verify(tree: ast.Module) -> None:
    """Check the final tree of a program, before it is compiled.

    Raises:
        VerifyError: it contains what no program may contain.
    """
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        kind = type(node).__name__
        if kind not in _PLAIN_NODES:
            check = _CHECKS.get(kind)
            if check is None:
                raise VerifyError(f"node {kind}")
            check(node)
        for name in node._fields:
            value: Any = getattr(node, name, None)
            if value.__class__ is list:
                stack.extend([item for item in value if isinstance(item, ast.AST)])
            elif isinstance(value, ast.AST) and value._fields:
                stack.append(value)


def _is_temporary(name: str) -> bool:
    return (name.startswith("<") and name[1:-1].isdigit()) or (name.startswith("__<") and name[3:-3].isdigit())


def _name_is_fine(name: str) -> bool:
    if "<" in name:
        return _is_temporary(name)
    return not (is_dunder(name) or is_reserved(name)) or name in ENUM_SETTINGS


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise VerifyError(what)


def _name(node: ast.Name) -> None:
    if node.id in HOOKS:
        _require(isinstance(node.ctx, ast.Load), f"hook {node.id} is bound")
    elif node.id not in _GENERATED and node.id not in CLASS_MAGIC and node.id not in CLASS_SETTINGS:
        _require(_name_is_fine(node.id), f"name {node.id}")
        _require(node.id not in _NEVER, f"name {node.id}")


def _attribute(node: ast.Attribute) -> None:
    name = node.attr
    _require(name not in FRAME_NAMES and not name.startswith("__"), f"attribute {name}")
    if isinstance(node.ctx, ast.Load):
        native = is_direct(name) or (name == "format" and is_plain_template(node.value))
        _require(native, f"attribute {name} loaded natively")
    elif is_foreign(name):
        _require(_is_write_hook(node.value, name), f"attribute {name} stored natively")


def _is_write_hook(node: ast.expr, name: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "<write>"
        and len(node.args) == 2
        and isinstance(node.args[1], ast.Constant)
        and node.args[1].value == name
    )


def _call(node: ast.Call) -> None:
    if isinstance(node.func, ast.Name) and node.func.id in HOOKS:
        _require(not node.keywords, f"keywords for {node.func.id}")


def _function(node: Any) -> None:
    _require(node.name == MAIN_NAME or node.name in CLASS_MAGIC or _name_is_fine(node.name), f"def {node.name}")
    _require(node.returns is None and not getattr(node, "type_params", None), "annotations of a function")


def _class(node: Any) -> None:
    _require(_name_is_fine(node.name), f"class {node.name}")
    _require(not getattr(node, "type_params", None), "type parameters of a class")
    meta = [each.value for each in node.keywords if each.arg == "metaclass"]
    _require(len(meta) == 1 and isinstance(meta[0], ast.Name) and meta[0].id == "<class>", "metaclass")
    _require(all(each.arg in ("metaclass", "total", "closed") for each in node.keywords), "class keywords")
    _require(not any(isinstance(base, ast.Starred) for base in node.bases), "starred bases")


def _argument(node: ast.arg) -> None:
    _require(_name_is_fine(node.arg) and node.annotation is None, f"argument {node.arg}")


def _handler(node: ast.ExceptHandler) -> None:
    _require(node.type is not None, "bare except")
    _require(node.name is None or _name_is_fine(node.name), f"except as {node.name}")


def _scope_names(node: Any) -> None:
    for name in node.names:
        _require(_name_is_fine(name) and "<" not in name, f"scope of {name}")


_NEVER: Final = frozenset(name for name in REFUSED_BUILTINS if name.startswith("__"))

_CHECKS: Final[dict[str, Callable[[Any], None]]] = {
    "Name": _name,
    "Attribute": _attribute,
    "Call": _call,
    "FunctionDef": _function,
    "AsyncFunctionDef": _function,
    "ClassDef": _class,
    "arg": _argument,
    "ExceptHandler": _handler,
    "Nonlocal": _scope_names,
    "Global": _scope_names,
}
