"""Ages and budgets, in words that say what they count from."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.freshness import (
    MEANINGS,
    Freshness,
    Served,
    SourceTimes,
    in_words,
    measure_freshness,
)

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
BUDGETS = {
    Served.PRICE_STOCK: timedelta(minutes=5),
    Served.NEW_BOOKS: timedelta(hours=1),
    Served.POPULARITY: timedelta(hours=24),
    Served.HISTORY: timedelta(minutes=5),
}


def ago(**units: float) -> datetime:
    return NOW - timedelta(**units)


def measured(
    *,
    books_changed: datetime | None = None,
    waiting_since: datetime | None = None,
    popularity_as_of: datetime | None = None,
    history: Mapping[str, datetime | None] | None = None,
    loaded: Mapping[str, datetime] | None = None,
    now: datetime = NOW,
) -> dict[Served, Freshness]:
    times = SourceTimes(
        books_changed=books_changed,
        waiting_since=waiting_since,
        popularity_as_of=popularity_as_of,
        history=history or {},
        loaded=loaded or {},
    )
    return {one.served: one for one in measure_freshness(times, BUDGETS, now)}


def test_every_served_thing_is_measured_in_order_and_has_a_meaning() -> None:
    assert list(measured()) == list(Served)
    assert set(MEANINGS) == set(Served)


def test_prices_are_as_old_as_the_newest_changed_row() -> None:
    found = measured(books_changed=ago(minutes=4), loaded={"books": ago(minutes=1)})
    price = found[Served.PRICE_STOCK]
    assert (price.age, price.fresh) == (timedelta(minutes=4), True)
    assert price.detail == (
        "4 min old, within 5 min: last change 2026-06-01 11:56 UTC, last load 2026-06-01 11:59 UTC"
    )


def test_prices_without_times_are_as_old_as_the_last_load() -> None:
    price = measured(loaded={"books": ago(minutes=6)})[Served.PRICE_STOCK]
    assert (price.age, price.fresh) == (timedelta(minutes=6), False)
    assert price.detail == (
        "6 min old, over 5 min: no row bears a time, last load 2026-06-01 11:54 UTC"
    )


@pytest.mark.parametrize(("seconds", "fresh"), [(299, True), (300, True), (301, False)])
def test_a_budget_includes_its_last_second(seconds: int, fresh: bool) -> None:
    assert measured(books_changed=ago(seconds=seconds))[Served.PRICE_STOCK].fresh is fresh


def test_new_books_count_from_the_oldest_that_waits() -> None:
    found = measured(waiting_since=ago(minutes=61), loaded={"books": ago(minutes=1)})
    new = found[Served.NEW_BOOKS]
    assert (new.age, new.fresh) == (timedelta(minutes=61), False)
    assert new.detail == "1 h 1 min old, over 1 h: a new book waits for its index since then"


def test_while_no_book_waits_the_last_load_would_have_shown_one() -> None:
    found = measured(books_changed=ago(days=9), loaded={"books": ago(minutes=59)})
    new = found[Served.NEW_BOOKS]
    assert (new.age, new.fresh) == (timedelta(minutes=59), True)  # not the nine days of its rows


def test_history_is_as_old_as_the_newest_row_of_any_table() -> None:
    history = {"user_purchases": ago(hours=3), "user_library": None, "user_reviews": ago(minutes=2)}
    found = measured(history=history, loaded={"user_purchases": ago(minutes=1)})
    assert found[Served.HISTORY].age == timedelta(minutes=2)


def test_history_without_rows_is_as_old_as_its_newest_load() -> None:
    loaded = {"user_purchases": ago(minutes=9), "user_reviews": ago(minutes=8), "books": NOW}
    history = dict.fromkeys(("user_purchases", "user_reviews"))
    assert measured(history=history, loaded=loaded)[Served.HISTORY].age == timedelta(minutes=8)


@pytest.mark.parametrize("table", ["book_popularity", "user_purchases", "user_reviews"])
def test_popularity_without_a_row_is_as_old_as_a_load_behind_it(table: str) -> None:
    found = measured(loaded={table: ago(hours=25)})[Served.POPULARITY]
    assert (found.age, found.fresh) == (timedelta(hours=25), False)


def test_popularity_counts_from_its_newest_row() -> None:
    found = measured(popularity_as_of=ago(hours=23), loaded={"user_purchases": ago(days=2)})
    assert found[Served.POPULARITY].age == timedelta(hours=23)
    assert found[Served.POPULARITY].since.startswith("newest row counted 2026-05-31 13:00 UTC")


def test_what_the_source_does_not_have_has_no_age_and_is_fresh() -> None:
    found = measured()
    assert [one.age for one in found.values()] == [None] * 4
    assert all(one.fresh for one in found.values())
    assert found[Served.HISTORY].detail == "n/a: the source has no such table"


def test_a_time_in_the_future_is_age_zero() -> None:
    found = measured(books_changed=NOW + timedelta(minutes=5))[Served.PRICE_STOCK]
    assert found.age == timedelta(0)
    assert found.detail.startswith("0 s old, within 5 min")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.9, "0 s"),
        (61, "1 min 1 s"),
        (3_600, "1 h"),
        (3_661, "1 h 1 min"),
        (3_601, "1 h"),  # two largest units: no minutes, and seconds are too small to say
        (86_400, "1 d"),
        (86_400 + 60, "1 d"),
        (10 * 86_400 + 3_600, "10 d 1 h"),
    ],
)
def test_an_age_in_words(seconds: float, words: str) -> None:
    assert in_words(timedelta(seconds=seconds)) == words


@given(
    row=st.none() | st.timedeltas(timedelta(0), timedelta(days=99)),
    load=st.none() | st.timedeltas(timedelta(0), timedelta(days=99)),
    passed=st.timedeltas(timedelta(0), timedelta(days=9)),
)
def test_ages_grow_with_the_clock(
    row: timedelta | None, load: timedelta | None, passed: timedelta
) -> None:
    at = None if row is None else NOW - row
    loaded = {} if load is None else {"books": NOW - load, "user_purchases": NOW - load}
    before, after = (
        measured(
            books_changed=at,
            popularity_as_of=at,
            history={"user_purchases": None},
            loaded=loaded,
            now=now,
        )
        for now in (NOW, NOW + passed)
    )
    for served in Served:
        old, new = before[served].age, after[served].age
        assert (old is None) is (new is None)
        if old is not None and new is not None:
            assert new - old == passed
            assert before[served].fresh or not after[served].fresh  # time alone heals nothing
