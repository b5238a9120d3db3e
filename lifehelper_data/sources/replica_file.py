"""A table's text rows as they were last read from a database: one Parquet file that proves itself.

What the rows are, and up to when they were read, stands in the file's own metadata, so that a file
is whole or not there: nothing beside it can belong to another one.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from lifehelper_data.sources.scratch import quoted
from lifehelper_data.sources.text_rows import rows_digest

_KEY: Final = "lifehelper_replica"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaHead:
    """What a replica file says of itself.

    Attributes:
        signature: sha256 of how it was read: query, columns and their types, database.
        columns: its columns, all of them text.
        rows: how many there are.
        digest: digest of the rows, whatever their order.
        watermark_us: newest value of the incremental column, microseconds since 1970, never later
            than the time of reading; None without one.
    """

    signature: str
    columns: tuple[str, ...]
    rows: int
    digest: str
    watermark_us: int | None


def write_replica(
    connection: duckdb.DuckDBPyConnection, table: str, head: ReplicaHead, path: Path
) -> None:
    """Write a scratch table to a new file."""
    said = json.dumps({"format": _FORMAT, **asdict(head)}, sort_keys=True)
    names = ", ".join(map(quoted, head.columns))
    connection.execute(
        f"COPY (SELECT {names} FROM {quoted(table)}) TO {_literal(str(path))} (FORMAT parquet, "
        f"COMPRESSION zstd, KV_METADATA {{{_KEY}: {_literal(said)}}})"
    )


def read_head(path: Path) -> ReplicaHead | None:
    """Return what a file says of itself; None if it is damaged or of another format."""
    try:
        metadata = pq.read_metadata(path).metadata or {}
        said = json.loads(metadata[_KEY.encode()])
        if said.pop("format") != _FORMAT:
            return None
        return ReplicaHead(**{**said, "columns": tuple(said["columns"])})
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        return None


def load_replica(
    connection: duckdb.DuckDBPyConnection, table: str, head: ReplicaHead, path: Path
) -> bool:
    """Fill an empty scratch table from a file; False if the rows are not the ones it names.

    After False the table is empty.
    """
    names = ", ".join(map(quoted, head.columns))
    try:
        connection.execute(
            f"INSERT INTO {quoted(table)} ({names}) SELECT {names} "
            f"FROM read_parquet([{_literal(str(path))}], hive_partitioning = false)"
        )
        if rows_digest(connection, quoted(table), head.columns) == (head.rows, head.digest):
            return True
    except (duckdb.Error, UnicodeDecodeError):  # DuckDB's words about damaged text
        pass
    connection.execute(f"DELETE FROM {quoted(table)}")
    return False


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
