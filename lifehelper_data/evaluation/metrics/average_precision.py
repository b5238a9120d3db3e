"""Average precision: precision at every relevant item."""

import numpy as np

from lifehelper_data.evaluation.metrics.hits import Hits
from lifehelper_data.evaluation.metrics.ties import TiedHits
from lifehelper_data.evaluation.statistics.counts import Floats


def average_precision(hits: Hits, k: int) -> Floats:
    """Return the sum over hits at rank <= k of nth / rank, over the number of relevant items.

    As trec_eval's `map_cut_k`; its mean is the MAP. It divides by all relevant items, so with more
    than k of them it cannot reach 1. float64 (n_cases,) in [0, 1]; NaN if nothing is relevant; 0
    for an empty list.

    >>> from lifehelper_data.evaluation.metrics import Rankings, Relevance, find_hits
    >>> found = find_hits(Rankings.from_lists([[1, 9, 2]]), Relevance.from_lists([[1, 2]]))
    >>> average_precision(found, 3).tolist() == [(1 / 1 + 2 / 3) / 2]
    True
    """
    return hits.per_relevant(hits.total(hits.nth / hits.rank, hits.rank <= k))


def expected_average_precision(ties: TiedHits, k: int) -> Floats:
    """Return its mean over the orders of ties.

    A group with t items and R relevant ones before it, n items, r of them relevant, gives
    sum over i <= n with t + i <= k of (r / n) (R + 1 + (i - 1) (r - 1) / (n - 1)) / (t + i).
    """
    slots = ties.slots(k)
    value = np.zeros(len(ties.size))
    beside = (ties.relevant - 1) / np.maximum(ties.size - 1, 1)
    for i in range(1, int(slots.max(initial=0)) + 1):
        above = ties.found + 1 + (i - 1) * beside
        value += np.where(i <= slots, above / (ties.before + i), 0.0)
    return ties.hits.per_relevant(ties.total(value * (ties.relevant / ties.size)))
