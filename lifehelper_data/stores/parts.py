"""Clean rows in, immutable content-addressed Parquet parts out."""

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import duckdb
import polars as pl

from lifehelper_data.domain.contract import ALL_TABLES, Table
from lifehelper_data.domain.errors import IdCollision
from lifehelper_data.domain.identity import RowsHash
from lifehelper_data.domain.release import Part, TableParts
from lifehelper_data.stores.atomic import replace_file
from lifehelper_data.stores.canonical import column_list, order_by, rows_hash, schema_text
from lifehelper_data.stores.duck import connect_writer, parquet_scan
from lifehelper_data.stores.duck import quote_identifier as quote
from lifehelper_data.stores.duck import quote_text as literal
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.part_check import file_sha256
from lifehelper_data.stores.settling import ORDINAL, Settled, collecting_definition, settle_table

ROW_GROUP_ROWS: Final = 122_880
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class PartWriter:
    """A scratch database that collects rows and writes them as parts.

    Attributes:
        layout: the workspace.
        connection: the scratch database.
        threads: threads for sorting and hashing; results do not depend on it.
        known_bytes: recorded sha256 of parts, by path.
    """

    layout: Layout
    connection: duckdb.DuckDBPyConnection
    threads: int = 2
    known_bytes: Mapping[str, str] = field(default_factory=dict)
    _appended: dict[str, int] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def open(
        cls,
        layout: Layout,
        scratch: Path,
        *,
        threads: int,
        memory_limit: str,
        known: Mapping[str, TableParts] | None = None,
    ) -> Iterator["PartWriter"]:
        """Open a writer whose scratch database lives in the folder `scratch`.

        Args:
            layout: the workspace.
            scratch: an empty folder.
            threads: threads for sorting and hashing.
            memory_limit: memory of the scratch database, such as "512MB".
            known: parts of an earlier build; a part of theirs that is on disk is trusted if its
                bytes are still the recorded ones.
        """
        parts = [part for table in (known or {}).values() for part in table.parts]
        with connect_writer(scratch / "parts.duckdb") as connection:
            connection.execute(f"SET threads = {threads}")
            connection.execute(f"SET memory_limit = {literal(memory_limit)}")
            connection.execute(f"SET temp_directory = {literal(str(scratch / 'parts-spill'))}")
            yield cls(
                layout=layout,
                connection=connection,
                threads=threads,
                known_bytes={part.path: part.bytes_sha256 for part in parts},
            )

    def append(self, table: Table, rows: pl.DataFrame) -> None:
        """Add rows in source order; columns missing from `rows` are null until settled."""
        if table.name not in self._appended:
            self.connection.execute(
                f"CREATE TABLE {quote(table.name)} ({collecting_definition(table)})"
            )
            self._appended[table.name] = 0
        if rows.is_empty():
            return
        numbered = rows.with_row_index(ORDINAL, offset=self._appended[table.name])
        self.connection.register("_incoming", numbered.to_arrow())
        self.connection.execute(f"INSERT INTO {quote(table.name)} BY NAME SELECT * FROM _incoming")
        self.connection.unregister("_incoming")
        self._appended[table.name] += rows.height

    def settle(self, table: Table, *, ordered: bool = True) -> Settled:
        """Settle several rows of one key by the table's rule; losers go to quarantine.

        Args:
            table: the contract table.
            ordered: whether the order in which its rows were added means something.
        """
        self.append(table, pl.DataFrame())
        self.append(ALL_TABLES["quarantine"], pl.DataFrame())
        return settle_table(self.connection, table, ordered=ordered)

    def orphans(self, table: Table) -> int:
        """Count rows whose book is not in `books` (both tables settled)."""
        return self._number(
            f"SELECT count(*) FROM {quote(table.name)} ANTI JOIN books USING (book_id)"
        )

    def check_source_ids(self) -> None:
        """Refuse two texts that share a number.

        Raises:
            IdCollision: names both texts.
        """
        clashes = self.connection.execute(
            "SELECT table_name, id, min(source_id), max(source_id) FROM source_ids "
            "GROUP BY table_name, id HAVING count(DISTINCT source_id) > 1 ORDER BY ALL LIMIT 1"
        ).fetchall()
        for space, number, first, second in clashes:
            raise IdCollision(
                f"{space} ids {first!r} and {second!r} share the number {number}; rename one at "
                "the source"
            )

    def latest(self, table: Table) -> datetime | None:
        """Return the newest freshness time of the settled table; None without one."""
        if table.freshness_time is None:
            return None
        ((latest,),) = self.connection.execute(
            f"SELECT epoch_us(max({quote(table.freshness_time)})) FROM {quote(table.name)}"
        ).fetchall()
        return None if latest is None else _EPOCH + timedelta(microseconds=latest)

    def export(self, table: Table, path: Path) -> None:
        """Write the collected rows of a table to a Parquet file outside the parts."""
        self.append(table, pl.DataFrame())
        self._copy(f"SELECT {column_list(table)} FROM {quote(table.name)}", path)

    def write(self, table: Table, *, buckets: int = 1) -> TableParts:
        """Write the settled table as parts; a part that exists is used as it is.

        Args:
            table: the contract table.
            buckets: parts to spread it over by `bucketed_by`; 1 for other tables.
        """
        self.append(table, pl.DataFrame())
        count = buckets if table.bucketed_by and self._count(table.name) else 1
        return table_parts(table, [self._write_part(table, b, count) for b in range(count)])

    def _write_part(self, table: Table, bucket: int, buckets: int) -> Part:
        rows = quote(table.name)
        if buckets > 1 and table.bucketed_by:
            key = quote(table.bucketed_by)
            where = f"(({key} % {buckets}) + {buckets}) % {buckets} = {bucket}"
            rows = f"(SELECT * FROM {rows} WHERE {where})"
        hashed = rows_hash(self.connection, table, rows)
        identity = hashed.identity(schema_text(table))
        path = self.layout.parts / table.name / f"{identity}.parquet"
        relative = path.relative_to(self.layout.root).as_posix()
        sha256 = self._intact(table, path, identity, self.known_bytes.get(relative))
        if sha256 is None:
            self._copy(f"SELECT {column_list(table)} FROM {rows} ORDER BY {order_by(table)}", path)
            sha256 = file_sha256(path)
        return Part(
            table=table.name,
            bucket=bucket,
            path=relative,
            rows_hash=hashed,
            identity=identity,
            bytes_sha256=sha256,
            size_bytes=path.stat().st_size,
        )

    def _intact(self, table: Table, path: Path, identity: str, known: str | None) -> str | None:
        """Return the sha256 of a part that is on disk already; None if it must be written.

        A part whose recorded bytes are not known is read and hashed again by its rows.
        """
        if not path.exists():
            return None
        sha256 = file_sha256(path)
        if known is None:
            try:
                there = rows_hash(self.connection, table, parquet_scan([path]))
            except (duckdb.Error, UnicodeDecodeError):  # DuckDB's words about damaged text
                return None  # it is written again
            if there.identity(schema_text(table)) != identity:
                return None
        elif known != sha256:
            return None
        os.utime(path)  # it is in use again: gc counts its age from now
        return sha256

    def _copy(self, select: str, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        self.connection.execute("SET threads = 1")  # one thread writes the same bytes every time
        try:
            self.connection.execute(
                f"COPY ({select}) TO {literal(str(temporary))} "
                f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP_ROWS})"
            )
            replace_file(temporary, path)
        finally:
            self.connection.execute(f"SET threads = {self.threads}")
            temporary.unlink(missing_ok=True)

    def _count(self, name: str) -> int:
        return self._number(f"SELECT count(*) FROM {quote(name)}")

    def _number(self, sql: str) -> int:
        ((number,),) = self.connection.execute(sql).fetchall()
        return int(number)


def table_parts(table: Table, parts: list[Part]) -> TableParts:
    """Put a table's parts together; its identity does not depend on how it is split."""
    total = RowsHash.empty()
    for part in parts:
        total = total + part.rows_hash
    return TableParts(
        table=table.name,
        parts=tuple(sorted(parts, key=lambda part: part.bucket)),
        identity=total.identity(schema_text(table)),
        rows=total.rows,
    )
