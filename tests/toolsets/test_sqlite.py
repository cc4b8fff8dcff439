"""The sqlite tools: SQLite itself refuses what is not reading; nothing runs for ever."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import anyio
import pytest

from codemode.toolsets import _sqlite, _sqlite_fence, sqlite_tools
from codemode_registry import CancelSignal, CodeModeError

from .calling import Tools


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "shop data.db"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            """
            CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT NOT NULL, photo BLOB, height REAL DEFAULT 1.5);
            CREATE TABLE pet(owner INTEGER REFERENCES person(id), name TEXT);
            CREATE VIEW tall AS SELECT * FROM person WHERE height > 1.6;
            INSERT INTO person VALUES (1, 'Ann', x'00ff', 1.7), (2, 'Bo', NULL, 9e999);
            CREATE VIRTUAL TABLE words USING fts5(text);
            INSERT INTO words VALUES ('hello world'), ('good bye');
            """
        )
    connection.close()
    return file


@pytest.fixture
def tools(path: Path) -> Tools:
    return Tools(sqlite_tools(path))


async def test_a_query_gives_rows_as_objects(tools: Tools) -> None:
    rows = await tools("query", sql="SELECT * FROM person ORDER BY id")
    assert rows == [
        {"id": 1, "name": "Ann", "photo": {"base64": "AP8="}, "height": 1.7},
        {"id": 2, "name": "Bo", "photo": None, "height": "Infinity"},
    ]
    assert await tools("query", sql="SELECT name FROM person WHERE id = ?", params=[2]) == [{"name": "Bo"}]
    assert await tools("query", sql="SELECT :x + 1 AS y", params={"x": 41}) == [{"y": 42}]
    assert await tools("query", sql="SELECT 1 AS a, 2 AS a, 3 AS a_2") == [{"a": 1, "a_3": 2, "a_2": 3}]
    assert await tools("query", sql="SELECT count(*) AS n FROM tall") == [{"n": 2}]
    assert await tools("query", sql="SELECT text FROM words WHERE words MATCH 'hello'") == [{"text": "hello world"}]
    assert await tools("query", sql="SELECT photo = ? AS same FROM person", params=[{"base64": "AP8="}]) != []


async def test_the_schema_tells_tables_columns_and_references(tools: Tools) -> None:
    tables = {table["name"]: table for table in await tools("schema")}
    assert list(tables) == ["person", "pet", "tall", "words"]
    assert tables["person"]["columns"][1] == {
        "name": "name",
        "type": "TEXT",
        "not_null": True,
        "primary_key": 0,
        "default": None,
    }
    assert tables["pet"]["references"] == [{"column": "owner", "table": "person", "to": "id"}]
    assert [table["kind"] for table in tables.values()] == ["table", "table", "view", "virtual"]
    assert len(await tools("schema", table="pet")) == 1
    assert "there are: person, pet" in await tools.refusal("schema", table="pets")


def folder(path: Path) -> dict[str, bytes]:
    """The database and everything beside it."""
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


WRITES = [
    "INSERT INTO person(name) VALUES ('x')",
    "UPDATE person SET name = 'x'",
    "DELETE FROM person",
    "DROP TABLE person",
    "CREATE TABLE t(a)",
    "CREATE TEMP TABLE t(a)",
    "CREATE TEMP VIEW v AS SELECT 1",
    "CREATE TRIGGER t AFTER INSERT ON person BEGIN SELECT 1; END",
    "ALTER TABLE person ADD COLUMN x",
    "REPLACE INTO person(id, name) VALUES (1, 'x')",
    "WITH x AS (SELECT 1) DELETE FROM person",
    "SELECT 1; DELETE FROM person",
    "UPDATE sqlite_master SET sql = 'x'",
    "INSERT INTO words VALUES ('more')",
    "INSERT INTO words(words) VALUES ('rebuild')",
    "VACUUM",
    "VACUUM INTO '{dir}/copy.db'",
    "REINDEX",
    "ANALYZE",
    "BEGIN IMMEDIATE",
    "SAVEPOINT s",
    "COMMIT",
]
WAYS_OUT = [
    "ATTACH '{dir}/other.db' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "SELECT load_extension('{dir}/evil.so')",
    "SELECT fts3_tokenizer('simple', x'00')",
    "SELECT writefile('{dir}/copy.db', 'x')",
    "SELECT readfile('/etc/passwd')",
    "PRAGMA writable_schema = ON",
    "PRAGMA query_only = OFF",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA journal_mode",
    "PRAGMA temp_store_directory = '{dir}'",
    "PRAGMA hard_heap_limit = 1000",
    "PRAGMA user_version = 5",
    "PRAGMA application_id(5)",
    "PRAGMA encoding = 'UTF-16'",
    "PRAGMA trusted_schema = ON",
    "PRAGMA wal_checkpoint",
    "PRAGMA shrink_memory",
    "PRAGMA optimize",
    "SELECT * FROM pragma_journal_mode",
    "CREATE VIRTUAL TABLE v USING fts5(x)",
    "EXPLAIN DELETE FROM person",
]


@pytest.mark.parametrize("sql", WRITES + WAYS_OUT)
async def test_what_is_not_reading_is_refused_by_sqlite(path: Path, tools: Tools, sql: str) -> None:
    before = folder(path)
    await tools.refusal("query", sql=sql.format(dir=path.parent))
    assert folder(path) == before


@pytest.mark.parametrize("sql", WAYS_OUT)
async def test_with_write_the_ways_out_stay_closed(path: Path, sql: str) -> None:
    tools = Tools(sqlite_tools(path, write=True))
    before = folder(path).keys()
    if sql.startswith("EXPLAIN"):
        pytest.skip("explaining a write is as good as a read here")
    await tools.refusal("execute", sql=sql.format(dir=path.parent))
    assert folder(path).keys() == before
    assert (await tools("query", sql="PRAGMA user_version")) == [{"user_version": 0}]


async def test_telling_pragmas_work(tools: Tools) -> None:
    assert len(await tools("query", sql="PRAGMA table_info(person)")) == 4
    assert len(await tools("query", sql="SELECT * FROM pragma_table_info('person')")) == 4


async def test_execute_changes_data_in_a_transaction_of_its_own(path: Path) -> None:
    tools = Tools(sqlite_tools(path, write=True))
    assert await tools("execute", sql="INSERT INTO person(name) VALUES (?)", params=["Cy"]) == {
        "rows": 1,
        "last_row_id": 3,
    }
    assert (await tools("execute", sql="UPDATE person SET height = 1"))["rows"] == 3
    assert (await tools("execute", sql="CREATE TABLE extra(a, b)"))["rows"] == 0
    assert (await tools("execute", sql="INSERT INTO extra VALUES (1, 2) RETURNING a"))["rows"] == 1
    message = await tools.refusal("execute", sql="INSERT INTO person(id, name) VALUES (4, 'D'), (1, 'twice')")
    assert "UNIQUE" in message
    assert await tools("query", sql="SELECT count(*) AS n FROM person") == [{"n": 3}]
    for sql in ("COMMIT", "ROLLBACK", "SAVEPOINT x", "DELETE FROM person; DELETE FROM pet"):
        await tools.refusal("execute", sql=sql)
    assert "read" in await tools.refusal("query", sql="DELETE FROM person")
    assert await tools("query", sql="SELECT count(*) AS n FROM person") == [{"n": 3}]


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"


async def test_an_endless_query_ends_at_its_deadline(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sqlite_fence, "MAX_SECONDS", 0.2)
    began = time.monotonic()
    assert "ended after" in await tools.refusal("query", sql=ENDLESS)
    assert time.monotonic() - began < 5


async def test_a_cancelled_call_ends_its_query(tools: Tools) -> None:
    signal = CancelSignal()
    results: list[bool] = []

    async def call() -> None:
        results.append((await tools.registry.call("t.query", {"sql": ENDLESS}, cancel=signal)).is_error)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await anyio.sleep(0.05)  # whether it has begun by now or not: it must end
            signal.cancel("enough")
    assert results == [True]


async def test_results_over_the_caps_are_refused(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 20000) SELECT x FROM n"
    assert "more than 10,000 rows" in await tools.refusal("query", sql=many)
    assert "too big" in await tools.refusal("query", sql="SELECT zeroblob(1000000000)")
    monkeypatch.setattr(_sqlite, "MAX_RESULT_BYTES", 1000)
    assert "select less" in await tools.refusal("query", sql="SELECT zeroblob(5000)")


async def test_mistakes_in_a_statement_are_words(tools: Tools) -> None:
    assert "no such table" in await tools.refusal("query", sql="SELECT * FROM nowhere")
    assert "syntax error" in await tools.refusal("query", sql="SELEKT 1")
    await tools.refusal("query", sql="SELECT ?", params=[])
    await tools.refusal("query", sql="SELECT ?", params=[[1, 2]])
    await tools.refusal("query", sql="SELECT ?", params=[1 << 70])
    await tools.refusal("query", sql="SELECT '\0'")
    assert await tools("query", sql="") == []


async def test_a_locked_database_is_waited_for_and_then_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sqlite_fence, "BUSY_SECONDS", 0.1)
    tools = Tools(sqlite_tools(path, write=True))
    other = sqlite3.connect(path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        assert "locked" in await tools.refusal("execute", sql="DELETE FROM pet")
    finally:
        other.close()


def test_a_file_that_is_no_database_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database, but long enough to look like one might" * 100)
    with pytest.raises(CodeModeError, match="cannot be opened"):
        sqlite_tools(tmp_path / "text.db")
    with pytest.raises(CodeModeError, match="not a file"):
        sqlite_tools(tmp_path / "missing.db")


async def test_with_write_a_missing_database_is_made(tmp_path: Path) -> None:
    tools = Tools(sqlite_tools(tmp_path / "new.db", write=True))
    await tools("execute", sql="CREATE TABLE t(a)")
    assert [table["name"] for table in await tools("schema")] == ["t"]


async def test_a_hostile_view_cannot_use_what_a_query_cannot(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE VIEW evil AS SELECT load_extension('x') AS x")
    connection.close()
    tools = Tools(sqlite_tools(path))
    await tools.refusal("query", sql="SELECT * FROM evil")
