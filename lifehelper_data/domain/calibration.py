"""Where cosines of a vector space begin and end to mean something."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityScale:
    """The useful range of cosines in one vector space.

    Attributes:
        floor: median cosine of random pairs of different items.
        ceiling: 99th percentile of the cosine between an item and its nearest neighbour.
        random_pairs: pairs behind the floor.
        neighbours: items behind the ceiling.
    """

    floor: float
    ceiling: float
    random_pairs: int
    neighbours: int

    def scaled(self, cosine: float) -> float:
        """Return a cosine on the scale, clamped to 0-1."""
        if self.ceiling <= self.floor:
            return 0.0
        return min(1.0, max(0.0, (cosine - self.floor) / (self.ceiling - self.floor)))


def measure_scale(
    vectors: Vectors, *, random_pairs: int, neighbours: int, seed: int
) -> SimilarityScale | None:
    """Measure floor and ceiling on a sample.

    Multilingual encoders put unrelated texts at 0.85, so raw cosines say little; the scale makes
    them comparable.

    Args:
        vectors: float32 (n, dim), rows of length 1, in a fixed order.
        random_pairs: how many random pairs.
        neighbours: how many items to find the nearest neighbour of.
        seed: seed of both samples.

    Returns:
        The scale; None with fewer than two vectors.
    """
    n = len(vectors)
    if n < 2:
        return None
    chance = np.random.default_rng(seed)
    left = chance.integers(0, n, random_pairs)
    right = (left + chance.integers(1, n, random_pairs)) % n  # never the item itself
    cosines = np.einsum("ij,ij->i", vectors[left], vectors[right], dtype=np.float64)
    sample = np.sort(chance.choice(n, size=min(neighbours, n), replace=False))
    nearest = np.empty(len(sample))
    for start in range(0, len(sample), 256):
        rows = sample[start : start + 256]
        block = vectors[rows] @ vectors.T
        block[np.arange(len(rows)), rows] = -np.inf
        nearest[start : start + 256] = block.max(axis=1)
    return SimilarityScale(
        floor=float(np.median(cosines)),
        ceiling=float(np.percentile(nearest, 99)),
        random_pairs=random_pairs,
        neighbours=len(sample),
    )
