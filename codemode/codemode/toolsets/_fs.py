"""The `fs` tools: list, glob, read, grep, and with `write=True` write and edit, below one directory.

Rules
- The bodies are plain functions in a worker thread; every path goes through `Root`, every change through `Writer`.
- A cap is never silent: where a caller gives `limit` it gets the first so many, where it does not, going over the cap
  is a failure that says how to ask for less. A program must not take a part for the whole.
- Texts are exact: no newline is translated, so what was read can be looked for by `edit` as it is.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Generator, Iterator
from itertools import islice
from typing import Annotated, BinaryIO, Literal, TypeVar

from pydantic import Field, with_config
from typing_extensions import TypedDict

from codemode_registry import Tool, ToolAnnotations, ToolContext, function_tool

from . import _search as search
from ._grep import SNIFFED_BYTES, LinePattern, grep_file
from ._root import FsError, Root, failure, open_regular, quoted
from ._toolset import CLOSED, Toolset
from ._versions import Absent, Basis, IntentPolicy, Sightings, WriteIntent, read_first, version_of
from ._writing import MAX_TEXT_BYTES, Writer, read_whole

MAX_ENTRIES = 20_000
"""Entries, paths or matches in one result where the caller gives no limit."""

MAX_GREP_BYTES = 1 << 30
"""Bytes that one grep may read."""

MAX_LINE_CHARS = 500
"""Characters of a matching line that grep gives back."""

T = TypeVar("T")
Limit = Annotated[int, Field(ge=1, le=MAX_ENTRIES)]
Lines = Annotated[int, Field(ge=1)]


@with_config(CLOSED)
class Entry(TypedDict):
    """Something in a directory."""

    name: str
    path: str
    kind: Annotated[str, Field(description="file, dir, link or other")]
    size: Annotated[int, Field(description="bytes")]
    modified: Annotated[float, Field(description="seconds since 1970")]


@with_config(CLOSED)
class Match(TypedDict):
    """A line that matches."""

    path: str
    line: Annotated[int, Field(description="from 1")]
    text: str


@with_config(CLOSED)
class WriteResult(TypedDict):
    """What a write did."""

    path: str
    size: Annotated[int, Field(description="bytes")]
    created: bool


@with_config(CLOSED)
class EditResult(TypedDict):
    """What an edit did."""

    path: str
    size: Annotated[int, Field(description="bytes")]
    replaced: int


class FileTools:
    """The bodies of the tools over one root."""

    def __init__(self, root: Root, intent: IntentPolicy) -> None:
        self._root = root
        self._intent = intent
        self._seen = Sightings()
        self._writer = Writer()

    def list_directory(self, ctx: ToolContext, path: str = ".", limit: Limit | None = None) -> list[Entry]:
        """List a directory, by name. Hidden entries are included; links are shown, not followed.

        Args:
            path: a directory, relative to the root
            limit: give back the first so many
        """
        with self._root.locate(path) as place:
            found = search.entries(self._root, place.parts, statuses=True)
        return capped((_entry(item) for item in found), limit, "entries", path)

    def glob(
        self, ctx: ToolContext, pattern: str, path: str = ".", hidden: bool = False, limit: Limit | None = None
    ) -> list[str]:
        """Find files by a pattern: * ? [a-z] {a,b} within a name, ** over directories. Gives paths, by name.

        Args:
            pattern: relative to path, for example "**/*.py"
            path: the directory to look below
            hidden: look at names with a leading dot too
            limit: give back the first so many
        """
        paths = (item.path for item in self._files(ctx, pattern, path, hidden=hidden))
        return capped(paths, limit, "files", path)

    def read(self, ctx: ToolContext, path: str, offset: Lines = 1, limit: Lines | None = None) -> str:
        """Read a text file (UTF-8), whole or a window of its lines.

        Args:
            path: the file, relative to the root
            offset: the first line to read, from 1
            limit: how many lines to read
        """
        owner = ctx.call.scope
        with self._root.locate(path) as place:
            if place.stat() is None:
                self._seen.note(owner, place.path, Absent.ABSENT)
            with open_regular(place, path) as (descriptor, status):
                if status.st_size > MAX_TEXT_BYTES and limit is not None:
                    return _window(descriptor, offset, limit, path)
                content = read_whole(descriptor, status, path)
            text = decoded(content, path)
            self._seen.note(owner, place.path, version_of(content))
        if offset == 1 and limit is None:
            return text
        stop = None if limit is None else offset - 1 + limit
        return "".join(islice(io.StringIO(text), offset - 1, stop))  # StringIO's lines end at "\n" and nothing else

    def grep(
        self,
        ctx: ToolContext,
        pattern: str,
        path: str = ".",
        glob: str = "**",
        ignore_case: bool = False,
        literal: bool = False,
        hidden: bool = False,
        limit: Limit | None = None,
    ) -> list[Match]:
        """Find lines of text files that match a regular expression. Binary files and links are passed over.

        Args:
            pattern: a regular expression (no look-around, no back-references)
            path: a file, or the directory to look below
            glob: which files, for example "**/*.py"
            ignore_case: take upper and lower case as the same
            literal: take the pattern as plain text
            hidden: look at names with a leading dot too
            limit: give back the first so many
        """
        compiled = LinePattern(pattern, literal=literal, ignore_case=ignore_case)
        return capped(self._matches(ctx, compiled, path, glob, hidden=hidden), limit, "matches", path)

    def write(self, ctx: ToolContext, path: str, content: str) -> WriteResult:
        """Write a whole file, creating it and its directories. An existing file must have been read before.

        Args:
            path: the file, relative to the root
            content: the new text
        """
        new = encoded(content)
        with self._root.locate(path, new_parents=True) as found:
            if found.name == ".":
                raise FsError(f"{quoted(path)} is a directory")
            basis = self._basis(ctx, "write", found.path)
            with self._root.made(found) as place:
                done = self._writer.replace(place, basis, lambda _: new, shown=path)
            self._seen.note(ctx.call.scope, place.path, done.version)
            return {"path": place.path, "size": done.size, "created": done.created}

    def edit(self, ctx: ToolContext, path: str, old: str, new: str, replace_all: bool = False) -> EditResult:
        """Replace a text in a file that was read before. The old text must occur exactly once, or use replace_all.

        Args:
            path: the file, relative to the root
            old: the text to replace, exactly as read gives it
            new: the text to put in its place
            replace_all: replace every occurrence
        """
        if not old or old == new:
            raise FsError("old is empty: use write to create a file" if not old else "old and new are the same text")
        count = 0

        def change(content: bytes | None) -> bytes:
            nonlocal count
            if content is None:
                raise FsError(f"{quoted(path)}: not found")
            text = decoded(content, path)
            count = text.count(old)
            _check_count(count, text, old, path, replace_all=replace_all)
            return encoded(text.replace(old, new))

        with self._root.locate(path) as place:
            basis = self._basis(ctx, "edit", place.path)
            done = self._writer.replace(place, basis, change, shown=path)
            self._seen.note(ctx.call.scope, place.path, done.version)
            return {"path": place.path, "size": done.size, "replaced": count}

    def _basis(self, ctx: ToolContext, operation: Literal["write", "edit"], path: str) -> Basis:
        return self._intent(WriteIntent(operation, path, self._seen.get(ctx.call.scope, path), ctx.call))

    def _files(self, ctx: ToolContext, pattern: str, path: str, *, hidden: bool) -> Generator[search.Found, None, None]:
        """The files and links below a directory whose path from there matches."""
        compiled = search.compile_glob(pattern)
        with self._root.locate(path) as place:
            parts = place.parts
        start = (*parts, *compiled.prefix)
        try:
            for item in search.walk(
                self._root, start, hidden=hidden or compiled.hidden, deepest=compiled.deepest, cancel=ctx.cancel
            ):
                if item.kind != "dir" and compiled.matches("/".join(item.parts[len(parts) :])):
                    yield item
        except OSError as error:
            if compiled.prefix and error.errno in (errno.ENOENT, errno.ENOTDIR):
                return  # the pattern's own directories are not there: nothing matches
            raise failure(error, path) from error

    def _matches(
        self, ctx: ToolContext, pattern: LinePattern, path: str, glob: str, *, hidden: bool
    ) -> Generator[Match, None, None]:
        left = MAX_GREP_BYTES

        def spent(count: int) -> None:
            nonlocal left
            left -= count
            if left < 0:
                raise FsError(f"stopped after reading {MAX_GREP_BYTES >> 20:,} MiB: name fewer files with path or glob")

        with self._root.locate(path) as place:
            status = place.stat()
            if status is not None and stat.S_ISREG(status.st_mode):
                with open_regular(place, path) as (descriptor, status):
                    for number, text in grep_file(descriptor, status, pattern, cancel=ctx.cancel, spent=spent):
                        yield _match(place.path, number, text)
                return
        for item in self._files(ctx, glob, path, hidden=hidden):
            if item.kind != "file":
                continue
            try:
                with self._root.open_file(item.path) as (descriptor, status, _):
                    for number, text in grep_file(descriptor, status, pattern, cancel=ctx.cancel, spent=spent):
                        yield _match(item.path, number, text)
            except FsError as error:
                if error.number is None:
                    raise
                # gone or forbidden since it was listed: nothing to find in it


def fs_tools(root: str | os.PathLike[str], *, write: bool = False, intent: IntentPolicy = read_first) -> Toolset:
    """File tools below one directory: list, glob, read, grep, and with `write` also write and edit.

    Args:
        root: the directory; nothing outside of it can be reached, by `..`, absolute paths or links.
        write: add `write` and `edit`.
        intent: decides what a write may assume of the file (default: it must have been read in this version).

    Raises:
        CodeModeError: the root is no directory, or the platform cannot hold the fence.
    """
    files = FileTools(Root(root), intent)
    looks = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    tools: list[Tool] = [
        function_tool(body, name=name, concurrency_safe=True, timeout=timeout, annotations=looks)
        for name, body, timeout in (
            ("list", files.list_directory, 30.0),
            ("glob", files.glob, 60.0),
            ("read", files.read, 30.0),
            ("grep", files.grep, 120.0),
        )
    ]
    if write:
        changes = ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
        tools.append(function_tool(files.write, name="write", timeout=30.0, annotations=changes))
        tools.append(function_tool(files.edit, name="edit", timeout=30.0, annotations=changes))
    return Toolset("fs", tools)


def capped(items: Generator[T, None, None], limit: int | None, what: str, path: str) -> list[T]:
    """The first `limit` items, or all of them if they are not too many.

    Raises:
        FsError: no limit was given and there are more than a result may have.
    """
    with contextlib.closing(items):  # a walk cut short lets go of its descriptors here, not some time later
        found = list(islice(items, MAX_ENTRIES + 1 if limit is None else limit))
    if len(found) > MAX_ENTRIES:
        raise FsError(
            f"more than {MAX_ENTRIES:,} {what} in {quoted(path)}: narrow the search, or give limit for the first few"
        )
    return found


def decoded(content: bytes, shown: str) -> str:
    """The text of a file.

    Raises:
        FsError: it is not UTF-8 text.
    """
    if b"\0" not in content[:SNIFFED_BYTES]:
        with contextlib.suppress(UnicodeDecodeError):
            return content.decode("utf-8")
    raise FsError(f"{quoted(shown)} is not text (binary, or not UTF-8)")


def encoded(text: str) -> bytes:
    """A text as a file's content.

    Raises:
        FsError: it has lone surrogates.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FsError(f"the text has a character that UTF-8 cannot carry, at {error.start}") from None


