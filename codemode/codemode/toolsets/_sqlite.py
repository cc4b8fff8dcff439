"""The `sqlite` tools: query and schema of one database file, and with `write=True` execute.

Rules
- SQLite itself holds the fence (`_sqlite_fence`): `mode=ro`, `query_only`, an authorizer, limits, a deadline.
- One connection a call: nothing is shared between calls, scopes or threads. The host's database path is never shown.
- A result over the caps is a failure that says how to ask for less: a program must not take a part for the whole.
"""

from __future__ import annotations

import base64
import contextlib
import math
import os
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, JsonValue, with_config
from typing_extensions import TypedDict

from codemode_registry import CodeModeError, ToolAnnotations, ToolContext, ToolError, function_tool

from ._sqlite_fence import BUSY_SECONDS, MAX_SECONDS, STEP, Clock, authorize_writes, open_database
from ._toolset import CLOSED, Toolset

MAX_ROWS = 10_000
"""Rows of one result."""

MAX_RESULT_BYTES = 16 << 20
"""Characters and bytes of one result's values."""

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
            connection.set_authorizer(authorize_writes)
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
            with contextlib.closing(open_database(self._path, write=write)) as connection:
                clock = Clock(ctx)
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
        with contextlib.closing(open_database(file, write=False)) as connection:
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
