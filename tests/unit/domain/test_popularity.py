"""Popularity methods against arithmetic one can do in one's head."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.popularity import (
    METHODS,
    PopularityInputs,
    PopularityMethod,
    decayed_sales,
)


def inputs(
    sales: list[int],
    *,
    decayed: list[float] | None = None,
    sums: list[float] | None = None,
    counts: list[int] | None = None,
    prior: float = 10,
) -> PopularityInputs:
    """Inputs with zeros where nothing is given."""
    zeros = [0.0] * len(sales)
    return PopularityInputs(
        sales=np.array(sales, np.int64),
        decayed_sales=np.array(decayed or zeros),
        rating_sum=np.array(sums or zeros),
        rating_count=np.array(counts or [0] * len(sales), np.int64),
        prior_ratings=prior,
    )


def values(method: PopularityMethod, given_inputs: PopularityInputs) -> list[float]:
    """The values of one method."""
    return [float(v) for v in METHODS[method](given_inputs)]


def test_log_sales_is_the_share_of_the_largest_logarithm() -> None:
    got = values(PopularityMethod.LOG_SALES, inputs([0, 1, 7]))
    assert got == pytest.approx([0, math.log(2) / math.log(8), 1])


def test_share_of_max_is_linear() -> None:
    assert values(PopularityMethod.SHARE_OF_MAX, inputs([0, 5, 20])) == [0, 0.25, 1]


@pytest.mark.parametrize("method", list(PopularityMethod))
def test_without_sales_and_ratings_every_value_is_zero(method: PopularityMethod) -> None:
    assert values(method, inputs([0, 0])) == [0, 0]
    assert values(method, inputs([])) == []


def test_bayesian_rating_shrinks_towards_the_mean_of_all_ratings() -> None:
    # mean of all 5 ratings = (4*5.0 + 1*2.5)/5 = 4.5; prior of 5 ratings
    got = values(
        PopularityMethod.BAYESIAN_RATING,
        inputs([0, 0, 0], sums=[20.0, 2.5, 0.0], counts=[4, 1, 0], prior=5),
    )
    expected = [
        ((5 * 4.5 + 20.0) / (5 + 4) - 0.5) / 4.5,
        ((5 * 4.5 + 2.5) / (5 + 1) - 0.5) / 4.5,
        (4.5 - 0.5) / 4.5,
    ]
    assert got == pytest.approx(expected)


def test_time_decay_halves_a_sale_every_half_life() -> None:
    decayed = decayed_sales(
        np.array([0, 0, 1]), np.array([0, 30, 60]), np.array([1, 2, 4]),
        n_books=3, half_life_days=30,
    )  # fmt: skip
    assert decayed.tolist() == [1 + 2 * 0.5, 4 * 0.25, 0]
    got = values(PopularityMethod.TIME_DECAYED, inputs([3, 4, 0], decayed=decayed.tolist()))
    assert got == [1, 0.5, 0]


@given(st.lists(st.integers(0, 10**9), max_size=30))
def test_sales_methods_stay_in_0_1_and_never_fall_with_sales(sales: list[int]) -> None:
    for method in (PopularityMethod.LOG_SALES, PopularityMethod.SHARE_OF_MAX):
        got = values(method, inputs(sales))
        assert all(0 <= value <= 1 for value in got)
        ordered = [value for _, value in sorted(zip(sales, got, strict=True))]
        assert ordered == sorted(ordered)
