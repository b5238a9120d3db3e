"""Rows of a table's parts, before they are part of a release."""

from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl
import pyarrow.parquet

from lifehelper_data.domain.release import TableParts
from lifehelper_data.stores.layout import Layout

BATCH_ROWS: Final = 20_000


def iter_rows(
    layout: Layout, table: TableParts, columns: Sequence[str], *, batch_rows: int = BATCH_ROWS
) -> Iterator[pl.DataFrame]:
    """Yield some columns of a table in stored order, in bounded memory."""
    for part in table.parts:
        with pyarrow.parquet.ParquetFile(layout.root / part.path) as file:
            for batch in file.iter_batches(batch_size=batch_rows, columns=list(columns)):
                frame = pl.DataFrame(batch)
                if frame.height:
                    yield frame.select(columns)


def read_rows(layout: Layout, table: TableParts, columns: Sequence[str]) -> pl.DataFrame:
    """Return some columns of a whole table in stored order."""
    frames = list(iter_rows(layout, table, columns))
    if frames:
        return pl.concat(frames)
    empty = pyarrow.parquet.read_schema(layout.root / table.parts[0].path).empty_table()
    return pl.DataFrame(empty).select(columns)
