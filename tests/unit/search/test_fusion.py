"""Reciprocal rank fusion and the exact-title rule."""

from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.search.fusion import LegRanking, exact_titles_first, fuse


def leg(name: str, *ids: int, weight: float = 1.0) -> LegRanking:
    """A leg that found these books, best first."""
    return LegRanking(
        leg=name, weight=weight, book_ids=ids, scores=[1.0 / n for n in range(1, len(ids) + 1)]
    )


def test_scores_add_up_over_legs_and_missing_legs_give_nothing() -> None:
    fused = fuse([leg("keyword", 5, 6, 7), leg("vector", 7, 5)])
    assert [(book.book_id, book.score) for book in fused] == [
        (5, 1 / (60 + 1) + 1 / (60 + 2)),
        (7, 1 / (60 + 3) + 1 / (60 + 1)),
        (6, 1 / (60 + 2)),
    ]
    assert fused[0].ranks == {"keyword": 1, "vector": 2}
    assert fused[2].ranks == {"keyword": 2}


def test_weights_and_k_count() -> None:
    fused = fuse([leg("keyword", 1, weight=2), leg("vector", 2, weight=3)], k=10)
    assert [(b.book_id, b.score) for b in fused] == [(2, 3 / 11), (1, 2 / 11)]


def test_ties_go_to_the_lower_id() -> None:
    assert [b.book_id for b in fuse([leg("keyword", 9), leg("vector", 4)])] == [4, 9]


def test_a_leg_of_weight_zero_brings_nothing() -> None:
    assert fuse([leg("keyword", 1), leg("vector", 2, weight=0)])[0].book_id == 1
    assert len(fuse([leg("keyword", 1), leg("vector", 2, weight=0)])) == 1


def test_exact_titles_come_first_lowest_id_first_even_if_no_leg_found_them() -> None:
    ranked = exact_titles_first(fuse([leg("keyword", 5, 6, 7)]), [9, 6])
    assert [(b.book_id, b.exact_title) for b in ranked] == [
        (6, True), (9, True), (5, False), (7, False),
    ]  # fmt: skip
    assert ranked[0].ranks == {"keyword": 2}
    assert (ranked[1].score, ranked[1].ranks) == (0.0, {})


@given(
    st.lists(st.integers(1, 50), unique=True, max_size=20),
    st.lists(st.integers(1, 50), unique=True, max_size=20),
)
def test_every_book_of_a_leg_appears_once_in_a_total_order(a: list[int], b: list[int]) -> None:
    fused = fuse([leg("keyword", *a), leg("vector", *b)])
    assert sorted(book.book_id for book in fused) == sorted(set(a) | set(b))
    keys = [(-book.score, book.book_id) for book in fused]
    assert keys == sorted(keys)
