"""One directory of the host, and the only way by which the `fs` tools reach what is below it.

Rules
- A path from outside is text. It is never given to the kernel whole: it is walked component by component with
  `openat`, `O_NOFOLLOW` and the descriptor of the directory reached so far, so the answer to "is this inside?" cannot
  change between the question and the use (no resolve-then-open race).
- `..` is never given to the kernel: it goes back by one of the names that were walked, from the root anew. Above the
  root there is nothing to go to.
- A link is read and its target walked by the same rules, so links inside the root work and links out of it do not.
  An absolute target counts only where it is lexically below the root, and then it is walked like any other.
- Files are opened only if they are regular; a FIFO or a device is refused before it is opened, and again after
  (O_NONBLOCK keeps the moment in between from blocking).
- Messages carry the path as it was given and never a path of the host.

What this does not see: a hard link or a bind mount made inside the root by somebody who may write there. Both are
ordinary entries to every system call there is.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import stat
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from codemode_registry import CodeModeError, ToolError

MAX_PATH_CHARS = 4096
"""Characters in a path (Linux PATH_MAX)."""

MAX_DEPTH = 200
"""Directories below the root that a walk may be in at once; deeper trees are made to hurt."""

MAX_LINKS = 40
"""Links followed in one walk (the kernel's own figure), which also ends cycles."""

_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_LISTED = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_RDONLY
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

_WORDS = {
    errno.ENOENT: "not found",
    errno.ENOTDIR: "not a directory",
    errno.EISDIR: "is a directory",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ELOOP: "changed while it was opened, try again",
    errno.ENAMETOOLONG: "name too long",
    errno.ENOSPC: "no space left on the disk",
    errno.EROFS: "the file system is read-only",
    errno.EEXIST: "exists already",
}


class FsError(ToolError):
    """A refusal or failure of a file tool, worded for a model."""

    def __init__(self, message: str, *, number: int | None = None) -> None:
        super().__init__(message)
        self.number = number
        """The errno behind it, where there was one."""


class OutsideError(FsError):
    """The path leads out of the root."""


@dataclass(frozen=True, slots=True)
class Place:
    """A name in a directory that is open: what a walk ends at. The name is no link (it was not when looked at)."""

    directory: int
    """Descriptor of the directory; valid while the walk's context is open."""
    name: str
    """The last component, or `"."` for the root itself."""
    parts: tuple[str, ...]
    """The names from the root to it, links resolved."""
    missing: tuple[str, ...] = ()
    """Directories between the open one and the name that are not there yet (see `Root.made`)."""

    @property
    def path(self) -> str:
        """The path below the root, with links resolved; `"."` for the root."""
        return "/".join(self.parts) or "."

    def stat(self) -> os.stat_result | None:
        """What stands under the name now, or None if nothing does."""
        if self.missing:
            return None
        try:
            return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)
        except FileNotFoundError:
            return None


def failure(error: OSError, path: str) -> FsError:
    """An operating system's error in words that name only the path as it was given."""
    number = error.errno or 0
    words = _WORDS.get(number) or (os.strerror(number) if number else "cannot be used")
    return FsError(f"{quoted(path)}: {words}", number=number)


def quoted(path: str) -> str:
    """A path for a message: bounded, and in quotes that it cannot leave."""
    shown = path if len(path) <= 200 else f"{path[:120]}...{path[-60:]}"
    return '"' + "".join(c if c.isprintable() and c != '"' else repr(c)[1:-1] for c in shown) + '"'


