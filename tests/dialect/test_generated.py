"""Programs that hypothesis writes: they agree with CPython, and no mutation of one is an internal error."""

# ruff: noqa: E501
from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemode_guest.dialect import ProgramRefused, compile_program
from tests.corpus.runner import load
from tests.corpus.test_equivalence import assert_same
from tests.dialect.driver import run, run_plain
from tests.dialect.fuzz import mutate

SETTINGS = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

names = st.sampled_from(["a", "b", "items", "total", "name"])
numbers = st.integers(-50, 50).map(str) | st.sampled_from(
    ["0.5", "1e3", "True", "None", "'x'", "'ab c'", "[1, 2, 3]", "{}"]
)


def _expressions() -> st.SearchStrategy[str]:
    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        operator = st.sampled_from(["+", "-", "*", "//", "%", "/", "and", "or", "==", "<", "in", "is not", "|", "**"])
        method = st.sampled_from(
            ["upper()", "strip()", "split()", "copy()", "items()", "get('k', 0)", "count(1)", "real", "index(1)"]
        )
        return st.one_of(
            st.tuples(inner, operator, inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
            st.tuples(inner, inner).map(lambda p: f"[{p[0]}, {p[1]}]"),
            st.tuples(inner, inner).map(lambda p: f"{{'k': {p[0]}, 'j': {p[1]}}}"),
            st.tuples(inner, method).map(lambda p: f"{p[0]}.{p[1]}"),
            st.tuples(inner, inner).map(lambda p: f"({p[0]} if {p[1]} else {p[0]})"),
            st.tuples(inner, inner).map(lambda p: f"({p[0]})[{p[1]}]"),
            inner.map(lambda p: f"[x for x in {p} if x]"),
            inner.map(lambda p: f'f"{{{p}!r:>8}}"'.replace("'", '"') if '"' not in p and "'" not in p else f"str({p})"),
            inner.map(lambda p: f"len({p})"),
            inner.map(lambda p: f"(lambda v: v)({p})"),
            st.tuples(names, inner).map(lambda p: f"({p[0]} := {p[1]})"),
        )

    return st.recursive(numbers | names, grow, max_leaves=6)


def _statements() -> st.SearchStrategy[str]:
    expression = _expressions()
    line = st.one_of(
        st.tuples(names, expression).map(lambda p: f"{p[0]} = {p[1]}"),
        st.tuples(names, st.sampled_from(["+=", "-=", "*=", "//="]), expression).map(" ".join),
        st.tuples(names, names, expression).map(lambda p: f"{p[0]}, {p[1]} = {p[2]}, {p[2]}"),
        st.tuples(names, expression, expression).map(lambda p: f"{p[0]}[{p[1]}] = {p[2]}"),
        st.tuples(names, expression, expression).map(lambda p: f"{p[0]}[{p[1]}] += {p[2]}"),
        expression.map(lambda e: f"print({e})"),
        st.tuples(names, expression).map(lambda p: f"box.{p[0]} = {p[1]}"),
        st.tuples(names, expression).map(lambda p: f"box.{p[0]} += {p[1]}"),
        names.map(lambda n: f"del {n}"),
    )

    def block(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        body = st.lists(inner, min_size=1, max_size=3).map(lambda ls: "\n".join(ls).replace("\n", "\n    "))
        return st.one_of(
            st.tuples(expression, body, body).map(lambda p: f"if {p[0]}:\n    {p[1]}\nelse:\n    {p[2]}"),
            st.tuples(names, expression, body).map(lambda p: f"for {p[0]} in {p[1]}:\n    {p[2]}"),
            st.tuples(body, body).map(
                lambda p: (
                    f"try:\n    {p[0]}\nexcept (TypeError, KeyError) as e:\n    print(type(e).__name__)\nelse:\n    {p[1]}"
                )
            ),
            st.tuples(body, body).map(lambda p: f"try:\n    {p[0]}\nexcept:\n    print('any')\nfinally:\n    {p[1]}"),
            st.tuples(names, body, expression).map(lambda p: f"def {p[0]}(a=1, *b):\n    {p[1]}\n    return {p[2]}"),
            st.tuples(expression, names, body, body).map(
                lambda p: (
                    f"match {p[0]}:\n    case [{p[1]}, *_] | {{'k': {p[1]}}}:\n        "
                    + p[2].replace("\n", "\n    ")
                    + "\n    case int() | str() | None:\n        "
                    + p[3].replace("\n", "\n    ")
                    + "\n    case _:\n        pass"
                )
            ),
        )

    return st.recursive(line, block, max_leaves=8)


programs = st.tuples(st.lists(_statements(), min_size=1, max_size=6), _expressions()).map(
    lambda p: (
        "class Box: pass\nbox = Box()\na, b, items, total, name = 1, 'b', [1, 2], 0.5, {'k': 1}\n"
        + "\n".join(p[0])
        + f"\nreturn [{p[1]}, a, b, items, total, name, vars(box)]"
    )
)


def _compiles(source: str) -> bool:
    try:
        compile(f"async def main():\n    {source}".replace("\n", "\n    "), "<x>", "exec")
    except (SyntaxError, MemoryError):
        return False
    return True


@SETTINGS
@given(programs)
def test_a_generated_program_does_what_it_does_in_cpython(source: str) -> None:
    if not _compiles(source) or " ** " in source or " at 0x" in source:
        return
    plain = run_plain(source)
    if " at 0x" in repr(plain.value) or " at 0x" in plain.text or "main" in repr(plain.value):
        return
    assert_same(run(source), plain)


@SETTINGS
@given(st.integers(0, 10**9))
def test_a_mutated_program_compiles_or_is_refused(seed: int) -> None:
    chosen = random.Random(seed)
    source = mutate(chosen.choice(load())[1], chosen)
    try:
        compile_program(source)
    except ProgramRefused as error:
        for each in error.refusals:
            assert 1 <= each.line <= source.count("\n") + 2
            assert each.message
            assert "could not be checked" not in each.message, source
