"""Intervals of proportions and means.

Proportions by Wilson's score interval; means by the bootstrap: bias-corrected and accelerated
(BCa) from 200 independent cases on, percentiles with a warning below.

Sources: Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference";
Efron 1987, "Better Bootstrap Confidence Intervals"; for clusters Davison & Hinkley 1997,
"Bootstrap Methods and their Application", section 3.8 (clusters are resampled whole).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics.counts import (
    Floats,
    Ints,
    checked_clusters,
    checked_values,
)

LEVEL: Final = 0.95
RESAMPLES: Final = 10_000
BCA_FROM: Final = 200
"""Independent cases (clusters, if there are any) from which the BCa interval is used."""

_SAME: Final = 1e-12  # resampled means that differ by less, relative to the values, are equal
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Where the true value lies, at the level asked for (95 %).

    Attributes:
        low: lower end, in the metric's unit.
        high: upper end.
        method: "wilson", "wilson by cluster", "bca", "bca by cluster", "percentile",
            "percentile by cluster" or "point" (all values are equal: nothing to resample).
        warning: why to trust it less; None if nothing is known against it.
    """

    low: float
    high: float
    method: str
    warning: str | None = None

    def within(self, margin: float) -> bool:
        """Return whether the interval lies inside [-margin, margin].

        >>> Interval(low=-0.01, high=0.004, method="bca").within(0.01)
        True
        """
        return -margin <= self.low and self.high <= margin


def wilson(successes: int, n: int, level: float = LEVEL) -> Interval | None:
    """Return Wilson's score interval of a proportion; None for n = 0.

    With p = successes / n and z the normal quantile of (1 + level) / 2:
    (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n).

    Raises:
        InvalidRequest: not 0 <= successes <= n, or a level outside (0, 1).

    >>> found = wilson(8, 10)
    >>> round(found.low, 4), round(found.high, 4)
    (0.4902, 0.9433)
    """
    if not 0 <= successes <= n:
        raise InvalidRequest(
            f"{successes!r} successes of {n!r}; give 0 <= successes <= n", field="successes"
        )
    z = _quantile(level)
    if n == 0:
        return None
    share = successes / n
    middle = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # At the ends rounding would leave 1e-17 instead of 0, or 1 - 1e-16 instead of 1.
    return Interval(
        low=max((middle - half) / scale, 0.0) if successes else 0.0,
        high=min((middle + half) / scale, 1.0) if successes < n else 1.0,
        method="wilson",
    )


def bootstrap_mean(
    values: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int,
) -> Interval | None:
    """Return the bootstrap interval of the mean of one metric; see `bootstrap_means`."""
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise InvalidRequest(
            f"values of shape {column.shape!r}; give one value per case, shape (n,)", field="values"
        )
    return bootstrap_means(
        column[:, None], clusters=clusters, level=level, resamples=resamples, seed=seed
    )[0]


def bootstrap_means(
    matrix: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int,
    threads: int | None = None,
) -> tuple[Interval | None, ...]:
    """Return the bootstrap interval of the mean of each metric over its evaluated cases.

    Cases are drawn with replacement; with clusters, clusters are drawn whole and the statistic is
    the ratio (sum of the values) / (number of values). A metric's undefined cases are left out
    before anything is drawn, and so are clusters without an evaluated case.

    An interval depends on the metric's values (and which of them share a cluster), the level, the
    number of resamples and the seed; not on the order of cases, the other metrics, or threads.

    Args:
        matrix: float (n_cases, n_metrics), NaN where undefined or missing.
        clusters: n_cases labels; cases of one label are drawn together. None: each by itself.
        level: probability, in (0, 1).
        resamples: how many resamples, >= 100.
        seed: any integer.
        threads: how many at once; None: one per core.

    Returns:
        Per metric: None with fewer than two independent cases, as one says nothing of the spread;
        a point if all values (with clusters: all clusters' means) are equal; else BCa, or
        percentiles with a warning below `BCA_FROM` independent cases.

    Raises:
        InvalidRequest: a wrong shape, label, level or number of resamples; an infinite value.
    """
    table = np.asarray(matrix, dtype=np.float64)
    if table.ndim != 2:
        raise InvalidRequest(
            f"matrix of shape {table.shape!r}; give (n_cases, n_metrics)", field="matrix"
        )
    if resamples < 100:
        raise InvalidRequest(f"{resamples!r} resamples; give 100 or more", field="resamples")
    _quantile(level)
    numbers = checked_clusters(clusters, len(table))
    columns = [cluster_sums(checked_values(column)[0], numbers) for column in table.T]
    found: dict[int, Interval | None] = {}
    by_length: dict[int, list[int]] = {}
    for at, (sums, sizes) in enumerate(columns):
        if len(sums) < 2:
            found[at] = None
        elif (point := common_mean(sums, sizes)) is not None:
            found[at] = _point(point, len(sums))
        else:
            by_length.setdefault(len(sums), []).append(at)
    for members in by_length.values():
        drawn = _resampled_means([columns[at] for at in members], resamples, seed, threads)
        for at, means in zip(members, drawn, strict=True):
            found[at] = _interval(*columns[at], means, level, clustered=numbers is not None)
    return tuple(found[at] for at in range(len(columns)))


