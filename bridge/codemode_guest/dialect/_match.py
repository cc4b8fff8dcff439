"""`match` without CPython's pattern opcodes: a pattern becomes a row of tests, tried from left to right.

The native class pattern reads attributes unguarded (the real `str.format`, say), so none of it is left.  Captures are
kept in temporaries while the pattern is tried and bound only when all of it has matched, as CPython does.  What looks
at the subject (lengths, keys, attributes) is in `_match_tests`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from . import _messages as messages
from ._build import assign, at, hook, load, store, truth
from ._names import FRAME_NAMES, is_dunder, words

_SELF_MATCHING = words("bool bytearray bytes dict float frozenset int list set str tuple")

if TYPE_CHECKING:
    from ._transform import ExpressionTransformer


class PatternCompiler:
    """Compiles the pattern of one `case`."""

    def __init__(self, transformer: ExpressionTransformer) -> None:
        self._transformer = transformer
        self._captured: dict[str, str] = {}

    def compile(self, pattern: ast.pattern, subject: str) -> list[ast.expr]:
        """Return the tests for a pattern against the subject in the variable `subject`."""
        return self._tests(pattern, load(subject))

    def bound_for_guard(self, pattern: ast.pattern) -> list[ast.expr]:
        """Tests, always true, that bind the captures before a guard looks at them."""
        return [
            at(ast.Tuple([ast.NamedExpr(store(name), load(kept))], ast.Load()), pattern)
            for name, kept in self._captured.items()
        ]

    def bindings(self, pattern: ast.pattern) -> list[ast.stmt]:
        """Statements that bind the captures, for a case without a guard."""
        return [at(assign(store(name), load(kept)), pattern) for name, kept in self._captured.items()]

    def _tests(self, pattern: ast.pattern, subject: ast.expr) -> list[ast.expr]:
        tests = self._raw(pattern, subject)
        for test in tests:
            at(test, pattern)
        return tests

    def _raw(self, pattern: ast.pattern, subject: ast.expr) -> list[ast.expr]:
        if isinstance(pattern, ast.MatchValue):
            return [ast.Compare(subject, [ast.Eq()], [self._transformer.visit(pattern.value)])]
        if isinstance(pattern, ast.MatchSingleton):
            return [ast.Compare(subject, [ast.Is()], [ast.Constant(pattern.value)])]
        if isinstance(pattern, ast.MatchAs):
            return self._alias(pattern, subject)
        if isinstance(pattern, ast.MatchOr):
            return [ast.BoolOp(ast.Or(), [truth(self._tests(each, subject)) for each in pattern.patterns])]
        if isinstance(pattern, ast.MatchSequence):
            return self._sequence(pattern, subject)
        if isinstance(pattern, ast.MatchMapping):
            return self._mapping(pattern, subject)
        if isinstance(pattern, ast.MatchClass):
            return self._class(pattern, subject)
        self._transformer.not_allowed(pattern)
        return [ast.Constant(False)]

    def _capture(self, node: ast.pattern, name: str, value: ast.expr) -> ast.expr:
        """Keep a value for a name; true whatever the value is."""
        self._transformer.check_name(node, name)
        kept = self._captured.get(name)
        if kept is None:
            kept = self._captured[name] = self._transformer.temporary()
        return at(ast.Tuple([ast.NamedExpr(store(kept), value)], ast.Load()), node)

    def _alias(self, pattern: ast.MatchAs, subject: ast.expr) -> list[ast.expr]:
        if pattern.pattern is None:
            return [] if pattern.name is None else [self._capture(pattern, pattern.name, subject)]
        tests = self._tests(pattern.pattern, subject)
        return [*tests, self._capture(pattern, pattern.name, subject)] if pattern.name else tests

    def _looked(self, test: ast.expr) -> tuple[ast.expr, str]:
        """Keep what a test found; it found None when it failed."""
        found = self._transformer.temporary()
        return ast.Compare(ast.NamedExpr(store(found), test), [ast.IsNot()], [ast.Constant(None)]), found

    def _parts(self, found: str, patterns: list[tuple[int, ast.pattern]]) -> list[ast.expr]:
        tests: list[ast.expr] = []
        for index, pattern in patterns:
            tests += self._tests(pattern, at(ast.Subscript(load(found), ast.Constant(index), ast.Load()), pattern))
        return tests

    def _sequence(self, pattern: ast.MatchSequence, subject: ast.expr) -> list[ast.expr]:
        parts = pattern.patterns
        star = next((index for index, each in enumerate(parts) if isinstance(each, ast.MatchStar)), None)
        wanted = [not (isinstance(each, ast.MatchStar) and each.name is None) for each in parts]
        test, found = self._looked(
            hook(
                "<match-sequence>",
                subject,
                ast.Constant(len(parts)),
                ast.Constant(star),
                ast.Constant(star is not None and not wanted[star]),
            )
        )
        inner: list[tuple[int, ast.pattern]] = []
        for index, each in enumerate(parts):
            if isinstance(each, ast.MatchStar):
                if each.name is not None:
                    inner.append((index, at(ast.MatchAs(None, each.name), each)))
            else:
                inner.append((index, each))
        return [test, *self._parts(found, inner)]

    def _is_plain_type(self, pattern: ast.MatchClass) -> bool:
        """`int(n)`, `str()`: a built-in class that matches itself, with nothing to look up."""
        return (
            isinstance(pattern.cls, ast.Name)
            and pattern.cls.id in _SELF_MATCHING
            and pattern.cls.id not in self._transformer.facts.bound
            and len(pattern.patterns) < 2
            and not pattern.kwd_attrs
        )

    def _mapping(self, pattern: ast.MatchMapping, subject: ast.expr) -> list[ast.expr]:
        literal = [key.value for key in pattern.keys if isinstance(key, ast.Constant)]
        for index, key in enumerate(literal):
            if key in literal[:index]:
                self._transformer.refuse(pattern, f"mapping pattern checks duplicate key ({key!r})", "syntax")
        keys = ast.Tuple([self._transformer.visit(key) for key in pattern.keys], ast.Load())
        test, found = self._looked(
            hook(
                "<match-mapping>",
                subject,
                keys,
                ast.Constant(pattern.rest is not None),
                ast.Constant(len(literal) == len(pattern.keys)),
            )
        )
        inner = list(enumerate(pattern.patterns))
        if pattern.rest is not None:
            inner.append((len(inner), at(ast.MatchAs(None, pattern.rest), pattern)))
        return [test, *self._parts(found, inner)]

    def _class(self, pattern: ast.MatchClass, subject: ast.expr) -> list[ast.expr]:
        if self._is_plain_type(pattern):
            plain = hook("<isinstance>", subject, pattern.cls)
            return [plain, *(each for part in pattern.patterns for each in self._tests(part, subject))]
        for name in pattern.kwd_attrs:
            if is_dunder(name) or name in FRAME_NAMES:
                self._transformer.refuse(pattern, messages.pattern_attribute(name))
        test, found = self._looked(
            hook(
                "<match-class>",
                subject,
                self._transformer.visit(pattern.cls),
                ast.Constant(len(pattern.patterns)),
                ast.Tuple([ast.Constant(name) for name in pattern.kwd_attrs], ast.Load()),
            )
        )
        return [test, *self._parts(found, list(enumerate([*pattern.patterns, *pattern.kwd_patterns])))]
