import re
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.errors import SourceError
from lifehelper_data.sources import delimited, quoting
from lifehelper_data.sources.delimited import read_delimited
from lifehelper_data.sources.mapping import FileSpec
from lifehelper_data.sources.quoting import QuotedRecord
from tests.unit.sources.source_kit import Read, chunks, read

TOKENS = [
    b"a", b"1", b",", b",", b'"', b'"', b'""', b'","', b'a","', b"\n", b"\n", b"\r", b"\r\n", b"\t",
    b"\t", b" ", b"\x00", b"\xff", "가".encode(), b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x1c",
]  # fmt: skip
GARBAGE = st.one_of(
    st.lists(st.sampled_from(TOKENS), max_size=60).map(b"".join), st.binary(max_size=80)
)
HEADERS = st.sampled_from([b"", b"a\n", b"a,b\n", b"a\tb\n", b'"a","b"\r\n', b"\n\na,b,c\r"])


def physical_lines(content: bytes) -> list[bytes]:
    lines = re.split(rb"\r\n|\r|\n", content)
    return lines[:-1] if lines[-1] == b"" else lines


def is_blank(line: bytes, delimiter: str) -> bool:
    return all(chr(byte) in " \t\v\f" and chr(byte) != delimiter for byte in line)


def assert_every_line_is_accounted_for(content: bytes, found: Read, delimiter: str) -> None:
    """Walk the physical lines: each is header, blank, part of the next row, or rejected."""
    lines = physical_lines(content.removeprefix(b"\xef\xbb\xbf"))
    rejected = found.rejected
    assert len(rejected) == len(found.rejects)
    rows = iter(found.rows)
    at = 0
    while is_blank(lines[at], delimiter):
        at += 1
    at += 1
    while at < len(lines):
        if is_blank(lines[at], delimiter):
            assert at + 1 not in rejected
            at += 1
        elif at + 1 in rejected:
            at += 1
        else:
            row = next(rows)
            at += 1 + sum(value.count("\n") for value in row if value)
    assert at == len(lines)
    assert next(rows, None) is None


@pytest.mark.parametrize(("suffix", "delimiter"), [("csv", ","), ("tsv", "\t")])
@given(header=HEADERS, body=GARBAGE)
def test_every_line_is_accounted_for(
    tmp_path: Path, suffix: str, delimiter: str, header: bytes, body: bytes
) -> None:
    path = tmp_path / f"f.{suffix}"
    path.write_bytes(header + body)
    try:
        found = read(path)
    except SourceError:
        return
    assert found.lines == len(found.rows) + len(found.rejects)
    assert_every_line_is_accounted_for(header + body, found, delimiter)


@given(body=GARBAGE.map(lambda content: content.replace(b'"', b"")))
def test_without_quotes_every_line_that_is_not_blank_is_one_row_or_reject(
    tmp_path: Path, body: bytes
) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b"a,b\n" + body)
    found = read(path)
    data = {
        number: line
        for number, line in enumerate(physical_lines(b"a,b\n" + body), 1)
        if number > 1 and not is_blank(line, ",")
    }
    good = {n: line for n, line in data.items() if n not in found.rejected}
    assert found.lines == len(data)
    assert set(found.rejected) <= set(data)
    assert found.rows == [
        tuple(value or None for value in line.decode().split(",")) for line in good.values()
    ]
    for number, reason in found.rejected.items():
        line = data[number]
        nul, columns = b"\x00" in line, line.count(b",") + 1
        broken = line.decode(errors="ignore").encode() != line
        expected = "nul" if nul else "broken_encoding" if broken else "column_count"
        assert reason == expected
        assert nul or broken or columns != 2


