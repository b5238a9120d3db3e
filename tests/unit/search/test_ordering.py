"""Business rules: sorting a pool, and the boost by popularity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.search.fusion import FusedBook, LegRanking
from lifehelper_data.domain.search.ordering import Sort, boosted, first_of, ordered_by


def book(book_id: int, score: float = 1.0) -> FusedBook:
    return FusedBook(book_id=book_id, score=score, ranks={}, scores={})


def ids(books: list[FusedBook]) -> list[int]:
    return [found.book_id for found in books]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        (Sort.RELEVANCE, [1, 2, 3, 4]),
        (Sort.PRICE_ASC, [3, 1, 4, 2]),
        (Sort.PRICE_DESC, [4, 1, 3, 2]),
        (Sort.NEWEST, [4, 1, 3, 2]),
        (Sort.POPULAR, [4, 1, 3, 2]),
    ],
)
def test_a_rule_orders_by_value_and_unknown_values_stand_last(
    sort: Sort, expected: list[int]
) -> None:
    pool = [book(1, 0.4), book(2, 0.3), book(3, 0.2), book(4, 0.1)]
    assert ids(ordered_by(pool, [20.0, None, 10.0, 30.0], sort)) == expected


def test_equal_values_stand_by_score_then_by_id() -> None:
    pool = [book(9, 0.5), book(2, 0.1), book(1, 0.1), book(5, 0.9)]
    assert ids(ordered_by(pool, [7.0, 7.0, 7.0, None], Sort.PRICE_DESC)) == [9, 1, 2, 5]
    assert ids(ordered_by(pool, [None] * 4, Sort.NEWEST)) == [5, 9, 1, 2]


def test_a_moved_book_says_its_value_and_its_place_by_relevance() -> None:
    first, second = ordered_by([book(1, 0.4), book(2, 0.3)], [20.0, 10.0], Sort.PRICE_ASC)
    assert (first.book_id, first.sort_value, first.relevance_rank) == (2, 10.0, 2)
    assert (second.book_id, second.sort_value, second.relevance_rank) == (1, 20.0, 1)


def test_the_boost_adds_to_the_score_and_orders_again() -> None:
    first, second = boosted([book(1, 0.50), book(2, 0.45)], [0.0, 1.0], 0.1)
    assert (first.book_id, first.score, first.popularity_term) == (2, 0.45 + 0.1, 0.1)
    assert (second.book_id, second.score, second.popularity_term) == (1, 0.50, 0.0)
    assert ids(boosted([book(2, 0.5), book(1, 0.5)], [0.0, 0.0], 0.1)) == [1, 2]


def test_no_boost_changes_nothing() -> None:
    pool = [book(2, 0.5), book(1, 0.5)]
    assert boosted(pool, [0.0, 1.0], 0) == pool


def test_a_leg_is_cut_to_its_first_books() -> None:
    leg = LegRanking(leg="vector", weight=1, book_ids=[4, 5, 6], scores=[0.9, 0.8, 0.7])
    assert first_of(leg, 2).book_ids == [4, 5]
    assert first_of(leg, 2).scores == [0.9, 0.8]
    assert first_of(leg, 9) == leg


@given(
    st.lists(st.tuples(st.floats(0, 1), st.one_of(st.none(), st.integers(0, 5))), max_size=30),
    st.sampled_from(list(Sort)),
    st.randoms(use_true_random=False),
)
def test_the_order_of_a_pool_does_not_depend_on_the_order_it_came_in(
    found: list[tuple[float, int | None]], sort: Sort, chance: object
) -> None:
    pool = [
        (book(number, score), None if value is None else float(value))
        for number, (score, value) in enumerate(found)
    ]
    shuffled = list(pool)
    chance.shuffle(shuffled)  # type: ignore[attr-defined] # Hypothesis gives a Random

    def ordered(items: list[tuple[FusedBook, float | None]]) -> list[int]:
        by_score = sorted(items, key=lambda item: (-item[0].score, item[0].book_id))
        return ids(ordered_by([b for b, _ in by_score], [v for _, v in by_score], sort))

    assert ordered(pool) == ordered(shuffled)
    assert sorted(ordered(pool)) == [b.book_id for b, _ in pool]
