"""Reading only what is new, and what only a full read finds."""

import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifehelper_data.domain.build import BuildReport
from tests.conftest import examples
from tests.integration.postgres_kit import (
    Database,
    PostgresLoader,
    reads_of,
    table_identities,
)

NOON = "2024-05-01 12:00:00+00"
HOUR_BEFORE = "2024-05-01 11:00:00+00"  # the edge of the look-back
TOO_LATE = "2024-05-01 10:59:59.999999+00"


@pytest.fixture
def shop(tmp_path: Path) -> PostgresLoader:
    made = PostgresLoader.create(tmp_path)
    made.database.run(
        "CREATE TABLE b (book_id int, title text, changed timestamptz)",
        f"INSERT INTO b VALUES (1, 'first', '2024-04-01 00:00:00+00'), (2, 'second', '{NOON}')",
        "CREATE TABLE p (user_id int, book_id int, purchased_at timestamptz, arrived_at timestamp)",
        "INSERT INTO p VALUES (1, 1, '2024-04-01 00:00:00+00', '2024-04-01'), "
        "(1, 2, '2024-04-02 00:00:00+00', '2024-05-01'), "
        "(1, 2, '2024-04-02 00:00:00+00', '2024-05-01')",
    )
    made.mapping(
        {"books": "select * from b", "user_purchases": "select * from p"},
        incremental={"books": ("changed", "1 hour"), "user_purchases": ("arrived_at", "1 day")},
        head='naive_timezone = "UTC"',
    )
    return made


def titles(shop: PostgresLoader, report: BuildReport) -> dict[object, object]:
    return {row["book_id"]: row["title"] for row in shop.rows(report.record, "books")}


def modes(report: BuildReport) -> tuple[str, int]:
    reads = reads_of(report)
    return reads["mode"], reads["rows_read"]


def test_first_read_is_full_and_the_next_goes_back_by_the_look_back(shop: PostgresLoader) -> None:
    first = shop.build()
    assert modes(first) == ("full", 2)
    assert reads_of(first)["since"] is None
    second = shop.build()
    assert second.reused
    assert reads_of(second) == {
        "mode": "incremental", "rows_read": 1, "since": "2024-05-01T11:00:00.000000+00:00",
    }  # fmt: skip
    assert reads_of(second, "user_purchases") == {
        "mode": "incremental", "rows_read": 2, "since": "2024-04-30T00:00:00.000000",
    }  # fmt: skip


def test_update_replaces_and_a_late_row_inside_the_look_back_arrives(shop: PostgresLoader) -> None:
    shop.build()
    shop.database.run(
        "UPDATE b SET title = 'mended', changed = '2024-05-02 00:00:00+00' WHERE book_id = 1",
        f"INSERT INTO b VALUES (3, 'late', '{HOUR_BEFORE}')",
    )
    report = shop.build()
    assert modes(report) == ("incremental", 3)
    assert titles(shop, report) == {1: "mended", 2: "second", 3: "late"}
    assert report.record.table_counts["books"].returned == 3
    again = shop.build()
    assert again.reused
    assert reads_of(again)["since"] == "2024-05-01T23:00:00.000000+00:00"


def test_a_row_outside_the_look_back_and_a_deletion_need_a_full_read(shop: PostgresLoader) -> None:
    shop.build()
    shop.database.run(
        f"INSERT INTO b VALUES (3, 'too late', '{TOO_LATE}')", "DELETE FROM b WHERE book_id = 1"
    )
    assert shop.build().reused
    full = shop.build(full_read=True)
    assert not full.reused
    assert modes(full) == ("full", 2)
    assert titles(shop, full) == {2: "second", 3: "too late"}
    assert shop.build().reused


def test_history_grows_and_what_is_read_twice_is_not_doubled(shop: PostgresLoader) -> None:
    before = shop.build().record.table_counts["user_purchases"]
    assert (before.returned, before.kept, before.repeated) == (3, 2, 1)
    shop.database.run(
        "INSERT INTO p VALUES (2, 1, '2024-04-03 00:00:00+00', '2024-04-30 00:00:00'), "  # late
        "(1, 2, '2024-04-02 00:00:00+00', '2024-05-02')"  # delivered once more
    )
    report = shop.build()
    after = report.record.table_counts["user_purchases"]
    assert reads_of(report, "user_purchases")["rows_read"] == 4
    assert (after.returned, after.kept, after.repeated) == (5, 3, 2)
    full = shop.build(full_read=True)
    assert full.reused  # the very same rows


def test_rows_whose_column_says_nothing_are_read_each_time(shop: PostgresLoader) -> None:
    shop.database.run("INSERT INTO b VALUES (3, 'no time', NULL), (4, 'never', 'infinity')")
    assert modes(shop.build()) == ("full", 4)
    shop.database.run("UPDATE b SET title = 'still no time' WHERE book_id = 3")
    report = shop.build()
    assert modes(report) == ("incremental", 3)
    assert titles(shop, report)[3] == "still no time"


