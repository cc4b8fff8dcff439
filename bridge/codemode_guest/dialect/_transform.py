"""The dialect as a RestrictedPython policy: expressions, names, attributes, calls, functions.

The transformer turns the body of a program into the body of one async function in which

- no import, match or metaclass path of CPython is left, only calls of hooks whose names cannot be spelled,
- attribute loads are native only for names of the direct set (`_direct`), else `<getattr>(value, "name")`,
- attribute stores are native only for names that no host object has, else they go to `<write>(value, "name")`,
- annotations are gone, never evaluated.

What it cannot offer it reports with `refuse`, and goes on, so that all refusals of a program come at once.  It is not
trusted: `_verify` checks the final tree and knows nothing of this module.

Source: RestrictedPython 9.0, `RestrictingNodeTransformer`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from RestrictedPython.transformer import RestrictingNodeTransformer

from . import _messages as messages
from ._analysis import Analysis
from ._build import at, hook
from ._direct import is_direct, is_foreign
from ._format import is_plain_template
from ._names import (
    CLASS_MAGIC,
    CLASS_SETTINGS,
    ENUM_SETTINGS,
    FRAME_NAMES,
    READ_MAGIC,
    REFUSED_BUILTINS,
    REFUSED_MAGIC,
    is_dunder,
    is_reserved,
    mangle,
)
from ._refusal import Refusal
from ._scope import Scope, ScopeStack

_LEAVES: Final = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


class ExpressionTransformer(RestrictingNodeTransformer):
    """Expressions and functions; statements are in `_statements`."""

    def __init__(self, facts: Analysis, modules: Mapping[str, frozenset[str]], lines: tuple[str, ...]) -> None:
        """Prepare for one program.

        Args:
            facts: what `_analysis` found.
            modules: the modules that may be imported -> their names.
            lines: the program's text by lines, to count columns in characters.
        """
        super().__init__()
        self.facts = facts
        self.modules = modules
        self.lines = lines
        self.scopes = ScopeStack()
        self.refusals: list[Refusal] = []
        self.implicit_modules: dict[str, int] = {}
        self.os_allowed = False
        self.import_guards = 0
        self.attribute_guards = 0
        self._temporaries = 0
        self._visitors: dict[type[ast.AST], Callable[[Any], Any]] = {}

    # ---- reporting and walking

    def refuse(self, node: ast.AST, message: str, kind: Literal["syntax", "refused"] = "refused") -> None:
        """Note one refusal at a node."""
        line: int = getattr(node, "lineno", 1)
        offset: int = getattr(node, "col_offset", 0)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        column = len(text.encode()[:offset].decode(errors="ignore")) + 1
        refusal = Refusal(line, column, message, kind)
        if refusal not in self.refusals:
            self.refusals.append(refusal)

    def error(self, node: ast.AST, info: str) -> None:
        """What RestrictedPython itself refuses (node types that the dialect does not know)."""
        self.refuse(node, info)

    def not_allowed(self, node: ast.AST) -> None:
        """A node type that the dialect does not offer."""
        self.refuse(node, messages.node_refused(type(node).__name__))

    def visit(self, node: ast.AST) -> Any:
        """Visit one node, with the method looked up once per node type."""
        kind = type(node)
        visitor = self._visitors.get(kind)
        if visitor is None:
            found: Callable[[Any], Any] = getattr(self, "visit_" + kind.__name__, self.generic_visit)
            visitor = self._visitors[kind] = found
        return visitor(node)

    def node_contents_visit(self, node: Any) -> Any:
        """Visit what stands under a node; a statement may become several."""
        for name in node._fields:
            value: Any = getattr(node, name, None)
            if value.__class__ is list:
                if value:
                    setattr(node, name, self.visit_list(value))
            elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
                setattr(node, name, self.visit(value))
        return node

    def visit_list(self, values: list[Any]) -> list[Any]:
        """Visit a list of nodes (None stands for itself, as in a dict display with `**`)."""
        out: list[Any] = []
        for value in values:
            result = self.visit(value) if isinstance(value, ast.AST) else value
            if result.__class__ is list:
                out.extend(result)
            else:
                out.append(result)
        return out

    def body(self, statements: list[ast.stmt], owner: ast.AST) -> list[ast.stmt]:
        """Visit a suite; never empty."""
        return self.visit_list(statements) or [at(ast.Pass(), owner)]

    def temporary(self) -> str:
        """A fresh name that no program can spell (in a class body: one that no enum takes for a member)."""
        self._temporaries += 1
        return f"__<{self._temporaries}>__" if self.scopes.in_class else f"<{self._temporaries}>"

    # ---- names

    def check_name(self, node: ast.AST, name: str | None, allow_magic_methods: bool = False) -> None:
        """Refuse a name that a program may not bind or read."""
        if name is None or not name.startswith("_"):
            if name is not None and is_reserved(name):
                self.refuse(node, messages.reserved_name(name))
            return
        if self.scopes.in_class and name in ENUM_SETTINGS:
            return
        if is_dunder(name):
            if allow_magic_methods and self.scopes.in_class:
                if name in CLASS_MAGIC:
                    return
                if name in REFUSED_MAGIC:
                    self.refuse(node, messages.magic_refused(name, REFUSED_MAGIC[name]))
                    return
            self.refuse(node, messages.dunder_name(name))
        elif is_reserved(name):
            self.refuse(node, messages.reserved_name(name))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A name that is read, bound or deleted."""
        name = node.id
        if isinstance(node.ctx, ast.Load):
            if name == "__name__":
                return at(ast.Constant("__main__"), node)
            if name in REFUSED_BUILTINS and name not in self.facts.bound:
                self.refuse(node, messages.builtin_refused(name, REFUSED_BUILTINS[name]))
                return node
            if name in self.modules and name not in self.facts.bound and name not in messages.UNLISTED:
                self.implicit_modules.setdefault(name, node.lineno)
            if self.scopes.in_class and name in CLASS_MAGIC:
                return node
        elif self.scopes.in_class and (name in CLASS_MAGIC or name in CLASS_SETTINGS):
            return node
        elif self.scopes.in_class and name in REFUSED_MAGIC:
            self.refuse(node, messages.magic_refused(name, REFUSED_MAGIC[name]))
            return node
        self.check_name(node, name)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """Every constant is fine."""
        return node

    # ---- attributes

    def checked_attribute(self, node: ast.AST, attribute: str, *, write: bool) -> str:
        """Return the attribute's real name (private names mangled), having refused what cannot be."""
        name = mangle(attribute, self.scopes.class_name)
        if name in FRAME_NAMES:
            self.refuse(node, messages.frame_attribute(name))
        elif is_dunder(name):
            if write:
                self.refuse(node, messages.dunder_write(name))
            elif name not in READ_MAGIC and name not in CLASS_MAGIC:
                self.refuse(node, messages.dunder_attribute(name))
        elif is_reserved(name) and name not in ENUM_SETTINGS:
            self.refuse(node, messages.reserved_name(name))
        return name

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """A load goes native or to the guard; a store goes native or past the guard."""
        load = isinstance(node.ctx, ast.Load)
        name = self.checked_attribute(node, node.attr, write=not load)
        if load:
            self.check_module_attribute(node)
        value: ast.expr = self.visit(node.value)
        if load:
            if name == "__class__":
                return at(hook("<type-of>", value), node)
            if not is_direct(name):
                return at(hook("<getattr>", value, ast.Constant(name)), node)
        elif is_foreign(name) or not self.is_own_object(value):
            value = at(hook("<write>", value, ast.Constant(name)), node)
        node.value = value
        node.attr = name
        return node

    def is_own_object(self, value: ast.expr) -> bool:
        """Whether an expression is the first parameter of the method around it: `self`, nearly always."""
        method = self.scopes.method()
        return isinstance(value, ast.Name) and method is not None and value.id == method.first_parameter

    def check_module_attribute(self, node: ast.Attribute) -> None:
        """Refuse `json.nope` while compiling, so that nothing has run when the program learns of it."""
        if self.attribute_guards:
            return
        path = _dotted(node.value)
        if path is None:
            return
        root, *rest = path.split(".")
        module = self.facts.modules.get(root) if root in self.facts.bound else root
        if module is None or module in messages.GLOBAL_NAMES:
            return
        module = ".".join([module, *rest])
        names = self.modules.get(module)
        if names is not None and node.attr not in names and f"{module}.{node.attr}" not in self.modules:
            self.refuse(node, messages.module_attribute(module, node.attr, names))

    # ---- calls

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Calls are native; a few have a meaning of their own here."""
        function = node.func
        if isinstance(function, ast.Name) and function.id == "super" and "super" not in self.facts.bound:
            if not node.args and not node.keywords:
                return self._super(node)
        elif isinstance(function, ast.Attribute):
            if self._runs_coroutine(function) and node.args and not isinstance(node.args[0], ast.Starred):
                return self._run_coroutine(node)
            if function.attr == "format" and is_plain_template(function.value):
                node.args = self.visit_list(node.args)
                node.keywords = self.visit_list(node.keywords)
                return node
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    def _super(self, node: ast.Call) -> ast.expr:
        method = self.scopes.method()
        if method is None or method.first_parameter is None:
            self.refuse(node, messages.SUPER_OUTSIDE)
            return node
        name = method.first_parameter
        return at(hook("<super>", ast.Name("__class__", ast.Load()), ast.Name(name, ast.Load())), node)

    def _runs_coroutine(self, function: ast.Attribute) -> bool:
        if function.attr == "run":
            value = function.value
            return isinstance(value, ast.Name) and (
                self.facts.modules.get(value.id) == "asyncio"
                or (value.id == "asyncio" and "asyncio" not in self.facts.bound)
            )
        return function.attr == "run_until_complete"

    def _run_coroutine(self, node: ast.Call) -> ast.expr:
        """`asyncio.run(x)`: the program runs inside a loop already, so that means `await x`."""
        if not self.scopes.inner.is_async:
            self.refuse(node, messages.RUN_IN_SYNC)
            return node
        return at(ast.Await(at(hook("<async-run>", self.visit(node.args[0])), node)), node)

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        """A keyword argument's name binds nothing here, so it may be any name."""
        node.value = self.visit(node.value)
        return node

    # ---- functions

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """A lambda."""
        node.args = self._parameters(node.args)
        self.scopes.enter(Scope("lambda", "<lambda>", first_parameter=_first(node.args)))
        node.body = self.visit(node.body)
        self.scopes.leave()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """A plain function."""
        return self._function(node, is_async=False)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        """An async function."""
        return self._function(node, is_async=True)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, *, is_async: bool) -> Any:
        self.check_name(node, node.name, allow_magic_methods=True)
        node.returns = None
        node.type_comment = None
        stand_ins = self.type_parameters(node)
        node.decorator_list = self.visit_list(node.decorator_list)
        node.args = self._parameters(node.args)
        self.scopes.enter(Scope("function", node.name, is_async, _first(node.args)))
        node.body = self.body(node.body, node)
        self.scopes.leave()
        return [*stand_ins, node] if stand_ins else node

    def _parameters(self, arguments: ast.arguments) -> ast.arguments:
        for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
            if each is not None:
                self.check_name(each, each.arg)
                each.annotation = None
                each.type_comment = None
        arguments.defaults = self.visit_list(arguments.defaults)
        arguments.kw_defaults = self.visit_list(arguments.kw_defaults)
        return arguments

    def type_parameters(self, node: Any) -> list[ast.stmt]:
        """Drop `[T]`; a stand-in is bound instead, for code that mentions `T` at run time."""
        parameters = getattr(node, "type_params", None)
        if not parameters:
            return []
        node.type_params = []
        for each in parameters:
            self.check_name(node, each.name)
        return [
            at(ast.Assign([ast.Name(each.name, ast.Store())], hook("<type-stand-in>", ast.Constant(each.name))), node)
            for each in parameters
        ]

    def visit_Await(self, node: ast.Await) -> ast.Await:
        """`await`, with a word for those who put it into a plain function."""
        scope = self.scopes.inner
        if not scope.is_async:
            self.refuse(node, messages.await_outside(scope.kind, scope.name), "syntax")
        node.value = self.visit(node.value)
        return node

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> Any:
        if self.scopes.inner.kind == "program":
            self.refuse(node, messages.YIELD_AT_TOP)
        return self.node_contents_visit(node)

    def visit_Yield(self, node: ast.Yield) -> Any:
        """`yield` inside a function."""
        return self._yield(node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> Any:
        """`yield from` inside a function."""
        return self._yield(node)

    def _plain(self, node: ast.AST) -> Any:
        return self.node_contents_visit(node)

    # Native as they are: only what stands under them matters.
    visit_BoolOp = visit_NamedExpr = visit_BinOp = visit_UnaryOp = visit_IfExp = _plain
    visit_Dict = visit_Set = visit_List = visit_Tuple = visit_Starred = visit_Slice = visit_Subscript = _plain
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension = _plain
    visit_Compare = visit_JoinedStr = visit_FormattedValue = _plain


def _first(arguments: ast.arguments) -> str | None:
    positional = arguments.posonlyargs or arguments.args
    return positional[0].arg if positional else None


def _dotted(node: ast.expr) -> str | None:
    """`a.b` as text, if the expression is nothing but names and dots."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = _dotted(node.value)
        return None if head is None else f"{head}.{node.attr}"
    return None
