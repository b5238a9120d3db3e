"""Groups of equal scores: what a metric is at worst, on average and at best over their orders.

Items of equal score may stand in any order. A metric's expected value is its mean over all orders
of all groups, each as likely as the other; the formulas stand beside each metric.

Source: McSherry & Najork 2008, "Computing Information Retrieval Performance Measures Efficiently
in the Presence of Tied Scores" (ECIR).
"""

from dataclasses import dataclass, replace

import numpy as np

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.metrics.hits import Hits
from lifehelper_data.evaluation.metrics.rankings import Rankings
from lifehelper_data.evaluation.statistics.counts import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TiedHits:
    """The groups of equal scores that hold a relevant item, by case, then rank.

    Attributes:
        hits: the hits in the order given.
        group: int64 (n_hits,), the group of each hit.
        case: int64 (n_groups,).
        before: int64 (n_groups,), items of the case that stand before the group.
        size: int64 (n_groups,), items in the group.
        relevant: int64 (n_groups,), relevant ones among them, >= 1.
        found: int64 (n_groups,), relevant items before the group.
    """

    hits: Hits
    group: Ints
    case: Ints
    before: Ints
    size: Ints
    relevant: Ints
    found: Ints

    def slots(self, k: int) -> Ints:
        """Return how many items of each group stand within the first k ranks: (n_groups,)."""
        return np.clip(k - self.before, 0, self.size)

    def total(self, weights: Floats) -> Floats:
        """Return per case the sum of the weights of its groups: float64 (n_cases,)."""
        sums = np.bincount(self.case, weights=weights, minlength=len(self.hits.relevance))
        return sums.astype(np.float64)

    def at_best(self) -> Hits:
        """Return the hits with relevant items first in each group, higher grades first."""
        return self._reordered(-self.hits.grade, self.before)

    def at_worst(self) -> Hits:
        """Return the hits with relevant items last in each group, higher grades last."""
        return self._reordered(self.hits.grade, self.before + self.size - self.relevant)

    def _reordered(self, key: Floats, before: Ints) -> Hits:
        order = np.lexsort((self.hits.rank, key, self.group))
        place = self.hits.nth - self.found[self.group]  # 1, 2, ... within the group
        return replace(self.hits, rank=before[self.group] + place, grade=self.hits.grade[order])


def tied_hits(rankings: Rankings, hits: Hits) -> TiedHits:
    """Return the groups of equal scores of hits that were looked for at every rank.

    A repeated item scores at none of its later places: it is an irrelevant item of their groups.

    Raises:
        InvalidRequest: the rankings have no scores.
    """
    if rankings.scores is None:
        raise InvalidRequest(
            "rankings without scores have no ties; give scores, or use ranking_metrics",
            field="scores",
        )
    starts = np.ones(len(rankings.items), dtype=np.bool_)
    starts[1:] = rankings.scores[1:] != rankings.scores[:-1]
    starts[rankings.offsets[rankings.offsets < len(rankings.items)]] = True
    edges = np.append(np.flatnonzero(starts), len(rankings.items))
    place = rankings.offsets[hits.case] + hits.rank - 1
    groups, first, group, relevant = np.unique(
        np.searchsorted(edges, place, "right") - 1,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    case = hits.case[first]
    return TiedHits(
        hits=hits,
        group=group.astype(np.int64),
        case=case,
        before=edges[groups] - rankings.offsets[case],
        size=edges[groups + 1] - edges[groups],
        relevant=relevant.astype(np.int64),
        found=hits.nth[first] - 1,
    )