def cluster_sums(values: Floats, clusters: Ints | None) -> tuple[Floats, Floats]:
    """Return sum and number of the evaluated values of each cluster that has any.

    Args:
        values: float64 (n,), NaN where undefined.
        clusters: int64 (n,) from 0, or None if every case stands for itself.

    Returns:
        Sums float64 (m,) and numbers float64 (m,), ascending by (sum, number): the order of cases
        is forgotten.

    >>> cluster_sums(np.array([3.0, 1.0, float("nan"), 2.0]), np.array([7, 1, 2, 1]))
    (array([3., 3.]), array([1., 2.]))
    """
    evaluated = ~np.isnan(values)
    if clusters is None:
        alone = np.sort(values[evaluated])
        return alone, np.ones(len(alone))
    order = np.lexsort((values[evaluated], clusters[evaluated]))
    members = clusters[evaluated][order]
    sums = np.bincount(members, weights=values[evaluated][order]).astype(np.float64)
    sizes = np.bincount(members).astype(np.float64)
    sums, sizes = sums[sizes > 0], sizes[sizes > 0]
    order = np.lexsort((sizes, sums))
    return sums[order], sizes[order]


def common_mean(sums: Floats, sizes: Floats) -> float | None:
    """Return the mean if all clusters have the same one (to 1e-12, relative), else None.

    >>> common_mean(np.array([0.5, 1.0]), np.array([1.0, 2.0]))
    0.5
    """
    means = sums / sizes
    equal = float(np.ptp(means)) <= _SAME * float(np.abs(means).max())
    return float(means[0]) if equal else None


def _quantile(level: float) -> float:
    if not 0 < level < 1:
        raise InvalidRequest(f"level {level!r}; give a probability such as 0.95", field="level")
    return _NORMAL.inv_cdf((1 + level) / 2)


def _point(mean: float, n: int) -> Interval:
    return Interval(
        low=mean,
        high=mean,
        method="point",
        warning=f"all {n} independent cases have the same value; rarer values were not seen",
    )


def _resampled_means(
    columns: Sequence[tuple[Floats, Floats]], resamples: int, seed: int, threads: int | None
) -> Floats:
    """Return float64 (n_columns, resamples): ratio of resampled sums and resampled numbers."""
    from lifehelper_data.evaluation.statistics.resampling import resampled_sums  # numba, on need

    tops = [sums for sums, _ in columns]
    uneven = [sizes for _, sizes in columns if float(np.ptp(sizes)) > 0]
    drawn = resampled_sums(
        np.array([*tops, *uneven]), resamples=resamples, seed=seed, threads=threads
    )
    below = iter(drawn.T[len(tops) :])
    means = np.empty((len(columns), resamples))
    for at, (_, sizes) in enumerate(columns):
        even = float(np.ptp(sizes)) == 0
        means[at] = drawn.T[at] / (len(sizes) * sizes[0] if even else next(below))
    return means


def _interval(
    sums: Floats, sizes: Floats, means: Floats, level: float, *, clustered: bool
) -> Interval:
    n = len(sums)
    tail = (1 - level) / 2
    by = " by cluster" if clustered else ""
    if n < BCA_FROM:
        low, high = np.quantile(means, [tail, 1 - tail])
        what = "clusters" if clustered else "cases"
        return Interval(
            low=float(low),
            high=float(high),
            method=f"percentile{by}",
            warning=f"only {n} independent {what}: the interval tends to be too narrow",
        )
    low, high = np.quantile(means, _bca_levels(sums, sizes, means, tail))
    return Interval(low=float(low), high=float(high), method=f"bca{by}")


def _bca_levels(sums: Floats, sizes: Floats, means: Floats, tail: float) -> list[float]:
    """Return the two quantiles that BCa takes instead of tail and 1 - tail (Efron 1987)."""
    whole = float(sums.sum() / sizes.sum())
    tolerance = _SAME * float(np.abs(sums / sizes).max())
    below = np.count_nonzero(means < whole - tolerance)
    equal = np.count_nonzero(means <= whole + tolerance) - below
    share = (below + 0.5 * equal) / len(means)
    edge = 1 / (len(means) + 1)
    bias = _NORMAL.inv_cdf(min(max(share, edge), 1 - edge))
    without = (sums.sum() - sums) / (sizes.sum() - sizes)
    apart = without.mean() - without
    acceleration = float(np.sum(apart**3) / (6 * np.sum(apart**2) ** 1.5))
    levels = []
    for z in (_NORMAL.inv_cdf(tail), _NORMAL.inv_cdf(1 - tail)):
        moved = bias + z
        levels.append(_NORMAL.cdf(bias + moved / (1 - acceleration * moved)))
    return levels
