"""nDCG: graded relevance, discounted by rank, as a share of the best possible order.

Source: Järvelin & Kekäläinen 2002, "Cumulated gain-based evaluation of IR techniques"; the
exponential gain as in Burges et al. 2005, "Learning to Rank using Gradient Descent".
"""

from enum import StrEnum

import numpy as np

from lifehelper_data.evaluation.metrics.hits import Hits
from lifehelper_data.evaluation.metrics.rankings import Relevance
from lifehelper_data.evaluation.metrics.ties import TiedHits
from lifehelper_data.evaluation.statistics.counts import Floats, Ints


class Gain(StrEnum):
    """What an item of grade g is worth."""

    LINEAR = "linear"
    """g, as in trec_eval and scikit-learn."""
    EXPONENTIAL = "exponential"
    """2 ** g - 1."""

    def of(self, grades: Floats) -> Floats:
        """Return the gains of grades."""
        match self:
            case Gain.LINEAR:
                return grades
            case Gain.EXPONENTIAL:
                return np.exp2(grades) - 1


def ndcg(hits: Hits, k: int, gain: Gain = Gain.LINEAR) -> Floats:
    """Return DCG@k / ideal DCG@k: float64 (n_cases,) in [0, 1].

    DCG@k = sum over hits at rank <= k of gain / log2(rank + 1); the ideal has the k highest grades
    of the case in descending order. As trec_eval's `ndcg_cut_k`. NaN if nothing is relevant; 0 for
    an empty list.

    >>> from lifehelper_data.evaluation.metrics import Rankings, Relevance, find_hits
    >>> found = find_hits(Rankings.from_lists([[9, 1]]), Relevance.from_grades([{1: 3}]))
    >>> ndcg(found, 2).tolist() == [(3 / np.log2(3)) / (3 / np.log2(2))]
    True
    """
    weights = gain.of(hits.grade) / np.log2(hits.rank + 1)
    return _share(hits, hits.total(weights, hits.rank <= k), k, gain)


def expected_ndcg(ties: TiedHits, k: int, gain: Gain = Gain.LINEAR) -> Floats:
    """Return its mean over the orders of ties, as scikit-learn's `ndcg_score` with ties.

    A group gives its mean gain times the sum of the discounts of its places at rank <= k.
    """
    gains = np.bincount(ties.group, weights=gain.of(ties.hits.grade), minlength=len(ties.size))
    discounts = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, k + 2)))])
    reached = np.minimum(ties.before, k)
    discount = discounts[reached + ties.slots(k)] - discounts[reached]
    found = _share(ties.hits, ties.total(gains / ties.size * discount), k, gain)
    return np.minimum(found, 1.0)  # rounding may leave 1 + 2e-16


def ideal_dcg(relevance: Relevance, k: int, gain: Gain = Gain.LINEAR) -> Floats:
    """Return the DCG@k of the best order: float64 (n_cases,); 0 if nothing is relevant."""
    cases = relevance.cases
    rank: Ints = np.arange(1, len(cases) + 1) - relevance.offsets[cases]
    within = rank <= k
    weights = gain.of(relevance.ideal[within]) / np.log2(rank[within] + 1)
    sums = np.bincount(cases[within], weights=weights, minlength=len(relevance))
    return sums.astype(np.float64)


def _share(hits: Hits, found: Floats, k: int, gain: Gain) -> Floats:
    best = ideal_dcg(hits.relevance, k, gain)
    shares = np.full(len(best), np.nan)
    np.divide(found, best, out=shares, where=best > 0)
    return shares
