import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.errors import SourceError
from lifehelper_data.sources.lines import LineReader
from tests.unit.sources.source_kit import chunks

TEXTS = st.lists(
    st.sampled_from([b"a", b"bc", b"\n", b"\r", b"\r\n", b"", b"\x0b", b"\xef\xbb\xbf", b" "]),
    max_size=40,
).map(b"".join)


def physical_lines(content: bytes) -> list[bytes]:
    """Lines by another method than the reader's: one regular expression over the whole."""
    lines = re.split(rb"\r\n|\r|\n", content)
    return lines[:-1] if lines[-1] == b"" else lines


def taken(path: Path, codec: str = "utf-8", max_bytes: int = 1 << 20) -> list[tuple[bytes, bool]]:
    reader = LineReader(path, codec, max_bytes=max_bytes)
    found = []
    while (line := reader.take()) is not None:
        found.append((line, reader.line in reader.too_long))
    assert reader.take() is None
    assert reader.line == len(found)
    return found


@given(content=TEXTS, block_bytes=st.integers(1, 64))
def test_lines_do_not_depend_on_blocks(tmp_path: Path, content: bytes, block_bytes: int) -> None:
    (tmp_path / "f").write_bytes(content)
    with chunks(block_bytes=block_bytes, batch_rows=1):
        found = taken(tmp_path / "f")
    expected = physical_lines(content.removeprefix(b"\xef\xbb\xbf"))
    assert found == [(line, False) for line in expected]


@given(content=TEXTS, block_bytes=st.integers(1, 64), max_bytes=st.integers(1, 6))
def test_long_lines_are_cut_and_named(
    tmp_path: Path, content: bytes, block_bytes: int, max_bytes: int
) -> None:
    (tmp_path / "f").write_bytes(content)
    with chunks(block_bytes=block_bytes, batch_rows=1):
        found = taken(tmp_path / "f", "latin-1", max_bytes)
    assert found == [(line[:max_bytes], len(line) > max_bytes) for line in physical_lines(content)]


def test_line_of_exactly_the_limit_is_not_too_long(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abcd\r\nabcde\r\n")
    with chunks(block_bytes=5, batch_rows=1):  # a block ends between \r and \n
        assert taken(tmp_path / "f", max_bytes=4) == [(b"abcd", False), (b"abcd", True)]


@given(
    text=st.text(st.sampled_from("가a\u0a0d\u0d0a\n\r,😀"), max_size=30),
    codec=st.sampled_from(["utf-16", "utf-16-le", "utf-16-be"]),
    block_bytes=st.integers(1, 9),
)
def test_utf_16_lines_are_the_utf_8_lines_of_the_same_text(
    tmp_path: Path, text: str, codec: str, block_bytes: int
) -> None:
    (tmp_path / "f").write_bytes(text.encode(codec))
    with chunks(block_bytes=block_bytes, batch_rows=1):
        found = taken(tmp_path / "f", codec)
    assert [line for line, _ in found] == physical_lines(text.encode())


def test_looking_ahead_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\nb\nc")
    with chunks(block_bytes=1, batch_rows=1):
        reader = LineReader(tmp_path / "f", "utf-8")
        assert [reader.peek(n) for n in (2, 0, 3)] == [b"c", b"a", None]
        assert reader.line == 0
        assert [reader.take() for _ in range(4)] == [b"a", b"b", b"c", None]


def test_numbers_of_cut_lines_are_forgotten(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc\n" * 1_000)
    reader = LineReader(tmp_path / "f", "utf-8", max_bytes=2)
    while reader.take() is not None:
        pass
    assert len(reader.too_long) <= 1


def test_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot read"):
        LineReader(tmp_path, "utf-8").take()
