"""Precision: the share of the places that were used well."""

import numpy as np

from lifehelper_data.evaluation.metrics.hits import Hits
from lifehelper_data.evaluation.metrics.ties import TiedHits
from lifehelper_data.evaluation.statistics.counts import Floats


def precision(hits: Hits, k: int) -> Floats:
    """Return (relevant items at rank <= k) / k: float64 (n_cases,) in [0, 1].

    As trec_eval's `P_k`: a list shorter than k has empty places, which are not relevant. NaN if
    nothing is relevant; 0 for an empty list.

    >>> from lifehelper_data.evaluation.metrics import Rankings, Relevance, find_hits
    >>> precision(find_hits(Rankings.from_lists([[1, 9]]), Relevance.from_lists([[1]])), 4).tolist()
    [0.25]
    """
    return hits.where_defined(hits.total(np.ones(len(hits.rank)), hits.rank <= k) / k)


def expected_precision(ties: TiedHits, k: int) -> Floats:
    """Return its mean over the orders of ties: r s / n per group, as for recall."""
    found = ties.total(ties.relevant * ties.slots(k) / ties.size)
    return ties.hits.where_defined(found / k)
