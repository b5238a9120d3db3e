"""Counts over whole tables of a release, made by the database: memory does not grow with rows."""

from datetime import UTC, datetime, timedelta
from typing import Final

import polars as pl

from lifehelper_data.domain.contract import ALL_TABLES
from lifehelper_data.stores.duck import quote_identifier as quote
from lifehelper_data.stores.releases import ReleaseReader

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def rows_per_user(reader: ReleaseReader, table: str) -> pl.DataFrame:
    """Return user_id, rows of a table that has users, ordered by user."""
    return reader.frame(
        f"SELECT user_id, count(*)::BIGINT AS rows FROM {quote(table)} "
        "GROUP BY user_id ORDER BY user_id"
    )


def null_counts(reader: ReleaseReader, table: str) -> dict[str, int]:
    """Return the number of nulls of every nullable column of a table, in contract order."""
    columns = [c.name for c in ALL_TABLES[table].columns if c.nullable]
    if not columns:
        return {}
    counts = ", ".join(f"count(*) - count({quote(c)})" for c in columns)
    (row,) = reader.rows(f"SELECT {counts} FROM {quote(table)}")
    return {column: int(str(count)) for column, count in zip(columns, row, strict=True)}


def newest_popularity(reader: ReleaseReader) -> datetime | None:
    """Return the newest `as_of` of the popularity table; None without one."""
    if "popularity" not in reader.release.content.tables:
        return None
    ((newest,),) = reader.rows("SELECT epoch_us(max(as_of)) FROM popularity")
    return None if newest is None else _EPOCH + timedelta(microseconds=int(str(newest)))
