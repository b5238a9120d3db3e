"""What the lists show of a catalog: the common ground of the metrics beyond accuracy."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.metrics.rankings import Rankings
from lifehelper_data.evaluation.statistics.counts import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shown:
    """The different known items of each list, ascending by case, then position.

    Attributes:
        n_cases: how many lists there are.
        n_items: how many items the catalog has.
        case: int64 (m,), the list.
        position: int64 (m,), place of the item in the catalog.
    """

    n_cases: int
    n_items: int
    case: Ints
    position: Ints

    @property
    def sizes(self) -> Ints:
        """How many different known items each list shows: int64 (n_cases,)."""
        return np.bincount(self.case, minlength=self.n_cases).astype(np.int64)

    def mean_of(self, values: Floats) -> Floats:
        """Return the mean of an item value (n_items,) over each list; NaN for an empty list."""
        sums = np.bincount(self.case, weights=values[self.position], minlength=self.n_cases).astype(
            np.float64
        )
        means = np.full(self.n_cases, np.nan)
        np.divide(sums, self.sizes, out=means, where=self.sizes > 0)
        return means


def shown(rankings: Rankings, catalog: npt.ArrayLike, k: int) -> Shown:
    """Return what the first k ranks of each list show of a catalog.

    An item counts once per list; items that are not in the catalog do not count, but take up their
    rank.

    Args:
        rankings: the lists.
        catalog: int64 (n_items,), strictly ascending ids.
        k: how many ranks count, >= 1.

    Raises:
        InvalidRequest: the ids do not ascend, or k < 1.

    >>> found = shown(Rankings.from_lists([[7, 5, 7, 4], [4]]), [4, 5, 7], 3)
    >>> found.case.tolist(), found.position.tolist()
    ([0, 0, 1], [1, 2, 0])
    """
    ids = np.asarray(catalog, dtype=np.int64)
    if ids.ndim != 1 or bool((np.diff(ids) <= 0).any()):
        raise InvalidRequest(
            f"catalog of {ids.size} ids is not strictly ascending; sort it and drop duplicates",
            field="catalog",
        )
    if k < 1:
        raise InvalidRequest(f"cut-off {k!r}; give k >= 1", field="k")
    n = len(rankings)
    case = np.repeat(np.arange(n, dtype=np.int64), np.diff(rankings.offsets))
    within = np.arange(len(case)) - rankings.offsets[case] < k
    case, items = case[within], rankings.items[within]
    position = np.searchsorted(ids, items)
    known = position < len(ids)
    known[known] = ids[position[known]] == items[known]
    keys = np.unique(case[known] * len(ids) + position[known])
    size = max(len(ids), 1)
    return Shown(n_cases=n, n_items=len(ids), case=keys // size, position=keys % size)


def checked_item_values(values: npt.ArrayLike, shown: Shown, what: str) -> Floats:
    """Return one finite number >= 0 per item of the catalog: float64 (n_items,).

    Raises:
        InvalidRequest: a wrong number of them, or one that is negative or not finite.
    """
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (shown.n_items,):
        raise InvalidRequest(
            f"{what} of shape {found.shape!r} for {shown.n_items} items; give one per item",
            field=what,
        )
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(wrong):
        raise InvalidRequest(
            f"{what} {float(found[wrong[0]])!r} of item {int(wrong[0])}; give finite numbers >= 0",
            field=what,
        )
    return found
