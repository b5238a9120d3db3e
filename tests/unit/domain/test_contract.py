import itertools
import re

import pytest

from lifehelper_data.domain.contract import (
    ALL_TABLES,
    HISTORY_TABLES,
    PLATFORM_TABLES,
    REQUIRED_TABLES,
    SQL_TYPES,
    TABLES,
    Column,
    Duplicates,
    Kind,
    Table,
)

NUMBERS = {Kind.INT32, Kind.INT64, Kind.FLOAT}
TEXTS = {Kind.TEXT, Kind.TEXT_LIST}
LISTS = {Kind.TEXT_LIST, Kind.INT_LIST, Kind.FLOAT_LIST}
EVERY_TABLE = pytest.mark.parametrize("table", ALL_TABLES.values(), ids=ALL_TABLES)


def test_tables_of_the_specification_in_load_order() -> None:
    assert list(TABLES) == [
        "books", "book_popularity", "user_purchases", "user_library", "user_reviews", "onboarding",
        "memories", "habit_catalog", "frame_patterns", "category_map",
    ]  # fmt: skip
    assert {"popularity", "quarantine", "rejects", "source_ids"} <= set(PLATFORM_TABLES)
    assert not set(PLATFORM_TABLES) & set(TABLES)
    assert REQUIRED_TABLES == ("books",)
    assert HISTORY_TABLES == ("user_purchases", "user_library", "user_reviews")


def test_every_kind_has_an_sql_type() -> None:
    assert set(SQL_TYPES) == set(Kind)


@EVERY_TABLE
def test_names_are_plain_and_columns_distinct(table: Table) -> None:
    names = [column.name for column in table.columns]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in [table.name, *names])
    assert all(column.meaning for column in table.columns)
    assert table.meaning


@EVERY_TABLE
def test_roles_name_columns_of_the_table(table: Table) -> None:
    names = {column.name for column in table.columns}
    roles = [table.event_time, table.freshness_time, table.bucketed_by, *table.ordered_within]
    assert set(table.key) <= names
    assert {role for role in roles if role is not None} <= names
    for role in (table.event_time, table.freshness_time):
        if role is not None:
            assert table.column(role).kind is Kind.TIMESTAMP
    if table.bucketed_by is not None:
        assert table.column(table.bucketed_by).kind is Kind.INT64
        assert not table.column(table.bucketed_by).nullable


@EVERY_TABLE
def test_rules_fit_the_kind(table: Table) -> None:
    for column in table.columns:
        if column.minimum is not None or column.maximum is not None:
            assert column.kind in NUMBERS
        if column.minimum is not None and column.maximum is not None:
            assert column.minimum < column.maximum
        if column.choices:
            assert column.kind in TEXTS
        if column.max_items is not None:
            assert column.kind in LISTS
        if column.half_steps:
            assert column.kind is Kind.FLOAT
        if column.id_space is not None:
            assert column.kind in {Kind.INT64, Kind.INT_LIST}
        if column.default == "event_time":
            assert table.event_time is not None
        if column.default is not None:
            assert not column.nullable
            assert not column.required


def test_source_table_whose_key_may_lose_a_row_has_a_key_that_is_never_null() -> None:
    settled = {Duplicates.NEWEST_WINS, Duplicates.LAST_WINS}
    for table in TABLES.values():
        if table.duplicates in settled:
            assert not any(table.column(name).nullable for name in table.key)


def test_newest_wins_needs_updated_at() -> None:
    newest = [t.name for t in TABLES.values() if t.duplicates is Duplicates.NEWEST_WINS]
    assert newest == ["books"]
    assert TABLES["books"].column("updated_at").kind is Kind.TIMESTAMP


@pytest.mark.parametrize("name", HISTORY_TABLES)
def test_history_is_keyed_by_everything_but_the_arrival(name: str) -> None:
    table = TABLES[name]
    assert table.duplicates is Duplicates.REPEATED_DELIVERY
    assert {*table.key, "arrived_at"} == {column.name for column in table.columns}
    assert table.column("arrived_at").default == "event_time"


def test_required_columns_of_a_select() -> None:
    required = {
        table.name: [c.name for c in table.source_columns if c.required]
        for table in TABLES.values()
    }
    assert required == {
        "books": ["book_id", "title"],
        "book_popularity": ["book_id", "sales", "as_of"],
        "user_purchases": ["user_id", "book_id", "purchased_at"],
        "user_library": ["user_id", "book_id", "added_at"],
        "user_reviews": ["user_id", "book_id", "rating", "created_at"],
        "onboarding": ["user_id"],
        "memories": ["user_id", "type", "value", "created_at"],
        "habit_catalog": ["item_id", "kind", "title", "category"],
        "frame_patterns": ["keyword", "suggestion", "applies_to_levels"],
        "category_map": ["category", "class", "strength"],
    }


def test_derived_columns_are_never_read_from_a_source() -> None:
    derived = [
        (table.name, c.name) for table in TABLES.values() for c in table.columns if c.derived
    ]
    assert derived == [("books", "price_suspect"), ("memories", "seq")]
    assert not any(c.derived for table in TABLES.values() for c in table.source_columns)


def test_stored_order_is_the_key_then_the_order_within() -> None:
    assert TABLES["memories"].sort_key == ("user_id", "created_at", "seq")
    assert TABLES["books"].sort_key == ("book_id",)


@pytest.mark.parametrize(
    ("nullable", "default", "derived", "required"),
    [
        (nullable, default, derived, not nullable and not derived and default is None)
        for nullable, default, derived in itertools.product(
            (True, False), (None, 0, False), (True, False)
        )
    ],
)
def test_column_is_required_unless_null_default_or_platform_can_fill_it(
    nullable: bool, default: bool | int | None, derived: bool, required: bool
) -> None:
    column = Column(
        name="x", kind=Kind.INT64, meaning="", nullable=nullable, default=default, derived=derived
    )
    assert column.required is required


def test_unknown_column_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="isbn"):
        TABLES["books"].column("isbn")
