"""Where the relevant items stand in the rankings: all that a ranking metric needs."""

from dataclasses import dataclass

import numpy as np

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.metrics.rankings import Rankings, Relevance
from lifehelper_data.evaluation.statistics.counts import Floats, Ints, Mask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hits:
    """Each relevant item that was found, once, at its first place. Ordered by case, then rank.

    Attributes:
        relevance: what is relevant.
        case: int64 (n_hits,).
        rank: int64 (n_hits,), from 1.
        nth: int64 (n_hits,), from 1: the how many-th hit of its case.
        grade: float64 (n_hits,), > 0.
    """

    relevance: Relevance
    case: Ints
    rank: Ints
    nth: Ints
    grade: Floats

    def total(self, weights: Floats, within: Mask) -> Floats:
        """Return per case the sum of the weights of the hits `within`: float64 (n_cases,).

        Weights are added in the order of ranks, so a case's sum has the same bits in any batch.
        """
        sums = np.bincount(
            self.case[within], weights=weights[within], minlength=len(self.relevance)
        )
        return sums.astype(np.float64)

    def where_defined(self, values: Floats) -> Floats:
        """Return the values, NaN for cases to which nothing is relevant."""
        return np.where(self.relevance.sizes > 0, values, np.nan)

    def per_relevant(self, values: Floats) -> Floats:
        """Return the values divided by how many items are relevant; NaN if none is."""
        sizes = self.relevance.sizes
        shares = np.full(len(sizes), np.nan)
        np.divide(values, sizes, out=shares, where=sizes > 0)
        return shares


def find_hits(rankings: Rankings, relevance: Relevance, depth: int | None = None) -> Hits:
    """Find the relevant items among the first `depth` ranks (None: all) of each list.

    Raises:
        InvalidRequest: not the same number of cases.
    """
    if len(rankings) != len(relevance):
        raise InvalidRequest(
            f"rankings of {len(rankings)} cases but relevance of {len(relevance)}; give both for "
            "the same cases in the same order",
            field="relevance",
        )
    from lifehelper_data.evaluation.metrics.matching import match  # numba, on need

    case, rank, nth, place = match(
        rankings.items,
        rankings.offsets,
        relevance.items,
        relevance.offsets,
        len(rankings.items) if depth is None else min(depth, len(rankings.items)),
    )
    return Hits(relevance=relevance, case=case, rank=rank, nth=nth, grade=relevance.grades[place])
