"""Intra-list diversity: how different the items of a list are from each other."""

from typing import Final

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.metrics.shown_items import Shown
from lifehelper_data.evaluation.statistics.counts import Floats

_LISTS_AT_ONCE: Final = 1024  # bounds memory: 1024 lists x 50 items x 384 x 8 bytes = 157 MB


def vector_diversity(shown: Shown, vectors: npt.ArrayLike) -> Floats:
    """Return the mean of 1 - cosine over all pairs of items of a list: float64 (n_cases,).

    With unit vectors v of m items, the mean cosine of their pairs is
    (|sum of v|^2 - m) / (m (m - 1)). 0 (all point the same way) to m / (m - 1), at most 2. Items
    whose vector is 0, as they have none, are left out. NaN (undefined) with fewer than two items.

    Source: Smyth & McClave 2001, "Similarity vs. Diversity"; Ziegler et al. 2005, "Improving
    Recommendation Lists Through Topic Diversification".

    Args:
        shown: what the lists show.
        vectors: float (n_items, dim), of any length.

    Raises:
        InvalidRequest: not one vector per item, or a number that is not finite.

    >>> from lifehelper_data.evaluation.metrics import Rankings, shown
    >>> found = shown(Rankings.from_lists([[1, 2], [1, 3], [2]]), [1, 2, 3], 10)
    >>> vector_diversity(found, [[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]]).tolist()
    [0.0, 1.0, nan]
    """
    table = np.asarray(vectors)
    if table.ndim != 2 or len(table) != shown.n_items:
        raise InvalidRequest(
            f"vectors of shape {table.shape!r} for {shown.n_items} items; give one row per item",
            field="vectors",
        )
    if not np.isfinite(table).all():
        raise InvalidRequest("vectors hold NaN or infinity; give finite numbers", field="vectors")
    lengths = np.sqrt(np.einsum("ij,ij->i", table, table, dtype=np.float64))
    has = lengths[shown.position] > 0
    case, position = shown.case[has], shown.position[has]
    sizes = np.bincount(case, minlength=shown.n_cases)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    found = np.full(shown.n_cases, np.nan)
    pairs = np.flatnonzero(sizes >= 2)
    for first in range(0, shown.n_cases, _LISTS_AT_ONCE):
        chosen = pairs[(pairs >= first) & (pairs < first + _LISTS_AT_ONCE)]
        if not len(chosen):
            continue
        low, high = starts[chosen[0]], starts[chosen[-1] + 1]
        units = table[position[low:high]] / lengths[position[low:high], None]
        # Lists between with fewer than two items are added to none: they are cut out here.
        inside = sizes[case[low:high]] >= 2
        edges = np.concatenate([[0], np.cumsum(sizes[chosen])[:-1]])
        sums = np.add.reduceat(units[inside], edges, axis=0)
        m = sizes[chosen]
        cosine = (np.einsum("ij,ij->i", sums, sums) - m) / (m * (m - 1))
        found[chosen] = np.maximum(1 - cosine, 0.0)  # rounding may leave -1e-16
    return found


def class_diversity(shown: Shown, classes: npt.ArrayLike) -> Floats:
    """Return the share of pairs of a list whose classes differ: float64 (n_cases,) in [0, 1].

    1 - sum over classes of c (c - 1) / (m (m - 1)) with c items of the class among m. Items
    without a class are left out. NaN (undefined) with fewer than two items.

    Source: Simpson 1949, "Measurement of Diversity" (without replacement).

    Args:
        shown: what the lists show.
        classes: int (n_items,), from 0; -1 for an item without a class.

    Raises:
        InvalidRequest: not one class per item.

    >>> from lifehelper_data.evaluation.metrics import Rankings, shown
    >>> found = shown(Rankings.from_lists([[1, 2, 3]]), [1, 2, 3], 10)
    >>> class_diversity(found, [0, 0, 1]).tolist() == [1 - 2 / 6]
    True
    """
    counts = class_counts(shown, classes)
    m = counts.sum(axis=1)
    same = (counts * (counts - 1)).sum(axis=1)
    shares = np.full(shown.n_cases, np.nan)
    np.divide(same, m * (m - 1), out=shares, where=m >= 2)
    return 1 - shares


def class_counts(shown: Shown, classes: npt.ArrayLike) -> Floats:
    """Return how many items of each class each list shows: float64 (n_cases, n_classes).

    Args:
        shown: what the lists show.
        classes: int (n_items,), from 0; -1 for an item without a class, which is not counted.

    Raises:
        InvalidRequest: not one class per item.
    """
    of_item = np.asarray(classes)
    if of_item.shape != (shown.n_items,) or (of_item.size and of_item.dtype.kind not in "iu"):
        raise InvalidRequest(
            f"classes of shape {of_item.shape!r} and type {of_item.dtype!s} for {shown.n_items} "
            "items; give one whole number per item, -1 for none",
            field="classes",
        )
    n_classes = int(of_item.max(initial=-1)) + 1
    if shown.n_items == 0 or n_classes == 0:
        return np.zeros((shown.n_cases, n_classes))
    of_shown = of_item.astype(np.int64)[shown.position]
    has = of_shown >= 0
    keys = shown.case[has] * n_classes + of_shown[has]
    counts = np.bincount(keys, minlength=shown.n_cases * n_classes)
    return counts.reshape(shown.n_cases, n_classes).astype(np.float64)
