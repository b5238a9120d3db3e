"""Catalog coverage: how much of the catalog is shown to anybody."""

import numpy as np

from lifehelper_data.evaluation.metrics.shown_items import Shown


def catalog_coverage(shown: Shown) -> float | None:
    """Return (different items shown in any list) / (items of the catalog), in [0, 1].

    Undefined (None) for an empty catalog, and without any list. Empty lists show nothing.

    Source: Ge, Delgado-Battenfeld & Jannach 2010, "Beyond Accuracy: Evaluating Recommender Systems
    by Coverage and Serendipity".

    >>> from lifehelper_data.evaluation.metrics import Rankings, shown
    >>> catalog_coverage(shown(Rankings.from_lists([[1, 2], [2, 99]]), [1, 2, 3, 4], 10))
    0.5
    """
    if shown.n_items == 0 or shown.n_cases == 0:
        return None
    return len(np.unique(shown.position)) / shown.n_items
