import json
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from lifehelper_data.domain.contract import BOOKS
from lifehelper_data.domain.counts import FileCounts, TableCounts
from lifehelper_data.domain.errors import (
    ContractViolation,
    FormatVersionError,
    InvalidRequest,
    Unavailable,
)
from lifehelper_data.domain.release import Release, ReleaseContent, ReleaseState
from lifehelper_data.stores.duck import connect_writer
from lifehelper_data.stores.release_file import rewrite_release_file, write_release_file
from lifehelper_data.stores.release_read import read_release, read_release_and_root
from tests.integration.release_kit import START, Shop, book, category, flip


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / '서점\'s [new] *{a,b}%20 "shop"')


def full_content(shop: Shop) -> ReleaseContent:
    return ReleaseContent(
        tables={
            "books": shop.table(
                "books", [book(2, title="둘"), book(1, price=9_000)], [book(3, listed_at=START)]
            ),
            "memories": shop.table("memories", []),
            "category_map": shop.table("category_map", [category("소설")]),
        },
        files=(
            FileCounts(
                source_file="z", path="z.csv", lines=3, rows=2, rejected=1, reasons={"bad_utf8": 1}
            ),
            FileCounts(source_file="a", path="폴더/a.csv", lines=0, rows=0, rejected=0),
        ),
        table_counts={
            "books": TableCounts(
                table="books",
                returned=9,
                kept=3,
                repeated=1,
                duplicates=2,
                quarantined=3,
                bad_columns={"price": 2, "title": 1},
                orphans=0,
                ignored_columns=("x", "가"),
            ),
            "onboarding": TableCounts(table="onboarding"),  # counted, not held
        },
        facts={
            "popularity_method": "log",
            "watermarks": {"책": [1, None, 2.5, True]},
            "note": "it's",
        },
    )


def release_of(content: ReleaseContent, **changes: object) -> Release:
    fields: dict[str, object] = {
        "number": 42,
        "state": ReleaseState.STAGED,
        "created_at": START + timedelta(microseconds=7),
        "promoted_at": None,
        "content": content,
    }
    return Release(**(fields | changes))  # type: ignore[arg-type] # typed by the fields above


def test_release_survives_the_file(shop: Shop) -> None:
    path = shop.layout.release_file(42)
    staged = release_of(full_content(shop))
    write_release_file(path, staged, shop.layout.root)
    assert read_release_and_root(path) == (staged, shop.layout.root)
    assert [p.name for p in shop.layout.releases.iterdir()] == ["000042.duckdb"]  # no log

    promoted = release_of(
        full_content(shop), state=ReleaseState.PROMOTED, promoted_at=START + timedelta(hours=9)
    )
    again = shop.layout.release_file(43)
    write_release_file(again, promoted, shop.layout.root)
    assert read_release(again) == promoted


def test_views_have_the_contracts_columns_types_and_rows(shop: Shop) -> None:
    path = shop.layout.release_file(1)
    write_release_file(path, release_of(full_content(shop), number=1), shop.layout.root)
    with duckdb.connect(str(path), read_only=True) as plain:  # as a foreign client opens it
        plain.execute("SET TimeZone = 'UTC'")
        described = plain.execute("DESCRIBE books").fetchall()
        assert [(row[0], row[1]) for row in described][:5] == [
            ("book_id", "BIGINT"),
            ("title", "VARCHAR"),
            ("author", "VARCHAR"),
            ("publisher", "VARCHAR"),
            ("price", "INTEGER"),
        ]
        assert [row[0] for row in described] == [column.name for column in BOOKS.columns]
        assert plain.execute(
            "SELECT book_id, title, price, CAST(listed_at AS VARCHAR) FROM books ORDER BY book_id"
        ).fetchall() == [
            (1, "책", 9_000, None),
            (2, "둘", None, None),
            (3, "책", None, "2026-03-01 09:00:00+00"),
        ]
        assert plain.execute("SELECT * FROM memories").fetchall() == []
        facts = dict(plain.execute("SELECT key, value FROM release_facts").fetchall())
        assert facts["root"] == json.dumps(str(shop.layout.root), ensure_ascii=False)
        assert facts["popularity_method"] == '"log"'
        assert facts["created_at"] == '"2026-03-01T09:00:00.000007+00:00"'


