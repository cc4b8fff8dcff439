"""The dialect's statements: assignments, imports, exceptions, classes, `global`, `return`, and match (in `_match`)."""

from __future__ import annotations

import ast
import builtins
from typing import Any, Final

from . import _messages as messages
from ._build import assign, at, hook, load, store
from ._direct import is_direct, is_foreign
from ._match import PatternCompiler
from ._names import mangle
from ._scope import Scope
from ._transform import ExpressionTransformer

_PLAIN_EXCEPTIONS: Final = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, Exception) and not name.startswith("_")
)
"""Built-in exceptions that do not include cancellation: a handler of these is left alone."""

_CATCH_IMPORT: Final = frozenset(["ImportError", "ModuleNotFoundError", "Exception", "BaseException"])
_CATCH_ATTRIBUTE: Final = frozenset(["AttributeError", "Exception", "BaseException"])


class Transformer(ExpressionTransformer):
    """The whole policy."""

    # ---- assignments

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """`x: T = v` is `x = v`; the annotation is dropped (a class keeps it as text, see `visit_ClassDef`)."""
        if node.value is not None:
            return self.visit(at(assign(node.target, node.value), node))
        if isinstance(node.target, ast.Name):
            self.check_name(node, node.target.id)
            return at(ast.Pass(), node)
        if isinstance(node.target, ast.Attribute):
            return self.visit(at(ast.Expr(node.target.value), node))
        return at(ast.Pass(), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Native for names and items; an attribute behind the guard is read, changed and written, each once."""
        target = node.target
        if not isinstance(target, ast.Attribute):
            return self.node_contents_visit(node)
        name = self.checked_attribute(target, target.attr, write=True)
        if is_direct(name) and not is_foreign(name) and self.is_own_object(target.value):
            target.value = self.visit(target.value)
            target.attr = name
            node.value = self.visit(node.value)
            return node
        owner, current = self.temporary(), self.temporary()
        written = ast.Attribute(hook("<write>", load(owner), ast.Constant(name)), name, ast.Store())
        steps: list[ast.stmt] = [
            assign(store(owner), self.visit(target.value)),
            assign(store(current), hook("<getattr>", load(owner), ast.Constant(name))),
            ast.AugAssign(store(current), node.op, self.visit(node.value)),
            assign(written, load(current)),
            assign(store(owner), ast.Constant(None)),
        ]
        return [at(step, node) for step in steps]

    def _plain_statement(self, node: ast.AST) -> Any:
        return self.node_contents_visit(node)

    visit_Assign = visit_Delete = visit_Expr = visit_Assert = visit_Raise = visit_While = _plain_statement
    visit_For = visit_With = visit_withitem = visit_Pass = visit_Break = visit_Continue = _plain_statement

    def visit_If(self, node: ast.If) -> Any:
        """An ordinary `if`; what stands under `if TYPE_CHECKING:` is for checkers only and never runs."""
        if _is_type_checking(node.test) and not node.orelse:
            return at(ast.Pass(), node)
        return self.node_contents_visit(node)

    def _needs_async(self, node: Any) -> Any:
        scope = self.scopes.inner
        if not scope.is_async:
            what = "async for" if isinstance(node, ast.AsyncFor) else "async with"
            self.refuse(node, messages.async_outside(what, scope.name), "syntax")
        return self.node_contents_visit(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> Any:
        """`async for`."""
        return self._needs_async(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> Any:
        """`async with`."""
        return self._needs_async(node)

    # ---- leaving

    def visit_Return(self, node: ast.Return) -> ast.Return:
        """A `return` of the program says whether there is a value; one of a function is left alone."""
        if node.value is not None:
            last = _is_last_hook(node.value)
            value: ast.expr = self.visit(node.value)
            node.value = value
            if self.scopes.inner.kind == "program" and not last:
                node.value = at(ast.Tuple([ast.Constant(True), value], ast.Load()), node)
        return node

    # ---- names of other scopes

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        """`nonlocal`."""
        for name in node.names:
            self.check_name(node, name)
        return node

    def visit_Global(self, node: ast.Global) -> Any:
        """`global`: the program declares the name as well (`_compile`), so that all of it means one variable."""
        for name in node.names:
            self.check_name(node, name)
        return at(ast.Pass(), node) if self.scopes.inner.kind == "program" else node

    # ---- imports: never a native one (IMPORT_FROM falls back to sys.modules)

    def visit_Import(self, node: ast.Import) -> Any:
        """`import a.b as c`."""
        out: list[ast.stmt] = []
        for each in node.names:
            bound = each.asname or each.name.partition(".")[0]
            self.check_name(node, bound)
            self._check_module(node, each.name)
            given = each.name if each.asname else bound
            if given != each.name:
                out.append(at(ast.Expr(hook("<import>", ast.Constant(each.name))), node))
            out.append(at(assign(store(bound), hook("<import>", ast.Constant(given))), node))
        return out

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """`from a import b as c`."""
        if node.level:
            self.refuse(node, messages.RELATIVE_IMPORT)
            return node
        module = node.module or ""
        if module == "__future__":
            return at(ast.Pass(), node)
        known = self._check_module(node, module)
        out: list[ast.stmt] = []
        for each in node.names:
            if each.name == "*":
                if known:
                    self.refuse(node, messages.star_import(module, self.modules[module]))
                continue
            self.check_name(node, each.asname or each.name)
            if known and not self._offers(module, each.name) and not self.import_guards:
                self.refuse(node, messages.module_attribute(module, each.name, self.modules[module]))
            value = hook("<from>", ast.Constant(module), ast.Constant(each.name))
            out.append(at(assign(store(each.asname or each.name), value), node))
        return out or at(ast.Pass(), node)

    def _offers(self, module: str, name: str) -> bool:
        names = self.modules[module]
        return name in names or "*" in names or f"{module}.{name}" in self.modules

    def _check_module(self, node: ast.AST, module: str) -> bool:
        if module in self.modules and (module not in ("os", "os.path") or self.os_allowed):
            return True
        if not self.import_guards:
            self.refuse(node, messages.module_refused(module, self.modules))
        return False

    # ---- exceptions

    def visit_Try(self, node: ast.Try) -> Any:
        """`try`: remembers whether a refused import or attribute inside would be caught."""
        return self._try(node, "<catch>")

    def visit_TryStar(self, node: Any) -> Any:
        """`try` with `except*`."""
        return self._try(node, "<catch-star>")

    def _try(self, node: Any, catch: str) -> Any:
        names = {name for handler in node.handlers for name in _handled(handler)}
        guards_import, guards_attribute = bool(names & _CATCH_IMPORT), bool(names & _CATCH_ATTRIBUTE)
        self.import_guards += guards_import
        self.attribute_guards += guards_attribute
        node.body = self.body(node.body, node)
        self.import_guards -= guards_import
        self.attribute_guards -= guards_attribute
        for handler in node.handlers:
            self._handler(handler, catch)
        node.orelse = self.visit_list(node.orelse)
        node.finalbody = self.visit_list(node.finalbody)
        return node

    def _handler(self, node: ast.ExceptHandler, catch: str) -> None:
        self.check_name(node, node.name)
        if node.type is None:
            node.type = at(hook(catch), node)
        else:
            plain = self._is_plain(node.type)
            kind = self.visit(node.type)
            node.type = kind if plain else at(hook(catch, kind), node)
        node.body = self.body(node.body, node)

    def _is_plain(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Tuple):
            return all(self._is_plain(each) for each in node.elts)
        return isinstance(node, ast.Name) and node.id in _PLAIN_EXCEPTIONS and node.id not in self.facts.bound

    # ---- classes

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """A class: made by `<class>`, which checks its bases and its namespace."""
        self.check_name(node, node.name)
        stand_ins = self.type_parameters(node)
        decorators = self.visit_list(node.decorator_list)
        bases, keywords = self._class_arguments(node)
        fields = [
            (mangle(each.target.id, node.name), ast.unparse(each.annotation))
            for each in node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        ]
        self.scopes.enter(Scope("class", node.name))
        body = self.body(node.body, node)
        self.scopes.leave()
        if fields:
            kept = assign(
                store("__annotations__"),
                ast.Dict([ast.Constant(name) for name, _ in fields], [ast.Constant(text) for _, text in fields]),
            )
            body.insert(int(ast.get_docstring(node, clean=False) is not None), at(kept, node))
        keywords.append(ast.keyword("metaclass", load("<class>")))
        made = ast.ClassDef(name=node.name, bases=bases, keywords=keywords, body=body, decorator_list=decorators)
        if "type_params" in ast.ClassDef._fields:
            setattr(made, "type_params", [])  # noqa: B010
        at(made, node)
        return [*stand_ins, made] if stand_ins else made

    def _class_arguments(self, node: ast.ClassDef) -> tuple[list[ast.expr], list[ast.keyword]]:
        bases: list[ast.expr] = []
        for base in node.bases:
            if isinstance(base, ast.Starred):
                self.refuse(base, messages.STARRED_BASES)
            else:
                bases.append(self.visit(base))
        keywords: list[ast.keyword] = []
        for each in node.keywords:
            if each.arg == "metaclass":
                if not _is_abc_meta(each.value):
                    self.refuse(each.value, messages.METACLASS)
                else:
                    bases.append(at(hook("<from>", ast.Constant("abc"), ast.Constant("ABC")), each.value))
            elif each.arg in ("total", "closed") and isinstance(each.value, ast.Constant):
                keywords.append(each)
            else:
                self.refuse(each.value, messages.class_keyword(each.arg))
        return bases, keywords

    # ---- match

    def visit_Match(self, node: ast.Match) -> Any:
        """`match`, turned into guarded tests: the native opcodes read attributes past every guard."""
        subject = self.temporary()
        statement = at(assign(store(subject), self.visit(node.subject)), node)
        done = at(assign(store(subject), ast.Constant(None)), node)
        rest: list[ast.stmt] = []
        for case in reversed(node.cases):
            compiler = PatternCompiler(self)
            tests = compiler.compile(case.pattern, subject)
            bindings: list[ast.stmt] = []
            if case.guard is not None:
                tests += [*compiler.bound_for_guard(case.pattern), self.visit(case.guard)]
            else:
                bindings = compiler.bindings(case.pattern)
            if not tests:
                tests.append(at(ast.Constant(True), case.pattern))
            condition = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
            body = bindings + self.body(case.body, case.pattern)
            rest = [at(ast.If(test=condition, body=body, orelse=rest), case.pattern)]
        return [statement, *rest, done]

    # ---- Python 3.12 and later

    def visit_TypeAlias(self, node: Any) -> Any:
        """`type X = ...`: never evaluated; the name is bound to a stand-in."""
        name: str = node.name.id
        self.check_name(node, name)
        return at(assign(store(name), hook("<type-stand-in>", ast.Constant(name))), node)


def _handled(handler: ast.ExceptHandler) -> set[str]:
    """The names of what a handler catches; a bare one catches BaseException."""
    if handler.type is None:
        return {"BaseException"}
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {kind.id for kind in kinds if isinstance(kind, ast.Name)}


def _is_type_checking(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "TYPE_CHECKING") or (
        isinstance(node, ast.Attribute) and node.attr == "TYPE_CHECKING"
    )


def _is_last_hook(node: ast.expr) -> bool:
    """Whether `_compile` made this `return` out of a last expression; no program can spell the hook."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "<last>"


def _is_abc_meta(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "ABCMeta") or (
        isinstance(node, ast.Attribute) and node.attr == "ABCMeta" and isinstance(node.value, ast.Name)
    )
