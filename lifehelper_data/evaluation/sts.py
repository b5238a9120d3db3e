"""Semantic textual similarity: does the cosine order sentence pairs as people do?"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.models.encoder import Encoder, row_cosines


def sts_spearman(
    encoder: Encoder, pairs: Sequence[tuple[str, str]], scores: Sequence[float]
) -> float | None:
    """Return Spearman's rank correlation of cosines with human scores.

    Both sentences of a pair are encoded as queries: the task is symmetric. Each distinct sentence
    is encoded once.

    Args:
        encoder: the encoder to measure.
        pairs: sentence pairs.
        scores: one human score per pair; larger means more alike.

    Returns:
        A value in [-1, 1]; None (unscored) for fewer than two pairs, or where all cosines or all
        scores are equal.

    Raises:
        InvalidRequest: `pairs` and `scores` differ in length.
    """
    if len(pairs) != len(scores):
        raise InvalidRequest(
            f"{len(pairs)} pairs but {len(scores)} scores; give one score per pair", field="scores"
        )
    position: dict[str, int] = {}
    for pair in pairs:
        for text in pair:
            position.setdefault(text, len(position))
    vectors = encoder.encode_queries(list(position))
    left = vectors[[position[a] for a, _ in pairs]]
    right = vectors[[position[b] for _, b in pairs]]
    return spearman(row_cosines(left, right), np.asarray(scores, dtype=np.float64))


def spearman(left: NDArray[np.float64], right: NDArray[np.float64]) -> float | None:
    """Return Spearman's rho: the correlation of average ranks (Spearman 1904).

    Args:
        left: float64 (n,).
        right: float64 (n,).

    Returns:
        A value in [-1, 1]; None for n < 2 or where one side is constant.

    >>> spearman(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0]))
    0.8
    """
    if len(left) < 2:
        return None
    a, b = (average_ranks(values) - (len(values) + 1) / 2 for values in (left, right))
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else None


def average_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks from 1; equal values share the mean of their ranks: float64 (n,).

    >>> average_ranks(np.array([10.0, 30.0, 10.0])).tolist()
    [1.5, 3.0, 1.5]
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: NDArray[np.float64] = last - (counts - 1) / 2
    return means[inverse]
