"""One metric of one system: its mean, over how many cases, and how sure that is."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics.comparison import MetricRule
from lifehelper_data.evaluation.statistics.counts import (
    Counts,
    Floats,
    Ints,
    checked_clusters,
    checked_values,
    count,
    mean,
)
from lifehelper_data.evaluation.statistics.intervals import (
    RESAMPLES,
    Interval,
    bootstrap_mean,
    wilson,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """A metric with its denominator and its interval.

    Attributes:
        rule: the metric.
        mean: mean over the evaluated cases; None without any.
        counts: cases evaluated, undefined and missing.
        interval: 95 % interval of the mean; None if nothing can be said: no case, or for a mean
            fewer than two independent ones.
    """

    rule: MetricRule
    mean: float | None
    counts: Counts
    interval: Interval | None


def summarise(
    values: npt.ArrayLike,
    missing: npt.ArrayLike | None = None,
    *,
    rule: MetricRule,
    clusters: npt.ArrayLike | None = None,
    seed: int,
    resamples: int = RESAMPLES,
) -> MetricSummary:
    """Return mean, counts and 95 % interval of a metric.

    Proportions get Wilson's interval, unless several evaluated cases share a cluster; those and
    means get the bootstrap's. Where every evaluated case is a success (or none is), resampling
    would give a point: then Wilson's interval with one observation per cluster is given ("wilson
    by cluster"), as 20 successes of 20 do not prove 100 %.

    Args:
        values: float (n,), NaN where undefined or missing.
        missing: bool (n,), cases without an output; None: none.
        rule: the metric.
        clusters: n labels of cases that depend on each other; None: each stands for itself.
        seed: any integer.
        resamples: bootstrap resamples.

    Raises:
        InvalidRequest: a proportion with a value other than 0 and 1; values, mask or clusters
            that do not fit together.
    """
    found, _ = checked_values(values, missing)
    numbers = checked_clusters(clusters, len(found))
    interval: Interval | None
    if rule.kind == "proportion":
        interval = _proportion(found, numbers, rule=rule, seed=seed, resamples=resamples)
    else:
        interval = bootstrap_mean(found, clusters=numbers, resamples=resamples, seed=seed)
    return MetricSummary(
        rule=rule,
        mean=mean(found),
        counts=count(values, missing),
        interval=interval,
    )


def _proportion(
    values: Floats, clusters: Ints | None, *, rule: MetricRule, seed: int, resamples: int
) -> Interval | None:
    evaluated = ~np.isnan(values)
    seen = values[evaluated]
    wrong = np.flatnonzero((seen != 0) & (seen != 1))
    if len(wrong):
        raise InvalidRequest(
            f"metric {rule.name!r} is a proportion but has value {float(seen[wrong[0]])!r}; give "
            "0 or 1 per case, or make it a mean",
            field="values",
        )
    successes, n = int(seen.sum()), len(seen)
    independent = n if clusters is None else len(np.unique(clusters[evaluated]))
    if independent == n:
        return wilson(successes, n)
    if successes in {0, n}:
        alike = wilson(independent if successes else 0, independent)
        return (
            None
            if alike is None
            else Interval(low=alike.low, high=alike.high, method="wilson by cluster")
        )
    return bootstrap_mean(values, clusters=clusters, resamples=resamples, seed=seed)
