"""Recall: the share of the relevant items that were found."""

import numpy as np

from lifehelper_data.evaluation.metrics.hits import Hits
from lifehelper_data.evaluation.metrics.ties import TiedHits
from lifehelper_data.evaluation.statistics.counts import Floats


def recall(hits: Hits, k: int) -> Floats:
    """Return (relevant items at rank <= k) / (relevant items): float64 (n_cases,) in [0, 1].

    As trec_eval's `recall_k`. NaN if nothing is relevant; 0 for an empty list. With more than k
    relevant items it cannot reach 1.

    >>> from lifehelper_data.evaluation.metrics import Rankings, Relevance, find_hits
    >>> lists = Rankings.from_lists([[1, 9, 2], [1]])
    >>> recall(find_hits(lists, Relevance.from_lists([[1, 2, 3, 4], []])), 3).tolist()
    [0.5, nan]
    """
    return hits.per_relevant(hits.total(np.ones(len(hits.rank)), hits.rank <= k))


def expected_recall(ties: TiedHits, k: int) -> Floats:
    """Return its mean over the orders of ties.

    A group of n items, r of them relevant and s of them within the first k ranks, gives r s / n.
    """
    return ties.hits.per_relevant(ties.total(ties.relevant * ties.slots(k) / ties.size))
