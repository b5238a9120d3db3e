from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lifehelper_data.domain.errors import SourceError
from lifehelper_data.sources import parquet
from tests.unit.sources.source_kit import read


def test_values_become_text_and_nested_values_json(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pl.DataFrame(
        {
            "i": [7],
            "f": [1.5],
            "whole": [6.0],
            "d": [Decimal("1.50")],
            "b": [True],
            "day": [date(2026, 1, 2)],
            "at": [datetime(2026, 1, 2, 3, 4, 5, 6, UTC)],
            "naive": [datetime(2026, 1, 2, 3, 4, 5)],  # noqa: DTZ001 - a naive source on purpose
            "l": [["가", None]],
            "s": [{"x": 1}],
            "t": [""],
            "n": pl.Series([None], dtype=pl.Int64),
        }
    ).write_parquet(path)
    assert read(path).rows == [
        (
            "7", "1.5", "6.0", "1.50", "true", "2026-01-02", "2026-01-02 03:04:05.000006+00",
            "2026-01-02 03:04:05", '["가",null]', '{"x":1}', None, None,
        )
    ]  # fmt: skip


def test_file_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pl.DataFrame(schema={"a": pl.Int64, "B ": pl.String}).write_parquet(path)
    found = read(path)
    assert (found.columns, found.rows, found.lines) == (("a", "B"), [], 0)


def test_result_does_not_depend_on_batch_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f.parquet"
    pl.DataFrame({"a": range(5_000)}).write_parquet(path)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 1)
    small = read(path)
    monkeypatch.undo()
    assert small == read(path)
    assert small.rows == [(str(n),) for n in range(5_000)]


def test_null_values_are_null(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pl.DataFrame({"a": ["NA", "x"], "b": [1, 99]}).write_parquet(path)
    assert read(path, null_values=["NA", "99"]).rows == [(None, "1"), ("x", None)]


@pytest.mark.parametrize("folder", ["year=2024", "o'brien [x]*", "p[1]", "a?b"])
def test_folder_names_are_only_names(tmp_path: Path, folder: str) -> None:
    path = tmp_path / folder / "f[1].parquet"
    path.parent.mkdir()
    pl.DataFrame({"a": ["x"]}).write_parquet(path)
    found = read(path)
    assert (found.columns, found.rows) == (("a",), [("x",)])


def damaged(path: Path) -> None:
    frame = pl.DataFrame({"a": [f"value {n * 7919 % 10_007}" for n in range(200_000)]})
    frame.write_parquet(path, row_group_size=20_000, compression="snappy")
    content = bytearray(path.read_bytes())
    middle = len(content) * 3 // 4
    content[middle : middle + 4_000] = b"\xff" * 4_000
    path.write_bytes(content)


def cut_off(path: Path) -> None:
    pl.DataFrame({"a": range(1_000)}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])


def not_utf8(path: Path) -> None:
    texts = pa.array([b"fine"] * 70_000 + [b"\xff\xfe"], type=pa.binary()).view(pa.string())
    pq.write_table(pa.table({"a": texts}), path, row_group_size=10_000)


@pytest.mark.parametrize("damage", [damaged, cut_off, not_utf8])
def test_damaged_file_is_refused_even_if_damage_shows_half_way(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "f.parquet"
    damage(path)
    with pytest.raises(SourceError, match=r"'f\.parquet' cannot be read as Parquet .*write it"):
        read(path)


def test_columns_that_differ_in_case_only_are_both_kept_under_two_names(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pl.DataFrame({"a": [1], "A": [2]}).write_parquet(path)
    found = read(path)
    assert (found.columns, found.rows) == (("a", "A_1"), [("1", "2")])
