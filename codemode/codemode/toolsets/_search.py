"""Finding files and lines below a root: the walk over a tree, glob patterns, regular expressions.

Rules
- Patterns come from programs, so they are matched by an engine that cannot be made to run away: Rust's regex, which
  is linear in the text (through pydantic-core, which we have anyway). Python's `re` would hold the whole host in one
  hostile pattern. The price: no look-around and no back-references.
- Links are listed and never walked into (no cycles, nothing twice). A directory that cannot be read is passed over.
- The order is that of the names, so the same tree gives the same answer; every walk is bounded and says so when it
  stops, and looks at the call's cancel signal as it goes.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic_core import SchemaError, SchemaValidator, core_schema

from codemode_registry import CancelSignal, ToolError

from ._root import MAX_DEPTH, FsError, Root, encodes, quoted

MAX_VISITED = 300_000
"""Entries one walk may look at (about two seconds of a warm disk); a kernel tree has 90,000."""

MAX_PATTERN_CHARS = 2_000
"""Characters of a pattern."""


@dataclass(frozen=True, slots=True)
class Found:
    """One entry of a walk."""

    parts: tuple[str, ...]
    """Names from the root."""
    kind: str
    """`"file"`, `"dir"`, `"link"` or `"other"`."""
    status: os.stat_result | None
    """None where it could not be had."""

    @property
    def path(self) -> str:
        return "/".join(self.parts)


def kind_of(mode: int) -> str:
    """The word for a file's type."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "dir"
    return "link" if stat.S_ISLNK(mode) else "other"


def entries(root: Root, parts: tuple[str, ...], *, statuses: bool) -> list[Found]:
    """What is in a directory, by name; names that are no UTF-8 are left out (no text can say them).

    Raises:
        OSError: the directory cannot be opened or read.
    """
    directory = root.open_directory(parts, listed=True)
    found: list[Found] = []
    try:
        with os.scandir(directory) as scan:
            for count, entry in enumerate(scan):
                if count >= MAX_VISITED:
                    raise FsError(f"{quoted('/'.join(parts) or '.')} has more than {MAX_VISITED:,} entries")
                if encodes(entry.name):
                    found.append(_found(entry, parts, statuses=statuses))
    finally:
        os.close(directory)
    return sorted(found, key=lambda item: item.parts)


def _found(entry: os.DirEntry[str], parts: tuple[str, ...], *, statuses: bool) -> Found:
    status = None
    if statuses:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            status = None
    if status is not None:
        kind = kind_of(status.st_mode)
    elif entry.is_symlink():
        kind = "link"
    elif entry.is_dir(follow_symlinks=False):
        kind = "dir"
    else:
        kind = "file" if entry.is_file(follow_symlinks=False) else "other"
    return Found((*parts, entry.name), kind, status)


def stop_if_cancelled(cancel: CancelSignal) -> None:
    """End the work of a call that nobody waits for any more."""
    if cancel.cancelled:
        raise ToolError(f"stopped: {cancel.reason or 'cancelled'}")


def walk(
    root: Root, start: tuple[str, ...], *, hidden: bool, deepest: int | None, cancel: CancelSignal
) -> Iterator[Found]:
    """Every entry below a directory, in the order of names, each directory before what is in it."""
    visited = 0
    pending = [Found(start, "dir", None)]
    while pending:
        item = pending.pop()
        if item.parts != start:
            yield item
        if item.kind != "dir" or (deepest is not None and len(item.parts) - len(start) >= deepest):
            continue
        stop_if_cancelled(cancel)
        if len(item.parts) >= MAX_DEPTH:
            continue
        try:
            below = entries(root, item.parts, statuses=False)
        except OSError:
            if item.parts == start:
                raise
            continue
        visited += len(below)
        if visited > MAX_VISITED:
            raise FsError(f"stopped after {MAX_VISITED:,} entries: name a directory further down")
        pending.extend(entry for entry in reversed(below) if hidden or not entry.parts[-1].startswith("."))


class Pattern:
    """A compiled pattern of a program.

    Args:
        expression: in the syntax of Rust's regex crate.
        shown: what the program wrote, for messages.

    Raises:
        FsError: it does not compile.
    """

    def __init__(self, expression: str, *, shown: str) -> None:
        if len(shown) > MAX_PATTERN_CHARS:
            raise FsError(f"the pattern has {len(shown):,} characters; at most {MAX_PATTERN_CHARS:,} are taken")
        if not encodes(shown):
            raise FsError("the pattern is no text that UTF-8 can carry")
        try:
            self._validator = SchemaValidator(
                core_schema.str_schema(pattern=expression, regex_engine="rust-regex", strict=True)
            )
        except SchemaError as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            reason = lines[-1].removeprefix("SchemaError: ").removeprefix("error: ").rstrip(".")
            raise FsError(
                f"the pattern {quoted(shown)} does not compile: {reason}"
                " (no look-around, no back-references; literal=True takes it as plain text)"
            ) from None

    def matches(self, text: str) -> bool:
        """Whether the pattern is found anywhere in the text."""
        return self._validator.isinstance_python(text)


@dataclass(frozen=True, slots=True)
class Glob:
    """A compiled glob pattern: `*` and `?` inside a name, `[a-z]`, `{a,b}`, and `**` over directories."""

    pattern: Pattern
    prefix: tuple[str, ...]
    """Directories that every match is below: the walk starts there."""
    deepest: int | None
    """How many names a match has below the prefix; None with `**`."""
    hidden: bool
    """The pattern names something with a leading dot itself."""

    def matches(self, path: str) -> bool:
        return self.pattern.matches(path)


def compile_glob(pattern: str) -> Glob:
    """Read a glob pattern.

    Raises:
        FsError: it is empty, absolute, has `..`, or has an unclosed bracket or brace.
    """
    if not pattern or pattern.startswith("/") or "\0" in pattern:
        raise FsError(f"the pattern {quoted(pattern)} must be relative to the directory and not empty")
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if ".." in parts or not parts:
        raise FsError(f"the pattern {quoted(pattern)} must name something below the directory, without ..")
    expression = r"\A" + "".join(_glob_part(part, last=i == len(parts) - 1) for i, part in enumerate(parts)) + r"\z"
    fixed = 0
    while fixed < len(parts) - 1 and not any(c in parts[fixed] for c in "*?[{\\"):
        fixed += 1
    return Glob(
        pattern=Pattern(f"(?s){expression}", shown=pattern),
        prefix=tuple(parts[:fixed]),
        deepest=None if any("**" in part for part in parts) else len(parts) - fixed,
        hidden=any(part.startswith(".") for part in parts),
    )


def _glob_part(part: str, *, last: bool) -> str:
    if part == "**":
        return r"(?:[^/]+/)*[^/]+" if last else r"(?:[^/]+/)*"
    return _glob_name(part) + ("" if last else "/")


def _glob_name(part: str) -> str:
    out: list[str] = []
    index, depth = 0, 0
    while index < len(part):
        char = part[index]
        index += 1
        if char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "[" and (end := part.find("]", index + 1)) > 0:
            body = part[index:end]
            negated = body[0] in "!^"
            out.append(f"[{'^' if negated else ''}{_set(body[1:] if negated else body)}]")
            index = end + 1
        elif char == "{":
            depth += 1
            out.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            out.append(")")
        elif char == "," and depth:
            out.append("|")
        else:
            out.append(re.escape(char))
    if depth:
        raise FsError(f"the pattern {quoted(part)} has a brace that is not closed")
    return "".join(out)


def _set(body: str) -> str:
    return "".join(char if char == "-" else re.escape(char) for char in body)
