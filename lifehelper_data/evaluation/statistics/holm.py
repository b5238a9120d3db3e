"""Holm's correction: p-values of several questions asked of the same cases."""

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics.counts import Floats


def holm(p_values: npt.ArrayLike) -> Floats:
    """Return p-values adjusted by Holm's step-down method: float64, in the order given.

    With m p-values in ascending order, the i-th (from 0) becomes the largest of
    (m - j) * p_j over j <= i, at most 1. NaN, a question that could not be asked, stays NaN and
    does not count in m. Equal p-values get equal results. Empty input gives an empty result.

    Source: Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure".

    Raises:
        InvalidRequest: a p-value is outside [0, 1].

    >>> holm([0.01, 0.04, float("nan"), 0.03]).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    given = np.asarray(p_values, dtype=np.float64)
    asked = np.flatnonzero(~np.isnan(given))
    wrong = asked[(given[asked] < 0) | (given[asked] > 1)]
    if len(wrong):
        raise InvalidRequest(f"p-value {float(given[wrong[0]])!r} is not in [0, 1]", field="p")
    order = asked[np.argsort(given[asked], kind="stable")]
    adjusted = np.full(len(given), np.nan)
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * given[order]))
    return adjusted
