"""What changed between two releases: identities first, rows only where they differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import duckdb

from lifehelper_data.domain.contract import ALL_TABLES
from lifehelper_data.domain.release import ReleaseContent, TableParts
from lifehelper_data.stores.duck import (
    connect_fresh,
    connect_memory,
    parquet_scan,
    quote_identifier,
)
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.pins import pin_release
from lifehelper_data.stores.releases import ReleaseStore

SAMPLE_ROWS: Final = 20

Columns = dict[str, str]
"""SQL type by column name, in order."""


class TableStatus(StrEnum):
    """What happened to a table."""

    EQUAL = "equal"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedValue:
    """One value that differs. Everything is text as DuckDB writes it; None is null.

    Attributes:
        key: values of the table's key.
        column: the column.
        before: value in the first release.
        after: value in the second release.
    """

    key: tuple[str | None, ...]
    column: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDiff:
    """The difference of one table.

    Attributes:
        table: its name.
        status: what happened to it.
        rows_before: rows in the first release; None where it is added.
        rows_after: rows in the second release; None where it is removed.
        added: rows whose key is only in the second release.
        removed: rows whose key is only in the first release.
        changed: rows of one key with other values.
        key: the columns rows are matched by; all where the contract knows no key.
        sample: values of the first changed rows by key, then by column order.
    """

    table: str
    status: TableStatus
    rows_before: int | None
    rows_after: int | None
    added: int = 0
    removed: int = 0
    changed: int = 0
    key: tuple[str, ...] = ()
    sample: tuple[ChangedValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseDiff:
    """The difference of two releases, tables by name."""

    before: int
    after: int
    tables: tuple[TableDiff, ...]

    @property
    def equal(self) -> bool:
        """Whether both hold the same rows."""
        return all(table.status is TableStatus.EQUAL for table in self.tables)


def diff_releases(
    store: ReleaseStore, before: int, after: int, *, sample_rows: int = SAMPLE_ROWS
) -> ReleaseDiff:
    """Compare two releases.

    Args:
        store: the releases.
        before: the first release.
        after: the second release.
        sample_rows: changed rows per table whose values are listed.

    Raises:
        NotFound: one of them does not exist.
        Unavailable: one of them cannot be read.
    """
    layout = store.layout
    with (
        pin_release(layout, before, store.clock),
        pin_release(layout, after, store.clock),
        connect_memory() as connection,
    ):
        old, new = store.load(before).content, store.load(after).content
        old_columns = _dictionary(layout, before)
        new_columns = _dictionary(layout, after)
        tables: list[TableDiff] = []
        for name in sorted(old.tables.keys() | new.tables.keys()):
            table = _by_identity(name, old, new)
            if table.status is TableStatus.CHANGED:
                rows = _RowDiff(
                    connection, table, old_columns[name], new_columns[name], layout.root
                )
                table = rows.compare(old.tables[name], new.tables[name], sample_rows)
            tables.append(table)
    return ReleaseDiff(before=before, after=after, tables=tuple(tables))


def _by_identity(name: str, old: ReleaseContent, new: ReleaseContent) -> TableDiff:
    a, b = old.tables.get(name), new.tables.get(name)
    if a is None:
        status = TableStatus.ADDED
    elif b is None:
        status = TableStatus.REMOVED
    else:
        status = TableStatus.EQUAL if a.identity == b.identity else TableStatus.CHANGED
    return TableDiff(
        table=name,
        status=status,
        rows_before=None if a is None else a.rows,
        rows_after=None if b is None else b.rows,
        added=b.rows if a is None and b is not None else 0,
        removed=a.rows if b is None and a is not None else 0,
    )


def _dictionary(layout: Layout, number: int) -> dict[str, Columns]:
    """Return the columns each table of a release was published with."""
    tables: dict[str, Columns] = {}
    with connect_fresh(layout.release_file(number)) as connection:
        for table, column, sql_type in connection.execute(
            "SELECT table_name, column_name, type FROM data_dictionary "
            "ORDER BY table_name, position"
        ).fetchall():
            tables.setdefault(table, {})[column] = sql_type
    return tables


@dataclass(frozen=True, slots=True)
class _RowDiff:
    """Compares the rows of one table.

    Rows in parts that both releases share cancel out and are never read. Of the rest, the rows
    that are not equal (as multisets) are matched by key; equal keys by their order.
    """

    connection: duckdb.DuckDBPyConnection
    table: TableDiff
    old_columns: Columns
    new_columns: Columns
    root: Path

    def compare(self, old: TableParts, new: TableParts, sample_rows: int) -> TableDiff:
        columns = self.old_columns | self.new_columns
        key = self._key()
        shared = {part.path for part in old.parts} & {part.path for part in new.parts}
        old_rows = self._rows(old, shared, self.old_columns, columns)
        new_rows = self._rows(new, shared, self.new_columns, columns)
        key_list = ", ".join(quote_identifier(name) for name in key)
        all_list = ", ".join(quote_identifier(name) for name in columns)
        numbered = (
            f'SELECT *, row_number() OVER (PARTITION BY {key_list} ORDER BY {all_list}) AS "#" FROM'
        )
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE gone AS {numbered} ({old_rows} EXCEPT ALL {new_rows})"
        )
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE come AS {numbered} ({new_rows} EXCEPT ALL {old_rows})"
        )
        same = " AND ".join(
            f"g.{quote_identifier(name)} IS NOT DISTINCT FROM c.{quote_identifier(name)}"
            for name in (*key, "#")
        )
        return TableDiff(
            table=self.table.table,
            status=self.table.status,
            rows_before=self.table.rows_before,
            rows_after=self.table.rows_after,
            added=self._count(f"come AS c ANTI JOIN gone AS g ON {same}"),
            removed=self._count(f"gone AS g ANTI JOIN come AS c ON {same}"),
            changed=self._count(f"gone AS g JOIN come AS c ON {same}"),
            key=key,
            sample=self._sample(key, list(columns), same, sample_rows),
        )

    def _key(self) -> tuple[str, ...]:
        known = ALL_TABLES.get(self.table.table)
        both = self.old_columns.keys() & self.new_columns.keys()
        if known is not None and both.issuperset(known.sort_key):
            return known.sort_key
        return tuple(name for name in self.old_columns if name in both)

    def _rows(self, table: TableParts, shared: set[str], own: Columns, columns: Columns) -> str:
        listed = ", ".join(
            f"CAST({quote_identifier(name) if name in own else 'NULL'} AS {sql_type}) "
            f"AS {quote_identifier(name)}"
            for name, sql_type in columns.items()
        )
        paths = [self.root / part.path for part in table.parts if part.path not in shared]
        if paths:
            return f"(SELECT {listed} FROM {parquet_scan(paths)})"
        nothing = ", ".join(
            f"CAST(NULL AS {sql_type}) AS {quote_identifier(name)}"
            for name, sql_type in columns.items()
        )
        return f"(SELECT {nothing} WHERE false)"

    def _count(self, source: str) -> int:
        row = self.connection.execute(f"SELECT count(*) FROM {source}").fetchone()
        return int(row[0]) if row is not None else 0

    def _sample(
        self, key: Sequence[str], columns: Sequence[str], same: str, sample_rows: int
    ) -> tuple[ChangedValue, ...]:
        values = [name for name in columns if name not in key]
        selected = ", ".join(
            f"CAST({side}.{quote_identifier(name)} AS VARCHAR)"
            for side, names in (("g", [*key, *values]), ("c", values))
            for name in names
        )
        order = ", ".join(f"g.{quote_identifier(name)}" for name in (*key, "#"))
        found = self.connection.execute(
            f"SELECT {selected} FROM gone AS g JOIN come AS c ON {same} ORDER BY {order} LIMIT ?",
            [sample_rows],
        ).fetchall()
        sample: list[ChangedValue] = []
        for row in found:
            row_key = tuple(row[: len(key)])
            befores = row[len(key) : len(key) + len(values)]
            afters = row[len(key) + len(values) :]
            sample.extend(
                ChangedValue(key=row_key, column=name, before=before, after=after)
                for name, before, after in zip(values, befores, afters, strict=True)
                if before != after
            )
        return tuple(sample)
