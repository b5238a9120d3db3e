import json
from pathlib import Path

import pytest

from lifehelper_data.domain.contract import TABLES
from lifehelper_data.domain.errors import (
    ContractViolation,
    IdCollision,
    LoadRefused,
    MappingError,
    NotFound,
)
from lifehelper_data.pipelines.build_tables import ASSET
from lifehelper_data.sources import column_casts, list_values
from lifehelper_data.stores.build_records import load_record
from tests.integration.load_kit import Loader, assert_every_row_is_accounted_for, mapping_of
from tests.integration.release_kit import REPOSITORY

BOOKS = mapping_of({"raw": "books.csv"}, {"books": "select * from raw"})
DIRTY = f"""
naive_timezone = "Asia/Seoul"
[files.raw_books]
path = "{REPOSITORY}/fixtures/shop_dirty/books.csv"
encoding = "cp949"
null_values = ["NA", "X"]
[files.raw_purchases]
path = "{REPOSITORY}/fixtures/shop_dirty/purchases.tsv"
[files.raw_library]
path = "{REPOSITORY}/fixtures/shop_dirty/library/*.csv"
[files.raw_reviews]
path = "{REPOSITORY}/fixtures/shop_dirty/reviews.jsonl"
[tables.books]
sql = '''select "도서번호" as book_id, "제목" as title, "저자" as author, "출판사" as publisher,
  "판매가" as price, case "재고" when '판매중' then true when '품절' then false end as in_stock,
  "표지" as cover_url, "분류" as category, "출간연도" as pub_year, "소개" as description,
  "등록일" as listed_at, "수정일" as updated_at from raw_books'''
[tables.user_purchases]
sql = "select * from raw_purchases"
[tables.user_library]
sql = "select * from raw_library"
[tables.user_reviews]
sql = '''select "user" as user_id, book as book_id, score as rating, written_at as created_at,
  arrived_at from raw_reviews'''
"""


@pytest.fixture
def loader(tmp_path: Path) -> Loader:
    return Loader(tmp_path)


def books(rows: int, *, bad: int = 0, repeated: int = 0, broken: int = 0) -> str:
    """A books.csv of `rows` rows in all, and `broken` lines of too many columns."""
    lines = ["book_id,title,price"]
    lines += [f"{n},책 {n},100{n}" for n in range(rows - bad - repeated)]
    lines += ["x,책,1000"] * bad + ["0,책 0,1000"] * repeated + ["1,2,3,4"] * broken
    return "\n".join(lines)


def test_dirty_shop_is_accounted_for_row_by_row(loader: Loader) -> None:
    expected = json.loads((REPOSITORY / "fixtures/shop_dirty/expected.json").read_bytes())
    loader.mapping(DIRTY)
    record = loader.load()
    assert_every_row_is_accounted_for(loader, record)
    found_files = {
        "/".join(("library", Path(file.path).name))
        if file.source_file == "raw_library"
        else Path(file.path).name: {
            "lines": file.lines,
            "rows": file.rows,
            "rejected": file.rejected,
            "reasons": dict(file.reasons),
        }
        for file in record.files
    }
    assert found_files == expected["files"]
    for name, counts in expected["tables"].items():
        found = record.table_counts[name]
        assert {
            "returned": found.returned,
            "kept": found.kept,
            "repeated": found.repeated,
            "duplicates": found.duplicates,
            "quarantined": found.quarantined,
            "bad_columns": dict(found.bad_columns),
        } == counts
    assert {name: record.table_counts[name].orphans for name in expected["orphans"]} == expected[
        "orphans"
    ]
    prices = {str(row["book_id"]): row["price"] for row in loader.rows(record, "books")}
    assert {book: prices[book] for book in expected["winners"]} == expected["winners"]


def test_tables_that_are_not_mapped_are_empty(loader: Loader) -> None:
    loader.file("books.csv", books(1))
    loader.mapping(BOOKS)
    record = loader.load()
    assert {name: record.tables[name].rows for name in TABLES} == {
        name: int(name == "books") for name in TABLES
    }
    assert list(record.table_counts) == ["books"]


def test_source_without_rows_loads(loader: Loader) -> None:
    loader.file("books.csv", "book_id,title")
    loader.mapping(BOOKS)
    record = loader.load()
    assert (record.tables["books"].rows, record.files[0].lines) == (0, 0)


