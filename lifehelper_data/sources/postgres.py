"""PostgreSQL as text: one read-only snapshot, every value written out by the server."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import pyarrow as pa

from lifehelper_data.domain.errors import MappingError, Unavailable
from lifehelper_data.sources.postgres_errors import (
    connect_error,
    is_uri,
    names_something_gone,
    parameters_of,
    query_error,
    secrets_of,
)

BATCH_BYTES: Final = 4 << 20
"""Size of a batch the driver is asked for; memory holds a few of them, whatever the table."""

_CONNECTION: Final = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "fallback_application_name": "lifehelper",
}
"""Parameters where the URI does not set them: a server that vanished is noticed in a minute."""

_SESSION: Final = (
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL IntervalStyle = 'iso_8601'",
    "SET LOCAL extra_float_digits = 1",
    "SET LOCAL standard_conforming_strings = on",
)
"""Whatever the server, database or role prefers: the same value is the same text."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Shape = Literal["scalar", "nested", "binary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseColumn:
    """A column of a query's result.

    Attributes:
        name: its name.
        type_name: the server's name of its type (of a domain: of the type below).
        shape: how it becomes text: `scalar` as the server writes it, `nested` (arrays and
            composites) as JSON, `binary` not at all.
    """

    name: str
    type_name: str
    shape: Shape


class PostgresSession:
    """An open read-only transaction: everything it reads is of one moment.

    Args:
        connection: an ADBC connection in autocommit mode.
        secrets: texts that no message may hold.

    Attributes:
        snapshot_at: the server's time when the transaction began.
        database_id: stays the same as long as it is the same database.
        gone: tables whose query names a table, column or function that does not exist.
    """

    def __init__(self, connection: Any, secrets: tuple[str, ...]) -> None:
        self._connection = connection
        self._secrets = secrets
        self.gone: set[str] = set()
        self._run("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for setting in _SESSION:
            self._run(setting)
        ((micros, name),) = self._rows(
            "SELECT (extract(epoch FROM transaction_timestamp()) * 1000000)::bigint, "
            "current_database()::text"
        )
        self.snapshot_at = _EPOCH + timedelta(microseconds=micros)
        self.database_id = f"{self._system_id()}/{name}"

    def probe(self, table: str, query: str) -> tuple[DatabaseColumn, ...]:
        """Return the columns of a query without reading a row.

        A query that fails leaves the transaction usable.

        Raises:
            MappingError: the server refuses it; the message names the table.
            Unavailable: the server is gone.
        """
        self._run("SAVEPOINT probe")
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(f"SELECT * FROM (\n{query}\n) AS source LIMIT 0")
                schema = cursor.fetch_record_batch().schema
        except self._errors() as error:
            raise self._failed(table, error, back_to="probe") from None
        return tuple(_column(field) for field in schema)

    def batches(self, table: str, sql: str) -> Iterator[pa.RecordBatch]:
        """Yield the result of a SELECT in batches of about BATCH_BYTES.

        Raises:
            MappingError: the server refuses it; the message names the table.
            Unavailable: the server is gone, also half-way.
        """
        from adbc_driver_postgresql import StatementOptions

        try:
            with self._connection.cursor() as cursor:
                cursor.adbc_statement.set_options(
                    **{StatementOptions.BATCH_SIZE_HINT_BYTES.value: str(BATCH_BYTES)}
                )
                cursor.execute(sql)
                yield from cursor.fetch_record_batch()
        except self._errors() as error:
            raise self._failed(table, error) from None

    def _system_id(self) -> str:
        """The cluster's own number; empty where this role may not ask."""
        self._run("SAVEPOINT identity")
        try:
            ((number,),) = self._rows("SELECT system_identifier::text FROM pg_control_system()")
        except self._errors():
            self._run("ROLLBACK TO SAVEPOINT identity")
            return ""
        return str(number)

    def _failed(
        self, table: str, error: Exception, back_to: str | None = None
    ) -> MappingError | Unavailable:
        try:
            self._run(f"ROLLBACK TO SAVEPOINT {back_to}" if back_to else "ROLLBACK")
            alive = True
        except self._errors():
            alive = False
        if alive and names_something_gone(error):
            self.gone.add(table)
        return query_error(table, error, alive=alive, secrets=self._secrets)

    def _run(self, statement: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    @staticmethod
    def _errors() -> tuple[type[Exception], ...]:
        import adbc_driver_postgresql.dbapi as driver

        return (driver.Error, OSError, pa.ArrowException)


@contextmanager
def open_session(uri_env: str, environment: Mapping[str, str]) -> Iterator[PostgresSession]:
    """Connect and begin one read-only transaction.

    Args:
        uri_env: name of the variable that holds the libpq URI.
        environment: where it is looked up.

    Raises:
        MappingError: the variable is not set, or holds no libpq URI.
        Unavailable: the driver is not installed, or the server cannot be reached.
    """
    uri = environment.get(uri_env, "").strip()
    if not uri:
        raise MappingError(
            f"postgres.uri_env: the environment variable {uri_env!r} is not set; set it to a "
            "libpq URI such as postgresql://user@host/database",
            field="postgres.uri_env",
        )
    if not is_uri(uri):
        raise MappingError(
            f"postgres.uri_env: {uri_env} does not hold a libpq URI; write "
            "postgresql://user@host/database there",
            field="postgres.uri_env",
        )
    try:
        import adbc_driver_postgresql.dbapi as driver
    except ModuleNotFoundError as error:
        raise Unavailable(
            "reading PostgreSQL needs a package that is not installed; run "
            "`pip install 'lifehelper-data[postgres]'`"
        ) from error
    refused: MappingError | Unavailable | None = None
    try:
        connection = driver.connect(_with_parameters(uri), autocommit=True)
    except driver.Error as error:
        refused = connect_error(uri_env, error)
    if refused is not None:
        raise refused  # here, where no error that names host or user hangs on to it
    try:
        try:
            session = PostgresSession(connection, secrets_of(uri))
        except driver.Error as error:
            refused = connect_error(uri_env, error)
        if refused is not None:
            raise refused
        yield session
    finally:
        connection.close()


def _with_parameters(uri: str) -> str:
    given = parameters_of(uri)
    added = "&".join(f"{name}={value}" for name, value in _CONNECTION.items() if name not in given)
    if not added:
        return uri
    separator = "&" if re.search(r"\?[^?]*$", uri) else "?"
    return f"{uri.removesuffix('?')}{separator}{added}"


def _column(field: pa.Field) -> DatabaseColumn:
    metadata = field.metadata or {}
    type_name = metadata.get(b"POSTGRESQL:type", str(field.type).encode()).decode()
    return DatabaseColumn(name=field.name, type_name=type_name, shape=_shape(field.type))


def _shape(kind: pa.DataType) -> Shape:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return "binary" if _shape(kind.value_type) == "binary" else "nested"
    if pa.types.is_struct(kind):
        return "nested"
    return "binary" if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else "scalar"
