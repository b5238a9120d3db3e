"""Books between two rebuilds of their texts: only prices and stock move."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifehelper_data.domain.contract import BOOKS, LIVE_BOOK_COLUMNS, Column, Kind
from lifehelper_data.domain.release import TableParts
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.live_books import ServedBooks, served_books, settled_identity
from tests.conftest import examples
from tests.integration.build_kit import context
from tests.integration.release_kit import DTYPES

TIMES = st.none() | st.integers(0, 3).map(lambda hour: datetime(2026, 5, 1, hour, tzinfo=UTC))
BOOK = st.fixed_dictionaries(
    {
        "title": st.sampled_from(["가", "나"]),
        "description": st.none() | st.sampled_from(["다", "라"]),
        "price": st.none() | st.integers(0, 3),
        "in_stock": st.booleans(),
        "price_suspect": st.booleans(),
        "listed_at": TIMES,
        "updated_at": TIMES,
    }
)
CATALOGS = st.dictionaries(st.integers(1, 5), BOOK, max_size=5)
Catalog = Mapping[int, Mapping[str, object]]


def write_books(surroundings: BuildContext, books: Catalog) -> TableParts:
    """Write books as a part, as they are."""
    rows = [{"book_id": book_id, **books[book_id]} for book_id in sorted(books)]
    frame = pl.DataFrame(rows, schema={c.name: DTYPES[c.kind] for c in BOOKS.columns})
    with surroundings.scratch() as scratch, surroundings.part_writer(scratch, "catalog") as writer:
        writer.append(BOOKS, frame)
        return writer.write(BOOKS)


def read_books(layout: Layout, table: TableParts) -> dict[int, dict[str, object]]:
    frames = [pl.read_parquet(layout.root / part.path) for part in table.parts]
    return {row["book_id"]: row for row in pl.concat(frames).to_dicts()}


def serve(surroundings: BuildContext, indexed: TableParts, newest: TableParts) -> ServedBooks:
    with surroundings.scratch() as scratch, surroundings.part_writer(scratch, "catalog") as writer:
        return served_books(
            surroundings.layout,
            writer,
            indexed=indexed,
            newest=newest,
            threads=1,
            memory_limit="256MB",
        )


@settings(max_examples=examples(20))
@given(indexed=CATALOGS, newest=CATALOGS)
def test_served_books_are_the_indexed_ones_with_the_newest_live_columns(
    tmp_path: Path, indexed: Catalog, newest: Catalog
) -> None:
    surroundings = context(tmp_path)
    served = serve(
        surroundings, write_books(surroundings, indexed), write_books(surroundings, newest)
    )
    rows = read_books(surroundings.layout, served.table)
    assert set(rows) == set(indexed)
    for book_id, row in rows.items():
        for column in BOOKS.columns[1:]:
            live = column.name in LIVE_BOOK_COLUMNS and book_id in newest
            source = newest if live else indexed
            assert row[column.name] == source[book_id].get(column.name), (book_id, column.name)
    waiting = set(newest) - set(indexed)
    assert (served.waiting, served.leaving) == (len(waiting), len(set(indexed) - set(newest)))
    times = [
        max(bears)
        for book_id in waiting
        if (bears := [t for name in ("listed_at", "updated_at")
                      if isinstance(t := newest[book_id].get(name), datetime)])
    ]  # fmt: skip
    assert served.waiting_since == min(times, default=None)


@given(books=CATALOGS)
@settings(max_examples=examples(5))
def test_equal_books_are_served_as_they_are(tmp_path: Path, books: Catalog) -> None:
    surroundings = context(tmp_path)
    table = write_books(surroundings, books)
    assert serve(surroundings, table, table) == ServedBooks(table=table)


OTHER: Mapping[Kind, object] = {
    Kind.TEXT: "다른",
    Kind.BOOL: True,
    Kind.INT32: 77,
    Kind.TIMESTAMP: datetime(2026, 5, 2, tzinfo=UTC),
}


@pytest.mark.parametrize("column", BOOKS.columns[1:], ids=lambda c: c.name)
def test_only_live_columns_leave_the_texts_settled(tmp_path: Path, column: Column) -> None:
    surroundings = context(tmp_path)
    book = {"title": "책", "in_stock": False, "price_suspect": False, "price": 9000}
    one = write_books(surroundings, {1: book})
    two = write_books(surroundings, {1: {**book, column.name: OTHER[column.kind]}})
    assert one.identity != two.identity
    identities = [
        settled_identity(surroundings.layout, table, threads=1, memory_limit="256MB")
        for table in (one, two)
    ]
    assert (identities[0] == identities[1]) is (column.name in LIVE_BOOK_COLUMNS)


def test_a_book_more_or_less_moves_the_texts(tmp_path: Path) -> None:
    surroundings = context(tmp_path)
    book = {"title": "책", "in_stock": False, "price_suspect": False}
    tables = [write_books(surroundings, dict.fromkeys(ids, book)) for ids in ((1,), (1, 2), (2,))]
    assert len({
        settled_identity(surroundings.layout, table, threads=1, memory_limit="256MB")
        for table in tables
    }) == 3  # fmt: skip
