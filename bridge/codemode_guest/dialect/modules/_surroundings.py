"""sys and os for programs: what they may know of the Python they run on, and of a machine they do not see."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from .._names import words
from .._tables import register_type
from ._errors import exc_info
from ._output import Output
from ._pick import Members, pick

SYS_NAMES: Final = words(
    """
    version version_info maxsize float_info int_info hash_info maxunicode byteorder stdout stderr exit argv platform
    exc_info getrecursionlimit getsizeof getdefaultencoding
    """
)
_VERSION_NAMES: Final = ("major", "minor", "micro", "releaselevel", "serial", "count", "index")


class VersionInfo(tuple[Any, ...]):
    """`sys.version_info` without its host class."""

    __slots__ = ()
    major = property(lambda self: self[0])
    minor = property(lambda self: self[1])
    micro = property(lambda self: self[2])
    releaselevel = property(lambda self: self[3])
    serial = property(lambda self: self[4])


register_type(VersionInfo, _VERSION_NAMES)
register_type(type(sys.float_info), tuple(name for name in dir(sys.float_info) if not name.startswith(("_", "n_"))))
register_type(type(sys.int_info), tuple(name for name in dir(sys.int_info) if not name.startswith(("_", "n_"))))


class Environment:
    """`os.environ` of a program: always empty, never writable."""

    __slots__ = ()

    def get(self, key: str, default: Any = None) -> Any:
        """Nothing is set."""
        return default

    def keys(self) -> list[str]:
        """No names."""
        return []

    def values(self) -> list[str]:
        """No values."""
        return []

    def items(self) -> list[tuple[str, str]]:
        """No pairs."""
        return []

    def copy(self) -> dict[str, str]:
        """An empty dict."""
        return {}

    def __getitem__(self, key: str) -> NoReturn:
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return False

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "environ({})"


register_type(Environment, ("get", "keys", "values", "items", "copy"))


def _exit(status: Any = None, /) -> NoReturn:
    raise SystemExit(status)


def sys_members(output: Output) -> Members:
    """The sys module of one run."""
    return {
        "version": sys.version,
        "version_info": VersionInfo(sys.version_info),
        "maxsize": sys.maxsize,
        "float_info": sys.float_info,
        "int_info": sys.int_info,
        "hash_info": None,
        "maxunicode": sys.maxunicode,
        "byteorder": sys.byteorder,
        "stdout": output.stdout,
        "stderr": output.stderr,
        "exit": _exit,
        "argv": ["<program>"],
        "platform": sys.platform,
        "exc_info": exc_info,
        "getrecursionlimit": sys.getrecursionlimit,
        "getsizeof": sys.getsizeof,
        "getdefaultencoding": sys.getdefaultencoding,
    }


def getenv(key: str, default: Any = None) -> Any:
    """`os.getenv`: nothing is set."""
    return default


def modules() -> dict[str, Members]:
    """The shared facades of this family."""
    return {
        "os.path": pick(posixpath, "basename commonpath commonprefix dirname isabs join normpath sep split splitext"),
        "os": {
            "environ": Environment(),
            "getenv": getenv,
            "sep": "/",
            "linesep": "\n",
            "name": "posix",
            "curdir": ".",
            "pardir": "..",
            "extsep": ".",
        },
    }
