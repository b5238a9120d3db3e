"""Counting, intervals and comparisons of per-case values.

Everywhere: values are float64 per case, NaN where a metric is undefined; a case without an output
is marked in a mask and has no value. Neither is ever 0 or 1.
"""

from lifehelper_data.evaluation.statistics.comparison import (
    Comparison,
    MetricRule,
    Paired,
    Verdict,
    compare,
    compare_all,
)
from lifehelper_data.evaluation.statistics.counts import Counts, count
from lifehelper_data.evaluation.statistics.holm import holm
from lifehelper_data.evaluation.statistics.intervals import (
    Interval,
    bootstrap_mean,
    bootstrap_means,
    wilson,
)
from lifehelper_data.evaluation.statistics.permutation import sign_flip_p
from lifehelper_data.evaluation.statistics.power import minimal_detectable_effect
from lifehelper_data.evaluation.statistics.slices import (
    SliceComparison,
    SliceSummary,
    compare_slices,
    summarise_slices,
)
from lifehelper_data.evaluation.statistics.summary import MetricSummary, summarise

__all__ = [
    "Comparison",
    "Counts",
    "Interval",
    "MetricRule",
    "MetricSummary",
    "Paired",
    "SliceComparison",
    "SliceSummary",
    "Verdict",
    "bootstrap_mean",
    "bootstrap_means",
    "compare",
    "compare_all",
    "compare_slices",
    "count",
    "holm",
    "minimal_detectable_effect",
    "sign_flip_p",
    "summarise",
    "summarise_slices",
    "wilson",
]