def test_rejects_and_quarantine_are_tables_of_the_release(loader: Loader) -> None:
    loader.file("books.csv", books(39, bad=1, broken=1))
    loader.mapping(BOOKS)
    record = loader.load()
    assert loader.rows(record, "rejects") == [
        {
            "source_file": "raw",
            "path": "books.csv",
            "line": 41,
            "reason": "column_count",
            "detail": "expected 3, found 4",
            "content": "1,2,3,4",
        }
    ]
    (bad,) = loader.rows(record, "quarantine")
    assert (bad["table_name"], bad["column_name"], bad["value"], bad["reason"]) == (
        "books", "book_id", "x", "bad_value:not_an_integer",
    )  # fmt: skip


# The limit


def test_exactly_five_percent_bad_values_pass(loader: Loader) -> None:
    loader.file("books.csv", books(20, bad=1))
    loader.mapping(BOOKS)
    count = loader.load().table_counts["books"]
    assert (count.returned, count.quarantined, count.bad_share) == (20, 1, 0.05)


def test_more_than_five_percent_bad_values_refuse_the_load(loader: Loader) -> None:
    loader.file("books.csv", books(20))
    loader.mapping(BOOKS)
    before = loader.load()
    loader.file("books.csv", books(19, bad=1))
    with pytest.raises(
        LoadRefused,
        match=r"more than 5\.0% bad: table 'books': 1 of 19 rows have a bad value \(book_id 1\)",
    ) as refused:
        loader.load()
    assert refused.value.exit_code == 1
    assert load_record(loader.layout, ASSET) == before
    assert (loader.layout.refused / "quarantine.parquet").is_file()
    assert (loader.layout.refused / "rejects.parquet").is_file()
    assert list(loader.layout.tmp.iterdir()) == []


def test_exactly_five_percent_rejected_lines_pass(loader: Loader) -> None:
    loader.file("books.csv", books(19, broken=1))
    loader.mapping(BOOKS)
    (file,) = loader.load().files
    assert (file.lines, file.rejected) == (20, 1)


def test_more_than_five_percent_rejected_lines_refuse_the_load(loader: Loader) -> None:
    loader.file("books.csv", books(18, broken=1))
    loader.mapping(BOOKS)
    with pytest.raises(
        LoadRefused, match=r"file 'books\.csv': 1 of 19 lines cannot be read \(column_count 1\)"
    ):
        loader.load()


def test_limit_holds_for_each_file_of_a_glob(loader: Loader) -> None:
    loader.file("a1.csv", books(1_000))
    loader.file("a2.csv", "book_id,title,price\nbroken\n2000,책,1\n")
    loader.mapping(BOOKS.replace("books.csv", "a*.csv"))
    with pytest.raises(LoadRefused, match=r"'a2\.csv': 1 of 2 lines"):
        loader.load()


def test_everything_too_bad_is_reported_at_once(loader: Loader) -> None:
    loader.file("books.csv", books(18, bad=5, broken=3))
    loader.file("likes.csv", "user_id,book_id,added_at\nx,1,2026-01-01T00:00:00Z\n")
    loader.mapping(
        mapping_of(
            {"raw": "books.csv", "likes": "likes.csv"},
            {"books": "select * from raw", "user_library": "select * from likes"},
        )
    )
    with pytest.raises(LoadRefused) as refused:
        loader.load()
    for part in ("file 'books.csv': 3 of 21", "'books': 5 of 18", "'user_library': 1 of 1"):
        assert part in str(refused.value)


def test_duplicates_and_repeats_do_not_count_as_bad(loader: Loader) -> None:
    loader.file("books.csv", books(20, repeated=15))
    event = "1,2,2026-01-01T00:00:00Z\n"
    loader.file("likes.csv", "user_id,book_id,added_at\n" + event * 10)
    loader.mapping(
        mapping_of(
            {"raw": "books.csv", "likes": "likes.csv"},
            {"books": "select * from raw", "user_library": "select * from likes"},
        )
    )
    record = loader.load()
    assert_every_row_is_accounted_for(loader, record)
    assert (record.table_counts["books"].kept, record.table_counts["books"].duplicates) == (5, 15)
    library = record.table_counts["user_library"]
    assert (library.kept, library.repeated, library.orphans) == (1, 9, 0)


def test_limit_is_tunable(tmp_path: Path) -> None:
    loader = Loader(tmp_path, max_bad_share=0.5)
    loader.file("books.csv", books(10, bad=5))
    loader.mapping(BOOKS)
    assert loader.load().table_counts["books"].quarantined == 5