def test_dictionary_describes_every_column_of_every_table_and_view(shop: Shop) -> None:
    path = shop.layout.release_file(1)
    write_release_file(path, release_of(full_content(shop), number=1), shop.layout.root)
    with duckdb.connect(str(path), read_only=True) as plain:
        real = plain.execute(
            "SELECT table_name, ordinal_position, column_name, data_type "
            "FROM information_schema.columns ORDER BY ALL"
        ).fetchall()
        told = plain.execute(
            "SELECT table_name, position, column_name, type FROM data_dictionary ORDER BY ALL"
        ).fetchall()
        assert real == told
        assert plain.execute(
            "SELECT nullable, meaning FROM data_dictionary "
            "WHERE (table_name, column_name) = ('books', 'book_id')"
        ).fetchall() == [(False, "key of the book")]
        assert plain.execute(
            "SELECT comment FROM duckdb_views() WHERE view_name = 'books'"
        ).fetchall() == [("one row per book",)]


def test_rewritten_file_differs_only_in_what_was_asked(shop: Shop) -> None:
    first, second = shop.layout.release_file(1), shop.layout.release_file(2)
    staged = release_of(full_content(shop), number=1)
    write_release_file(first, staged, shop.layout.root)
    at = START + timedelta(days=1)
    rewrite_release_file(first, second, staged.content, root=shop.layout.root, promoted_at=at)
    assert read_release(first) == staged
    assert read_release(second) == release_of(
        staged.content, number=1, state=ReleaseState.PROMOTED, promoted_at=at
    )


def test_question_mark_in_the_folder_is_refused(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "why?")
    with pytest.raises(InvalidRequest, match="rename the folder"):
        write_release_file(
            shop.layout.release_file(1), release_of(shop.marked("a")), shop.layout.root
        )


@pytest.mark.parametrize("key", ["root", "format_version", "state"])
def test_reserved_facts_are_refused(shop: Shop, key: str) -> None:
    content = ReleaseContent(tables={}, facts={key: 1})
    path = shop.layout.release_file(1)
    with pytest.raises(InvalidRequest, match=key):
        write_release_file(path, release_of(content), shop.layout.root)
    assert not path.exists()


def test_part_without_the_contracts_columns_is_refused_and_leaves_no_file(shop: Shop) -> None:
    wrong = shop.table("category_map", [category("소설")])
    part = wrong.parts[0]
    books = shop.table("books", [book(1)])
    shop.path(books.parts[0]).write_bytes(shop.path(part).read_bytes())
    path = shop.layout.release_file(1)
    with pytest.raises(ContractViolation, match="'books'"):
        write_release_file(path, release_of(shop.content(books)), shop.layout.root)
    assert list(shop.layout.releases.iterdir()) == []


def test_newer_format_is_refused_with_what_to_do(shop: Shop) -> None:
    path = shop.layout.release_file(1)
    write_release_file(path, release_of(full_content(shop)), shop.layout.root)
    with connect_writer(path) as connection:
        connection.execute("UPDATE release_facts SET value = '2' WHERE key = 'format_version'")
    with pytest.raises(FormatVersionError, match=r"000001\.duckdb.*version 2.*lifehelper build"):
        read_release(path)


def test_damaged_files_are_unavailable_by_name(shop: Shop) -> None:
    path = shop.layout.release_file(1)
    write_release_file(path, release_of(full_content(shop)), shop.layout.root)
    whole = path.read_bytes()
    for damaged in (b"", b"not a database" * 1000, whole[:9000], whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(Unavailable, match=r"000001\.duckdb.*lifehelper build"):
            read_release(path)
    path.unlink()
    with pytest.raises(Unavailable, match=r"000001\.duckdb"):
        read_release(path)
    with connect_writer(path) as connection:
        connection.execute("CREATE TABLE something_else (x INTEGER)")
    with pytest.raises(Unavailable, match="release_facts"):
        read_release(path)


def test_flipped_bits_in_a_release_file_never_give_another_release(shop: Shop) -> None:
    path = shop.layout.release_file(1)
    release = release_of(full_content(shop))
    write_release_file(path, release, shop.layout.root)
    refused = 0
    for offset in range(0, path.stat().st_size, 50_021):
        flip(path, offset)
        try:
            assert read_release(path) == release  # a byte that nothing uses
        except Unavailable:
            refused += 1
        flip(path, offset)
    assert refused > 5
    assert read_release(path) == release
