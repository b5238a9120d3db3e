"""One read-only query by a user on a pinned release, streamed."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.stores.atomic import replace_file
from lifehelper_data.stores.releases import ReleaseReader

if TYPE_CHECKING:
    import pandas as pd  # takes 0.4 s, and few ask for it

BATCH_ROWS: Final = 100_000
_READING: Final = {"SELECT", "EXPLAIN"}


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A query on a pinned release; it runs when its rows are asked for.

    Attributes:
        reader: the release.
        query: the checked SQL.
        columns: its columns, in order.
    """

    reader: ReleaseReader
    query: str
    columns: tuple[str, ...]

    def to_polars(self) -> pl.DataFrame:
        """Return all rows as a Polars frame."""
        with _named_errors():
            return self.reader.frame(self.query)

    def to_pandas(self) -> "pd.DataFrame":
        """Return all rows as a pandas frame."""
        return self.to_polars().to_pandas()

    def to_dict(self) -> dict[str, object]:
        """Return `{columns, rows}`, rows as lists, values as DuckDB gives them."""
        return {"columns": list(self.columns), "rows": [list(r) for r in self.head(None)[0]]}

    def head(self, limit: int | None) -> tuple[list[tuple[object, ...]], bool]:
        """Return the first rows and whether there are more."""
        query = self.query if limit is None else f"SELECT * FROM ({self.query}) LIMIT {limit + 1}"
        with _named_errors():
            rows = self.reader.rows(query)
        if limit is None or len(rows) <= limit:
            return rows, False
        return rows[:limit], True

    def write(self, path: Path) -> int:
        """Write all rows to a Parquet, CSV or JSON-lines file by its ending; returns the count.

        The file is whole or absent; memory does not grow with the result.

        Raises:
            InvalidRequest: the ending is none of these, or the folder does not exist.
        """
        if path.suffix not in _SINKS:
            raise InvalidRequest(
                f"cannot tell the format of {path.name!r}; end it in {', '.join(_SINKS)}",
                field="out",
            )
        if not path.parent.is_dir():
            raise InvalidRequest(f"no folder {str(path.parent)!r}; create it first", field="out")
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        try:
            with _named_errors(), self.reader.connection.cursor() as cursor:
                batches = cursor.sql(self.query).to_arrow_reader(BATCH_ROWS)
                count = _SINKS[path.suffix](temporary, batches)
            replace_file(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        return count

    def _repr_html_(self) -> str:
        html: str = self.to_polars()._repr_html_()
        return html


def run_query(reader: ReleaseReader, query: str) -> QueryResult:
    """Check a query and bind it.

    Raises:
        InvalidRequest: not exactly one SELECT, or DuckDB cannot bind it.
    """
    with _named_errors(), reader.connection.cursor() as cursor:
        statements = cursor.extract_statements(query)
        if len(statements) != 1 or statements[0].type.name not in _READING:
            kinds = ", ".join(s.type.name for s in statements) or "nothing"
            raise InvalidRequest(
                f"expected one SELECT, got {kinds}; a release is read-only", field="query"
            )
        text = statements[0].query.strip().rstrip(";")
        return QueryResult(reader, text, tuple(cursor.sql(text).columns))


class _named_errors:  # noqa: N801 - reads as a phrase in a with statement
    """Turn DuckDB's refusals into one-line InvalidRequests."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, duckdb.Error):
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            hints = [line for line in lines[1:] if line.startswith(("Did you mean", "Candidate"))]
            raise InvalidRequest("; ".join(lines[:1] + hints), field="query") from error


def _write_parquet(path: Path, batches: pa.RecordBatchReader) -> int:
    rows = 0
    with pyarrow.parquet.ParquetWriter(path, batches.schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _write_csv(path: Path, batches: pa.RecordBatchReader) -> int:
    rows = 0
    with pyarrow.csv.CSVWriter(path, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _write_jsonl(path: Path, batches: pa.RecordBatchReader) -> int:
    rows = 0
    with path.open("wb") as handle:
        for batch in batches:
            pl.DataFrame(batch).write_ndjson(handle)
            rows += batch.num_rows
    return rows


_SINKS: Final[dict[str, Callable[[Path, Any], int]]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
}
