"""All ranking metrics of many cases in one pass, per case; with ties at worst, mean and best."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final, Self

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.metrics.average_precision import (
    average_precision,
    expected_average_precision,
)
from lifehelper_data.evaluation.metrics.hit_rate import expected_hit, hit
from lifehelper_data.evaluation.metrics.hits import Hits, find_hits
from lifehelper_data.evaluation.metrics.ndcg import Gain, expected_ndcg, ndcg
from lifehelper_data.evaluation.metrics.precision import expected_precision, precision
from lifehelper_data.evaluation.metrics.rankings import Rankings, Relevance
from lifehelper_data.evaluation.metrics.recall import expected_recall, recall
from lifehelper_data.evaluation.metrics.reciprocal_rank import (
    expected_reciprocal_rank,
    reciprocal_rank,
)
from lifehelper_data.evaluation.metrics.ties import TiedHits, tied_hits
from lifehelper_data.evaluation.statistics.counts import Floats


class RankingMetric(StrEnum):
    """A metric of a result list against what is relevant."""

    RECALL = "recall"
    PRECISION = "precision"
    HIT = "hit"
    NDCG = "ndcg"
    NDCG_EXPONENTIAL = "ndcg-exp"
    MRR = "mrr"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class RankingSpec:
    """A metric and its cut-off.

    Attributes:
        metric: the metric.
        k: how many ranks count, >= 1.
    """

    metric: RankingMetric
    k: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InvalidRequest(f"cut-off {self.k!r}; give k >= 1", field="k")

    @property
    def name(self) -> str:
        """Name such as "ndcg@10"."""
        return f"{self.metric}@{self.k}"

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the spec of a name.

        Raises:
            InvalidRequest: not METRIC@K with a known metric and K >= 1.

        >>> RankingSpec.parse("ndcg@10")
        RankingSpec(metric=<RankingMetric.NDCG: 'ndcg'>, k=10)
        """
        known = [metric.value for metric in RankingMetric]
        found = re.fullmatch(r"([a-z-]+)@([0-9]+)", name, re.ASCII)
        if found is None or found[1] not in known:
            raise InvalidRequest(
                f"metric {name!r}; give METRIC@K with one of {', '.join(known)}", field="metric"
            )
        return cls(RankingMetric(found[1]), int(found[2]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TieRange:
    """A metric over all orders of equal scores. All float64 (n_cases,), NaN where undefined.

    Attributes:
        low: in the worst order.
        expected: on average.
        high: in the best order.
    """

    low: Floats
    expected: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class _Formula:
    plain: Callable[[Hits, int], Floats]
    expected: Callable[[TiedHits, int], Floats]


_FORMULAS: Final[Mapping[RankingMetric, _Formula]] = {
    RankingMetric.RECALL: _Formula(recall, expected_recall),
    RankingMetric.PRECISION: _Formula(precision, expected_precision),
    RankingMetric.HIT: _Formula(hit, expected_hit),
    RankingMetric.NDCG: _Formula(ndcg, expected_ndcg),
    RankingMetric.NDCG_EXPONENTIAL: _Formula(
        partial(ndcg, gain=Gain.EXPONENTIAL), partial(expected_ndcg, gain=Gain.EXPONENTIAL)
    ),
    RankingMetric.MRR: _Formula(reciprocal_rank, expected_reciprocal_rank),
    RankingMetric.MAP: _Formula(average_precision, expected_average_precision),
}


def ranking_metrics(
    rankings: Rankings, relevance: Relevance, specs: Iterable[RankingSpec | str]
) -> dict[str, Floats]:
    """Return metrics per case, by name. Lists are read once, whatever the number of metrics.

    A case's values have the same bits in any batch and at any place in it. Ties count in the
    order given; see `with_ties`.

    Args:
        rankings: the result list of each case.
        relevance: what is relevant to each case, in the same order.
        specs: the metrics, as specs or names such as "recall@10".

    Returns:
        Name -> float64 (n_cases,) in [0, 1]: NaN for a case to which nothing is relevant, 0 for
        an empty list. No cases: empty arrays.

    Raises:
        InvalidRequest: an unknown metric; not the same number of cases.

    >>> lists = Rankings.from_lists([[5, 1, 1], []])
    >>> for name, values in ranking_metrics(
    ...     lists, Relevance.from_lists([[1, 2], [1]]), ["recall@3", "mrr@3"]).items():
    ...     print(name, values.tolist())
    recall@3 [0.5, 0.0]
    mrr@3 [0.5, 0.0]
    """
    wanted = _specs(specs)
    hits = find_hits(rankings, relevance, max((spec.k for spec in wanted), default=0))
    return {spec.name: _FORMULAS[spec.metric].plain(hits, spec.k) for spec in wanted}


def with_ties(
    rankings: Rankings, relevance: Relevance, specs: Iterable[RankingSpec | str]
) -> dict[str, TieRange]:
    """Return metrics per case over all orders of items with equal scores.

    Args:
        rankings: the result list of each case, with scores.
        relevance: what is relevant to each case, in the same order.
        specs: the metrics, as specs or names such as "recall@10".

    Returns:
        Name -> worst, expected and best values. Without ties all three equal `ranking_metrics`
        (the expected one to rounding).

    Raises:
        InvalidRequest: rankings without scores, an unknown metric, not the same number of cases.

    >>> lists = Rankings.from_lists([[5, 1]], [[0.7, 0.7]])
    >>> found = with_ties(lists, Relevance.from_lists([[1]]), ["mrr@2"])["mrr@2"]
    >>> found.low.tolist(), found.expected.tolist(), found.high.tolist()
    ([0.5], [0.75], [1.0])
    """
    ties = tied_hits(rankings, find_hits(rankings, relevance))
    best, worst = ties.at_best(), ties.at_worst()
    return {
        spec.name: TieRange(
            low=_FORMULAS[spec.metric].plain(worst, spec.k),
            expected=_FORMULAS[spec.metric].expected(ties, spec.k),
            high=_FORMULAS[spec.metric].plain(best, spec.k),
        )
        for spec in _specs(specs)
    }


def _specs(specs: Iterable[RankingSpec | str]) -> list[RankingSpec]:
    return [RankingSpec.parse(spec) if isinstance(spec, str) else spec for spec in specs]
