"""Declared files as all-text tables of a throw-away DuckDB, ready for a guarded SELECT."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
import polars as pl
import pyarrow as pa

from lifehelper_data.domain.counts import FileCounts
from lifehelper_data.domain.errors import SourceError
from lifehelper_data.domain.ports import Progress
from lifehelper_data.sources.formats import READERS
from lifehelper_data.sources.mapping import FileSpec, matching_files
from lifehelper_data.sources.scratch import batches, quoted
from lifehelper_data.sources.text_batch import Reject

REJECTS: Final = "rejects!"  # names no mapping can declare
INCOMING: Final = "incoming!"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """One file after staging.

    Attributes:
        counts: its lines, rows and rejects.
        columns: its columns, in file order.
    """

    counts: FileCounts
    columns: tuple[str, ...]


class Staging:
    """All-text tables of the declared files, in one DuckDB.

    Args:
        connection: a scratch connection.
        base: folder of the mapping file.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, base: Path) -> None:
        self.connection = connection
        self._base = base
        self._columns: dict[str, dict[str, str]] = {}
        connection.execute(
            f"CREATE TABLE {quoted(REJECTS)} (source_file VARCHAR, path VARCHAR, line BIGINT, "
            "reason VARCHAR, detail VARCHAR, content VARCHAR)"
        )

    def columns(self, name: str) -> list[str]:
        """Columns of a staged file, in order of first appearance."""
        return list(self._columns[name].values())

    def stage(self, name: str, spec: FileSpec, progress: Progress) -> Iterator[StagedFile]:
        """Read every file a spec names into the table `name`; yields once per file.

        Raises:
            SourceError: a file as a whole cannot be read.
            NotFound: nothing matches the path.
        """
        self._columns[name] = {}
        for path in matching_files(spec, self._base):
            label = f"reading {path.name}"
            size = path.stat().st_size
            before = self._rows(name)
            relative = _relative(path, self._base)
            lines = 0
            columns: dict[str, None] = {}
            for batch in READERS[spec.resolved_format](path, spec):
                self._insert(name, batch.rows)
                self._insert_rejects(name, relative, batch.rejects)
                columns |= dict.fromkeys(batch.rows.column_names)
                lines += batch.lines
                progress.step(label, batch.bytes_read, size)
            reasons = self._reasons(name, relative)
            yield StagedFile(
                counts=FileCounts(
                    source_file=name,
                    path=relative,
                    lines=lines,
                    rows=self._rows(name) - before,
                    rejected=sum(reasons.values()),
                    reasons=reasons,
                ),
                columns=tuple(columns),
            )
        if not self._columns[name]:
            raise SourceError(
                f"{spec.path!r} has no columns: it is empty; remove it or declare columns = [...]",
                field=name,
            )

    def lock_down(self) -> None:
        """From here on the database reads only what is staged, and its settings are fixed."""
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")

    def rejects(self, batch_rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rejected lines of all files, in the order they were met."""
        relation = self.connection.sql(f"SELECT * FROM {quoted(REJECTS)}")
        for batch in batches(relation, batch_rows):
            yield pl.DataFrame(batch)

    def _insert_rejects(self, name: str, path: str, rejects: Sequence[Reject]) -> None:
        if not rejects:
            return
        frame = pa.table(
            {
                "source_file": [name] * len(rejects),
                "path": [path] * len(rejects),
                "line": [reject.line for reject in rejects],
                "reason": [reject.reason for reject in rejects],
                "detail": pa.array([reject.detail for reject in rejects], type=pa.string()),
                "content": [reject.content for reject in rejects],
            }
        )
        self.connection.register(INCOMING, frame)
        self.connection.execute(f"INSERT INTO {quoted(REJECTS)} SELECT * FROM {quoted(INCOMING)}")
        self.connection.unregister(INCOMING)

    def _reasons(self, name: str, path: str) -> dict[str, int]:
        rows = self.connection.execute(
            f"SELECT reason, count(*) FROM {quoted(REJECTS)} WHERE source_file = ? AND path = ? "
            "GROUP BY reason ORDER BY reason",
            [name, path],
        ).fetchall()
        return {str(reason): int(count) for reason, count in rows}

    def _rows(self, name: str) -> int:
        if not self._columns[name]:
            return 0
        counted = self.connection.execute(f"SELECT count(*) FROM {quoted(name)}").fetchall()
        return int(counted[0][0])

    def _insert(self, name: str, rows: pa.Table) -> None:
        known = self._columns[name]
        renamed = [known.get(column.lower(), column) for column in rows.column_names]
        for column in renamed:
            if column.lower() in known:
                continue
            if known:
                self.connection.execute(
                    f"ALTER TABLE {quoted(name)} ADD COLUMN {quoted(column)} VARCHAR"
                )
            else:
                self.connection.execute(f"CREATE TABLE {quoted(name)} ({quoted(column)} VARCHAR)")
            known[column.lower()] = column
        if rows.num_rows == 0:
            return
        self.connection.register(INCOMING, rows.rename_columns(renamed))
        self.connection.execute(
            f"INSERT INTO {quoted(name)} BY NAME SELECT * FROM {quoted(INCOMING)}"
        )
        self.connection.unregister(INCOMING)


def _relative(path: Path, base: Path) -> str:
    try:
        return path.relative_to(base).as_posix()
    except ValueError:
        return path.name