# Columns that vanish


def test_every_vanished_column_is_named_before_anything_is_built(loader: Loader) -> None:
    loader.file("books.csv", "book_id,title,price,author\n1,책,1,a\n")
    loader.file("likes.csv", "user,book,at_time\n1,1,2026-01-01T00:00:00Z\n")
    loader.mapping(
        mapping_of(
            {"raw": "books.csv", "likes": "likes.csv"},
            {
                "books": "select book_id, title, price, author from raw",
                "user_library": 'select "user" as user_id, book as book_id, '
                "at_time as added_at from likes",
            },
        )
    )
    before = loader.load()
    loader.file("books.csv", "book_id,name,price_won\n1,책,1\n")
    loader.file("likes.csv", "user,at_time\n1,2026-01-01T00:00:00Z\n")
    with pytest.raises(ContractViolation) as refused:
        loader.load()
    message = str(refused.value)
    assert "likes lost book" in message
    assert "raw lost title, price, author (new: name, price_won)" in message
    assert "restore them or change the mapping" in message
    assert load_record(loader.layout, ASSET) == before


def test_required_column_that_vanished_below_a_star_is_named(loader: Loader) -> None:
    loader.file("books.csv", books(1))
    loader.mapping(BOOKS)
    loader.load()
    loader.file("books.csv", "book_id,name\n1,책\n")
    with pytest.raises(ContractViolation, match="raw lost title, price"):
        loader.load()


def test_first_load_with_a_wrong_column_is_a_mistake_of_the_mapping(loader: Loader) -> None:
    loader.file("books.csv", "book_id,name\n1,책\n")
    loader.mapping(BOOKS)
    with pytest.raises(MappingError, match="does not return 'title'"):
        loader.load()


def test_new_and_unused_columns_may_come_and_go(loader: Loader) -> None:
    loader.mapping(BOOKS.replace("*", "book_id, title"))
    loader.file("books.csv", "book_id,title,unused\n1,책,x\n")
    loader.load()
    loader.file("books.csv", "book_id,new,title\n1,x,책\n")
    assert loader.load().tables["books"].rows == 1


def test_absent_file_stops_the_load(loader: Loader) -> None:
    loader.mapping(BOOKS)
    with pytest.raises(NotFound, match=r"'books\.csv'"):
        loader.load()


# Ids and time


@pytest.mark.parametrize(
    ("book_ids", "likes"),
    [(["a", "b"], "[]"), (["a"], '["a", "b"]'), (["a"], '["b"]')],
    ids=["two books", "within one list", "a book and a list"],
)
def test_texts_that_share_a_number_stop_the_build(
    loader: Loader, monkeypatch: pytest.MonkeyPatch, book_ids: list[str], likes: str
) -> None:
    for module in (column_casts, list_values):
        monkeypatch.setattr(module, "text_id", lambda _: 7)
    loader.file("books.csv", "book_id,title\n" + "".join(f"{b},책\n" for b in book_ids))
    loader.file("people.jsonl", json.dumps({"user_id": 1, "liked_book_ids": json.loads(likes)}))
    loader.mapping(
        mapping_of(
            {"raw": "books.csv", "people": "people.jsonl"},
            {"books": "select * from raw", "onboarding": "select * from people"},
            'text_ids = ["book_id"]',
        )
    )
    with pytest.raises(IdCollision, match="books ids 'a' and 'b' share the number 7"):
        loader.load()


def test_row_of_the_future_is_kept_once_its_time_has_come(loader: Loader) -> None:
    lines = [f"{n},책,2026-01-01T00:00:00Z\n" for n in range(19)] + ["99,책,2026-12-01T01:00:00Z\n"]
    loader.file("books.csv", "book_id,title,updated_at\n" + "".join(lines))
    loader.mapping(BOOKS)
    assert loader.load().table_counts["books"].quarantined == 1
    loader.clock.advance(3_600)
    assert loader.load().table_counts["books"].quarantined == 0


def test_year_zero_does_not_break_the_watermark(loader: Loader) -> None:
    lines = [f"{n},책,\n" for n in range(19)] + ["99,책,0000-01-01T00:00:00Z\n"]
    loader.file("books.csv", "book_id,title,updated_at\n" + "".join(lines))
    loader.mapping(BOOKS)
    record = loader.load()
    assert record.table_counts["books"].bad_columns == {"updated_at": 1}
