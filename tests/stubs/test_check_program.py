"""`check_program`: the dialect's refusals and the types' findings together, from anywhere, without running anything."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from codemode import CodeModeError, ProcessRuntime, Registry
from codemode._check import Diagnostic, check_in, check_program
from codemode_stubs import TypeChecker
from tests.corpus.runner import load

from .support import servers, tool


@dataclass
class Hit:
    id: int
    title: str


def _registry() -> Registry:
    registry = Registry()

    @registry.tool
    async def search(query: str, limit: int = 10) -> list[Hit]:
        """Search the index."""
        return []

    @registry.tool(namespace="github")
    def create_issue(owner: str, title: str, labels: list[str] | None = None) -> Hit:
        """Open an issue."""
        return Hit(1, title)

    return registry


def codes(diagnostics: list[Diagnostic]) -> list[tuple[int, int, str]]:
    return [(one.line, one.column, one.code) for one in diagnostics]


def test_a_right_program_has_nothing_against_it() -> None:
    program = 'hits = await tools.search("x")\nreturn [h["title"] for h in hits]\n'
    assert check_program(program, _registry()) == []


def test_a_fences_lines_are_not_counted() -> None:
    assert codes(check_program("```python\nawait tools.serch()\n```\n", _registry())) == [(1, 7, "unknown-tool")]


def test_an_error_of_syntax_is_told_alone() -> None:
    found = check_program("await tools.serch()\nif x\n    pass\n", _registry())
    assert [(one.line, one.code) for one in found] == [(2, "syntax")]


def test_refusals_and_types_are_told_in_the_order_of_the_text() -> None:
    found = check_program('await tools.search(1)\nx = eval("1")\nawait tools.serch()\n', _registry())
    assert [(one.line, one.code) for one in found] == [(1, "wrong-argument"), (2, "refused"), (3, "unknown-tool")]


def test_the_scopes_view_is_what_counts() -> None:
    registry = _registry()
    scope = registry.scope("other")
    scope.restrict(deny=["search"])
    assert check_program('await tools.search("x")', registry) == []
    assert codes(check_program('await tools.search("x")', registry, scope)) == [(1, 7, "unknown-tool")]


def test_without_tools_the_dialect_alone_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ty", None)
    assert check_program("return nowhere", Registry()) == []
    assert {one.code for one in check_program("import os\nos.system('x')", Registry())} == {"refused"}


def test_without_ty_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ty", None)
    monkeypatch.setattr("codemode_stubs._checker._shared", TypeChecker())
    with pytest.raises(CodeModeError, match=r"codemode-runtime\[check\]"):
        check_program("pass", _registry())


def test_nothing_is_run() -> None:
    registry = Registry()
    calls: list[str] = []

    @registry.tool
    def touch(name: str) -> str:
        calls.append(name)
        return name

    assert check_program('await tools.touch("a")\nprint("x")', registry) == []
    assert calls == []


async def test_it_works_inside_a_running_event_loop() -> None:
    assert codes(check_program("await tools.serch()", _registry())) == [(1, 7, "unknown-tool")]


@pytest.fixture
async def runtime() -> AsyncIterator[ProcessRuntime]:
    async with ProcessRuntime(warm=1) as one:
        yield one


async def test_a_given_runtime_is_used(runtime: ProcessRuntime) -> None:
    found = await check_in(runtime, "x = eval('1')\nawait tools.serch()", _registry().tools())
    assert [(one.line, one.code) for one in found] == [(1, "refused"), (2, "unknown-tool")]


def test_the_ordinary_programs_of_the_corpus_raise_no_false_alarm() -> None:
    from codemode_guest.dialect import MODULES

    text, anything = {"type": "string"}, dict[str, object]()
    tools = [
        tool("get_user", {"user_id": {"type": "integer"}}, required=["user_id"]),
        tool("list_items"),
        tool("echo", {"value": anything}, required=["value"]),
        tool("fail", {"message": text}),
        tool("page", {"cursor": {"type": ["string", "integer", "null"]}}),
        tool("search", {"query": text}, required=["query"]),
    ]
    checker = TypeChecker()
    alarms: list[str] = []
    try:
        for title, program in load():
            found = checker.check(program, tools, modules=MODULES)
            alarms += [f"{title}:{one.line}: {one.message}" for one in found if one.code not in ("missing-await",)]
    finally:
        checker.close()
    meant = [alarm for alarm in alarms if "is not defined" in alarm]  # programs about NameError
    assert [alarm for alarm in alarms if alarm not in meant] == []
    assert len(meant) <= 6, meant


def test_fifty_lines_and_a_hundred_tools_are_checked_in_time() -> None:
    tools = servers()[0].tools[:100]
    line = 'a = await tools.actions_get(method="get_workflow", owner="o", repo="r", resource_id="x")\n'
    cold: list[float] = []
    for _ in range(3):
        before = _computed()
        checker = TypeChecker()
        assert checker.check(line * 50, tools) == []
        checker.close()
        cold.append(_computed() - before)
    assert min(cold) < 0.150
    checker = TypeChecker()
    warm: list[float] = []
    try:
        for number in range(30):
            started = time.perf_counter()
            assert checker.check(line * 50 + f"x = {number}", tools) == []
            warm.append(time.perf_counter() - started)
    finally:
        checker.close()
    assert min(warm) < 0.030


def _computed() -> float:
    """Processor seconds of this process and its ended children: what a busy machine does not change."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime
