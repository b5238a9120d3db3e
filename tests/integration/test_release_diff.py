from pathlib import Path

import pytest

from lifehelper_data.domain.errors import NotFound
from lifehelper_data.stores.diff import ChangedValue, ReleaseDiff, TableDiff, diff_releases
from tests.integration.release_kit import START, Shop, book, category


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "ws")


def only(diff: ReleaseDiff, table: str) -> TableDiff:
    (found,) = [t for t in diff.tables if t.table == table]
    return found


def test_equal_releases(shop: Shop) -> None:
    shop.publish(shop.marked("a"))
    shop.publish(shop.marked("a"))
    diff = diff_releases(shop.store, 1, 2)
    assert diff.equal
    assert [(t.table, t.status, t.rows_before, t.rows_after) for t in diff.tables] == [
        ("books", "equal", 1, 1),
        ("category_map", "equal", 1, 1),
    ]


def test_other_buckets_are_equal(shop: Shop) -> None:
    shop.publish(shop.content(shop.table("books", [book(1), book(2)])))
    shop.publish(shop.content(shop.table("books", [book(2)], [book(1)])))
    assert diff_releases(shop.store, 1, 2).equal


def test_added_and_removed_tables(shop: Shop) -> None:
    shop.publish(shop.content(shop.table("books", [book(1)])))
    shop.publish(shop.content(shop.table("category_map", [category("a"), category("b")])))
    diff = diff_releases(shop.store, 1, 2)
    assert diff.tables == (
        TableDiff(table="books", status=only(diff, "books").status, rows_before=1,
                  rows_after=None, removed=1),
        TableDiff(table="category_map", status=only(diff, "category_map").status,
                  rows_before=None, rows_after=2, added=2),
    )  # fmt: skip
    assert [t.status for t in diff.tables] == ["removed", "added"]


def test_rows_are_matched_by_key_and_sampled_in_order(shop: Shop) -> None:
    shared = [book(100), book(101)]
    before = [book(n, price=n * 10) for n in (10, 9, 2, 1)]
    after = [
        book(11, price=1),  # added
        book(10, price=100),  # the same
        book(9, price=91, in_stock=False),
        book(2, price=None, listed_at=START),
    ]  # 1 is removed
    shop.publish(shop.content(shop.table("books", shared, before)))
    shop.publish(shop.content(shop.table("books", shared, after)))
    table = only(diff_releases(shop.store, 1, 2), "books")
    assert (table.status, table.rows_before, table.rows_after) == ("changed", 6, 6)
    assert (table.added, table.removed, table.changed) == (1, 1, 2)
    assert table.key == ("book_id",)
    assert table.sample == (
        ChangedValue(key=("2",), column="price", before="20", after=None),
        ChangedValue(key=("2",), column="listed_at", before=None, after="2026-03-01 09:00:00+00"),
        ChangedValue(key=("9",), column="price", before="90", after="91"),
        ChangedValue(key=("9",), column="in_stock", before="true", after="false"),
    )
    one = only(diff_releases(shop.store, 1, 2, sample_rows=1), "books")
    assert [value.key for value in one.sample] == [("2",), ("2",)]
    back = only(diff_releases(shop.store, 2, 1), "books")
    assert (back.added, back.removed, back.changed) == (1, 1, 2)


def test_sample_is_the_first_changed_rows_by_key(shop: Shop) -> None:
    shop.publish(shop.content(shop.table("books", [book(n, price=0) for n in range(300)])))
    shop.publish(shop.content(shop.table("books", [book(n, price=n) for n in range(300)])))
    table = only(diff_releases(shop.store, 1, 2, sample_rows=3), "books")
    assert table.changed == 299
    assert [(value.key, value.after) for value in table.sample] == [
        (("1",), "1"),
        (("2",), "2"),
        (("3",), "3"),
    ]


def memory(value: str, seq: int) -> dict[str, object]:
    return {"user_id": 1, "type": "mood", "value": value, "created_at": START, "seq": seq}


def test_order_of_rows_of_one_time_is_part_of_the_key(shop: Shop) -> None:
    shop.publish(shop.content(shop.table("memories", [memory("비", 1), memory("눈", 2)])))
    shop.publish(shop.content(shop.table("memories", [memory("비", 1), memory("해", 2)])))
    table = only(diff_releases(shop.store, 1, 2), "memories")
    assert table.key == ("user_id", "created_at", "seq")
    assert table.sample == (
        ChangedValue(
            key=("1", "2026-03-01 09:00:00+00", "2"), column="value", before="눈", after="해"
        ),
    )


def quarantined(reason: str, value: str | None) -> dict[str, object]:
    return {"table_name": "books", "key": "{}", "value": value, "reason": reason, "row": "{}"}


def test_nulls_in_keys_match_and_repeated_rows_are_counted(shop: Shop) -> None:
    row = quarantined("duplicate", None)
    shop.publish(shop.content(shop.table("quarantine", [row, row, row])))
    shop.publish(shop.content(shop.table("quarantine", [row, quarantined("bad_value:x", "1")])))
    table = only(diff_releases(shop.store, 1, 2), "quarantine")
    assert (table.added, table.removed, table.changed) == (1, 2, 0)


def test_change_to_and_from_nothing(shop: Shop) -> None:
    shop.publish(shop.content(shop.table("books", [])))
    shop.publish(shop.content(shop.table("books", [book(1), book(2)])))
    grown = only(diff_releases(shop.store, 1, 2), "books")
    assert (grown.added, grown.removed, grown.changed, grown.sample) == (2, 0, 0, ())
    shrunk = only(diff_releases(shop.store, 2, 1), "books")
    assert (shrunk.added, shrunk.removed, shrunk.changed) == (0, 2, 0)


def test_missing_release(shop: Shop) -> None:
    shop.publish(shop.marked("a"))
    with pytest.raises(NotFound, match="release 2"):
        diff_releases(shop.store, 1, 2)
    assert list(shop.layout.pins.glob("*.json")) == []
