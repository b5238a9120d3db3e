"""Small real releases for the tests of the release store."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from lifehelper_data.domain.contract import ALL_TABLES, Kind
from lifehelper_data.domain.identity import RowsHash
from lifehelper_data.domain.release import Part, Release, ReleaseContent, TableParts
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.locks import HeldLock
from lifehelper_data.stores.promotion import promote
from lifehelper_data.stores.releases import ReleaseStore

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
REPOSITORY = Path(__file__).resolve().parents[2]

DTYPES: dict[Kind, pl.DataType] = {
    Kind.INT64: pl.Int64(),
    Kind.INT32: pl.Int32(),
    Kind.TEXT: pl.String(),
    Kind.BOOL: pl.Boolean(),
    Kind.FLOAT: pl.Float64(),
    Kind.TIMESTAMP: pl.Datetime("us", "UTC"),
    Kind.TEXT_LIST: pl.List(pl.String()),
    Kind.INT_LIST: pl.List(pl.Int64()),
    Kind.FLOAT_LIST: pl.List(pl.Float32()),
}

Rows = Sequence[Mapping[str, object]]


class ManualClock:
    """A clock that a test moves."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Shop:
    """A workspace with a hand-driven clock."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        self.layout.create()
        self.clock = ManualClock()
        self.store = ReleaseStore(self.layout, self.clock, self.clock.advance)

    def lock(self) -> AbstractContextManager[HeldLock]:
        return self.store.writer_lock(beat_every_s=None).hold(0)

    def part(self, table: str, rows: Rows, bucket: int = 0) -> Part:
        """Write rows as a part named by their identity; its time is the clock's."""
        columns = ALL_TABLES[table].columns
        frame = pl.DataFrame(
            [{column.name: row.get(column.name) for column in columns} for row in rows],
            schema={column.name: DTYPES[column.kind] for column in columns},
        )
        digests = [hashlib.sha256(repr(row).encode()).digest() for row in frame.rows()]
        lanes = [sum(int.from_bytes(d[i : i + 8]) for d in digests) for i in (0, 8, 16, 24)]
        rows_hash = RowsHash.of_sums(frame.height, lanes)
        identity = rows_hash.identity(table)
        path = self.layout.parts / table / f"{identity}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(path)
        os.utime(path, (self.clock().timestamp(), self.clock().timestamp()))
        return Part(
            table=table,
            bucket=bucket,
            path=path.relative_to(self.layout.root).as_posix(),
            rows_hash=rows_hash,
            identity=identity,
            bytes_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
            size_bytes=path.stat().st_size,
        )

    def table(self, name: str, *buckets: Rows) -> TableParts:
        parts = tuple(self.part(name, rows, bucket) for bucket, rows in enumerate(buckets))
        total = sum((part.rows_hash for part in parts), RowsHash.empty())
        return TableParts(table=name, parts=parts, identity=total.identity(name), rows=total.rows)

    def content(self, *tables: TableParts) -> ReleaseContent:
        return ReleaseContent(tables={table.table: table for table in tables})

    def marked(self, marker: str) -> ReleaseContent:
        """A release whose two tables both carry a marker."""
        return self.content(
            self.table("books", [book(1, title=marker)]),
            self.table("category_map", [category(marker)]),
        )

    def publish(self, content: ReleaseContent) -> Release:
        with self.lock() as lock:
            return self.store.publish(content, lock)

    def promote(self, number: int) -> Release:
        with self.lock() as lock:
            return promote(self.store, number, lock)

    def marker(self, ref: int | str = "current") -> str:
        with self.store.open(ref) as reader:
            (row,) = reader.rows("SELECT title, c.category FROM books, category_map AS c")
        assert row[0] == row[1]
        return str(row[0])

    def path(self, part: Part) -> Path:
        return self.layout.root / part.path


def book(book_id: int, **values: object) -> dict[str, object]:
    given: dict[str, object] = {"title": "책", "in_stock": True, "price_suspect": False}
    return {"book_id": book_id} | given | values


def category(name: str) -> dict[str, object]:
    return {"category": name, "class": "813", "strength": "core"}


def python(code: str, *args: str) -> "subprocess.Popen[str]":
    """Start another Python process that can import the package."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )


def flip(path: Path, offset: int) -> None:
    with path.open("rb+") as handle:
        handle.seek(offset)
        value = handle.read(1)[0]
        handle.seek(offset)
        handle.write(bytes([value ^ 0x01]))
