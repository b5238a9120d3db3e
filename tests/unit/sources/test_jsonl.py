import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.errors import SourceError
from lifehelper_data.sources import jsonl
from lifehelper_data.sources.jsonl import read_jsonl
from lifehelper_data.sources.mapping import FileSpec
from tests.unit.sources.source_kit import chunks, read

TEXTS = st.text(st.sampled_from('ab "\\\n\u2028가😀\x00'), max_size=5)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "B", "가", "a "]), VALUES, max_size=3)
GARBAGE = st.sampled_from(
    [b"{", b"}", b"[]", b"null", b'{"a":1', b"\xff", b'{"a":"\x00"}', b" ", b"", b"\r", b"{}",
     b'{"a":"\\ud800"}', b'{"a":' + b"9" * 400 + b"}", b'{"a":1}{"a":2}', b"[" * 400],
)  # fmt: skip
LINES = st.lists(OBJECTS.map(lambda value: json.dumps(value).encode()) | GARBAGE, max_size=12)


@given(lines=LINES)
def test_every_line_that_is_not_blank_is_one_row_or_one_reject(
    tmp_path: Path, lines: list[bytes]
) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(b"\n".join(lines))
    found = read(path, columns=["a"])
    physical = re.split(rb"\r\n|\r|\n", path.read_bytes())
    data = {number for number, line in enumerate(physical, 1) if line.strip()}
    assert found.lines == len(data) == len(found.rows) + len(found.rejects)
    assert len(found.rejected) == len(found.rejects)
    assert set(found.rejected) <= data
    kept = sorted(data - set(found.rejected))
    for number, row in zip(kept, found.rows, strict=True):
        written = {key.strip().lower(): v for key, v in json.loads(physical[number - 1]).items()}
        read_back = {k.lower(): v for k, v in zip(found.columns, row, strict=True)}
        assert {key for key, value in read_back.items() if value is not None} <= set(written)
        for key, value in written.items():
            text = read_back[key]
            if isinstance(value, str):
                assert text == (value or None)
            elif value is None:
                assert text is None
            else:
                assert text is not None
                assert json.loads(text) == value


@given(lines=LINES, block_bytes=st.integers(1, 64), batch_rows=st.integers(1, 5))
def test_result_does_not_depend_on_block_or_batch_size(
    tmp_path: Path, lines: list[bytes], block_bytes: int, batch_rows: int
) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(b"\n".join(lines))
    with chunks(block_bytes=block_bytes, batch_rows=batch_rows):
        small = read(path, columns=["z"])
    assert small == read(path, columns=["z"])


@given(content=st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(content)
    found = read(path, columns=["a"])
    assert found.lines == len(found.rows) + len(found.rejects)


def test_keys_are_columns_in_order_of_appearance_whatever_their_case(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text('{"b": 1}\n{"A": 2, " B ": 3}\n{"a": 4}\n', encoding="utf-8")
    found = read(path)
    assert (found.columns, found.rows) == (("b", "A"), [("1", None), ("3", "2"), (None, "4")])


def test_numbers_keep_the_text_they_were_written_as(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text(
        '{"a": 1.50}\n{"a": -0}\n{"a": 1E5}\n{"a": 12345678901234567890}\n', encoding="utf-8"
    )
    assert read(path).rows == [("1.50",), ("-0",), ("1E5",), ("12345678901234567890",)]


def test_null_values_and_empty_texts_are_null(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text('{"a": "NA", "b": ""}\n', encoding="utf-8")
    assert read(path, null_values=["NA"]).rows == [(None, None)]


def test_rejects_say_what_where_and_show_the_line(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(b'{"a" 1}\n[1]\n{"a": "\xff"}\n7\n{}\n')
    assert read(path, columns=["a"]).rejects == [
        (1, "not_json", "Expecting ':' delimiter at 6", '{"a" 1}'),
        (2, "not_object", "list", "[1]"),
        (3, "broken_encoding", "byte 8", '{"a": "\\xff"}'),
        (4, "not_object", "number", "7"),
        (5, "empty_object", None, "{}"),
    ]


def test_over_long_line_is_one_reject(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(b'{"a": "' + b"x" * (1 << 20) + b'"}\n{"a": 1}\n')
    assert (read(path).rejected, read(path).rows) == ({1: "too_long"}, [("1",)])


def test_two_thousand_keys_are_read_and_one_more_refuses_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text("".join(f'{{"k{n}": 1}}\n' for n in range(2_000)), encoding="utf-8")
    assert len(read(path).columns) == 2_000
    with path.open("a", encoding="utf-8") as file:
        file.write('{"one more": 1}\n')
    with pytest.raises(SourceError, match="more than 2000 different keys"):
        read(path)


def test_batches_of_many_columns_are_bounded_by_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "BATCH_CELLS", 10)
    path = tmp_path / "f.jsonl"
    path.write_text('{"a": 1, "b": 2, "c": 3}\n' * 7, encoding="utf-8")
    batches = list(read_jsonl(path, FileSpec(path="f.jsonl")))
    assert [batch.rows.num_rows for batch in batches] == [4, 3]  # 4 x 3 cells >= 10
