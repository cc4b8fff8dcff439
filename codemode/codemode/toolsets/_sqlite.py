"""The `sqlite` tools: query and schema of one database file, and with `write=True` execute.

Rules
- SQLite itself holds the fence, not a look at the text: the file is opened with `mode=ro`, `query_only` is on, and an
  authorizer passes reading and nothing else, statement by statement as SQLite compiles them (views, triggers and
  sub-queries included). ATTACH, PRAGMA beyond a short list, load_extension and writes are refused there.
- Every statement has SQLite's own limits set low, a deadline and the call's cancel signal, looked at by the progress
  handler every few thousand steps of SQLite's machine: an endless query ends.
- One connection a call: nothing is shared between calls, scopes or threads. The host's database path is never shown.
- A result over the caps is a failure that says how to ask for less: a program must not take a part for the whole.
"""

from __future__ import annotations

import base64
import contextlib
import math
import os
import sqlite3
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from pydantic import Field, JsonValue, with_config
from typing_extensions import TypedDict

from codemode_registry import CodeModeError, ToolAnnotations, ToolContext, ToolError, function_tool

from ._toolset import CLOSED, Toolset

MAX_ROWS = 10_000
"""Rows of one result."""

MAX_RESULT_BYTES = 16 << 20
"""Characters and bytes of one result's values."""

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

_PRAGMAS = frozenset(
    {
        "table_info",
        "table_xinfo",
        "table_list",
        "index_list",
        "index_info",
        "index_xinfo",
        "foreign_key_list",
        "foreign_key_check",
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
)
"""Pragmas that only tell; passed only where they set nothing (`user_version` takes no value here)."""

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

_SCHEMA_TABLES = frozenset({"sqlite_master", "sqlite_schema", "sqlite_temp_master"})
"""Connecting to a virtual table (FTS5, pragma_*) asks to update these, in memory. SQLite itself refuses a statement
that does (`table sqlite_master may not be modified`), and a read-only file could not take it."""

_FUNCTIONS_REFUSED = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})

Parameters = list[JsonValue] | dict[str, JsonValue] | None


@with_config(CLOSED)
class Column(TypedDict):
    """A column of a table."""

    name: str
    type: str
    not_null: bool
    primary_key: Annotated[int, Field(description="place in the primary key from 1, or 0")]
    default: Annotated[str | None, Field(description="an SQL expression")]


@with_config(CLOSED)
class Reference(TypedDict):
    """A foreign key."""

    column: str
    table: str
    to: str | None


@with_config(CLOSED)
class Table(TypedDict):
    """A table or view."""

    name: str
    kind: Annotated[str, Field(description="table, view or virtual")]
    columns: list[Column]
    references: list[Reference]
    sql: str | None


@with_config(CLOSED)
class Changed(TypedDict):
    """What a statement changed."""

    rows: Annotated[int, Field(description="rows inserted, updated or deleted")]
    last_row_id: int | None


