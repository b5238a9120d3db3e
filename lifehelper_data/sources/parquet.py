"""Parquet as text: every value as DuckDB writes it, lists and structs as JSON."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from lifehelper_data.domain.errors import SourceError
from lifehelper_data.sources.delimited import checked_columns
from lifehelper_data.sources.mapping import FileSpec
from lifehelper_data.sources.scratch import as_text, batches, connect_scratch, quoted
from lifehelper_data.sources.text_batch import TextBatch, text_table

BATCH_ROWS: Final = 50_000


def read_parquet(path: Path, spec: FileSpec) -> Iterator[TextBatch]:
    """Yield a Parquet file in batches of at most BATCH_ROWS rows; it has no rejected lines.

    Raises:
        SourceError: the file is not Parquet or is damaged; no row of it has been used.
    """
    nulls = frozenset(spec.null_values) | {""}
    try:
        with connect_scratch(":memory:") as connection:
            relation = connection.read_parquet([str(path)], hive_partitioning=False)
            names = checked_columns(relation.columns, path)
            selected = ", ".join(
                f"nullif({as_text(quoted(old), kind)}, '') AS {quoted(new)}"
                for old, new, kind in zip(relation.columns, names, relation.types, strict=True)
            )
            size = path.stat().st_size
            yield TextBatch(  # its columns are known even if no row follows
                rows=text_table(names, [[] for _ in names]), lines=0, rejects=(), bytes_read=0
            )
            for batch in batches(relation.select(selected), BATCH_ROWS):
                table = pa.Table.from_batches([batch])
                if len(nulls) > 1:
                    table = _without(table, nulls)
                yield TextBatch(rows=table, lines=table.num_rows, rejects=(), bytes_read=size)
    except duckdb.Error as error:
        raise SourceError(
            f"{path.name!r} cannot be read as Parquet ({str(error).splitlines()[0]}); "
            "write it again",
            field=path.name,
        ) from error


def _without(table: pa.Table, nulls: frozenset[str]) -> pa.Table:
    return pa.table(
        {
            name: pa.array(
                [None if value in nulls else value for value in table[name].to_pylist()],
                type=pa.large_string(),
            )
            for name in table.column_names
        }
    )
