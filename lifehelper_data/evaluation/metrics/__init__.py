"""Metrics of result lists: against what is relevant, and beyond accuracy. One per file."""

from lifehelper_data.evaluation.metrics.calibration import miscalibration
from lifehelper_data.evaluation.metrics.coverage import catalog_coverage
from lifehelper_data.evaluation.metrics.diversity import (
    class_counts,
    class_diversity,
    vector_diversity,
)
from lifehelper_data.evaluation.metrics.hits import Hits, find_hits
from lifehelper_data.evaluation.metrics.ndcg import Gain
from lifehelper_data.evaluation.metrics.novelty import novelty
from lifehelper_data.evaluation.metrics.popularity_bias import (
    exposure_gini,
    popularity_percentile,
    recommended_popularity,
)
from lifehelper_data.evaluation.metrics.ranking import (
    RankingMetric,
    RankingSpec,
    TieRange,
    ranking_metrics,
    with_ties,
)
from lifehelper_data.evaluation.metrics.rankings import Rankings, Relevance
from lifehelper_data.evaluation.metrics.shown_items import Shown, shown

__all__ = [
    "Gain",
    "Hits",
    "RankingMetric",
    "RankingSpec",
    "Rankings",
    "Relevance",
    "Shown",
    "TieRange",
    "catalog_coverage",
    "class_counts",
    "class_diversity",
    "exposure_gini",
    "find_hits",
    "miscalibration",
    "novelty",
    "popularity_percentile",
    "ranking_metrics",
    "recommended_popularity",
    "shown",
    "vector_diversity",
    "with_ties",
]