def test_a_time_far_ahead_hides_no_later_row(shop: PostgresLoader) -> None:
    shop.database.run("INSERT INTO b VALUES (3, 'typing error', '2999-01-01 00:00:00+00')")
    shop.build()
    shop.database.run("INSERT INTO b VALUES (4, 'new', now())")
    assert titles(shop, shop.build())[4] == "new"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("query", "another query"),
        ("lookback", "another look-back"),
        ("type", "another type, so another text"),
        ("database", "another database"),
        ("damage", "not the rows it names"),
        ("loss", "no file"),
    ],
)
def test_what_is_remembered_is_used_only_if_it_is_whole_and_was_read_alike(
    shop: PostgresLoader, change: str, why: str
) -> None:
    shop.build()
    assert modes(shop.build())[0] == "incremental"
    source = shop.loader.folder / "source.toml"
    file = shop.replica / "books" / "rows.parquet"
    match change:
        case "query":
            source.write_text(source.read_text().replace("select * from b", "select * from b b"))
        case "lookback":
            source.write_text(source.read_text().replace("1 hour", "2 hours"))
        case "type":
            shop.database.run("ALTER TABLE b ALTER COLUMN changed TYPE date")
            shop.database.run("ALTER TABLE b ALTER COLUMN title TYPE varchar(99)")
        case "database":
            other = Database.create()
            with_rows = f"INSERT INTO b VALUES (9, 'elsewhere', '{NOON}')"
            other.run(
                "CREATE TABLE b (book_id int, title text, changed timestamptz)",
                with_rows,
                "CREATE TABLE p AS SELECT 1 AS user_id, 1 AS book_id, "
                f"timestamptz '{NOON}' AS purchased_at, timestamp '2024-05-01' AS arrived_at",
            )
            shop.environment["SHOP_DATABASE_URI"] = other.uri
        case "damage":
            file.write_bytes(file.read_bytes()[:-100])
        case _:
            file.unlink()
    report = shop.build()
    assert modes(report)[0] == "full", why
    assert modes(shop.build())[0] == "incremental"
    if change == "database":
        assert titles(shop, report) == {9: "elsewhere"}


def test_a_table_without_incremental_is_read_in_full_and_remembered(tmp_path: Path) -> None:
    shop = PostgresLoader.create(tmp_path)
    shop.database.run("CREATE TABLE b AS SELECT 1 AS book_id, 'a' AS title")
    shop.mapping({"books": "select * from b"})
    shop.build()
    assert (shop.replica / "books" / "rows.parquet").exists()
    assert reads_of(shop.build())["mode"] == "full"
    shop.database.run("DELETE FROM b", "INSERT INTO b VALUES (2, 'b')")
    assert titles(shop, shop.build()) == {2: "b"}


def test_two_builds_at_once_leave_whole_rows_behind(shop: PostgresLoader) -> None:
    shop.build()
    shop.database.run("INSERT INTO b SELECT n, 'new', now() FROM generate_series(10, 60) n")
    reports: list[BuildReport] = []
    threads = [threading.Thread(target=lambda: reports.append(shop.build())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one, other = reports
    assert table_identities(one.record) == table_identities(other.record)
    after = shop.build()
    assert after.reused
    assert modes(after)[0] == "incremental"
    assert shop.build(full_read=True).reused


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("book"), st.integers(1, 4), st.sampled_from(["x", "y", None])),
        st.tuples(st.just("purchase"), st.integers(1, 3), st.sampled_from([0, 1, 50])),
        st.tuples(st.just("copy"), st.integers(1, 3), st.just(None)),
        st.tuples(st.just("build"), st.just(0), st.just(None)),
    ),
    min_size=1,
    max_size=10,
)


@settings(max_examples=examples(4))
@given(steps=STEPS)
def test_increments_end_where_a_full_read_ends(
    steps: list[tuple[str, int, object]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nothing is deleted and nothing later than the look-back: the same text rows, as often."""
    shop = PostgresLoader.create(tmp_path_factory.mktemp("shop"))
    shop.database.run(
        "CREATE TABLE b (book_id int PRIMARY KEY, title text, author text, at timestamptz)",
        "INSERT INTO b VALUES (9, 'nine', NULL, '2024-01-01')",
        "CREATE TABLE p (user_id int, book_id int, purchased_at timestamptz, at timestamptz)",
    )
    shop.mapping(
        {"books": "select * from b", "user_purchases": "select * from p"},
        incremental={"books": ("at", "1 hour"), "user_purchases": ("at", "1 hour")},
    )
    shop.build()
    for minute, (step, number, value) in enumerate(steps):
        at = f"timestamptz '2024-01-02' + interval '{minute} minutes'"
        if step == "book":
            author = "NULL" if value is None else f"'{value}'"
            shop.database.run(
                f"INSERT INTO b VALUES ({number}, 't', {author}, {at}) ON CONFLICT (book_id) "
                "DO UPDATE SET author = excluded.author, at = excluded.at"
            )
        elif step == "purchase":  # up to fifty minutes late
            shop.database.run(
                f"INSERT INTO p VALUES ({number}, 1, '2024-01-01', {at} - interval '{value} min')"
            )
        elif step == "copy":
            shop.database.run(f"INSERT INTO p SELECT * FROM p WHERE user_id = {number} LIMIT 1")
        else:
            assert modes(shop.build())[0] == "incremental"
    shop.build()
    assert shop.build(full_read=True).reused
