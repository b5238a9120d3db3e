from pathlib import Path

import duckdb
import polars as pl
import pytest

from lifehelper_data.stores.duck import (
    connect_memory,
    connect_read_only,
    connect_writer,
    lock_down,
    parquet_scan,
    quote_identifier,
    quote_text,
)


@pytest.mark.parametrize("text", ["plain", "it's", 'say "hi"', "한글 책", "a;b--c", "\\n", "?*[1]"])
def test_quoted_texts_and_names_come_back_unchanged(text: str) -> None:
    with connect_memory() as connection:
        relation = connection.sql(f"SELECT {quote_text(text)} AS {quote_identifier(text)}")
        assert relation.columns == [text]
        assert relation.fetchall() == [(text,)]


def test_scan_ignores_folder_names_that_look_like_partitions(tmp_path: Path) -> None:
    folder = tmp_path / "env=prod" / "o'brien [x]*"
    folder.mkdir(parents=True)
    pl.DataFrame({"a": [1, 2]}).write_parquet(folder / "1.parquet")
    with connect_memory() as connection:
        relation = connection.sql(f"SELECT * FROM {parquet_scan([folder / '1.parquet'])}")
        assert (relation.columns, relation.fetchall()) == (["a"], [(1,), (2,)])


def test_python_variables_are_not_tables() -> None:
    frame = pl.DataFrame({"a": [1]})
    with connect_memory() as connection, pytest.raises(duckdb.CatalogException):
        connection.execute("SELECT * FROM frame")
    assert frame.height == 1


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "a.duckdb"
    with connect_writer(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    return path


def test_read_only_connection_is_utc_and_cannot_write(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Seoul")
    with connect_read_only(database) as connection:
        assert connection.execute("SELECT current_setting('TimeZone')").fetchone() == ("UTC",)
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            connection.execute("CREATE TABLE u (x INTEGER)")


def test_locked_down_connection_reads_named_files_only(database: Path, tmp_path: Path) -> None:
    good, other = tmp_path / "good.parquet", tmp_path / "other.parquet"
    for path in (good, other):
        pl.DataFrame({"a": [1]}).write_parquet(path)
    with connect_read_only(database) as connection:
        lock_down(connection, readable=[good], temporary=tmp_path / "spill")
        assert connection.execute(f"FROM {parquet_scan([good])}").fetchall() == [(1,)]
        for refused in (
            f"FROM {parquet_scan([other])}",
            f"COPY (SELECT 1) TO {quote_text(str(tmp_path / 'out.csv'))}",
            f"FROM glob({quote_text(str(tmp_path / '*'))})",
        ):
            with pytest.raises(duckdb.PermissionException):
                connection.execute(refused)
        with pytest.raises(duckdb.InvalidInputException, match="locked"):
            connection.execute("SET enable_external_access = true")


def test_second_connection_to_a_locked_file_works(database: Path, tmp_path: Path) -> None:
    with connect_read_only(database) as first:
        lock_down(first, readable=[], temporary=tmp_path)
        with connect_read_only(database) as second:
            lock_down(second, readable=[], temporary=tmp_path)
            assert second.execute("SELECT x, current_setting('TimeZone') FROM t").fetchall() == [
                (1, "UTC")
            ]
