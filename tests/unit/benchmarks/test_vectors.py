"""Vectors to measure on are like real ones, and the truth they are judged by is true."""

import numpy as np

from benchmarks._vectors import (
    crowded,
    fixture_vectors,
    numpy_top,
    queries_near,
    recall,
    sentence_like,
    snapshot_of,
    true_top,
    unit_rows,
)


def spread(vectors: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> tuple[float, float]:
    """Return the median cosine of pairs, and how many directions the rows fill (/ 100).

    Directions: (sum of eigenvalues)^2 / sum of their squares, of the covariance.
    """
    sample = vectors[:450]
    cosines = (sample @ sample.T)[np.triu_indices(len(sample), 1)]
    apart = sample - sample.mean(axis=0)
    covariance = apart.T @ apart
    filled = np.trace(covariance) ** 2 / np.square(covariance).sum()
    return float(np.median(cosines)), float(filled / 100)


def test_made_up_vectors_are_as_crowded_as_those_of_the_fixture() -> None:
    made, real = sentence_like(2000, seed=1), fixture_vectors()
    assert made.shape == (2000, 384)
    assert np.abs(np.linalg.norm(made, axis=1) - 1).max() < 1e-6
    (cosine, filled), (real_cosine, real_filled) = spread(made), spread(real)
    assert abs(cosine - real_cosine) < 0.08
    assert 0.5 < filled / real_filled < 2
    assert 0.75 <= float(crowded(made).value) <= 0.95
    assert np.array_equal(made, sentence_like(2000, seed=1))
    assert not np.array_equal(made, sentence_like(2000, seed=2))


def test_queries_lie_near_rows_and_not_on_them() -> None:
    made = sentence_like(500, seed=1)
    nearest = (queries_near(made, 20, seed=2) @ made.T).max(axis=1)
    assert nearest.min() > 0.88
    assert nearest.max() < 0.97


def test_truth_is_every_product_in_float64() -> None:
    rng = np.random.default_rng(3)
    made = unit_rows(rng.normal(size=(700, 16))[rng.integers(0, 500, 700)])
    query = unit_rows(rng.normal(size=(1, 16)))[0]
    mask = rng.random(700) < 0.1
    exact = (made.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    order = sorted(range(700), key=lambda row: (-exact[row], row))
    assert true_top(made, query, 10) == order[:10]
    assert true_top(made, query, 10, mask) == [row for row in order if mask[row]][:10]
    assert len(true_top(made, query, 500, mask)) == mask.sum()
    found = numpy_top(made, query, 10)
    assert np.allclose(exact[found], exact[order[:10]], atol=1e-6)  # ties in any order


def test_recall_counts_the_first_of_both() -> None:
    assert recall([[1, 2, 3], [9]], [[3, 2, 8], [9, 7, 6]], 2) == (1 + 1) / 4


def test_snapshot_holds_the_given_ids() -> None:
    made = sentence_like(5, seed=1)
    with snapshot_of(made, np.array([3, 5, 8, 13, 21])) as snapshot:
        assert snapshot.search(made[2], 1)[0].tolist() == [8]
