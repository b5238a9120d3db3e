"""Merging and hashing all-text tables, against naive oracles."""

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from lifehelper_data.sources.scratch import connect_scratch, quoted
from lifehelper_data.sources.text_rows import replace_by_key, rows_digest, unite
from tests.conftest import examples

Row = tuple[str | None, ...]
COLUMNS = ("a", "b", "k")

VALUES = st.sampled_from([None, "", "1", "1:", "~", "가"])
ROWS = st.lists(st.tuples(VALUES, VALUES, st.sampled_from([None, "1", "2"])), max_size=6)


@contextmanager
def tables(**rows: list[Row]) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect_scratch(":memory:") as connection:
        for name, listed in rows.items():
            columns = ", ".join(f"{quoted(c)} VARCHAR" for c in COLUMNS)
            connection.execute(f"CREATE TABLE {name} ({columns})")
            if listed:
                connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", listed)
        yield connection


def all_rows(connection: duckdb.DuckDBPyConnection, table: str) -> Counter[Row]:
    return Counter(connection.execute(f"FROM {table}").fetchall())


def digest(rows: list[Row]) -> tuple[int, str]:
    with tables(t=rows) as connection:
        return rows_digest(connection, "t", COLUMNS)


@settings(max_examples=examples(40))
@given(ROWS, st.randoms(use_true_random=False))
def test_digest_does_not_depend_on_order(rows: list[Row], random: st.DataObject) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert digest(shuffled) == digest(rows)


@settings(max_examples=examples(40))
@given(ROWS, ROWS)
def test_digests_are_equal_only_for_the_same_rows_as_often(one: list[Row], two: list[Row]) -> None:
    assert (digest(one) == digest(two)) == (Counter(one) == Counter(two))


def test_digest_tells_apart_what_looks_alike() -> None:
    rows: list[Row] = [
        ("a", "b", None), ("ab", "", None), ("", "ab", None), (None, "ab", None),
        ("ab", None, None), ("2:ab", None, None), (None, None, None), ("~", None, None),
    ]  # fmt: skip
    found = [digest([row])[1] for row in rows]
    assert len(set(found)) == len(rows)
    for one, other in itertools.combinations(rows, 2):
        assert digest([one, one]) != digest([one, other])


def test_digest_names_the_columns() -> None:
    with tables(t=[("1", "1", "1")]) as connection:
        one = rows_digest(connection, "t", ("a", "b"))
        other = rows_digest(connection, "t", ("a", "k"))
    assert one[0] == other[0] == 1
    assert one[1] != other[1]


def test_digest_of_nothing() -> None:
    assert digest([])[0] == 0


@settings(max_examples=examples(40))
@given(ROWS, ROWS)
def test_united_rows_are_there_as_often_as_where_they_are_more_often(
    known: list[Row], read: list[Row]
) -> None:
    with tables(known=known, read=read) as connection:
        unite(connection, "known", "read", columns=COLUMNS)
        assert all_rows(connection, "known") == Counter(known) | Counter(read)


@settings(max_examples=examples(40))
@given(ROWS, ROWS)
def test_rows_of_a_key_replace_all_rows_of_that_key(known: list[Row], read: list[Row]) -> None:
    keyed = {row[2] for row in read if row[2] is not None}
    expected = Counter(row for row in known if row[2] is not None and row[2] not in keyed)
    expected += Counter(row for row in read if row[2] is not None)
    expected += Counter(r for r in known if r[2] is None) | Counter(r for r in read if r[2] is None)
    with tables(known=known, read=read) as connection:
        replace_by_key(connection, "known", "read", columns=COLUMNS, key=("k",))
        assert all_rows(connection, "known") == expected


def test_a_key_of_two_columns_is_one_key() -> None:
    known: list[Row] = [("1", "x", "old"), ("1", "y", "old"), ("2", "x", "old")]
    with tables(known=known, read=[("1", "y", "new")]) as connection:
        replace_by_key(connection, "known", "read", columns=COLUMNS, key=("a", "b"))
        assert all_rows(connection, "known") == Counter(
            [("1", "x", "old"), ("1", "y", "new"), ("2", "x", "old")]
        )
