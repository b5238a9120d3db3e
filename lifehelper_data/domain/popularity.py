"""Popularity values between 0 and 1, by method."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

RATING_MIN: Final = 0.5
RATING_MAX: Final = 5.0


class PopularityMethod(StrEnum):
    """How sales and ratings become one number."""

    LOG_SALES = "log_sales"
    SHARE_OF_MAX = "share_of_max"
    TIME_DECAYED = "time_decayed"
    BAYESIAN_RATING = "bayesian_rating"


@dataclass(frozen=True, slots=True, kw_only=True)
class PopularityInputs:
    """Counts per book, all of length n_books and in the same order.

    Attributes:
        sales: int64 (n_books,), >= 0.
        decayed_sales: float64 (n_books,), sum over purchases of 0.5 ** (age_days / half_life).
        rating_sum: float64 (n_books,), sum of ratings.
        rating_count: int64 (n_books,), >= 0.
        prior_ratings: how many average ratings the prior is worth.
    """

    sales: Ints
    decayed_sales: Floats
    rating_sum: Floats
    rating_count: Ints
    prior_ratings: float


def log_sales(inputs: PopularityInputs) -> Floats:
    """Return log(1 + sales) / log(1 + max sales); all 0 if nothing was sold.

    >>> import numpy as np
    >>> none = np.zeros(3)
    >>> log_sales(PopularityInputs(sales=np.array([0, 1, 3]), decayed_sales=none,
    ...     rating_sum=none, rating_count=np.zeros(3, np.int64), prior_ratings=10)).tolist()
    [0.0, 0.5, 1.0]
    """
    return _share_of_max(np.log1p(inputs.sales.astype(np.float64)))


def share_of_max(inputs: PopularityInputs) -> Floats:
    """Return sales / max sales; all 0 if nothing was sold."""
    return _share_of_max(inputs.sales.astype(np.float64))


def time_decayed(inputs: PopularityInputs) -> Floats:
    """Return decayed sales / their maximum; all 0 if nothing was sold."""
    return _share_of_max(inputs.decayed_sales)


def bayesian_rating(inputs: PopularityInputs) -> Floats:
    """Return the shrunk mean rating, scaled from 0.5-5.0 to 0-1.

    (prior_ratings * m + sum) / (prior_ratings + count) with m the mean of all ratings. A book
    without ratings stands at m; without any rating at all every book is 0.
    """
    total = int(inputs.rating_count.sum())
    if total == 0:
        return np.zeros(len(inputs.sales))
    mean = float(np.sum(inputs.rating_sum)) / total
    shrunk = (inputs.prior_ratings * mean + inputs.rating_sum) / (
        inputs.prior_ratings + inputs.rating_count
    )
    return np.clip((shrunk - RATING_MIN) / (RATING_MAX - RATING_MIN), 0.0, 1.0)


METHODS: Final[Mapping[PopularityMethod, Callable[[PopularityInputs], Floats]]] = {
    PopularityMethod.LOG_SALES: log_sales,
    PopularityMethod.SHARE_OF_MAX: share_of_max,
    PopularityMethod.TIME_DECAYED: time_decayed,
    PopularityMethod.BAYESIAN_RATING: bayesian_rating,
}


def decayed_sales(
    positions: Ints, ages_days: Ints, counts: Ints, *, n_books: int, half_life_days: float
) -> Floats:
    """Sum 0.5 ** (age / half-life) over purchases, per book.

    Args:
        positions: int64 (n,), index of the book, in a fixed order (sums are taken in this order).
        ages_days: int64 (n,), whole days between the purchase and the newest row, >= 0.
        counts: int64 (n,), purchases of that book at that age.
        n_books: number of books.
        half_life_days: half-life in days, > 0.

    Returns:
        float64 (n_books,).
    """
    weights = counts * np.power(0.5, ages_days / half_life_days)
    return np.bincount(positions, weights=weights, minlength=n_books).astype(np.float64)


def _share_of_max(values: Floats) -> Floats:
    top = float(values.max()) if len(values) else 0.0
    return values / top if top > 0 else np.zeros(len(values))
