"""The independent check refuses what the transformer never makes, whatever the program says."""

from __future__ import annotations

import ast

import pytest

from codemode_guest.dialect._verify import VerifyError, verify


def _tree(body: str) -> ast.Module:
    return ast.parse(f"async def main():\n    {body}")


@pytest.mark.parametrize(
    "body",
    [
        "import os",
        "from os import path",
        "x = a.__class__",
        "x = a.gi_frame",
        "x = a.mapping",
        "x = a.send",
        "a.get = 1",
        "a.mapping = 1",
        "del a.mapping",
        "x = __builtins__",
        "x = __import__",
        "__x__ = 1",
        "_getattr_ = 1",
        "class A: pass",
        "class A(metaclass=type): pass",
        "def f(x: int): pass",
        "def f() -> int: pass",
        "def __getattr__(): pass",
        "def f(__class__): pass",
        "x: int = 1",
        "match x:\n        case 1: pass",
        "try: pass\n    except: pass",
        "try: pass\n    except ValueError as __x__: pass",
        "'{0.x}'.format(1)",
        "x = y.format(1)",
        "global __x__",
    ],
)
def test_a_tree_that_the_transformer_would_not_make_is_refused(body: str) -> None:
    with pytest.raises(VerifyError):
        verify(_tree(body))


@pytest.mark.parametrize(
    "body", ["x = a.append(1)", "x = '{} {:>5}'.format(1, 2)", "x = a.zork_own_name", "self.zork_own_name = 1"]
)
def test_native_forms_that_are_safe_pass(body: str) -> None:
    verify(_tree(body))


def test_a_hook_can_be_called_and_not_be_bound() -> None:
    tree = _tree("x = 1")
    main = tree.body[0]
    assert isinstance(main, ast.AsyncFunctionDef)
    statement = main.body[0]
    assert isinstance(statement, ast.Assign)
    statement.targets = [ast.Name("<getattr>", ast.Store())]
    with pytest.raises(VerifyError):
        verify(tree)


def test_no_hook_name_is_an_identifier() -> None:
    from codemode_guest.dialect._names import HOOKS

    assert not [name for name in HOOKS if name.isidentifier()]