@given(
    body=GARBAGE,
    block_bytes=st.integers(1, 64),
    batch_rows=st.integers(1, 5),
    batch_bytes=st.integers(1, 40),
)
def test_result_does_not_depend_on_block_or_batch_size(
    tmp_path: Path, body: bytes, block_bytes: int, batch_rows: int, batch_bytes: int
) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b\n" + body)
    with (
        chunks(block_bytes=block_bytes, batch_rows=batch_rows),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(delimited, "BATCH_BYTES", batch_bytes)
        small = read(path)
    assert small == read(path)


VALUES = st.text(st.sampled_from('ab ,"\n가\t'), max_size=6)


@given(rows=st.lists(st.tuples(VALUES, VALUES), max_size=8), end=st.sampled_from(["\n", "\r\n"]))
def test_quoted_values_come_back_as_written(
    tmp_path: Path, rows: list[tuple[str, str]], end: str
) -> None:
    def written(value: str) -> str:
        return '"' + value.replace('"', '""') + '"'

    path = tmp_path / "f.csv"
    text = "a,b" + end + "".join(f"{written(a)},{written(b)}{end}" for a, b in rows)
    path.write_bytes(text.encode())
    assert read(path).rows == [(a or None, b or None) for a, b in rows]
    assert read(path).rejects == []


def test_line_over_the_limit_is_one_reject_and_cut(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    longest = b"x" * ((1 << 20) - 2) + b",1"  # 1 MiB in all: still a row
    path.write_bytes(b"a,b\n" + longest + b"\r\n" + b"y" + longest + b"\n3,4\n")
    found = read(path)
    assert [len(row[0] or "") for row in found.rows] == [(1 << 20) - 2, 1]
    ((line, reason, detail, content),) = found.rejects
    assert (line, reason, detail) == (3, "too_long", "over 1048576 bytes")
    assert content == "y" + "x" * 4_095


def test_over_long_blank_line_is_rejected_not_skipped(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b"a,b\n" + b" " * (1 << 20) + b" x,1\n3,4\n")
    assert (read(path).rejected, read(path).rows) == ({2: "too_long"}, [("3", "4")])


def test_quoted_field_over_a_thousand_lines_costs_one_line(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    inside = "x\n" * 998  # with the opening and closing line 1,000 lines: still a row
    path.write_text(f'a\n"\n{inside}"\n', encoding="utf-8")
    assert read(path).rows == [("\n" + inside,)]
    path.write_text(f'a\n"\n{inside}x\n"\n', encoding="utf-8")
    found = read(path)
    assert found.rejected == {2: "unclosed_quote", 1_002: "unclosed_quote"}
    assert found.rows == [("x",)] * 999


def test_rejects_say_what_where_and_show_the_line(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b'a,b\n1\n\x002,1\nx\xff,1\n"x"y,2\n"x,3\n')
    assert read(path).rejects == [
        (2, "column_count", "expected 2, found 1", "1"),
        (3, "nul", None, "\\x002,1"),
        (4, "broken_encoding", "byte 2", "x\\xff,1"),
        (5, "unclosed_quote", "text after a closing quote at 3", '"x"y,2'),
        (6, "unclosed_quote", "the file ends inside the field", '"x,3'),
    ]


def test_names_are_trimmed_composed_and_numbered_where_blank(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("\u1100\u1161 ,,B\n1,2,3\n", encoding="utf-8")
    assert read(path).columns == ("가", "column_2", "B")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,A\n", "two columns called 'A'"),
        ("\u1100\u1161,가\n".encode(), "two columns called '가'"),
        (b"," * 2_000, "2001 columns, more than 2000"),
        (b"", "is empty: no header line"),
        (b"\xff\n", r"cannot be read \(broken_encoding\): check the encoding 'utf-8'"),
        (b'"a\n', r"cannot be read \(unclosed_quote\)"),
    ],
)
def test_bad_header_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=message) as refused:
        read(path)
    assert refused.value.field == "f.csv"


def test_declared_columns_replace_even_an_unreadable_header(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b"\xff\x00\n1,2\n")
    assert read(path, columns=["a", "b"]).rows == [("1", "2")]


# Work

STRAY = 60_000
LINES_OF_STRAY_QUOTES = {
    "opens and reopens": 'a","',  # inside quotes it closes and opens: open again at every line end
    "opens only": '"a,1',
    "closes and opens": '","',
    "doubled": '""',
    "in the middle": 'a"b,1',
    "opens at the end": 'a,"',
}


@pytest.mark.parametrize("line", LINES_OF_STRAY_QUOTES.values(), ids=LINES_OF_STRAY_QUOTES)
def test_work_on_stray_quotes_grows_with_the_file_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    fed = 0
    feed = QuotedRecord.feed

    def counting(self: QuotedRecord, text: str) -> None:
        nonlocal fed
        fed += len(text)
        feed(self, text)

    monkeypatch.setattr(quoting.QuotedRecord, "feed", counting)
    path = tmp_path / "f.csv"
    path.write_text("a,b\n" + f"{line}\n" * STRAY, encoding="utf-8")
    count = sum(batch.lines for batch in read_delimited(path, FileSpec(path="f.csv")))
    assert STRAY / 2 <= count <= STRAY  # a good record may span two lines
    assert fed <= 3 * STRAY * len(line)  # columns + 1 looks at a line


def test_opener_before_many_doubled_quotes_is_read_ahead_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed = 0
    feed = QuotedRecord.feed

    def counting(self: QuotedRecord, text: str) -> None:
        nonlocal fed
        fed += len(text)
        feed(self, text)

    monkeypatch.setattr(quoting.QuotedRecord, "feed", counting)
    path = tmp_path / "f.csv"
    path.write_text("a,b\n" + ('"x\n' + '""\n' * 1_999) * 20, encoding="utf-8")
    found = read(path)
    assert found.rejected[2] == "unclosed_quote"
    assert fed <= 2 * (20 * 2_000 * 2 + 20 * 1_000)


def test_large_file_is_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "BATCH_ROWS", 5_000)
    path = tmp_path / "f.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write("id,title\n")
        file.writelines(f"{n},title of book {n}\n" for n in range(200_000))
    rows = 0
    tracemalloc.start()
    try:
        for batch in read_delimited(path, FileSpec(path="f.csv")):
            rows += batch.rows.num_rows
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows == 200_000
    # One batch is 5,000 x 2 texts of about 70 bytes = 0.7 MB, beside two blocks split into lines
    # (1 MiB = 38,000 lines of about 60 bytes); all texts at once would be 28 MB.
    assert peak < 10_000_000


def test_batches_of_wide_rows_are_bounded_by_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "BATCH_BYTES", 1_000)
    path = tmp_path / "f.csv"
    path.write_text("a\n" + ("x" * 400 + "\n") * 7, encoding="utf-8")
    batches = list(read_delimited(path, FileSpec(path="f.csv")))
    assert [batch.rows.num_rows for batch in batches] == [3, 3, 1]


def test_a_header_over_several_lines_is_refused_because_it_may_swallow_rows(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b'id,"title\n1,x"\n2,y\n')
    with pytest.raises(SourceError, match="spans 2 lines"):
        read(path)


def test_a_header_over_several_lines_is_skipped_whole_where_columns_are_declared(
    tmp_path: Path,
) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes('id,"가격\n(원)"\n2,7\n'.encode())
    found = read(path, columns=("id", "price"))
    assert (found.columns, found.rows, found.rejects) == (("id", "price"), [("2", "7")], [])
