"""Clean rows in, immutable content-addressed Parquet parts out."""

import hashlib
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

from lifehelper_data.domain.contract import ALL_TABLES, Duplicates, Table
from lifehelper_data.domain.errors import IdCollision
from lifehelper_data.domain.identity import RowsHash
from lifehelper_data.domain.release import Part, TableParts
from lifehelper_data.stores.atomic import replace_file
from lifehelper_data.stores.canonical import (
    column_list,
    literal,
    order_by,
    quote,
    rows_hash,
    schema_text,
    table_definition,
)
from lifehelper_data.stores.layout import Layout

ROW_GROUP_ROWS: Final = 122_880
_ORDINAL: Final = "_ordinal"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What became of a table's rows once several rows of one key were settled.

    Attributes:
        kept: rows left in the table.
        repeated: rows dropped as the same delivery again.
        duplicates: rows moved to quarantine because another row of their key won.
    """

    kept: int
    repeated: int = 0
    duplicates: int = 0


@dataclass(slots=True)
class PartWriter:
    """A scratch database that collects rows and writes them as parts.

    Attributes:
        layout: the workspace.
        connection: the scratch database.
        threads: threads for sorting and hashing; results do not depend on it.
    """

    layout: Layout
    connection: duckdb.DuckDBPyConnection
    threads: int = 2
    _appended: dict[str, int] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def open(
        cls, layout: Layout, scratch: Path, *, threads: int, memory_limit: str
    ) -> Iterator["PartWriter"]:
        """Open a writer whose scratch database lives in the folder `scratch`."""
        connection = duckdb.connect(
            str(scratch / "parts.duckdb"),
            config={
                "memory_limit": memory_limit,
                "threads": threads,
                "temp_directory": str(scratch / "parts-spill"),
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            },
        )
        try:
            connection.execute("SET TimeZone = 'UTC'")
            yield cls(layout=layout, connection=connection, threads=threads)
        finally:
            connection.close()

    def append(self, table: Table, rows: pl.DataFrame) -> None:
        """Add rows in source order; columns missing from `rows` are null until settled."""
        if table.name not in self._appended:
            self.connection.execute(
                f"CREATE TABLE {quote(table.name)} "
                f"({table_definition(table, f', {_ORDINAL} BIGINT')})"
            )
            self._appended[table.name] = 0
        if rows.is_empty():
            return
        numbered = rows.with_row_index(_ORDINAL, offset=self._appended[table.name])
        self.connection.register("_incoming", numbered.to_arrow())
        self.connection.execute(f"INSERT INTO {quote(table.name)} BY NAME SELECT * FROM _incoming")
        self.connection.unregister("_incoming")
        self._appended[table.name] += rows.height

    def settle(self, table: Table) -> Settled:
        """Settle several rows of one key by the table's rule; losers go to quarantine."""
        self.append(table, pl.DataFrame())
        before = self._count(table.name)
        match table.duplicates:
            case Duplicates.NEWEST_WINS:
                duplicates = self._drop_losers(table, "updated_at DESC NULLS LAST, _ordinal DESC")
                return Settled(kept=before - duplicates, duplicates=duplicates)
            case Duplicates.LAST_WINS:
                duplicates = self._drop_losers(table, "_ordinal DESC")
                return Settled(kept=before - duplicates, duplicates=duplicates)
            case Duplicates.REPEATED_DELIVERY:
                self._merge_deliveries(table)
            case Duplicates.REPEATED_ROW:
                self._merge_rows(table)
        kept = self._count(table.name)
        return Settled(kept=kept, repeated=before - kept)

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
        if path.exists():
            os.utime(path)  # it is in use again: gc counts its age from now
        else:
            self._copy(f"SELECT {column_list(table)} FROM {rows} ORDER BY {order_by(table)}", path)
        return Part(
            table=table.name,
            bucket=bucket,
            path=path.relative_to(self.layout.root).as_posix(),
            rows_hash=hashed,
            identity=identity,
            bytes_sha256=sha256_file(path),
            size_bytes=path.stat().st_size,
        )

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

    def _drop_losers(self, table: Table, winner_first: str) -> int:
        name, keys = quote(table.name), ", ".join(quote(k) for k in table.key)
        columns = column_list(table)
        quarantine = ALL_TABLES["quarantine"]
        self.append(quarantine, pl.DataFrame())
        self.connection.execute(
            f"CREATE TEMP TABLE losers AS SELECT _ordinal FROM "
            f"(SELECT _ordinal, row_number() OVER (PARTITION BY {keys} ORDER BY {winner_first}) "
            f"AS place FROM {name} SEMI JOIN (SELECT {keys} FROM {name} GROUP BY {keys} "
            f"HAVING count(*) > 1) USING ({keys})) WHERE place > 1"
        )
        key_json = _as_json(table.key)
        row_json = _as_json(tuple(c.name for c in table.columns))
        self.connection.execute(
            f"INSERT INTO quarantine BY NAME SELECT {literal(table.name)} AS table_name, "
            f"{key_json} AS key, NULL AS column_name, NULL AS value, "
            f"'duplicate' AS reason, {row_json} AS row "
            f"FROM (SELECT {columns}, _ordinal FROM {name}) SEMI JOIN losers USING (_ordinal)"
        )
        losers = self._number("SELECT count(*) FROM losers")
        self.connection.execute(
            f"DELETE FROM {name} WHERE _ordinal IN (SELECT _ordinal FROM losers)"
        )
        self.connection.execute("DROP TABLE losers")
        return losers

    def _merge_deliveries(self, table: Table) -> None:
        keys = ", ".join(quote(k) for k in table.key)
        self._replace(
            table,
            f"SELECT {keys}, min(arrived_at) AS arrived_at, min(_ordinal) AS _ordinal "
            f"FROM {quote(table.name)} GROUP BY {keys}",
        )

    def _merge_rows(self, table: Table) -> None:
        plain = ", ".join(quote(c.name) for c in table.columns if c.name != "seq")
        select = (
            f"SELECT {plain}, min(_ordinal) AS _ordinal FROM {quote(table.name)} GROUP BY {plain}"
        )
        if table.ordered_within:
            within = ", ".join(quote(k) for k in table.ordered_within)
            select = (
                f"SELECT *, row_number() OVER (PARTITION BY {within} ORDER BY _ordinal) AS seq "
                f"FROM ({select})"
            )
        self._replace(table, select)

    def _replace(self, table: Table, select: str) -> None:
        self.connection.execute(
            f"CREATE TABLE settled ({table_definition(table, f', {_ORDINAL} BIGINT')})"
        )
        self.connection.execute(f"INSERT INTO settled BY NAME {select}")
        self.connection.execute(f"DROP TABLE {quote(table.name)}")
        self.connection.execute(f"ALTER TABLE settled RENAME TO {quote(table.name)}")


def _as_json(columns: tuple[str, ...]) -> str:
    packed = ", ".join(f"{quote(name)} := {quote(name)}" for name in columns)
    return f"to_json(struct_pack({packed}))::VARCHAR"


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


def sha256_file(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def missing_parts(layout: Layout, tables: Mapping[str, TableParts]) -> list[str]:
    """Return the paths of parts that are not on disk in their recorded size."""
    return [
        part.path
        for table in tables.values()
        for part in table.parts
        if not (layout.root / part.path).is_file()
        or (layout.root / part.path).stat().st_size != part.size_bytes
    ]
