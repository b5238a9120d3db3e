"""Miscalibration: whether a list has the mixture of classes that its user has chosen before."""

from typing import Final

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics.counts import Floats

SMOOTHING: Final = 0.01
"""Share of the user's mixture that is blended into the list's, as in the paper."""


def miscalibration(
    history: npt.ArrayLike, listed: npt.ArrayLike, *, smoothing: float = SMOOTHING
) -> Floats:
    """Return KL(p || (1 - a) q + a p) in nats: float64 (n_cases,), 0 for equal mixtures.

    p is the user's mixture of classes, q the list's; a class that the user never chose adds
    nothing. At most -ln(a). Lower is better. NaN (undefined) if the history or the list has no
    item with a class.

    Source: Steck 2018, "Calibrated Recommendations" (RecSys), equations 2 to 4 with equal weights.

    Args:
        history: (n_cases, n_classes), how much of each class each user has, >= 0.
        listed: (n_cases, n_classes), the same of each list; see `class_counts`.
        smoothing: a, in (0, 1).

    Raises:
        InvalidRequest: shapes differ, a number is negative or not finite, a wrong smoothing.

    >>> float(miscalibration([[1, 1]], [[2, 2]])[0])
    0.0
    >>> round(float(miscalibration([[1, 0]], [[0, 1]])[0]), 6)  # -ln(0.01)
    4.60517
    """
    had, has = np.asarray(history, dtype=np.float64), np.asarray(listed, dtype=np.float64)
    if had.ndim != 2 or had.shape != has.shape:
        raise InvalidRequest(
            f"history of shape {had.shape!r}, lists of shape {has.shape!r}; give both as "
            "(n_cases, n_classes)",
            field="history",
        )
    for what, counts in (("history", had), ("listed", has)):
        wrong = counts[~(np.isfinite(counts) & (counts >= 0))]
        if len(wrong):
            raise InvalidRequest(
                f"{what} has {float(wrong[0])!r}; give finite numbers >= 0", field=what
            )
    if not 0 < smoothing < 1:
        raise InvalidRequest(
            f"smoothing {smoothing!r}; give one in (0, 1), such as 0.01", field="smoothing"
        )
    p, q = _mixtures(had), _mixtures(has)
    blended = (1 - smoothing) * q + smoothing * p
    ratio = np.ones_like(p)
    np.divide(p, blended, out=ratio, where=p > 0)
    divergence = np.sum(p * np.log(ratio), axis=1)
    defined = (had.sum(axis=1) > 0) & (has.sum(axis=1) > 0)
    return np.where(defined, np.maximum(divergence, 0.0), np.nan)


def _mixtures(counts: Floats) -> Floats:
    totals = counts.sum(axis=1, keepdims=True)
    mixtures = np.zeros_like(counts)
    np.divide(counts, totals, out=mixtures, where=totals > 0)
    return mixtures
