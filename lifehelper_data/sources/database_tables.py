"""Contract tables that a database delivers: probed, read in full or in part, merged."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from lifehelper_data.domain.contract import TABLES, Duplicates, Table
from lifehelper_data.domain.errors import MappingError
from lifehelper_data.domain.ports import Progress
from lifehelper_data.sources.delivered import Delivered, delivered_columns
from lifehelper_data.sources.increments import MOMENT, Window, window_of
from lifehelper_data.sources.mapping import SourceMapping
from lifehelper_data.sources.postgres import PostgresSession
from lifehelper_data.sources.postgres_query import check_query
from lifehelper_data.sources.replica_file import (
    ReplicaHead,
    load_replica,
    read_head,
    write_replica,
)
from lifehelper_data.sources.scratch import quoted
from lifehelper_data.sources.text_rows import replace_by_key, rows_digest, unite

_INCOMING: Final = "incoming!"  # names no mapping can declare
_BY_KEY: Final = {Duplicates.NEWEST_WINS, Duplicates.LAST_WINS}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRead:
    """How one table was read from the database.

    Attributes:
        delivered: its columns.
        mode: whether all rows were read, or only newer ones.
        rows_read: rows the database sent.
        since: ISO time from which rows were read; None for all.
        digest: digest of the table's text rows, read and remembered ones, whatever their order.
        replica: a file with these rows to be kept; None if the one that is kept still holds.
    """

    delivered: Delivered
    mode: Literal["full", "incremental"]
    rows_read: int
    since: str | None
    digest: str
    replica: Path | None


@dataclass(slots=True, kw_only=True)
class _Reading:
    """A table between its first row and its last.

    Attributes:
        table: the contract table.
        delivered: what the query delivers.
        signature: sha256 of how it is read.
        window: how newer rows are told, if they can be.
        held: what the kept file says, if it was read in the same way and is whole.
        since_us: from which moment it is read; None for all rows.
        rows_read: rows the database sent.
        newest_us: newest moment among them, never later than the snapshot.
    """

    table: Table
    delivered: Delivered
    signature: str
    window: Window | None
    held: ReplicaHead | None
    since_us: int | None = None
    rows_read: int = 0
    newest_us: int | None = None


class DatabaseTables:
    """Reads every `query` of a mapping into the scratch database as text.

    Args:
        connection: the scratch database, not locked down yet.
        mapping: the mapping.
        held: replica files of earlier reads, by table; they may be damaged or out of date.
        folder: where new replica files are put.
        full_read: read every table in full.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        mapping: SourceMapping,
        *,
        held: Mapping[str, Path],
        folder: Path,
        full_read: bool,
    ) -> None:
        self._connection = connection
        self._mapping = mapping
        self._held = held
        self._folder = folder
        self._full_read = full_read
        self._readings: list[_Reading] = []

    def fetch(self, session: PostgresSession, progress: Progress) -> None:
        """Read from the database; all problems of all queries are reported at once.

        Raises:
            MappingError, UnsafeSql: a query is wrong; the message names the table.
            Unavailable: the server went away.
        """
        self._readings = self._probed(session)
        for reading in self._readings:
            self._stream(session, reading, progress)

    def merge(self, progress: Progress) -> dict[str, TableRead]:
        """Merge what was read with what is remembered; needs no connection to the database."""
        return {reading.table.name: self._merged(reading, progress) for reading in self._readings}

    def _probed(self, session: PostgresSession) -> list[_Reading]:
        problems: list[MappingError] = []
        readings: list[_Reading] = []
        for name, query in self._mapping.queries.items():
            try:
                readings.append(self._reading(session, TABLES[name], check_query(name, query)))
            except MappingError as problem:
                problems.append(problem)
        if len(problems) == 1:
            raise problems[0]
        if problems:
            raise MappingError("; ".join(map(str, problems)), field=problems[0].field)
        return readings

    def _reading(self, session: PostgresSession, table: Table, query: str) -> _Reading:
        probed = session.probe(table.name, query)
        delivered = delivered_columns(table, query, probed)
        spec = self._mapping.tables[table.name].incremental
        window = window_of(table, spec, probed, self._mapping.naive_timezone) if spec else None
        said = json.dumps(
            {
                "query": query,
                "incremental": spec.model_dump(mode="json") if spec else None,
                "naive_timezone": self._mapping.naive_timezone,
                "types": delivered.types,
                "database": session.database_id,
            },
            sort_keys=True,
        )
        signature = hashlib.sha256(said.encode()).hexdigest()
        path = self._held.get(table.name)
        head = read_head(path) if path is not None else None
        return _Reading(
            table=table,
            delivered=delivered,
            signature=signature,
            window=window,
            held=head if head is not None and head.signature == signature else None,
        )

    def _stream(self, session: PostgresSession, reading: _Reading, progress: Progress) -> None:
        name, columns, window = reading.table.name, reading.delivered.columns, reading.window
        target = scratch_table(name)
        self._create(target, columns)
        if window is not None and not self._full_read:
            reading.since_us = self._remembered(reading, window)
        if window is not None and reading.since_us is not None:
            target = _newer(name)
            self._create(target, columns)
            sql = reading.delivered.select(window.moment, window.where(reading.since_us))
        else:
            sql = reading.delivered.select(window.moment if window else "")
        for batch in session.batches(name, sql):
            rows = pa.Table.from_batches([batch])
            reading.rows_read += rows.num_rows
            if window is not None:
                reading.newest_us = _larger(reading.newest_us, pc.max(rows[MOMENT]).as_py())
                rows = rows.drop_columns([MOMENT])
            self._connection.register(_INCOMING, rows)
            self._connection.execute(
                f"INSERT INTO {quoted(target)} BY NAME SELECT * FROM {quoted(_INCOMING)}"
            )
            self._connection.unregister(_INCOMING)
            progress.step(f"reading {name}", reading.rows_read, None)
        if window is not None and reading.newest_us is not None:
            reading.newest_us = min(reading.newest_us, window.latest_us(session.snapshot_at))

    def _remembered(self, reading: _Reading, window: Window) -> int | None:
        """Load the kept rows; returns from when to read on, None if all must be read."""
        if reading.held is None:
            return None
        since_us = window.since_us(reading.held.watermark_us)
        name = reading.table.name
        if since_us is None:
            return None
        if not load_replica(self._connection, scratch_table(name), reading.held, self._held[name]):
            reading.held = None
            return None
        return since_us

    def _merged(self, reading: _Reading, progress: Progress) -> TableRead:
        name, columns, held = reading.table.name, reading.delivered.columns, reading.held
        whole, newer = scratch_table(name), _newer(name)
        watermark_us = reading.newest_us
        progress.step(f"merging {name}", 0, None)
        if reading.since_us is not None and held is not None:
            watermark_us = _larger(held.watermark_us, watermark_us)
            if reading.table.duplicates in _BY_KEY:
                key = reading.table.key
                replace_by_key(self._connection, whole, newer, columns=columns, key=key)
            else:
                unite(self._connection, whole, newer, columns=columns)
            self._connection.execute(f"DROP TABLE {quoted(newer)}")
        rows, digest = rows_digest(self._connection, quoted(whole), columns)
        head = ReplicaHead(
            signature=reading.signature,
            columns=columns,
            rows=rows,
            digest=digest,
            watermark_us=watermark_us,
        )
        replica = None
        if head != held:
            replica = self._folder / f"{name}.replica.parquet"
            write_replica(self._connection, whole, head, replica)
        since = None
        if reading.since_us is not None and reading.window is not None:
            since = reading.window.shown(reading.since_us)
        return TableRead(
            delivered=reading.delivered,
            mode="full" if since is None else "incremental",
            rows_read=reading.rows_read,
            since=since,
            digest=digest,
            replica=replica,
        )

    def _create(self, name: str, columns: tuple[str, ...]) -> None:
        listed = ", ".join(f"{quoted(column)} VARCHAR" for column in columns)
        self._connection.execute(f"CREATE TABLE {quoted(name)} ({listed})")


def scratch_table(table: str) -> str:
    """Return the name of the scratch table that holds a contract table's text rows."""
    return f"query!{table}"


def _newer(table: str) -> str:
    return f"newer!{table}"


def _larger(a: int | None, b: int | None) -> int | None:
    return a if b is None else b if a is None else max(a, b)
