"""Hit: whether anything relevant was found at all."""

import numpy as np

from lifehelper_data.evaluation.metrics.hits import Hits
from lifehelper_data.evaluation.metrics.ties import TiedHits
from lifehelper_data.evaluation.statistics.counts import Floats


def hit(hits: Hits, k: int) -> Floats:
    """Return 1 if a relevant item stands at rank <= k, else 0: float64 (n_cases,).

    As trec_eval's `success_k`. NaN if nothing is relevant; 0 for an empty list.

    >>> from lifehelper_data.evaluation.metrics import Rankings, Relevance, find_hits
    >>> found = find_hits(Rankings.from_lists([[8, 9, 1]]), Relevance.from_lists([[1]]))
    >>> hit(found, 2).tolist(), hit(found, 3).tolist()
    ([0.0], [1.0])
    """
    first = (hits.nth == 1) & (hits.rank <= k)
    return hits.where_defined(hits.total(np.ones(len(hits.rank)), first))


def expected_hit(ties: TiedHits, k: int) -> Floats:
    """Return the probability of a hit over the orders of ties.

    Of a group of n items, r of them relevant and s of them within the first k ranks, none is
    relevant with probability C(n - r, s) / C(n, s) = product over j < r of (n - s - j) / (n - j).
    Groups are independent.
    """
    slots = ties.slots(k)
    none = np.ones(len(ties.size))
    for j in range(int(ties.relevant.max(initial=0))):
        left = np.maximum(ties.size - slots - j, 0) / np.maximum(ties.size - j, 1)
        none *= np.where(j < ties.relevant, left, 1.0)
    # At most one group of a case is cut by k: those before it have probability 0, those after 1.
    nothing = np.ones(len(ties.hits.relevance))
    np.minimum.at(nothing, ties.case, none)
    return ties.hits.where_defined(1 - nothing)
