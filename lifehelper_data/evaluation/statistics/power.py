"""How large an effect must be before these cases can show it."""

import math
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics.counts import checked_clusters, checked_values
from lifehelper_data.evaluation.statistics.intervals import cluster_sums, common_mean

POWER: Final = 0.8
ALPHA: Final = 0.05


def standard_error(
    differences: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None
) -> float | None:
    """Return the standard error of the mean, by cluster; None with fewer than two clusters.

    sqrt(m / (m - 1) * sum_c (D_c - d N_c)^2) / N with m clusters, D_c and N_c the sum and number
    of the values of cluster c, N their total number and d = mean. Without clusters this is the
    standard deviation (n - 1) over sqrt(n).

    Source: Cochran 1977, "Sampling Techniques", section 9.7 (ratio to size).

    >>> round(standard_error([1.0, 2.0, 3.0, 4.0]), 6)  # sqrt(5 / 3) / 2
    0.645497
    """
    values, _ = checked_values(differences)
    sums, sizes = cluster_sums(values, checked_clusters(clusters, len(values)))
    m = len(sums)
    if m < 2:
        return None
    apart = sums - sums.sum() / sizes.sum() * sizes
    return math.sqrt(m / (m - 1) * float(np.sum(apart**2))) / float(sizes.sum())


def minimal_detectable_effect(
    differences: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    power: float = POWER,
    alpha: float = ALPHA,
) -> float | None:
    """Return the true mean difference that a two-sided test finds with the given power.

    (z(1 - alpha / 2) + z(power)) * standard error of the differences: normal approximation, for
    one test without correction for several metrics.

    Args:
        differences: float (n,), new - base per pair, NaN for a pair that is not evaluated.
        clusters: n labels of pairs that depend on each other; None: each by itself.
        power: probability that it is found, in (0.5, 1).
        alpha: level of the test, in (0, 0.5).

    Returns:
        The effect, > 0, in the metric's unit. None if nothing can be said: all differences are
        equal, so that their spread is unknown; or there are so few clusters m that no sign-flip
        test of them reaches alpha (its smallest p-value is 2 / 2 ** m: six are needed for 0.05).

    Raises:
        InvalidRequest: power or alpha outside its range.

    >>> round(minimal_detectable_effect([1.0, -1.0] * 50), 4)  # (1.96 + 0.8416) * 1.005 / 10
    0.2816
    """
    if not 0.5 < power < 1:
        raise InvalidRequest(f"power {power!r}; give one in (0.5, 1), such as 0.8", field="power")
    if not 0 < alpha < 0.5:
        raise InvalidRequest(f"alpha {alpha!r}; give one in (0, 0.5)", field="alpha")
    values, _ = checked_values(differences)
    sums, sizes = cluster_sums(values, checked_clusters(clusters, len(values)))
    error = standard_error(values, clusters=clusters)
    if error is None or 2.0 ** (1 - len(sums)) > alpha or common_mean(sums, sizes) is not None:
        return None
    normal = NormalDist()
    return (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * error
