"""Reciprocal rank: how far one has to read to the first relevant item."""

import numpy as np

from lifehelper_data.evaluation.metrics.hits import Hits
from lifehelper_data.evaluation.metrics.ties import TiedHits
from lifehelper_data.evaluation.statistics.counts import Floats


def reciprocal_rank(hits: Hits, k: int) -> Floats:
    """Return 1 / rank of the first relevant item at rank <= k, else 0: float64 (n_cases,).

    As trec_eval's `recip_rank` of lists cut at k; its mean is the MRR. NaN if nothing is
    relevant; 0 for an empty list.

    >>> from lifehelper_data.evaluation.metrics import Rankings, Relevance, find_hits
    >>> found = find_hits(Rankings.from_lists([[8, 9, 1, 2]]), Relevance.from_lists([[1, 2]]))
    >>> reciprocal_rank(found, 4).tolist() == [1 / 3], reciprocal_rank(found, 2).tolist()
    (True, [0.0])
    """
    return hits.where_defined(hits.total(1 / hits.rank, (hits.nth == 1) & (hits.rank <= k)))


def expected_reciprocal_rank(ties: TiedHits, k: int) -> Floats:
    """Return its mean over the orders of ties.

    Only the first group with a relevant item counts: t items before it, n in it, r of them
    relevant. Its first relevant item stands at place i with probability p_1 = r / n,
    p_(i+1) = p_i (n - r - i + 1) / (n - i), for i <= n - r + 1; it gives p_i / (t + i) for
    t + i <= k.
    """
    first = ties.found == 0
    before, size, relevant = ties.before[first], ties.size[first], ties.relevant[first]
    places = np.minimum(size - relevant + 1, np.maximum(k - before, 0))
    value = np.zeros(len(size))
    chance = relevant / size
    for i in range(1, int(places.max(initial=0)) + 1):
        value += np.where(i <= places, chance / (before + i), 0.0)
        chance = chance * np.maximum(size - relevant - i + 1, 0) / np.maximum(size - i, 1)
    weights = np.zeros(len(ties.size))
    weights[first] = value
    return ties.hits.where_defined(ties.total(weights))
