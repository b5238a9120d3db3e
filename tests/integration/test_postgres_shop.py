"""A build from PostgreSQL is the build from files that hold the same rows."""

from pathlib import Path

import polars as pl
import pytest

from lifehelper_data.domain.build import BuildRecord
from lifehelper_data.domain.errors import LoadRefused
from lifehelper_data.pipelines.build_tables import build_tables
from lifehelper_data.stores.load_times import LoadTime, load_load_times
from tests.integration.build_kit import SOURCES
from tests.integration.load_kit import NOW, Loader, assert_every_row_is_accounted_for, mapping_of
from tests.integration.postgres_kit import (
    PostgresLoader,
    fill_shop,
    reads_of,
    table_identities,
    values,
)

SHOP = SOURCES / "fixture_shop_postgres.toml"


@pytest.fixture(scope="module")
def from_files(tmp_path_factory: pytest.TempPathFactory) -> BuildRecord:
    loader = Loader(tmp_path_factory.mktemp("files"))
    return build_tables(loader.context, SOURCES / "fixture_shop.toml").record


@pytest.mark.parametrize("seed", [None, 7])
def test_fixture_shop_is_the_same_from_database_and_files_in_any_row_order(
    tmp_path: Path, from_files: BuildRecord, seed: int | None
) -> None:
    shop = PostgresLoader.create(tmp_path)
    fill_shop(shop.database, seed=seed)
    context = shop.loader.context
    first = build_tables(context, SHOP, environment=shop.environment)
    assert table_identities(first.record) == table_identities(from_files)
    assert first.record.table_counts == from_files.table_counts
    assert_every_row_is_accounted_for(shop.loader, first.record)
    assert first.record.facts["source_watermarks"] == from_files.facts["source_watermarks"]
    assert reads_of(first) == {"mode": "full", "rows_read": 600, "since": None}
    assert reads_of(first, "category_map") == {"mode": "files", "rows_read": 54, "since": None}

    again = build_tables(context, SHOP, environment=shop.environment)
    assert again.reused
    assert again.record.tables == first.record.tables
    assert reads_of(again)["mode"] == "incremental"
    assert reads_of(again)["rows_read"] < 600
    assert reads_of(again, "onboarding") == {"mode": "full", "rows_read": 340, "since": None}


BOOKS = "book_id, title, author, price, updated_at"
DUPLICATES = [  # book, title, author, price, updated_at
    (1, "old", None, 1, "2024-01-01T00:00:00Z"),
    (1, "new", None, 1, "2024-01-02T00:00:00Z"),
    (2, "가", "b", 9000, "2024-01-01T00:00:00Z"),
    (2, "나", "a", 8000, "2024-01-01T00:00:00Z"),  # the title decides first
    (3, "same", "b", 2000, "2024-01-01T00:00:00Z"),
    (3, "same", "b", 10_000, "2024-01-01T00:00:00Z"),  # as a number, not as text
    (3, "same", None, 20_000, "2024-01-01T00:00:00Z"),  # null is below every author
    (4, "no time", "z", 1, None),
    (4, "a time", "a", 1, "2000-01-01T00:00:00Z"),
    (5, "twin", "a", 1, None),
    (5, "twin", "a", 1, None),
]
WINNERS = {1: "new", 2: "나", 3: "same", 4: "a time", 5: "twin"}


@pytest.mark.parametrize("reverse", [False, True])
def test_of_rows_of_one_key_the_newest_wins_and_else_the_largest(
    tmp_path: Path, reverse: bool
) -> None:
    shop = PostgresLoader.create(tmp_path)
    rows = DUPLICATES[::-1] if reverse else DUPLICATES
    shop.mapping({"books": f"select * from (values {values(rows)}) as v({BOOKS})"})
    record = shop.build().record
    kept = {row["book_id"]: row for row in shop.rows(record, "books")}
    assert {key: row["title"] for key, row in kept.items()} == WINNERS
    assert (kept[3]["author"], kept[3]["price"]) == ("b", 10_000)
    counts = record.table_counts["books"]
    assert (counts.returned, counts.kept, counts.duplicates) == (11, 5, 6)
    assert_every_row_is_accounted_for(shop.loader, record)


def test_row_order_of_a_file_still_decides_there(tmp_path: Path) -> None:
    loader = Loader(tmp_path)
    loader.file("b.csv", "book_id,title\n1,zebra\n1,ant\n")
    loader.mapping(mapping_of({"raw": "b.csv"}, {"books": "select * from raw"}))
    assert [row["title"] for row in loader.rows(loader.load(), "books")] == ["ant"]


