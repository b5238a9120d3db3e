"""Whole loads of garbage: no traceback, no lost row."""

import re
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from lifehelper_data.domain.errors import LifehelperError
from tests.conftest import examples
from tests.integration.load_kit import Loader, assert_every_row_is_accounted_for, mapping_of

FIELDS = st.sampled_from(
    [b"", b" ", b"1", b"2", b"-1", b"1e999", b"9" * 400, b"nan", "책".encode(), b'"a', b'"a"',
     b'""', b'"a\nb"', b"\x00", b"\xff", b"0000-01-01", b"9999-12-31T23:59:59Z",
     b"2026-01-01T00:00:00Z",
     b"2026-01-02T00:00:00Z", b"4.5", b"true", b'"[1]"', b'"[""x""]"', b"\xed\xa0\x80",
     b"\xef\xbb\xbf"]
)  # fmt: skip
BOOK_LINES = st.lists(
    st.lists(FIELDS, min_size=1, max_size=5).map(b",".join)
    | st.tuples(FIELDS, FIELDS, FIELDS, FIELDS).map(b",".join),
    max_size=15,
)
REVIEW_LINES = st.lists(
    st.tuples(*[FIELDS.map(lambda field: field.replace(b'"', b""))] * 5).map(b"\t".join),
    max_size=15,
)
JSON_VALUES = st.sampled_from(
    ["1", "2", '"x"', '["a"]', "[1]", "null", "true", "9" * 400, "1e400", '"\\ud800"', '"\\u0000"',
     "{}", "[[]]", "NaN", '"2026-01-01T00:00:00Z"', '["a","a","b","c","d"]', "[1e300]", '"[1.5]"']
)  # fmt: skip
JSON_LINES = st.lists(
    st.builds(
        lambda user, tags, liked, end: (
            f'{{"user_id": {user}, "tags": {tags}, "liked_book_ids": {liked}{end}'.encode()
        ),
        JSON_VALUES, JSON_VALUES, JSON_VALUES, st.sampled_from(["}", "}", "}", "", ', "tags": 1}']),
    ),
    max_size=15,
)  # fmt: skip
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])

TABLES = {
    "books": "select book_id, title, price, updated_at from books",
    "user_reviews": "select * from reviews",
    "onboarding": "select * from people",
}
FILES = {"books": "books.csv", "reviews": "reviews.tsv", "people": "people.jsonl"}


def physical_lines(content: bytes) -> int:
    return sum(1 for line in re.split(rb"\r\n|\r|\n", content) if line.strip(b" \v\f"))


@settings(max_examples=examples(12))
@given(books=BOOK_LINES, reviews=REVIEW_LINES, people=JSON_LINES, end=ENDS, text_ids=st.booleans())
def test_every_row_of_garbage_is_accounted_for(
    books: list[bytes], reviews: list[bytes], people: list[bytes], end: bytes, text_ids: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        loader = Loader(Path(folder), max_bad_share=1)
        loader.file("books.csv", end.join([b"book_id,title,price,updated_at", *books]))
        header = b"user_id\tbook_id\trating\tcreated_at\tarrived_at"
        loader.file("reviews.tsv", end.join([header, *reviews]))
        loader.file("people.jsonl", end.join([b'{"user_id": 1}', *people]))
        head = 'naive_timezone = "Asia/Seoul"\n'
        head += 'text_ids = ["book_id", "user_id"]\n' if text_ids else ""
        loader.mapping(mapping_of(FILES, TABLES, head))
        record = loader.load()
        assert_every_row_is_accounted_for(loader, record)
        lines = {file.source_file: file.lines for file in record.files}
        # The review file has no quotes and the people file no line breaks inside values.
        assert lines["reviews"] == physical_lines(end.join(reviews))
        assert lines["people"] == 1 + physical_lines(end.join(people))
        for name, count in record.table_counts.items():
            rows = {"user_reviews": "reviews", "onboarding": "people"}.get(name, name)
            assert count.returned == next(f.rows for f in record.files if f.source_file == rows)


@settings(max_examples=examples(10))
@given(books=st.binary(max_size=200), people=st.binary(max_size=200), mapping=st.booleans())
def test_any_bytes_load_or_are_refused_with_an_error_of_ours(
    books: bytes, people: bytes, mapping: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        loader = Loader(Path(folder), max_bad_share=1)
        loader.file("books.csv", books)
        loader.file("people.jsonl", people)
        text = mapping_of(
            {"books": "books.csv", "people": "people.jsonl"},
            {"books": "select * from books", "onboarding": "select * from people"},
        )
        loader.file("source.toml", people if mapping else text)
        try:
            record = loader.load()
        except LifehelperError as refused:
            assert str(refused)
        else:
            assert_every_row_is_accounted_for(loader, record)
