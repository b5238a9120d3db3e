"""Paired permutation test: would the sign of the differences matter if there were no effect?

Under the hypothesis that two systems are exchangeable on every case, each difference could as well
have had the other sign; differences of one cluster change sign together.

Sources: Fisher 1935, "The Design of Experiments"; Smucker, Allan & Carterette 2007, "A Comparison
of Statistical Significance Tests for Information Retrieval Evaluation"; for (b + 1) / (m + 1)
Phipson & Smyth 2010, "Permutation P-values Should Never Be Zero".
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics.counts import (
    Floats,
    checked_clusters,
    checked_values,
)
from lifehelper_data.evaluation.statistics.intervals import cluster_sums

PERMUTATIONS: Final = 10_000
_SAME: Final = 1e-12  # sums that differ by less, relative to the differences, are equal


def sign_flip_p(
    differences: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    permutations: int = PERMUTATIONS,
    seed: int,
    threads: int | None = None,
) -> float | None:
    """Return the two-sided p-value of the mean difference being 0; None without differences.

    Clusters whose differences add up to 0 have no say. With m others, all 2 ** m signs are tried
    if they are not more than `permutations`, and p is the share of those with a sum as far from 0
    as the one seen. Else signs are drawn, and p = (b + 1) / (permutations + 1) with b the draws as
    far from 0. p = 1 if all are 0. The order of cases does not matter.

    Args:
        differences: float (n,), new - base, NaN for a pair that is not evaluated.
        clusters: n labels; differences of one label change sign together. None: each by itself.
        permutations: how many signs are tried at most, >= 100.
        seed: any integer.
        threads: how many at once; None: one per core.

    Raises:
        InvalidRequest: too few permutations, an infinite value, wrong labels.

    >>> sign_flip_p([1.0, 1.0, 2.0], seed=1)  # 1+1+2 and its mirror image of 2 ** 3
    0.25
    """
    if permutations < 100:
        raise InvalidRequest(
            f"{permutations!r} permutations; give 100 or more", field="permutations"
        )
    values, _ = checked_values(differences)
    sums, _ = cluster_sums(values, checked_clusters(clusters, len(values)))
    if not len(sums):
        return None
    weight = float(np.abs(sums).sum())
    moving = sums[np.abs(sums) > _SAME * weight]
    if not len(moving):
        return 1.0
    least = abs(float(moving.sum())) - _SAME * weight
    if 2 ** len(moving) <= permutations:
        return float(np.mean(np.abs(_all_signed_sums(moving)) >= least))
    from lifehelper_data.evaluation.statistics.resampling import signed_sums  # numba, on need

    drawn = signed_sums(moving, permutations=permutations, seed=seed, threads=threads)
    return (int(np.count_nonzero(np.abs(drawn) >= least)) + 1) / (permutations + 1)


def _all_signed_sums(values: Floats) -> Floats:
    """Return the sums under all 2 ** n signs: float64 (2 ** n,)."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums
