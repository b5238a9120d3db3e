"""A database that is wrong, away or dies half-way: nothing changes, and no secret is told."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lifehelper_data.cli.main import main
from lifehelper_data.domain.errors import (
    ContractViolation,
    LifehelperError,
    MappingError,
    Unavailable,
    UnsafeSql,
)
from lifehelper_data.stores.layout import Layout
from tests.integration.build_kit import TABLES_ONLY
from tests.integration.postgres_kit import (
    LOCKED,
    PASSWORD,
    VARIABLE,
    Database,
    PostgresLoader,
    proxy,
    server,
)

ONE_BOOK = {"books": "select 1 as book_id, 'a' as title"}
BIG = (  # about 40 MB: more than the driver and the sockets hold
    "CREATE TABLE b AS SELECT n AS book_id, 'title ' || n AS title, "
    "repeat('x', 400) AS description, timestamptz '2024-01-01' AS updated_at "
    "FROM generate_series(1, {rows}) n"
)


@pytest.fixture
def shop(tmp_path: Path) -> PostgresLoader:
    return PostgresLoader.create(tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a workspace but scratch."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] != "tmp"
    }


def build_command(
    workspace: Path, source: Path, uri: str, printed: pytest.CaptureFixture[str]
) -> tuple[int, dict[str, Any]]:
    """Run `lifehelper build --json` in this process; returns its exit code and document."""
    variables = TABLES_ONLY | {VARIABLE: uri}
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        for name, value in variables.items():
            patch.setitem(os.environ, name, value)
        main(["build", "--workspace", str(workspace), "--source", str(source), "--json"])
    assert isinstance(ended.value.code, int)
    document: dict[str, Any] = json.loads(printed.readouterr().out)
    return ended.value.code, document


@dataclass
class AfterFirstBatch:
    """Progress that does something once, when the first rows of a table have come."""

    table: str
    action: Callable[[], object]
    done: bool = False

    def step(self, label: str, done: int, total: int | None) -> None:
        if not self.done and label == f"reading {self.table}" and done:
            self.done = True
            self.action()


def watched(shop: PostgresLoader, table: str, action: Callable[[], object]) -> AfterFirstBatch:
    progress = AfterFirstBatch(table, action)
    shop.loader.context = replace(shop.loader.context, progress=progress)
    return progress


def test_a_server_that_dies_half_way_changes_nothing(shop: PostgresLoader) -> None:
    shop.database.run(BIG.format(rows=10))
    shop.mapping({"books": "select * from b"}, incremental={"books": ("updated_at", "1 hour")})
    shop.build()
    before = contents(shop.loader.layout.root)
    assert "replica/books/rows.parquet" in before
    shop.database.run("DROP TABLE b", BIG.format(rows=100_000))
    database = shop.database

    def kill() -> None:
        database.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE datname = '{database.name}' AND pid <> pg_backend_pid()"
        )

    progress = watched(shop, "books", kill)
    with pytest.raises(Unavailable, match="reading 'books' from the database stopped") as stopped:
        shop.build(full_read=True)
    assert progress.done
    assert stopped.value.exit_code == 3
    assert "\n" not in str(stopped.value)
    assert contents(shop.loader.layout.root) == before
    assert list(shop.loader.layout.tmp.iterdir()) == []


def test_a_connection_cut_half_way_ends_the_command_with_3(
    shop: PostgresLoader, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.database.run(BIG.format(rows=10))
    shop.mapping({"books": "select * from b"})
    workspace, source = tmp_path / "w", shop.loader.folder / "source.toml"
    Layout(workspace).create()
    with proxy() as port:
        uri = f"postgresql://postgres@127.0.0.1:{port}/{shop.database.name}"
        assert build_command(workspace, source, uri, capsys)[0] == 0
    before = contents(workspace)
    assert "releases/000001.duckdb" in before
    shop.database.run("DROP TABLE b", BIG.format(rows=20_000))
    with proxy(cut_after=4_000_000) as port:
        uri = f"postgresql://postgres@127.0.0.1:{port}/{shop.database.name}"
        code, document = build_command(workspace, source, uri, capsys)
    error = document["error"]
    assert code == 3
    assert (error["type"], error["status"], error["field"]) == ("Unavailable", 503, "books")
    assert error["message"] == (
        "reading 'books' from the database stopped: the connection was lost; nothing of this load "
        "is used, run again when the server is back"
    )
    assert contents(workspace) == before


def closed_port() -> int:
    with proxy() as port:
        return port


UNREACHABLE: dict[str, tuple[Callable[[], str], str]] = {
    "wrong password": (
        lambda: server().uri("postgres", LOCKED, "wrong-horse"),
        "refused the user or the password",
    ),
    "no password": (lambda: server().uri(user=LOCKED), "refused the user or the password"),
    "unknown user": (lambda: server().uri(user="nobody-here"), "refused the user or the password"),
    "unknown database": (lambda: server().uri("no_such_shop"), "the server has no such database"),
    "nobody listens": (
        lambda: f"postgresql://reader:some-secret@127.0.0.1:{closed_port()}/some_shop",
        "no server listens there",
    ),
    "no socket": (lambda: "postgresql:///some_shop?host=/no-such-folder", "no server listens"),
    "unknown host": (
        lambda: "postgresql://reader:some-secret@no-such-host.invalid/some_shop",
        "its host name is unknown",
    ),
}
TOLD_NOWHERE = (
    "wrong-horse", LOCKED, "nobody-here", "no_such_shop", "some-secret", "reader", "127.0.0.1",
    "some_shop", "no-such-folder", "no-such-host", "postgresql://",
)  # fmt: skip


@pytest.mark.parametrize("case", UNREACHABLE)
def test_a_database_that_cannot_be_reached(shop: PostgresLoader, case: str) -> None:
    uri, reason = UNREACHABLE[case]
    shop.mapping(ONE_BOOK)
    shop.environment[VARIABLE] = uri()
    with pytest.raises(Unavailable, match=reason) as refused:
        shop.build()
    assert refused.value.exit_code == 3
    assert VARIABLE in str(refused.value)
    chain: BaseException | None = refused.value
    while chain is not None:
        assert not [secret for secret in TOLD_NOWHERE if secret in str(chain)]
        chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "the environment variable 'SHOP_DATABASE_URI' is not set; set it to a libpq URI"),
        ("  ", "the environment variable 'SHOP_DATABASE_URI' is not set"),
        ("host=some-host password=some-secret", "SHOP_DATABASE_URI does not hold a libpq URI"),
        ("postgresql://u:some-secret@h:port/d", "does not hold a libpq URI the driver can read"),
        ("postgresql://h/d?colour=some-secret", "does not hold a libpq URI the driver can read"),
    ],
)
def test_a_variable_without_an_address_is_bad_input(
    shop: PostgresLoader, value: str | None, message: str
) -> None:
    shop.mapping(ONE_BOOK)
    shop.environment.pop(VARIABLE)
    if value is not None:
        shop.environment[VARIABLE] = value
    with pytest.raises(MappingError, match=message) as refused:
        shop.build()
    assert (refused.value.exit_code, refused.value.field) == (2, "postgres.uri_env")
    assert "some-" not in str(refused.value)


def test_a_missing_driver_is_named_with_its_extra(
    shop: PostgresLoader, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.mapping(ONE_BOOK)
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(Unavailable, match=r"pip install 'lifehelper-data\[postgres\]'"):
        shop.build()


def test_no_secret_is_left_in_a_workspace(
    shop: PostgresLoader, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = shop.database
    database.run(
        "CREATE TABLE b AS SELECT 1 AS book_id, 'a' AS title, now() AS updated_at",
        f"GRANT SELECT ON b TO {LOCKED}",
    )
    shop.mapping({"books": "select * from b"}, incremental={"books": ("updated_at", "1 hour")})
    uri = server().uri(database.name, LOCKED, PASSWORD)
    workspace = tmp_path / "w"
    Layout(workspace).create()
    for _ in range(2):
        code, told = build_command(workspace, shop.loader.folder / "source.toml", uri, capsys)
        assert code == 0
        assert not [s for s in (PASSWORD, LOCKED, server().socket_folder) if s in json.dumps(told)]
    secrets = [text.encode() for text in (PASSWORD, LOCKED, server().socket_folder)]
    files = contents(workspace)
    assert len(files) > 5
    assert not [(n, s) for n, content in files.items() for s in secrets if s in content]


def test_queries_cannot_write(shop: PostgresLoader) -> None:
    shop.database.run(
        "CREATE TABLE b AS SELECT 1 AS book_id, 'a'::text AS title",
        "CREATE SEQUENCE s",
        "CREATE FUNCTION add_book() RETURNS int LANGUAGE sql AS "
        "'INSERT INTO b VALUES (2, ''b'') RETURNING 1'",
        "CREATE FUNCTION unlock() RETURNS text LANGUAGE sql AS "
        "$$SELECT set_config('transaction_read_only', 'off', false)$$",
    )
    attempts = {
        "select add_book() as book_id, 'a' as title": "cannot execute INSERT in a read-only",
        "select 1 as book_id, unlock() as title": "cannot set transaction read-write mode",
        "select nextval('s') as book_id, 'a' as title": "cannot execute nextval",
        "with x as (delete from b returning *) select * from x": "data-modifying statement",
        "select * from b for update": "cannot execute SELECT FOR UPDATE in a read-only",
        "select * into c from b": "INTO",
        "select 1 as book_id, 'a' as title; delete from b": "holds more than one statement",
        "select * from b;": "ends with a semicolon",
        "delete from b returning *": "starts with 'delete'",
    }
    for query, message in attempts.items():
        shop.mapping({"books": query})
        with pytest.raises(MappingError, match=message) as refused:
            shop.build()
        assert refused.value.field == "books"
        assert refused.value.exit_code == 2
    assert shop.database.run("SELECT * FROM b") == [(1, "a")]


def test_all_problems_of_all_queries_are_told_at_once(shop: PostgresLoader) -> None:
    shop.mapping(
        {
            "books": "select nope from nowhere",
            "user_library": "select 1 as user_id",
            "user_purchases": "select 1;",
        }
    )
    with pytest.raises(MappingError) as refused:
        shop.build()
    assert str(refused.value) == (
        'tables.books.query: relation "nowhere" does not exist; '
        "tables.user_library.query does not return 'book_id', 'added_at'; the contract requires "
        "it; tables.user_purchases.query ends with a semicolon; leave it out"
    )


@pytest.mark.parametrize("first_bad", [1, 60_000])
def test_an_error_in_any_row_names_the_table(shop: PostgresLoader, first_bad: int) -> None:
    shop.mapping(
        {
            "books": f"select 1 / (n - {first_bad}) as book_id, repeat('x', 400) as title "
            "from generate_series(1, 60000) n"
        }
    )
    with pytest.raises(MappingError, match=r"^tables\.books\.query: division by zero$"):
        shop.build()


def test_what_may_not_be_read_names_the_table(shop: PostgresLoader) -> None:
    shop.database.run("CREATE TABLE b AS SELECT 1 AS book_id, 'a' AS title")
    shop.mapping({"books": "select * from b"})
    shop.environment[VARIABLE] = server().uri(shop.database.name, LOCKED, PASSWORD)
    with pytest.raises(MappingError, match=r"tables\.books\.query: permission denied for table b"):
        shop.build()


@pytest.mark.parametrize(
    ("query", "change", "message"),
    [
        (
            "select * from b",
            "ALTER TABLE b DROP COLUMN author",
            "columns have gone since the last load: books lost author",
        ),
        (
            "select * from b",
            "ALTER TABLE b RENAME COLUMN author TO writer",
            "columns have gone since the last load: books lost author",
        ),
        (
            "select book_id, title, author from b",
            "ALTER TABLE b RENAME COLUMN author TO writer",
            'the database changed since the last load: tables.books.query: column "author" does',
        ),
        (
            "select * from b",
            "DROP TABLE b",
            'the database changed since the last load: tables.books.query: relation "b" does not',
        ),
    ],
)
def test_what_the_owner_took_away_is_named(
    shop: PostgresLoader, query: str, change: str, message: str
) -> None:
    shop.database.run("CREATE TABLE b AS SELECT 1 AS book_id, 'a' AS title, 'x' AS author")
    shop.mapping({"books": query})
    shop.build()
    before = contents(shop.loader.layout.root)
    shop.database.run(change)
    with pytest.raises(ContractViolation, match=message):
        shop.build()
    assert contents(shop.loader.layout.root) == before


def test_an_error_that_was_there_from_the_start_is_the_mappings(shop: PostgresLoader) -> None:
    shop.database.run("CREATE TABLE b AS SELECT 1 AS book_id, 'a' AS title")
    shop.mapping({"books": "select * from b"})
    shop.build()
    shop.mapping({"books": "select writer from b"})
    with pytest.raises(MappingError, match='column "writer" does not exist'):
        shop.build()


def test_all_tables_are_of_one_moment(shop: PostgresLoader) -> None:
    shop.database.run(
        "CREATE TABLE b AS SELECT n AS book_id, 'a' AS title FROM generate_series(1, 3) n",
        "CREATE TABLE l (user_id int, book_id int, added_at timestamptz)",
    )
    shop.mapping({"books": "select * from b", "user_library": "select * from l"})
    database: Database = shop.database
    watched(
        shop,
        "books",
        lambda: database.run(
            "INSERT INTO l VALUES (1, 9, '2024-01-01')", "INSERT INTO b VALUES (9, 'late')"
        ),
    )
    assert shop.build().record.tables["user_library"].rows == 0
    after = shop.build().record
    assert (after.tables["books"].rows, after.tables["user_library"].rows) == (4, 1)


def test_refusals_are_of_the_one_tree() -> None:
    assert issubclass(UnsafeSql, MappingError)
    assert issubclass(Unavailable, LifehelperError)
