"""Books between two rebuilds of their texts: prices and stock move, everything else waits."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import duckdb
import polars as pl

from lifehelper_data.domain.contract import BOOKS, LIVE_BOOK_COLUMNS, Table
from lifehelper_data.domain.release import TableParts
from lifehelper_data.stores.canonical import rows_hash, schema_text
from lifehelper_data.stores.duck import connect_memory, parquet_scan
from lifehelper_data.stores.duck import quote_identifier as quote
from lifehelper_data.stores.duck import quote_text as literal
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.parts import PartWriter

BATCH_ROWS: Final = 50_000
_SETTLED: Final = dataclasses.replace(
    BOOKS, columns=tuple(c for c in BOOKS.columns if c.name not in LIVE_BOOK_COLUMNS)
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedBooks:
    """The books that can be served now.

    Attributes:
        table: books whose texts are indexed, with the newest prices and stock.
        waiting: books of the newest load that are not indexed yet.
        waiting_since: newest time a waiting book bears (listed or updated), of the oldest one;
            None if none waits or none bears a time.
        leaving: served books that the newest load does not have any more.
    """

    table: TableParts
    waiting: int = 0
    waiting_since: datetime | None = None
    leaving: int = 0


def unshared_keys(
    layout: Layout, table: Table, *, indexed: TableParts, newest: TableParts
) -> tuple[int, int]:
    """Return how many keys only `newest` has (they wait), and only `indexed` has (they leave)."""
    if indexed.identity == newest.identity:
        return 0, 0
    key = ", ".join(map(quote, table.key))
    with connect_memory() as connection:
        waiting, leaving = (
            connection.execute(
                f"SELECT count(*) FROM (SELECT {key} FROM {_scan(layout, one)} "
                f"EXCEPT SELECT {key} FROM {_scan(layout, other)})"
            ).fetchall()[0][0]
            for one, other in ((newest, indexed), (indexed, newest))
        )
    return int(waiting), int(leaving)


def settled_identity(layout: Layout, books: TableParts, *, threads: int, memory_limit: str) -> str:
    """Return the identity of books without their live columns: a price change leaves it alone."""
    with _connection(layout, threads, memory_limit) as connection:
        hashed = rows_hash(connection, _SETTLED, _scan(layout, books))
    return hashed.identity(schema_text(_SETTLED))


def served_books(
    layout: Layout,
    writer: PartWriter,
    *,
    indexed: TableParts,
    newest: TableParts,
    threads: int,
    memory_limit: str,
) -> ServedBooks:
    """Give the indexed books the prices and stock of the newest load.

    Args:
        layout: the workspace.
        writer: writes the resulting part.
        indexed: the books that keyword index and vectors were made from.
        newest: the books as last loaded.
        threads: threads of the table engine.
        memory_limit: its memory, such as "512MB".

    Returns:
        A book that both have takes the newest live columns and keeps its indexed texts; one that
        only `indexed` has stays as it is; one that only `newest` has waits.
    """
    if indexed.identity == newest.identity:
        return ServedBooks(table=newest)
    with _connection(layout, threads, memory_limit) as connection:
        for name, table in (("indexed", indexed), ("newest", newest)):
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {_scan(layout, table)}")
        ((waiting, since),) = connection.execute(
            "SELECT count(*), epoch_us(min(coalesce(greatest(listed_at, updated_at), listed_at, "
            "updated_at))) FROM newest ANTI JOIN indexed USING (book_id)"
        ).fetchall()
        ((leaving,),) = connection.execute(
            "SELECT count(*) FROM indexed ANTI JOIN newest USING (book_id)"
        ).fetchall()
        for frame in _frames(connection.sql(_overlay())):
            writer.append(BOOKS, frame)
    return ServedBooks(
        table=writer.write(BOOKS),
        waiting=int(waiting),
        waiting_since=None if since is None else _EPOCH + timedelta(microseconds=since),
        leaving=int(leaving),
    )


def _overlay() -> str:
    columns = ", ".join(
        f"CASE WHEN n.book_id IS NULL THEN i.{c} ELSE n.{c} END AS {c}" if live else f"i.{c}"
        for c, live in ((quote(c.name), c.name in LIVE_BOOK_COLUMNS) for c in BOOKS.columns)
    )
    return f"SELECT {columns} FROM indexed i LEFT JOIN newest n ON n.book_id = i.book_id"


def _frames(relation: duckdb.DuckDBPyRelation) -> Iterator[pl.DataFrame]:
    for batch in relation.to_arrow_reader(BATCH_ROWS):
        frame = pl.DataFrame(batch)
        if frame.height:
            yield frame


@contextmanager
def _connection(
    layout: Layout, threads: int, memory_limit: str
) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect_memory() as connection:
        connection.execute(f"SET threads = {threads}")
        connection.execute(f"SET memory_limit = {literal(memory_limit)}")
        connection.execute(f"SET temp_directory = {literal(str(layout.tmp))}")
        yield connection


def _scan(layout: Layout, table: TableParts) -> str:
    return parquet_scan(layout.root / part.path for part in table.parts)
