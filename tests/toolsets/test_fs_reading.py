"""list, glob, read and grep: what they give, in which order, and that no cap is silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemode.toolsets import _fs, _grep, _search, _writing, fs_tools
from codemode_registry import CodeModeError, Registry

from .calling import Tools


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "readme.md").write_text("# Title\n\nTODO: write more\n")
    (tmp_path / "src" / "a.py").write_text("import os\n# TODO first\nx = 1\n# todo second\n")
    (tmp_path / "src" / "deep" / "b.py").write_text("y = 2  # TODO third\r\nz = 3\r\n")
    (tmp_path / "src" / "data.bin").write_bytes(b"TODO\0\xff\xfe" * 10)
    (tmp_path / ".hidden" / "c.py").write_text("# TODO hidden\n")
    return tmp_path


@pytest.fixture
def tools(tree: Path) -> Tools:
    return Tools(fs_tools(tree))


async def test_list_shows_every_entry_by_name_with_kind_and_size(tree: Path, tools: Tools) -> None:
    (tree / "link").symlink_to("readme.md")
    entries = await tools("list")
    assert [(e["name"], e["kind"]) for e in entries] == [
        (".hidden", "dir"),
        ("link", "link"),
        ("readme.md", "file"),
        ("src", "dir"),
    ]
    assert entries[2]["size"] == 26
    assert [e["path"] for e in await tools("list", path="src/deep/..")] == ["src/a.py", "src/data.bin", "src/deep"]


async def test_read_gives_the_text_exactly_or_a_window_of_lines(tools: Tools) -> None:
    assert await tools("read", path="src/deep/b.py") == "y = 2  # TODO third\r\nz = 3\r\n"
    assert await tools("read", path="src/a.py", offset=2, limit=2) == "# TODO first\nx = 1\n"
    assert await tools("read", path="src/a.py", offset=4) == "# todo second\n"
    assert await tools("read", path="src/a.py", offset=9) == ""


async def test_a_line_ends_at_a_newline_and_nothing_else(tree: Path, tools: Tools) -> None:
    (tree / "odd.txt").write_bytes("one\x0cstill\u2028one\r\ntwo\rtwo\n".encode())
    assert await tools("read", path="odd.txt", offset=2) == "two\rtwo\n"


async def test_what_is_not_text_or_not_there_is_refused_with_words(tree: Path, tools: Tools) -> None:
    (tree / "latin.txt").write_bytes(b"caf\xe9")
    assert "not text" in await tools.refusal("read", path="src/data.bin")
    assert "not text" in await tools.refusal("read", path="latin.txt")
    assert 'did you mean "readme.md"' in await tools.refusal("read", path="readme.me")
    assert "is a directory" in await tools.refusal("read", path="src")
    assert "not a directory" in await tools.refusal("list", path="readme.md")
    assert "not found" in await tools.refusal("list", path="nowhere/at/all")


async def test_glob_knows_stars_braces_sets_and_directories(tree: Path, tools: Tools) -> None:
    assert await tools("glob", pattern="**/*.py") == ["src/a.py", "src/deep/b.py"]
    assert await tools("glob", pattern="**/*.py", hidden=True) == [".hidden/c.py", "src/a.py", "src/deep/b.py"]
    assert await tools("glob", pattern=".hidden/*.py") == [".hidden/c.py"]
    assert await tools("glob", pattern="src/*.{py,bin}") == ["src/a.py", "src/data.bin"]
    assert await tools("glob", pattern="*.py", path="src") == ["src/a.py"]
    assert await tools("glob", pattern="src/[!x].py") == ["src/a.py"]
    assert await tools("glob", pattern="src/?.py") == ["src/a.py"]
    assert await tools("glob", pattern="**") == ["readme.md", "src/a.py", "src/data.bin", "src/deep/b.py"]
    assert await tools("glob", pattern="nowhere/**/*.py") == []
    assert await tools("glob", pattern="src/a.py") == ["src/a.py"]


@pytest.mark.parametrize("pattern", ["", "/etc/*", "../*", "a/../../b", ".", "{a,b"])
async def test_a_glob_that_means_nothing_below_the_directory_is_refused(tools: Tools, pattern: str) -> None:
    await tools.refusal("glob", pattern=pattern)


async def test_names_with_glob_characters_and_backslashes_are_matched_literally(tree: Path, tools: Tools) -> None:
    (tree / "a[1].txt").write_text("x")
    (tree / "back\\slash.txt").write_text("x")
    (tree / "new\nline.txt").write_text("x")
    assert await tools("glob", pattern="*.txt") == ["a[1].txt", "back\\slash.txt", "new\nline.txt"]
    assert await tools("glob", pattern="back\\*.txt") == ["back\\slash.txt"]
    assert await tools("glob", pattern="a[[]1].txt") == ["a[1].txt"]


async def test_grep_finds_lines_with_path_and_number(tools: Tools) -> None:
    found = await tools("grep", pattern="TODO")
    assert [(m["path"], m["line"], m["text"]) for m in found] == [
        ("readme.md", 3, "TODO: write more"),
        ("src/a.py", 2, "# TODO first"),
        ("src/deep/b.py", 1, "y = 2  # TODO third"),
    ]
    assert len(await tools("grep", pattern="todo", ignore_case=True)) == 4
    assert len(await tools("grep", pattern="TODO", glob="**/*.py")) == 2
    assert len(await tools("grep", pattern="TODO", path="src/a.py")) == 1
    assert len(await tools("grep", pattern="TODO", limit=1)) == 1
    assert len(await tools("grep", pattern="TODO", hidden=True)) == 4
    assert await tools("grep", pattern="third$", path="src") != []


async def test_grep_takes_plain_text_literally_and_refuses_what_does_not_compile(tree: Path, tools: Tools) -> None:
    (tree / "c.txt").write_text("a.b(c)\nabbc\n")
    assert [m["line"] for m in await tools("grep", pattern="a.b(c)", literal=True)] == [1]
    assert "does not compile" in await tools.refusal("grep", pattern="(")
    assert "look-around" in await tools.refusal("grep", pattern="(?=x)y")
    assert "empty" in await tools.refusal("grep", pattern="")


async def test_a_plain_text_may_have_any_character(tree: Path, tools: Tools) -> None:
    (tree / "odd.txt").write_text("one two\ta-b & c # d ~ [e] {f} <g> \\ / é ^$|?*+.\n")
    for text in ("one two", "two\ta-b", "& c # d ~", "[e] {f} <g>", "\\ / é", "^$|?*+."):
        assert len(await tools("grep", pattern=text, path="odd.txt", literal=True)) == 1, text
        assert len(await tools("grep", pattern=text, path="odd.txt", literal=True, ignore_case=True)) == 1, text


PATTERNS = [
    "^a",
    "a$",
    "^a$",
    r"\Aa",
    r"a\z",
    "^$",
    "(?-u:a)",
    "(?i)A",
    "[^b]",
    "b.a",
    r"\s",
    r"a\b",
    "a|c$",
    ".",
    "x*",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("text", ["a\nb\na", "a\r\nba\r\n", "b\n\na\n", "bra\rb\nc", "b", "", "\n", "ba\n a"])
async def test_large_and_small_files_have_the_same_lines(
    tmp_path: Path, pattern: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.txt").write_bytes(text.encode())
    tools = Tools(fs_tools(tmp_path))
    small = await tools("grep", pattern=pattern, path="t.txt")
    monkeypatch.setattr(_grep, "WHOLE_BYTES", -1)
    large = await tools("grep", pattern=pattern, path="t.txt")
    assert small == large


async def test_a_pattern_that_makes_backtracking_engines_run_away_ends_at_once(tree: Path, tools: Tools) -> None:
    (tree / "evil.txt").write_text("a" * 50_000 + "!\n")
    assert await tools("grep", pattern="(a+)+$", path="evil.txt") == []
    assert await tools("glob", pattern="*a" * 200) == []
    assert "size limit" in await tools.refusal("grep", pattern="((a{1,200}){1,200}){1,200}")


async def test_a_line_longer_than_a_piece_keeps_its_number(
    tree: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_grep, "PIECE_BYTES", 64)
    monkeypatch.setattr(_grep, "WHOLE_BYTES", 64)
    (tree / "long.txt").write_text("first\n" + "x" * 1000 + "needle" + "x" * 1000 + "\nneedle again\n")
    assert [m["line"] for m in await tools("grep", pattern="needle", path="long.txt")] == [2, 3]
    assert [m["line"] for m in await tools("grep", pattern="again", path="long.txt")] == [3]


async def test_a_cap_is_never_silent(tree: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fs, "MAX_ENTRIES", 3)
    for number in range(5):
        (tree / f"n{number}.txt").write_text("hit\n")
    assert "more than 3 entries" in await tools.refusal("list")
    assert "more than 3 files" in await tools.refusal("glob", pattern="*.txt")
    assert "more than 3 matches" in await tools.refusal("grep", pattern="hit")
    assert len(await tools("glob", pattern="*.txt", limit=2)) == 2
    assert "limit" in await tools.refusal("glob", pattern="*.txt", limit=1_000_000)
    monkeypatch.setattr(_search, "MAX_VISITED", 4)
    assert "more than 4 entries" in await tools.refusal("list")
    assert "more than 4 entries" in await tools.refusal("glob", pattern="**/*.py")


async def test_a_file_that_is_too_large_is_read_in_windows(
    tree: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_writing, "MAX_TEXT_BYTES", 100)
    monkeypatch.setattr(_fs, "MAX_TEXT_BYTES", 100)
    (tree / "large.txt").write_text("".join(f"line {n}\n" for n in range(100)))
    assert "offset and limit" in await tools.refusal("read", path="large.txt")
    assert await tools("read", path="large.txt", offset=50, limit=2) == "line 49\nline 50\n"
    assert "smaller limit" in await tools.refusal("read", path="large.txt", offset=1, limit=90)
    (tree / "wide.txt").write_text("x" * 500)
    assert "a line of over" in await tools.refusal("read", path="wide.txt", limit=1)


async def test_a_file_too_large_for_grep_ends_with_words(
    tree: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_fs, "MAX_GREP_BYTES", 20)
    assert "name fewer files" in await tools.refusal("grep", pattern="nothing like it")


async def test_the_tools_say_that_they_only_read_and_may_overlap(tree: Path) -> None:
    toolset = fs_tools(tree)
    assert [tool.name for tool in toolset] == ["list", "glob", "read", "grep"]
    assert all(tool.annotations.read_only is True and tool.concurrency_safe is True for tool in toolset)


def test_a_root_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CodeModeError, match="not a directory"):
        fs_tools(tmp_path / "nowhere")


async def test_a_cancelled_search_stops(tree: Path) -> None:
    from codemode_registry import CancelSignal

    registry = Registry()
    registry.add(fs_tools(tree), namespace="fs")
    signal = CancelSignal()
    signal.cancel("enough")
    result = await registry.call("fs.grep", {"pattern": "x"}, cancel=signal)
    assert result.is_error
    with pytest.raises(Exception, match="enough"):
        _search.stop_if_cancelled(signal)