def _check_count(count: int, text: str, old: str, path: str, *, replace_all: bool) -> None:
    if count == 0:
        hint = " (the file's lines end with \\r\\n)" if "\r\n" in text and "\n" in old and "\r" not in old else ""
        raise FsError(f"the old text is not in {quoted(path)}{hint}: it must be exactly as read gives it")
    if count > 1 and not replace_all:
        raise FsError(
            f"the old text occurs {count} times in {quoted(path)}: give more of its surroundings, or replace_all=True"
        )


def _entry(item: search.Found) -> Entry:
    status = item.status
    return {
        "name": item.parts[-1],
        "path": item.path,
        "kind": item.kind,
        "size": 0 if status is None else status.st_size,
        "modified": 0.0 if status is None else round(status.st_mtime, 3),
    }


def _match(path: str, line: int, text: str) -> Match:
    return {"path": path, "line": line, "text": text[:MAX_LINE_CHARS]}


def _window(descriptor: int, offset: int, limit: int, shown: str) -> str:
    """Some lines of a file that is too large to be read whole."""
    lines: list[bytes] = []
    room = MAX_TEXT_BYTES
    with open(descriptor, "rb", closefd=False) as stream:
        for line in islice(_bounded_lines(stream, shown), offset - 1, offset - 1 + limit):
            room -= len(line)
            if room < 0:
                raise FsError(f"these lines of {quoted(shown)} are over {MAX_TEXT_BYTES:,} bytes: give a smaller limit")
            lines.append(line)
    return decoded(b"".join(lines), shown)


def _bounded_lines(stream: BinaryIO, shown: str) -> Iterator[bytes]:
    while line := stream.readline(MAX_TEXT_BYTES + 1):
        if len(line) > MAX_TEXT_BYTES:
            raise FsError(f"{quoted(shown)} has a line of over {MAX_TEXT_BYTES:,} bytes")
        yield line
