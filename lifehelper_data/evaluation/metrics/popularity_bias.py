"""Popularity bias: how much the lists lean on what sells anyway."""

import numpy as np
import numpy.typing as npt

from lifehelper_data.evaluation.metrics.shown_items import Shown, checked_item_values
from lifehelper_data.evaluation.statistics.counts import Floats


def recommended_popularity(shown: Shown, popularity: npt.ArrayLike) -> Floats:
    """Return the mean popularity of the items of each list (ARP): float64 (n_cases,).

    In the unit of `popularity` (n_items,), such as sales, >= 0. NaN (undefined) for a list
    without a known item.

    Source: Abdollahpouri, Burke & Mobasher 2019, "Managing Popularity Bias in Recommender Systems
    with Personalized Re-Ranking" (after Yin et al. 2012).

    >>> from lifehelper_data.evaluation.metrics import Rankings, shown
    >>> recommended_popularity(shown(Rankings.from_lists([[1, 2]]), [1, 2], 10), [4, 1]).tolist()
    [2.5]
    """
    return shown.mean_of(checked_item_values(popularity, shown, "popularity"))


def popularity_percentile(shown: Shown, popularity: npt.ArrayLike) -> Floats:
    """Return the mean popularity percentile of the items of each list: float64 (n_cases,).

    An item's percentile is the share of the catalog that is less popular, plus half of the share
    that is as popular (itself included): 0.5 on average over the catalog, in (0, 1). NaN
    (undefined) for a list without a known item.

    >>> from lifehelper_data.evaluation.metrics import Rankings, shown
    >>> found = shown(Rankings.from_lists([[1], [2, 3]]), [1, 2, 3, 4], 10)
    >>> popularity_percentile(found, [9, 5, 5, 0]).tolist()  # (3 + 0.5) / 4, (1 + 1) / 4
    [0.875, 0.5]
    """
    values = checked_item_values(popularity, shown, "popularity")
    ordered = np.sort(values)
    less = np.searchsorted(ordered, values, "left")
    up_to = np.searchsorted(ordered, values, "right")
    return shown.mean_of((less + up_to) / (2 * max(len(values), 1)))


def exposure_gini(shown: Shown) -> float | None:
    """Return the Gini coefficient of how often items of the catalog are shown.

    sum over i of (2 i - n - 1) x_i / (n sum of x), x ascending, i from 1: 0 if all n items are
    shown equally often, 1 - 1 / n if a single one is. Undefined (None) if nothing is shown.

    >>> from lifehelper_data.evaluation.metrics import Rankings, shown
    >>> exposure_gini(shown(Rankings.from_lists([[1], [1]]), [1, 2, 3, 4], 10))
    0.75
    """
    if len(shown.position) == 0:
        return None
    n = shown.n_items
    exposure = np.sort(np.bincount(shown.position, minlength=n))
    weights = 2 * np.arange(1, n + 1) - n - 1
    return int(weights @ exposure) / (n * int(exposure.sum()))
