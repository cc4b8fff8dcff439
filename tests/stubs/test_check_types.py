"""What ty finds in a program, in the program's own lines and words; and what is no mistake."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from codemode_stubs import CheckUnavailableError, TypeChecker
from codemode_stubs import _ty_server as ty_server

from .support import FakeTool, tool

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
HIT = {
    "type": "object",
    "properties": {"id": INTEGER, "title": STRING, "score": {"type": "number"}},
    "required": ["id", "title"],
    "additionalProperties": False,
}
TOOLS = [
    tool("search", {"query": STRING, "limit": INTEGER}, required=["query"], output={"type": "array", "items": HIT}),
    tool("get-weather", {"city": STRING}, required=["city"], output=STRING),
    tool("2fa", output=STRING),
    tool("count", output=INTEGER),
    tool("fetch", {"url": STRING, "from": STRING}, required=["url"], output=STRING),
    tool("save", {"hits": {"type": "array", "items": HIT}, "tags": {"type": "array", "items": STRING}, "at": STRING}),
    tool("weigh", {"xs": {"type": "array", "items": {"type": "number"}}, "by": {"type": "object"}}),
    FakeTool("free", {"type": "object"}),
    tool("put", {"hit": HIT, "note": STRING}, required=["hit"]),
    tool("create_issue", {"owner": STRING, "title": STRING}, required=["owner", "title"], namespace="github"),
    tool("config", output={**HIT, "additionalProperties": True}),
]  # fmt: skip


@pytest.fixture(scope="module")
def checker() -> Iterator[TypeChecker]:
    one = TypeChecker()
    yield one
    one.close()


def found(checker: TypeChecker, program: str) -> list[tuple[int, int, str]]:
    diagnostics = checker.check(program, TOOLS, modules=("json", "asyncio"))
    return [(one.line, one.column, one.code) for one in diagnostics]


@pytest.mark.parametrize(
    ("program", "expected", "words"),
    [
        ('await tools.serch(query="x")', (1, 7, "unknown-tool"), "did you mean tools.search"),
        ('x = 1\nawait tools.github.create_isue(owner="x")', (2, 7, "unknown-tool"), "tools.github.create_issue"),
        ('await tools["nope"]()', (1, 7, "unknown-tool"), 'tools["nope"]'),
        ("await tools.search()", (1, 7, "missing-argument"), "search(query: str, limit: int = ...) -> list[dict]"),
        ('await tools.github.create_issue(owner="x")', (1, 7, "missing-argument"), "`title`"),
        ('await tools.search("x", lmit=3)', (1, 25, "surplus-argument"), "`lmit`"),
        ('await tools.search("x", 1, 2)', (1, 28, "surplus-argument"), "expected 2, got 3"),
        ('await tools.put({"hit": {"id": 1, "titel": "x", "title": "y"}})', (1, 35, "surplus-argument"), '"titel"'),
        ('await tools.put(\n  {"hit": {"id": 1}}\n)', (2, 11, "missing-argument"), "'title'"),
        ("await tools.search(query=1)", (1, 20, "wrong-argument"), "Expected `str`"),
        ('await tools.search({"limit": 1})', (1, 20, "missing-argument"), "'query'"),
        ('await tools.search({"query": 1})', (1, 30, "wrong-argument"), "`tools.search`"),
        ('await tools.search({"query": "x", "lmit": 1})', (1, 35, "surplus-argument"), 'did you mean "limit"'),
        ('await tools["get-weather"](city=3)', (1, 28, "wrong-argument"), 'tools["get-weather"]'),
        ('await tools.fetch({"from": "y"})', (1, 19, "missing-argument"), "'url'"),
        ('await tools.save(tags="bug")', (1, 18, "wrong-argument"), "list[str]"),
        ("xs = [1]\nawait tools.save(tags=xs)", (2, 18, "wrong-argument"), "list[str]"),
        ('await tools.save({"hits": [{"id": 1}]})', (1, 28, "missing-argument"), "'title'"),
        ('hits = await tools.search("x")\nhits[0].title', (2, 1, "wrong-use"), 'it is a dict: use ["title"]'),
        ('hits = await tools.search("x")\nhits[0]["titel"]', (2, 9, "wrong-use"), 'did you mean "title"'),
        ('hits = await tools.search("x")\nhits["title"]', (2, 1, "wrong-use"), "list[PutHit]"),
        ('hits = await tools.search("x")\nreturn hits[0]["id"] + "x"', (2, 8, "wrong-use"), "`int`"),
        ('hits = await tools.search("x")\nreturn hits.title', (2, 8, "wrong-use"), "list[PutHit]"),
        ('return "n: " + await tools.count()', (1, 8, "wrong-use"), "`int`"),
        ('c = await tools.config()\nreturn len(c["id"])', (2, 12, "wrong-use"), "`int`"),
        ('n = await tools.count()\nreturn n + "x"', (2, 8, "wrong-use"), "`+`"),
        ("for x in await tools.count(): pass", (1, 10, "wrong-use"), "iterable"),
        ('x = tools.search("x")\nreturn [h["id"] for h in x]', (2, 26, "missing-await"), "`await`"),
        ('tools.search("x")', (1, 1, "missing-await"), "never awaited"),
        ('return tools.search("x")', (1, 8, "missing-await"), "`await`"),
        ('print(tools.search("x"))', (1, 7, "missing-await"), "`await`"),
        ('return tools.search("x")[0]', (1, 8, "missing-await"), "`await`"),
        ("return nowhere", (1, 8, "unknown-name"), "`nowhere`"),
        ('s = """\n  a\n"""\nawait tools.serch()', (4, 7, "unknown-tool"), "serch"),
        ("if True:\n\tawait tools.serch()", (2, 8, "unknown-tool"), "serch"),
        ('é = "é"; await tools.serch()', (1, 16, "unknown-tool"), "serch"),
        ('"😀"; await tools.serch()', (1, 12, "unknown-tool"), "serch"),
    ],
)  # fmt: skip
def test_a_mistake_is_found_at_its_place(
    checker: TypeChecker, program: str, expected: tuple[int, int, str], words: str
) -> None:
    (diagnostic,) = checker.check(program, TOOLS)
    assert (diagnostic.line, diagnostic.column, diagnostic.code) == expected
    assert words in diagnostic.message


@pytest.mark.parametrize(
    "program",
    [
        'await tools.search("x", 3)',
        'await tools.search({"query": "x"})',
        'await tools.search(query="x", limit=3)',
        'd = {"query": "x"}\nawait tools.search(d)\nawait tools.search({**d})\nawait tools.search(**d)',
        'await tools["search"](query="x")\nawait tools["search"]({"query": "x"})',
        'await tools["2fa"]()\nawait tools["2fa"]({})',
        'await tools.fetch({"url": "x", "from": "y"})\nawait tools.fetch("x", "y")\nawait tools.fetch(url="x")',
        'await tools.fetch(**{"url": "x", "from": "y"})',
        'await tools.put({"hit": {"id": 1, "title": "x"}})\nawait tools.put(hit={"id": 1, "title": "x"})',
        'await tools.put({"id": 1, "title": "x"})\nh = {"id": 1, "title": "x"}\nawait tools.put(h)',
        'await tools.free(a=1)\nawait tools.free({"a": [1, None]})\nawait tools.free()',
        'await tools.github["create_issue"](owner="a", title="b")\nawait tools["github.create_issue"]("a", "b")',
        'await tools["github"].create_issue(owner="a", title="b")',
        'for name in ["count", "2fa"]:\n    await tools[name]()',
        'name = "".join(["co", "unt"])\nawait tools[name]()\nawait getattr(tools, name)()',
        'assert "search" in tools\nassert hasattr(tools, "search")\ndir(tools)',
        'hits = await tools.search("x")\nawait tools.save(hits=hits, tags=[h["title"] for h in hits])',
        'rows = [{"id": 1, "title": "x"}]\nawait tools.save(hits=rows)',
        'await tools.save(tags=("a", "b"))\nawait tools.save(tags={"a"})\nawait tools.save(tags=dict(a=1).keys())',
        'import datetime\nawait tools.save(at=datetime.date(2024, 1, 1))',
        'xs = [1, 2]\nawait tools.weigh(xs=xs)\nawait tools.weigh(by={"a": xs})',
        'by = {"a": 1}\nby |= {"b": 2.5}\nawait tools.weigh(by=by)',
        'hit = (await tools.search("x"))[0]\nawait tools.weigh(by=hit)\nreturn sum(v for v in hit.values() if v)',
        'c = await tools.config()\nreturn c["undeclared"]',
        'import asyncio\nreturn await asyncio.gather(tools.count(), *[tools.search(q) for q in "ab"])',
        'import asyncio\nreturn await asyncio.wait_for(tools.count(), 1)',
        'import asyncio\nt = asyncio.create_task(tools.count())\nreturn await t',
        'async def both(f):\n    return await f(), await f()\nreturn await both(tools.count)',
        'try:\n    await tools.count()\nexcept ToolCallError as e:\n    return e.tool_name + e.message + e.name',
        'total = 0\ndef add(n):\n    global total\n    total += n\nadd(1)\nreturn total',
        'n = 0\ndef up():\n    nonlocal n\n    n += 1\nup()\nreturn n',
        'return json.dumps({"a": await tools.count()})',
        'x: int = "a"\nclass A:\n    def f(self) -> str: return 1\nreturn x',
        'import re\nreturn re.match("a", "b").group(0)',
        'return max([1, 2], key=lambda n: -n)',
        'class A: pass\na = A()\na.x = 1\nreturn [a.x, len(5), 1 + "a", A.nope]',
        'x: Undefined = 1\ndef f(a: Nope, *, b: list[Nope] = []) -> Nope: return a\nreturn f(x)',
        'hits = await tools.search("x")\nhits[0]["title"] += "!"\nhits.append({"id": 1, "title": "y"})',
        'n = await tools.count()\nxs = [1.5]\nxs.append(n)\nxs[n] = n / 2\nreturn [f"{n:04d}", range(n), n * "a", -n]',
        'w = (await tools.search("x"))[0]["score"]\nreturn [range(w), round(w, 1), w > 0.5, [0][w]]',
        "",
        "# nothing",
        "    # indented\n    x = 1\n    return x",
    ],
)  # fmt: skip
def test_what_runs_is_no_mistake(checker: TypeChecker, program: str) -> None:
    assert found(checker, program) == []


def test_the_lines_are_those_of_the_program_whatever_stands_around_it(checker: TypeChecker) -> None:
    program = "\n".join(["x = 1"] * 40 + ["await tools.serch()"] + ["x = 2"] * 40)
    assert found(checker, program) == [(41, 7, "unknown-tool")]


def test_text_that_is_no_python_is_not_judged_here(checker: TypeChecker) -> None:
    assert [code for _, _, code in found(checker, "if (\n  )) 3 = = \x00\ud800")] == []


def test_a_hundred_findings_are_enough(checker: TypeChecker) -> None:
    assert len(checker.check("tools.nope\n" * 300, TOOLS)) == 100


def test_threads_share_one_checker(checker: TypeChecker) -> None:
    results: dict[int, int] = {}

    def check(number: int) -> None:
        results[number] = checker.check("\n" * number + "await tools.serch()", TOOLS)[0].line

    threads = [threading.Thread(target=check, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == {number: number + 1 for number in range(8)}


def test_a_server_that_died_is_replaced() -> None:
    checker = TypeChecker()
    try:
        assert found(checker, "await tools.serch()")
        server = checker._server
        assert server is not None
        server._process.kill()
        server._process.wait()
        assert found(checker, "await tools.serch()")
        assert checker._server is not server
    finally:
        checker.close()


def test_a_folder_that_was_swept_away_is_made_again() -> None:
    checker = TypeChecker()
    try:
        assert found(checker, "await tools.serch()")
        assert checker._folder is not None
        shutil.rmtree(checker._folder)
        assert found(checker, "await tools.serch()")
    finally:
        checker.close()


def test_many_sets_of_tools_do_not_fill_one_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codemode_stubs._checker.MAX_STUBS", 2)
    checker = TypeChecker()
    try:
        for number in range(5):
            (one,) = checker.check("await tools.a()", [tool(f"b{number}")])
            assert one.code == "unknown-tool"
        assert len(checker._written) <= 2
    finally:
        checker.close()


def test_closing_ends_the_process_and_removes_its_folder() -> None:
    checker = TypeChecker()
    found(checker, "pass")
    server, folder = checker._server, checker._folder
    assert server is not None
    assert folder is not None
    assert Path(folder).is_dir()
    checker.close()
    assert server._process.returncode is not None
    assert not Path(folder).exists()
    checker.close()


def test_without_ty_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ty", None)
    with pytest.raises(CheckUnavailableError, match=r"codemode-runtime\[check\]"):
        ty_server.find_ty()


def test_a_server_that_does_not_answer_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    silent = tmp_path / "silent"
    silent.write_text(f"#!{sys.executable}\nimport sys\nsys.stdin.read()\n")
    silent.chmod(0o755)
    monkeypatch.setattr(ty_server, "find_ty", lambda: str(silent))
    monkeypatch.setattr(ty_server, "ANSWER_SECONDS", 0.3)
    with pytest.raises(CheckUnavailableError, match="did not answer"):
        ty_server.TyServer(str(tmp_path))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for the process in /proc")
@pytest.mark.parametrize("ending", ["pass", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"])
def test_the_server_never_outlives_its_host(ending: str) -> None:
    script = (
        "from codemode_stubs import shared_checker\n"
        "checker = shared_checker()\nchecker.warm_up()\n"
        f"print(checker._server._process.pid, checker._folder, flush=True)\n{ending}\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    pid, folder = done.stdout.split()
    deadline = threading.Event()
    for _ in range(100):
        if not _runs(int(pid)):
            break
        deadline.wait(0.05)
    assert not _runs(int(pid))
    if ending == "pass":
        assert not os.path.exists(folder)
    shutil.rmtree(folder, ignore_errors=True)


def test_the_folder_of_a_killed_process_is_swept_after_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old, new, other = (tmp_path / name for name in ("codemode-check-old", "codemode-check-new", "else"))
    for place in (old, new, other):
        place.mkdir()
    for place in (old, other):
        os.utime(place, (0, 0))
    checker = TypeChecker()
    try:
        assert found(checker, "pass") == []
        assert [place.exists() for place in (old, new, other)] == [False, True, True]
    finally:
        checker.close()


def _runs(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
