"""A throw-away DuckDB for reading sources: no files by name, no downloads, UTC, one thread."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
from duckdb.sqltypes import DuckDBPyType

from lifehelper_data.domain.errors import SourceError

_NESTED: Final = {"list", "array", "struct", "map", "union"}


@contextmanager
def connect_scratch(
    path: str, *, memory_limit: str = "512MB", spill: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB that reads nothing by name and downloads nothing, in UTC, on one thread.

    One thread keeps the order of rows, which decides between duplicates.
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": memory_limit,
        "threads": 1,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
    }
    if spill is not None:
        config["temp_directory"] = str(spill)
    connection = duckdb.connect(path, config=config)
    try:
        connection.execute("SET TimeZone = 'UTC'")
        ((shown,),) = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
        if shown:  # it would print on stdout; where it is off (notebooks) even saying so can fail
            connection.execute("SET enable_progress_bar = false")
        yield connection
    finally:
        connection.close()


def quoted(identifier: str) -> str:
    """Return an identifier in double quotes."""
    return '"' + identifier.replace('"', '""') + '"'


def as_text(expression: str, kind: DuckDBPyType) -> str:
    """Return SQL that turns a value of a DuckDB type into text (nested values into JSON)."""
    nested = kind.id in _NESTED
    return f"CAST({f'to_json({expression})' if nested else expression} AS VARCHAR)"


def batches(relation: duckdb.DuckDBPyRelation, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield a relation in batches.

    Raises:
        duckdb.Error: also for what fails half-way, which Arrow would report as an error of its own.
    """
    try:
        yield from relation.to_arrow_reader(rows)
    except (OSError, pa.ArrowException) as error:
        raise duckdb.Error(str(error)) from error


def file_digest(path: Path) -> str:
    """Return the sha256 of a file's bytes, in constant memory."""
    try:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


def sql_reason(error: duckdb.Error) -> str:
    """Return what DuckDB says of an error on one line: the fault, and the names it suggests."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    hints = [line for line in lines[1:] if line.startswith(("Did you mean", "Candidate"))]
    return "; ".join(lines[:1] + hints)