class Root:
    """A directory of the host that programs may look into.

    Args:
        path: the directory; resolved once, now.

    Raises:
        CodeModeError: it is no directory, or this platform has no `openat`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if os.open not in os.supports_dir_fd or os.scandir not in os.supports_fd or not hasattr(os, "O_NOFOLLOW"):
            raise CodeModeError("fs tools need openat and O_NOFOLLOW, which this platform does not have")
        self.path = os.path.realpath(path)
        if not os.path.isdir(self.path):
            raise CodeModeError(f"fs tools: {str(path)!r} is not a directory")

    def open_root(self) -> int:
        """A descriptor of the root; the caller closes it."""
        return os.open(self.path, os.O_DIRECTORY | os.O_RDONLY | os.O_CLOEXEC)

    def open_directory(self, parts: tuple[str, ...], *, listed: bool = False) -> int:
        """A descriptor of a directory by its resolved names: no link, no `..`. The caller closes it."""
        current = self.open_root()
        for index, part in enumerate(parts):
            flags = _LISTED if listed and index == len(parts) - 1 else _DIRECTORY
            try:
                below = os.open(part, flags, dir_fd=current)
            finally:
                os.close(current)
            current = below
        return current

    @contextlib.contextmanager
    def locate(self, path: str, *, new_parents: bool = False) -> Generator[Place]:
        """Walk to a path; what its last name stands for need not exist.

        Args:
            path: relative to the root.
            new_parents: directories on the way may be missing too; nothing is made here (`made` does).

        Raises:
            OutsideError: the path leads out of the root, by `..`, as an absolute path or through a link.
            FsError: something on the way is missing or is no directory.
        """
        walk = _Walk(self, path, new_parents=new_parents)
        try:
            yield walk.run()
        except FileNotFoundError as error:
            hint = walk.near()
            words = f"{failure(error, path)}" + (f" (did you mean {quoted(hint)}?)" if hint else "")
            raise FsError(words, number=errno.ENOENT) from error
        except OSError as error:
            raise failure(error, path) from error
        finally:
            walk.close()

    @contextlib.contextmanager
    def made(self, place: Place) -> Generator[Place]:
        """The same place with the directories that were missing, made now."""
        if not place.missing:
            yield place
            return
        current = os.dup(place.directory)
        try:
            for part in place.missing:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=current)
                below = os.open(part, _DIRECTORY, dir_fd=current)
                os.close(current)
                current = below
            yield Place(current, place.name, place.parts)
        finally:
            os.close(current)

    @contextlib.contextmanager
    def open_file(self, path: str) -> Generator[tuple[int, os.stat_result, Place]]:
        """Open a regular file for reading: descriptor, its status, and where it stands."""
        with self.locate(path) as place, open_regular(place, path) as (descriptor, status):
            yield descriptor, status, place


@contextlib.contextmanager
def open_regular(place: Place, shown: str) -> Generator[tuple[int, os.stat_result]]:
    """Open what a place holds, if it is a regular file, before and after opening."""
    status = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
    _refuse_irregular(status, shown)
    descriptor = os.open(place.name, _FILE, dir_fd=place.directory)
    try:
        status = os.fstat(descriptor)
        _refuse_irregular(status, shown)
        yield descriptor, status
    finally:
        os.close(descriptor)


def _refuse_irregular(status: os.stat_result, shown: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise FsError(f"{quoted(shown)} is a directory: list it, or name a file in it", number=errno.EISDIR)
    if stat.S_ISLNK(status.st_mode):
        raise FsError(f"{quoted(shown)} changed while it was opened, try again")
    raise FsError(f"{quoted(shown)} is not a regular file (a pipe, socket or device): it cannot be read")


class _Walk:
    """One walk from the root: the names still to go, the names gone, and the directory reached."""

    def __init__(self, root: Root, path: str, *, new_parents: bool) -> None:
        self.root = root
        self.path = path
        self.new_parents = new_parents
        self.links = 0
        self.gone: list[str] = []
        self.pending = deque(self._split(path))
        self.missing: str | None = None
        self.current = root.open_root()

    @staticmethod
    def _split(path: str) -> list[str]:
        if not path:
            raise FsError('the path is empty: use "." for the root')
        if len(path) > MAX_PATH_CHARS or "\0" in path or (not path.isascii() and not encodes(path)):
            raise FsError(f"{quoted(path)} is no path: too long, or with characters that no file name has")
        if path.startswith("/"):
            raise OutsideError(f"{quoted(path)} is absolute: paths are relative to the root of these tools")
        return path.split("/")

    def run(self) -> Place:
        """The spine: one component at a time."""
        while self.pending:
            part = self.pending.popleft()
            if part in ("", "."):
                continue
            if part == "..":
                self._up()
            elif (target := self._link(part)) is not None:
                self._follow(target)
            elif rest := [name for name in self.pending if name not in ("", ".")]:
                if self.new_parents and self.missing == part and ".." not in rest:
                    names = (part, *rest)
                    return Place(self.current, names[-1], (*self.gone, *names), missing=names[:-1])
                self._down(part)
            else:
                return Place(self.current, part, (*self.gone, part))
        return Place(self.current, ".", tuple(self.gone))

    def _up(self) -> None:
        if not self.gone:
            raise OutsideError(f"{quoted(self.path)} leads out of the root of these tools")
        self._move(self.gone[:-1])

    def _move(self, names: list[str]) -> None:
        reached = self.root.open_directory(tuple(names))
        os.close(self.current)
        self.current, self.gone = reached, list(names)

    def _link(self, part: str) -> str | None:
        self.missing = None
        try:
            return os.readlink(part, dir_fd=self.current)
        except FileNotFoundError:
            self.missing = part
            return None
        except OSError as error:
            if error.errno == errno.EINVAL:  # not a link
                return None
            raise

    def _follow(self, target: str) -> None:
        self.links += 1
        if self.links > MAX_LINKS:
            raise FsError(f"{quoted(self.path)} goes through more than {MAX_LINKS} links")
        if target.startswith("/"):
            inside = os.path.relpath(target, self.root.path) if _below(target, self.root.path) else None
            if inside is None:
                raise OutsideError(f"{quoted(self.path)} leads out of the root of these tools through a link")
            self._move([])
            target = inside
        self.pending.extendleft(reversed(target.split("/")))

    def _down(self, part: str) -> None:
        if len(self.gone) >= MAX_DEPTH:
            raise FsError(f"{quoted(self.path)} is deeper than {MAX_DEPTH} directories")
        below = os.open(part, _DIRECTORY, dir_fd=self.current)
        os.close(self.current)
        self.current = below
        self.gone.append(part)

    def near(self) -> str | None:
        """A name that stands where the missing one was looked for and looks like it."""
        if self.missing is None:
            return None
        try:
            listed = self.root.open_directory(tuple(self.gone), listed=True)
        except OSError:
            return None
        try:
            with os.scandir(listed) as entries:
                names = [entry.name for entry, _ in zip(entries, range(2000), strict=False)]
        finally:
            os.close(listed)
        close = difflib.get_close_matches(self.missing, names, n=1, cutoff=0.7)
        return "/".join((*self.gone, close[0])) if close else None

    def close(self) -> None:
        os.close(self.current)


def encodes(text: str) -> bool:
    """Whether UTF-8 can carry a text: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _below(target: str, root: str) -> bool:
    """Whether an absolute link target is lexically below the root (it is walked from there all the same)."""
    return Path(root) in (Path(target), *Path(target).parents)
