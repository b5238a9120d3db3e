"""A source, opened: rows staged as text, SELECTs guarded and bound, rows cast batch by batch."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import duckdb
import polars as pl

from lifehelper_data.domain.contract import TABLES, Table
from lifehelper_data.domain.counts import FileCounts
from lifehelper_data.domain.errors import MappingError
from lifehelper_data.domain.ports import NoProgress, Progress
from lifehelper_data.sources.casting import CastRows, CastRules, cast_rows
from lifehelper_data.sources.database_tables import DatabaseTables, TableRead, scratch_table
from lifehelper_data.sources.delivered import check_names
from lifehelper_data.sources.guard import guard_select
from lifehelper_data.sources.mapping import SourceMapping, load_mapping, matching_files
from lifehelper_data.sources.postgres import open_session
from lifehelper_data.sources.scratch import (
    as_text,
    batches,
    connect_scratch,
    file_digest,
    quoted,
    sql_reason,
)
from lifehelper_data.sources.staging import Staging

BATCH_ROWS: Final = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundSelect:
    """A SELECT that has been guarded and whose columns are known.

    Attributes:
        table: the contract table.
        sql: SELECT that returns contract columns as text.
        columns: the contract columns it delivers, sorted.
        ignored_columns: columns the mapping's SELECT returns that the contract does not know.
        ordered: whether the order of its rows means something; a database's does not.
    """

    table: Table
    sql: str
    columns: tuple[str, ...]
    ignored_columns: tuple[str, ...]
    ordered: bool = True


def source_digest(path: Path, progress: Progress | None = None) -> str:
    """Return the sha256 of a mapping and of every file it names; paths are not in it.

    What a database delivers is not in it either (see `TableRead.digest`).

    Raises:
        MappingError, NotFound, SourceError: as when opening the source.
    """
    mapping = load_mapping(path)
    spec = mapping.model_dump(mode="json", exclude={"description": True})
    for declared in spec["files"].values():
        del declared["path"]
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True, ensure_ascii=False).encode())
    for name, file_spec in sorted(mapping.files.items()):
        for position, file in enumerate(matching_files(file_spec, path.parent)):
            if progress:
                progress.step(f"hashing {file.name}", 0, None)
            digest.update(f"{name}#{position}={file_digest(file)}\n".encode())
    return digest.hexdigest()


class SourceReader:
    """Everything a mapping file names, staged and ready to be cast.

    Call `read_database` if the mapping has queries, then `open`, then read; close it (or use it as
    a context manager) when done.

    Args:
        path: the mapping file.
        scratch: an empty folder for throw-away files.
        memory_limit: memory of the scratch database, such as "512MB".
        progress: shows staging and casting.

    Attributes:
        mapping: the mapping.
        files: line counts of staged files.
        file_columns: columns of staged files.
        reads: how the tables that a database delivers were read, by name.
        gone: tables whose query names something that the database does not have.
    """

    def __init__(
        self,
        path: Path,
        scratch: Path,
        *,
        memory_limit: str = "512MB",
        progress: Progress | None = None,
    ) -> None:
        self.mapping: SourceMapping = load_mapping(path)
        self.files: tuple[FileCounts, ...] = ()
        self.file_columns: dict[str, tuple[str, ...]] = {}
        self.reads: dict[str, TableRead] = {}
        self.gone: frozenset[str] = frozenset()
        self._scratch = scratch
        self._progress = progress or NoProgress()
        self._stack = ExitStack()
        self._connection = self._stack.enter_context(
            connect_scratch(
                str(scratch / "staging.duckdb"), memory_limit=memory_limit, spill=scratch / "spill"
            )
        )
        self._staging = Staging(self._connection, path.parent)
        self._selects: dict[str, BoundSelect] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the scratch database."""
        self._stack.close()

    @property
    def tables(self) -> tuple[BoundSelect, ...]:
        """The mapped tables, in contract order."""
        return tuple(self._selects[name] for name in TABLES if name in self._selects)

    def rejects(self) -> Iterator[pl.DataFrame]:
        """Yield the rejected lines of all files, in the columns of the `rejects` table."""
        return self._staging.rejects(BATCH_ROWS)

    def rows(self, select: BoundSelect, rules: CastRules) -> Iterator[CastRows]:
        """Yield one table's rows, cast.

        Raises:
            MappingError: the SELECT itself fails; the message names the table.
        """
        label = f"casting {select.table.name}"
        done = 0
        try:
            for batch in batches(self._connection.sql(select.sql), BATCH_ROWS):
                raw = pl.DataFrame(batch)
                done += raw.height
                self._progress.step(label, done, None)
                yield cast_rows(raw, select.table, rules)
        except duckdb.Error as error:
            raise _select_failed(select.table.name, error) from error

    def returned(self, select: BoundSelect) -> int:
        """Return how many rows a SELECT returns, counted by the database itself."""
        try:
            counted = self._connection.execute(f"SELECT count(*) FROM ({select.sql})").fetchall()
        except duckdb.Error as error:
            raise _select_failed(select.table.name, error) from error
        return int(counted[0][0])

    def read_database(
        self, environment: Mapping[str, str], held: Mapping[str, Path], *, full_read: bool = False
    ) -> None:
        """Read what the mapping's queries deliver, in one snapshot; nothing without queries.

        Args:
            environment: where the variable with the database's address is looked up.
            held: rows remembered from earlier reads, by table: Parquet files.
            full_read: read tables with `incremental` in full, too.

        Raises:
            MappingError, UnsafeSql: a query is wrong, or the variable is not set.
            Unavailable: the database cannot be reached, or went away.
        """
        postgres = self.mapping.postgres
        if not self.mapping.queries or postgres is None:
            return
        tables = DatabaseTables(
            self._connection, self.mapping, held=held, folder=self._scratch, full_read=full_read
        )
        with open_session(postgres.uri_env, environment) as session:
            try:
                tables.fetch(session, self._progress)
            finally:
                self.gone = frozenset(session.gone)
        self.reads = tables.merge(self._progress)

    def open(self) -> Self:
        """Stage every file, lock the database down, guard and bind every SELECT.

        All problems of all SELECTs are reported at once, before anything is built.

        Raises:
            NotFound, SourceError: a file is absent or not what it is declared to be.
            MappingError, UnsafeSql: a SELECT is wrong or does more than select.
        """
        counts: list[FileCounts] = []
        for name, spec in self.mapping.files.items():
            for staged in self._staging.stage(name, spec, self._progress):
                counts.append(staged.counts)
            self.file_columns[name] = tuple(self._staging.columns(name))
        self.files = tuple(counts)
        self._staging.lock_down()
        problems: list[MappingError] = []
        for name, read in self.reads.items():
            self._selects[name] = _bound_query(TABLES[name], read)
        for name, wanted in self.mapping.tables.items():
            if wanted.sql is None:
                continue
            try:
                sql = guard_select(
                    self._connection, table=name, sql=wanted.sql, columns=self.file_columns
                )
                self._selects[name] = self._bind(TABLES[name], sql)
            except MappingError as problem:
                problems.append(problem)
        if len(problems) == 1:
            raise problems[0]
        if problems:
            raise MappingError("; ".join(map(str, problems)), field=problems[0].field)
        return self

    def _bind(self, table: Table, sql: str) -> BoundSelect:
        try:
            relation = self._connection.sql(sql)
            columns, types = relation.columns, relation.types
        except duckdb.Error as error:
            raise _select_failed(table.name, error) from error
        lower = check_names(table, "sql", columns)
        wanted = {c.name for c in table.source_columns}
        selected = ", ".join(
            f"{as_text(quoted(column), kind)} AS {quoted(column.lower())}"
            for column, kind in zip(columns, types, strict=True)
            if column.lower() in wanted
        )
        return BoundSelect(
            table=table,
            sql=f"SELECT {selected} FROM (\n{sql}\n)",
            columns=tuple(sorted(set(lower) & wanted)),
            ignored_columns=tuple(sorted(set(lower) - wanted)),
        )


def _bound_query(table: Table, read: TableRead) -> BoundSelect:
    names = ", ".join(map(quoted, read.delivered.columns))
    return BoundSelect(
        table=table,
        sql=f"SELECT {names} FROM {quoted(scratch_table(table.name))}",
        columns=read.delivered.columns,
        ignored_columns=read.delivered.ignored,
        ordered=False,
    )


def _select_failed(table: str, error: duckdb.Error) -> MappingError:
    reason = sql_reason(error)
    hint = "; use try_cast" if reason.startswith("Conversion Error") else ""
    return MappingError(f"tables.{table}.sql: {reason}{hint}", field=table)
