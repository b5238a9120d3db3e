from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lifehelper_data.sources.replica_file import (
    ReplicaHead,
    load_replica,
    read_head,
    write_replica,
)
from lifehelper_data.sources.scratch import connect_scratch
from lifehelper_data.sources.text_rows import rows_digest

COLUMNS = ("a", "b")


@pytest.fixture
def scratch() -> Iterator[duckdb.DuckDBPyConnection]:
    with connect_scratch(":memory:") as connection:
        connection.execute("CREATE TABLE t (a VARCHAR, b VARCHAR)")
        connection.execute("CREATE TABLE u (b VARCHAR, a VARCHAR)")
        connection.execute("INSERT INTO t VALUES ('1', '한글'), (NULL, 'it''s'), ('1', '한글')")
        yield connection


@pytest.fixture
def written(tmp_path: Path, scratch: duckdb.DuckDBPyConnection) -> tuple[Path, ReplicaHead]:
    rows, digest = rows_digest(scratch, "t", COLUMNS)
    head = ReplicaHead(
        signature="it's 한글", columns=COLUMNS, rows=rows, digest=digest, watermark_us=-5
    )
    path = tmp_path / "it's a=1.parquet"
    write_replica(scratch, "t", head, path)
    return path, head


def rows_of(connection: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    return sorted(connection.execute("SELECT a, b FROM u").fetchall(), key=str)


def test_what_was_written_is_read(
    scratch: duckdb.DuckDBPyConnection, written: tuple[Path, ReplicaHead]
) -> None:
    path, head = written
    assert read_head(path) == head
    assert load_replica(scratch, "u", head, path)
    assert rows_of(scratch) == [("1", "한글"), ("1", "한글"), (None, "it's")]


@pytest.mark.parametrize("damage", ["cut", "empty", "gone", "text", "other rows", "bit"])
def test_a_damaged_file_is_noticed_and_leaves_nothing_behind(
    scratch: duckdb.DuckDBPyConnection, written: tuple[Path, ReplicaHead], damage: str
) -> None:
    path, head = written
    whole = path.read_bytes()
    match damage:
        case "cut":
            path.write_bytes(whole[: len(whole) // 2])
        case "empty":
            path.write_bytes(b"")
        case "gone":
            path.unlink()
        case "text":
            path.write_text("a,b\n1,2\n")
        case "bit":
            path.write_bytes(whole[:40] + bytes([whole[40] ^ 255]) + whole[41:])
        case _:
            metadata = pq.read_schema(path).metadata
            table = pa.table({"a": ["1", "2", "3"], "b": ["x", "y", "z"]})
            pq.write_table(table.replace_schema_metadata(metadata), path)
    found = read_head(path)
    assert found in (None, head)
    assert not load_replica(scratch, "u", head, path)
    assert rows_of(scratch) == []


@pytest.mark.parametrize(
    "said", [b"{}", b"no json", b"[1]", b'{"format": 2}', b'{"format": 1, "rows": 1}', None]
)
def test_a_file_that_says_something_else_is_no_replica(tmp_path: Path, said: bytes | None) -> None:
    metadata = {} if said is None else {b"lifehelper_replica": said}
    pq.write_table(pa.table({"a": ["1"]}).replace_schema_metadata(metadata), tmp_path / "r.parquet")
    assert read_head(tmp_path / "r.parquet") is None
