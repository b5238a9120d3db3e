"""DuckDB connections that behave the same everywhere, and SQL text that is safe to assemble."""

import threading
from collections.abc import Iterable
from pathlib import Path

import duckdb

_SETTINGS = (
    "SET GLOBAL TimeZone = 'UTC'",
    "SET GLOBAL python_enable_replacements = false",  # a name in SQL is never a Python variable
    "SET GLOBAL autoinstall_known_extensions = false",
    "SET GLOBAL autoload_known_extensions = false",
    "SET GLOBAL allow_community_extensions = false",
)
# Settings belong to the DuckDB instance, which all connections of a process to one file share.
_SETUP = threading.Lock()


def quote_identifier(name: str) -> str:
    """Return a name as a quoted SQL identifier.

    >>> quote_identifier('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def quote_text(value: str) -> str:
    """Return a text as an SQL literal.

    >>> quote_text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def parquet_scan(paths: Iterable[Path]) -> str:
    """Return the table function that reads Parquet files, in the order given.

    Folder names such as `env=prod` are never taken for columns.
    """
    listed = ", ".join(quote_text(str(path)) for path in paths)
    return f"read_parquet([{listed}], hive_partitioning = false)"


def connect_memory() -> duckdb.DuckDBPyConnection:
    """Return a new in-memory database: UTC, no replacement scans, no extensions from outside."""
    connection = duckdb.connect()
    _apply(connection)
    return connection


def connect_writer(path: Path) -> duckdb.DuckDBPyConnection:
    """Return a writing connection to a database file, created if it is missing."""
    connection = duckdb.connect(str(path))
    _apply(connection)
    return connection


def connect_read_only(path: Path) -> duckdb.DuckDBPyConnection:
    """Return a read-only connection to a database file (not locked down; see `lock_down`).

    A second connection of the same process to the same path shares the first one's view of the
    file, even if the path was replaced meanwhile. Use `connect_fresh` to see what is there now.
    """
    connection = duckdb.connect(str(path), read_only=True)
    with _SETUP:
        if not _is_locked(connection):
            _apply(connection)
    return connection


def connect_fresh(path: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection whose default database is the file as it is on disk now, read-only."""
    connection = connect_memory()
    try:
        connection.execute(f"ATTACH {quote_text(str(path))} AS pinned (READ_ONLY)")
        connection.execute("USE pinned")
    except duckdb.Error:
        connection.close()
        raise
    return connection


def lock_down(
    connection: duckdb.DuckDBPyConnection, *, readable: Iterable[Path], temporary: Path
) -> None:
    """Let a connection read the named files and nothing else, for good.

    Args:
        connection: a connection; every other connection to the same instance is bound as well.
        readable: the only files SQL may open.
        temporary: folder for what does not fit in memory.
    """
    with _SETUP:
        if _is_locked(connection):
            return
        listed = ", ".join(quote_text(str(path)) for path in readable)
        connection.execute(f"SET GLOBAL temp_directory = {quote_text(str(temporary))}")
        connection.execute(f"SET GLOBAL allowed_paths = [{listed}]")
        connection.execute("SET GLOBAL enable_external_access = false")
        connection.execute("SET GLOBAL lock_configuration = true")


def _apply(connection: duckdb.DuckDBPyConnection) -> None:
    for statement in _SETTINGS:
        connection.execute(statement)
    ((shown,),) = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if shown:  # it would print on stdout; where it is off (notebooks) even saying so can fail
        connection.execute("SET enable_progress_bar = false")


def _is_locked(connection: duckdb.DuckDBPyConnection) -> bool:
    row = connection.execute("SELECT current_setting('lock_configuration')").fetchone()
    return row is not None and bool(row[0])
