"""Changing a file: whole, at once, and only from the version that the change was made for.

Rules
- The new content is written to a file of its own in the same directory, synced, and put in place with one rename (or
  one link, where the file must not exist yet), so a reader sees the old content or the new and nothing between, also
  when the host dies in the middle.
- Within this process the look at the old version and the rename are one step under a lock: of two racing changes of
  one version, one wins. Against other processes the look is repeated just before the rename; the moment that is left
  is the length of one system call (no portable call compares and renames).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass

from ._root import FsError, Place, open_regular, quoted
from ._versions import Absent, Basis, version_of

MAX_TEXT_BYTES = 8 << 20
"""The largest file that is read whole or written, in bytes: more is no text that a program should hold."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Written:
    """What a change did."""

    version: str
    size: int
    """Bytes."""
    created: bool


class Writer:
    """Puts contents in place. One per toolset: its lock is what makes racing changes take turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def replace(self, place: Place, basis: Basis, change: Callable[[bytes | None], bytes], *, shown: str) -> Written:
        """Change what stands at a place.

        Args:
            place: where; its directory is open.
            basis: what must be there.
            change: from the old content (None: no file) to the new.
            shown: the path, for messages.

        Raises:
            FsError: something else is there, or the new content is too large.
            OSError: the file system's own refusals.
        """
        with self._lock:
            old, status = _content(place, shown)
            _hold_to(basis, None if old is None else version_of(old), shown)
            new = change(old)
            if len(new) > MAX_TEXT_BYTES:
                raise FsError(f"{quoted(shown)} would have {len(new):,} bytes; at most {MAX_TEXT_BYTES:,} are written")
            with _draft(place, new, status) as draft:
                if status is None:
                    _put_new(place, draft, shown)
                else:
                    _put_over(place, draft, status, shown)
        return Written(version_of(new), len(new), created=status is None)


def _content(place: Place, shown: str) -> tuple[bytes | None, os.stat_result | None]:
    if place.stat() is None:
        return None, None
    with open_regular(place, shown) as (descriptor, status):
        return read_whole(descriptor, status, shown), status


def read_whole(descriptor: int, status: os.stat_result, shown: str) -> bytes:
    """All of an open file, if it is not too large (files that grow while they are read included)."""
    content, room = bytearray(), MAX_TEXT_BYTES + 1
    if status.st_size <= MAX_TEXT_BYTES:
        # os.read, not a stream: files of the kernel that would block say so (EAGAIN), which streams hide
        while room and (piece := os.read(descriptor, min(room, 1 << 20))):
            content += piece
            room -= len(piece)
        if room:
            return bytes(content)
    raise FsError(
        f"{quoted(shown)} has {max(status.st_size, MAX_TEXT_BYTES):,} bytes; at most {MAX_TEXT_BYTES:,} are taken whole"
        ": read a window of it with offset and limit"
    )


def _hold_to(basis: Basis, current: str | None, shown: str) -> None:
    if basis.version is None or basis.version == (Absent.ABSENT if current is None else current):
        return
    if basis.version is Absent.ABSENT:
        raise FsError(f"{quoted(shown)} exists already: read it first, then write or edit it")
    if current is None:
        raise FsError(f"{quoted(shown)} was deleted since it was read: read it again, then decide")
    raise FsError(f"{quoted(shown)} was changed since it was read: read it again, then retry")


@contextlib.contextmanager
def _draft(place: Place, content: bytes, old: os.stat_result | None) -> Generator[str]:
    name = f".codemode-{secrets.token_hex(8)}.tmp"
    descriptor = os.open(name, _NEW, 0o666 if old is None else 0o600, dir_fd=place.directory)
    try:
        try:
            with open(descriptor, "wb", closefd=False) as stream:
                stream.write(content)
            if old is not None:
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=place.directory)


def _put_new(place: Place, draft: str, shown: str) -> None:
    try:
        os.link(draft, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory, follow_symlinks=False)
    except FileExistsError:
        raise FsError(f"{quoted(shown)} was created meanwhile: read it first, then write or edit it") from None


def _put_over(place: Place, draft: str, old: os.stat_result, shown: str) -> None:
    now = place.stat()
    if now is None or _identity(now) != _identity(old):
        raise FsError(f"{quoted(shown)} was changed while it was written: read it again, then retry")
    os.rename(draft, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
