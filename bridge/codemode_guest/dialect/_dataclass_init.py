"""The `__init__` of a dataclass, generated as a syntax tree out of checked field names: no text is ever executed."""

from __future__ import annotations

import ast
import functools
from types import CodeType

from ._build import fill_locations


@functools.lru_cache(maxsize=256)
def init_code(
    positional: tuple[tuple[str, bool], ...],
    keywords: tuple[tuple[str, bool], ...],
    assigned: tuple[tuple[str, bool, bool], ...],
    post: tuple[str, ...] | None,
    frozen: bool,
) -> CodeType:
    """Compile an `__init__` of this shape; every name was checked to be an identifier."""
    names = {name for name, _ in (*positional, *keywords)}
    owner = "<self>" if "self" in names else "self"
    body: list[ast.stmt] = []
    for name, init, factory in assigned:
        value: ast.expr = ast.Name(name, ast.Load())
        if factory:
            made = ast.Call(ast.Name(f"<factory {name}>", ast.Load()), [], [])
            if init:
                test = ast.Compare(ast.Name(name, ast.Load()), [ast.Is()], [ast.Name("<missing>", ast.Load())])
                value = ast.IfExp(test, made, value)
            else:
                value = made
        body.append(_store(owner, name, value, frozen))
    if post is not None:
        method = ast.Attribute(ast.Name(owner, ast.Load()), "__post_init__", ast.Load())
        body.append(ast.Expr(ast.Call(method, [ast.Name(name, ast.Load()) for name in post], [])))
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(owner), *(ast.arg(name) for name, _ in positional)],
        kwonlyargs=[ast.arg(name) for name, _ in keywords],
        kw_defaults=[None for _ in keywords],
        defaults=[],
    )
    function = ast.FunctionDef(name="__init__", args=arguments, body=body or [ast.Pass()], decorator_list=[])
    if "type_params" in ast.FunctionDef._fields:
        setattr(function, "type_params", [])  # noqa: B010
    module = ast.Module([function], [])
    fill_locations(module)
    code = compile(module, "<dataclass>", "exec", dont_inherit=True)
    return next(each for each in code.co_consts if isinstance(each, CodeType))


def _store(owner: str, name: str, value: ast.expr, frozen: bool) -> ast.stmt:
    if frozen:
        call = ast.Call(ast.Name("<set>", ast.Load()), [ast.Name(owner, ast.Load()), ast.Constant(name), value], [])
        return ast.Expr(call)
    return ast.Assign([ast.Attribute(ast.Name(owner, ast.Load()), name, ast.Store())], value)
