"""What SQLite is told so that a statement can do no more than it may: the fence of the `sqlite` tools.

Rules
- SQLite decides, statement by statement as it compiles them, not a look at their text.
- Reading means SELECT, functions, and pragmas that only tell. Writing adds data and schema changes, and still no other
  file, no other database, no virtual table, no setting.
- Every statement has a deadline and its call's cancel signal, looked at by SQLite's progress handler.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from pathlib import Path
from urllib.parse import quote

from codemode_registry import ToolContext

MAX_SECONDS = 30.0
"""How long one statement may work."""

BUSY_SECONDS = 5.0
"""How long a statement waits for another process's lock."""

STEP = 5_000
"""Steps of SQLite's machine between two looks at the clock (well under a millisecond)."""

_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 16 << 20,  # one string, blob or row, in bytes
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 1_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,  # matching is quadratic in it
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 10_000,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}

_READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})

_WRITES = frozenset(
    {
        sqlite3.SQLITE_INSERT,
        sqlite3.SQLITE_UPDATE,
        sqlite3.SQLITE_DELETE,
        sqlite3.SQLITE_CREATE_TABLE,
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_CREATE_VIEW,
        sqlite3.SQLITE_CREATE_TRIGGER,
        sqlite3.SQLITE_CREATE_TEMP_TABLE,
        sqlite3.SQLITE_CREATE_TEMP_INDEX,
        sqlite3.SQLITE_DROP_TABLE,
        sqlite3.SQLITE_DROP_INDEX,
        sqlite3.SQLITE_DROP_VIEW,
        sqlite3.SQLITE_DROP_TRIGGER,
        sqlite3.SQLITE_ALTER_TABLE,
        sqlite3.SQLITE_REINDEX,
        sqlite3.SQLITE_ANALYZE,
    }
)

_TOLD_BY_NAME = frozenset(
    {
        "table_info",
        "table_xinfo",
        "table_list",
        "index_list",
        "index_info",
        "index_xinfo",
        "foreign_key_list",
        "foreign_key_check",
    }
)
"""Pragmas whose argument is the name of what they tell about."""

_PRAGMAS = _TOLD_BY_NAME | {
    "database_list",
    "collation_list",
    "compile_options",
    "encoding",
    "user_version",
    "application_id",
    "page_count",
    "page_size",
    "data_version",  # FTS5 asks for it
}
"""Pragmas that only tell; passed only where they set nothing (`user_version` takes no value here)."""

_SCHEMA_TABLES = frozenset({"sqlite_master", "sqlite_schema", "sqlite_temp_master"})
"""Connecting to a virtual table (FTS5, pragma_*) asks to update these, in memory. SQLite itself refuses a statement
that does (`table sqlite_master may not be modified`), and a read-only file could not take it."""

_FUNCTIONS_REFUSED = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})


class Clock:
    """Ends a statement at its deadline or when its call is cancelled."""

    def __init__(self, ctx: ToolContext) -> None:
        self._cancel = ctx.cancel
        self._deadline = time.monotonic() + MAX_SECONDS

    def over(self) -> int:
        return int(self._cancel.cancelled or time.monotonic() > self._deadline)

    def words(self, error: sqlite3.Error) -> str:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            if self._cancel.cancelled:
                return f"stopped: {self._cancel.reason or 'cancelled'}"
            return f"the statement was ended after {MAX_SECONDS:g} seconds: narrow it"
        text = str(error)
        if "prohibited" in text or "not authorized" in text or "readonly" in text:
            return (
                f"refused: {text} (this tool only lets statements through that read, or with execute that change data)"
            )
        return text or type(error).__name__


def open_database(path: Path, *, write: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={'rw' if write else 'ro'}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,  # transactions are begun here, in words
        check_same_thread=True,
        cached_statements=0,
    )
    try:
        connection.text_factory = _text
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        connection.execute("PRAGMA trusted_schema = OFF")  # functions in a stranger's views and indexes stay harmless
        connection.execute("PRAGMA cell_size_check = ON")
        if sys.version_info >= (3, 12):  # no writes to the schema's own tables
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
        if not write:
            connection.execute("PRAGMA query_only = ON")
            connection.set_authorizer(_authorize_reads)
    except BaseException:
        connection.close()
        raise
    return connection


def _authorize_reads(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action in _READS or (action == sqlite3.SQLITE_UPDATE and first in _SCHEMA_TABLES):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if (second or "").lower() in _FUNCTIONS_REFUSED else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in _PRAGMAS:
        told = second is None or (first or "").lower() in _TOLD_BY_NAME
        return sqlite3.SQLITE_OK if told else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_DENY


def authorize_writes(action: int, first: str | None, second: str | None, *rest: str | None) -> int:
    return sqlite3.SQLITE_OK if action in _WRITES else _authorize_reads(action, first, second, *rest)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")  # SQLite keeps any bytes as text