TABLES_WITHOUT_TIME: dict[str, tuple[str, list[tuple[object, ...]], str, list[object]]] = {
    "book_popularity": (
        "book_id, sales, rating_avg, as_of",
        [(1, 9, 4.5, "2024-01-01T00:00:00Z"), (1, 10, 0.5, "2024-01-01T00:00:00Z")],
        "sales",
        [10],
    ),
    "onboarding": ("user_id, tags", [(1, '["a","b"]'), (1, '["a"]')], "tags", [["a", "b"]]),
    "memories": (
        "user_id, type, value, created_at",
        [(1, "mood", value, "2024-01-01T00:00:00Z") for value in ("c", "a", "b", "a")],
        "value",
        ["a", "b", "c"],  # by seq
    ),
}


@pytest.mark.parametrize("table", TABLES_WITHOUT_TIME)
def test_order_of_database_rows_means_nothing_in_any_table(tmp_path: Path, table: str) -> None:
    columns, rows, shown, expected = TABLES_WITHOUT_TIME[table]
    shop = PostgresLoader.create(tmp_path)
    records = []
    for ordered in (rows, rows[::-1]):
        query = f"select * from (values {values(ordered)}) as v({columns})"
        shop.mapping({"books": "select 1 as book_id, 'a' as title", table: query})
        records.append(shop.build().record)
    assert table_identities(records[0]) == table_identities(records[1])
    found = shop.rows(records[0], table)
    assert [row[shown] for row in sorted(found, key=lambda row: str(row.get("seq")))] == expected


def test_a_bad_value_costs_its_row_and_unknown_columns_are_named(tmp_path: Path) -> None:
    shop = PostgresLoader.create(tmp_path)
    rows = [(n, f"t{n}", 100 * n, "x") for n in range(1, 30)] + [(30, "t30", -1, "x")]
    shop.database.run(
        "CREATE TABLE b AS SELECT book_id::int, title, price::numeric, note, 'x'::bytea AS cover "
        f"FROM (VALUES {values(rows)}) AS v(book_id, title, price, note)"
    )
    shop.mapping({"books": "select * from b"})
    record = shop.build().record
    counts = record.table_counts["books"]
    assert (counts.returned, counts.kept, counts.quarantined) == (30, 29, 1)
    assert counts.ignored_columns == ("cover", "note")
    (bad,) = shop.rows(record, "quarantine")
    assert (bad["column_name"], bad["value"], bad["reason"]) == (
        "price", "-1", "bad_value:out_of_range",
    )  # fmt: skip


def test_load_times_are_kept_also_when_nothing_changed_but_not_by_a_refused_load(
    tmp_path: Path,
) -> None:
    shop = PostgresLoader.create(tmp_path)
    shop.database.run(
        "CREATE TABLE b AS SELECT 1 AS book_id, 'a' AS title, "
        "timestamptz '2024-05-01 00:00:00+00' AS updated_at"
    )
    library = "select 1 as user_id, 1 as book_id, '2024-04-01T00:00:00Z' as added_at"
    shop.mapping({"books": "select * from b", "user_library": library})
    layout = shop.loader.layout
    expected = {
        "books": pl.datetime(2024, 5, 1, time_zone="UTC"),
        "user_library": pl.datetime(2024, 4, 1, time_zone="UTC"),
    }
    newest = {name: pl.select(time).item() for name, time in expected.items()}

    def times(at: object) -> dict[str, LoadTime]:
        return {n: LoadTime(loaded_at=at, watermark=newest[n]) for n in newest}  # type: ignore[arg-type]

    assert not shop.build().reused
    assert load_load_times(layout) == times(NOW)
    shop.loader.clock.advance(300)
    later = shop.loader.clock.now
    assert shop.build().reused
    assert load_load_times(layout) == times(later)
    shop.loader.clock.advance(300)
    shop.database.run("UPDATE b SET book_id = NULL")
    remembered = (shop.replica / "books" / "rows.parquet").read_bytes()
    with pytest.raises(LoadRefused, match=r"more than 5\.0% bad"):
        shop.build()
    assert load_load_times(layout) == times(later)
    assert (shop.replica / "books" / "rows.parquet").read_bytes() == remembered