class Database:
    """The bodies of the tools over one database file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def query(self, ctx: ToolContext, sql: str, params: Parameters = None) -> list[dict[str, JsonValue]]:
        """Run one SELECT (or a telling PRAGMA) and get its rows as objects by column name. Blobs are {"base64": text}.
        More than 10,000 rows are refused: aggregate in SQL or use LIMIT.

        Args:
            sql: one statement; it cannot change anything
            params: values for ? (a list) or for :name (an object)
        """
        with self._session(ctx, write=False) as connection:
            cursor = _execute(connection, sql, params)
            if cursor.description is None:
                return []
            names = _unique([str(column[0]) for column in cursor.description])
            return _rows(cursor, names)

    def schema(self, ctx: ToolContext, table: str | None = None) -> list[Table]:
        """The tables and views: columns, types, keys and references.

        Args:
            table: only this one
        """
        with self._session(ctx, write=False) as connection:
            connection.set_authorizer(None)  # our own statements; the file stays read-only
            listed = connection.execute(
                "SELECT m.name, l.type, m.sql FROM sqlite_schema m JOIN pragma_table_list l ON l.name = m.name"
                " WHERE l.schema = 'main' AND m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
                " AND l.type <> 'shadow' ORDER BY m.name"
            ).fetchall()
            tables = [_table(connection, *row) for row in listed if table is None or row[0] == table]
        if table is not None and not tables:
            raise ToolError(f"there is no table {table!r}; there are: {', '.join(row[0] for row in listed) or 'none'}")
        return tables

    def execute(self, ctx: ToolContext, sql: str, params: Parameters = None) -> Changed:
        """Run one statement that changes data or the schema, in a transaction of its own.

        Args:
            sql: one statement (INSERT, UPDATE, DELETE, CREATE, ...)
            params: values for ? (a list) or for :name (an object)
        """
        with self._session(ctx, write=True) as connection:
            before = connection.total_changes
            connection.execute("BEGIN IMMEDIATE")
            connection.set_authorizer(_authorize_writes)
            cursor = _execute(connection, sql, params)
            cursor.fetchmany(1)
            inserted = cursor.lastrowid
            cursor.close()
            rows = connection.total_changes - before
            connection.set_authorizer(None)
            connection.commit()
        return {"rows": rows, "last_row_id": inserted if rows and inserted else None}

    @contextlib.contextmanager
    def _session(self, ctx: ToolContext, *, write: bool) -> Generator[sqlite3.Connection]:
        try:
            with contextlib.closing(_open(self._path, write=write)) as connection:
                clock = _Clock(ctx)
                connection.set_progress_handler(clock.over, STEP)
                try:
                    yield connection
                except sqlite3.Error as error:
                    raise ToolError(clock.words(error)) from None
                finally:
                    connection.set_progress_handler(None, 0)
                    connection.set_authorizer(None)
                    if connection.in_transaction:
                        connection.rollback()
        except sqlite3.Error as error:  # at opening
            raise ToolError(f"the database cannot be opened: {error}") from None


class _Clock:
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


def _open(path: Path, *, write: bool) -> sqlite3.Connection:
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


def _authorize_writes(action: int, first: str | None, second: str | None, *rest: str | None) -> int:
    return sqlite3.SQLITE_OK if action in _WRITES else _authorize_reads(action, first, second, *rest)


def _execute(connection: sqlite3.Connection, sql: str, params: Parameters) -> sqlite3.Cursor:
    try:
        return connection.execute(sql, _bound(params))
    except sqlite3.Warning as error:  # "You can only execute one statement at a time." on 3.11
        raise ToolError(str(error)) from None
    except (ValueError, OverflowError) as error:  # a NUL in the text, an integer over 64 bits
        raise ToolError(f"the statement cannot be run: {error}") from None


def _bound(params: Parameters) -> Sequence[object] | Mapping[str, object]:
    if params is None:
        return ()
    if isinstance(params, dict):
        return {key: _parameter(value, f":{key}") for key, value in params.items()}
    return [_parameter(value, f"?{index}") for index, value in enumerate(params, 1)]


def _parameter(value: JsonValue, where: str) -> object:
    if isinstance(value, dict) and list(value) == ["base64"] and isinstance(value["base64"], str):
        with contextlib.suppress(ValueError):
            return base64.b64decode(value["base64"], validate=True)
    if isinstance(value, list | dict):
        raise ToolError(
            f'parameter {where} is a {type(value).__name__}: give text, a number, null or {{"base64": ...}}'
        )
    return value


def _rows(cursor: sqlite3.Cursor, names: list[str]) -> list[dict[str, JsonValue]]:
    rows: list[dict[str, JsonValue]] = []
    room = MAX_RESULT_BYTES
    for row in cursor:
        if len(rows) == MAX_ROWS:
            raise ToolError(f"the result has more than {MAX_ROWS:,} rows: aggregate in SQL, or use LIMIT and OFFSET")
        values = [_json(value) for value in row]
        room -= sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if room < 0:
            raise ToolError(f"the result has more than {MAX_RESULT_BYTES >> 20} MiB: select less")
        rows.append(dict(zip(names, values, strict=True)))
    return rows


def _json(value: object) -> JsonValue:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, float) and not math.isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"  # SQLite keeps no NaN, but infinities
    assert value is None or isinstance(value, int | float | str)
    return value


def _unique(names: list[str]) -> list[str]:
    """Column names that can be keys: `a, a` becomes `a, a_2`."""
    out: list[str] = []
    taken = set(names)
    for name in names:
        number, key = 2, name
        while key in out or (key != name and key in taken):
            key, number = f"{name}_{number}", number + 1
        out.append(key)
    return out


def _table(connection: sqlite3.Connection, name: str, kind: str, sql: str | None) -> Table:
    columns = connection.execute('SELECT name, type, "notnull", pk, dflt_value FROM pragma_table_info(?)', (name,))
    keys = connection.execute('SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)', (name,))
    return {
        "name": name,
        "kind": kind,
        "columns": [
            {"name": c[0], "type": c[1], "not_null": bool(c[2]), "primary_key": c[3], "default": c[4]} for c in columns
        ],
        "references": [{"column": key[0], "table": key[1], "to": key[2]} for key in keys],
        "sql": sql,
    }


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")  # SQLite keeps any bytes as text


def sqlite_tools(path: str | os.PathLike[str], *, write: bool = False) -> Toolset:
    """Tools over one SQLite database: query and schema, and with `write` also execute.

    Args:
        path: the database file. With `write` it is created if it is not there.
        write: add `execute`.

    Raises:
        CodeModeError: the file is missing or is no database.
    """
    file = Path(path).absolute()
    if write and not file.exists():
        with contextlib.suppress(OSError):
            file.touch()
    if not file.is_file():
        raise CodeModeError(f"sqlite tools: {str(path)!r} is not a file")
    try:
        with contextlib.closing(_open(file, write=False)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error as error:
        raise CodeModeError(f"sqlite tools: {str(path)!r} cannot be opened: {error}") from None
    database = Database(file)
    looks = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    patience = MAX_SECONDS + BUSY_SECONDS + 5
    tools = [
        function_tool(body, name=name, concurrency_safe=True, timeout=patience, annotations=looks)
        for name, body in (("query", database.query), ("schema", database.schema))
    ]
    if write:
        changes = ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
        tools.append(function_tool(database.execute, name="execute", timeout=patience, annotations=changes))
    return Toolset("sqlite", tools)
