"""Sales and ratings per book, counted from parts."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl

from lifehelper_data.domain.release import TableParts
from lifehelper_data.stores.duck import connect_memory, parquet_scan
from lifehelper_data.stores.layout import Layout

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_HALF_STEPS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PopularityCounts:
    """Counts of every book in `books`, ordered by book_id.

    Attributes:
        book_ids: int64 (n_books,).
        sales: int64 (n_books,), purchases in the window, or the source's own count.
        rating_sum: float64 (n_books,), exact (ratings are half steps); from the source's mean
            where the source counts.
        rating_count: int64 (n_books,).
        rating_avg: float64 (n_books,), NaN without ratings.
        as_of: newest row counted; None without any.
        as_of_by_book: microseconds since 1970 (n_books,), -1 where the book has none (source
            counts only).
        age_positions: int64 (n,), index of the book of each (book, age) group, ordered.
        ages_days: int64 (n,), whole days before `as_of`.
        age_counts: int64 (n,), purchases.
    """

    book_ids: npt.NDArray[np.int64]
    sales: npt.NDArray[np.int64]
    rating_sum: npt.NDArray[np.float64]
    rating_count: npt.NDArray[np.int64]
    rating_avg: npt.NDArray[np.float64]
    as_of: datetime | None
    as_of_by_book: npt.NDArray[np.int64] | None
    age_positions: npt.NDArray[np.int64]
    ages_days: npt.NDArray[np.int64]
    age_counts: npt.NDArray[np.int64]


def count_popularity(
    layout: Layout,
    tables: Mapping[str, TableParts],
    *,
    window_days: int,
    threads: int,
    memory_limit: str,
) -> PopularityCounts:
    """Count sales in the last `window_days` before the newest row, and all ratings.

    If the source ships `book_popularity` rows, its sales and ratings are taken as they are.
    """
    with _views(layout, tables, threads=threads, memory_limit=memory_limit) as connection:
        newest = _one(
            connection,
            "SELECT max(t) FROM (SELECT epoch_us(max(purchased_at)) AS t FROM user_purchases "
            "UNION ALL SELECT epoch_us(max(created_at)) FROM user_reviews)",
        )
        ages = _arrays(
            connection,
            "SELECT position, (? - epoch_us(purchased_at)) // 86400000000 AS age, count(*) AS n "
            "FROM user_purchases JOIN positions USING (book_id) GROUP BY ALL ORDER BY ALL",
            [newest or 0],
        )
        if tables["book_popularity"].rows:
            counted = connection.sql(
                "SELECT book_id, coalesce(sales, 0) AS sales, "
                "coalesce(rating_avg, 0) * coalesce(rating_count, 0) AS rating_sum, "
                "coalesce(rating_count, 0) AS rating_count, rating_avg, "
                "coalesce(epoch_us(as_of), -1) AS as_of "
                "FROM books LEFT JOIN book_popularity USING (book_id) ORDER BY book_id"
            ).pl()
        else:
            window_start = (newest or 0) - window_days * 86_400_000_000
            counted = connection.sql(
                "SELECT book_id, coalesce(sales, 0) AS sales, "
                f"coalesce(half_stars, 0) / {_HALF_STEPS}.0 AS rating_sum, "
                "coalesce(ratings, 0) AS rating_count, "
                f"half_stars / {_HALF_STEPS}.0 / ratings AS rating_avg, -1 AS as_of FROM books "
                "LEFT JOIN (SELECT book_id, count(*) AS sales FROM user_purchases "
                f"WHERE epoch_us(purchased_at) > {window_start} GROUP BY book_id) USING (book_id) "
                "LEFT JOIN (SELECT book_id, count(*) AS ratings, "
                f"sum(CAST(rating * {_HALF_STEPS} AS BIGINT)) AS half_stars FROM user_reviews "
                "GROUP BY book_id) USING (book_id) ORDER BY book_id"
            ).pl()
    from_source = tables["book_popularity"].rows > 0
    return PopularityCounts(
        book_ids=_ints(counted["book_id"]),
        sales=_ints(counted["sales"]),
        rating_sum=counted["rating_sum"].cast(pl.Float64).to_numpy(),
        rating_count=_ints(counted["rating_count"]),
        rating_avg=counted["rating_avg"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
        as_of=_EPOCH + timedelta(microseconds=newest) if newest is not None else None,
        as_of_by_book=_ints(counted["as_of"]) if from_source else None,
        age_positions=ages[0],
        ages_days=ages[1],
        age_counts=ages[2],
    )


@contextmanager
def _views(
    layout: Layout, tables: Mapping[str, TableParts], *, threads: int, memory_limit: str
) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = connect_memory()
    try:
        connection.execute(f"SET threads = {threads}")
        connection.execute(f"SET memory_limit = '{memory_limit}'")
        for name in ("books", "book_popularity", "user_purchases", "user_reviews"):
            scan = parquet_scan(layout.root / part.path for part in tables[name].parts)
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {scan}")
        connection.execute(
            "CREATE TABLE positions AS SELECT book_id, "
            "row_number() OVER (ORDER BY book_id) - 1 AS position FROM books"
        )
        yield connection
    finally:
        connection.close()


def _one(connection: duckdb.DuckDBPyConnection, sql: str) -> int | None:
    ((value,),) = connection.execute(sql).fetchall()
    return None if value is None else int(value)


def _arrays(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: list[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    frame = connection.sql(sql, params=parameters).pl()
    a, b, c = (_ints(frame[name]) for name in frame.columns)
    return a, b, c


def _ints(series: pl.Series) -> npt.NDArray[np.int64]:
    return series.cast(pl.Int64).to_numpy()
