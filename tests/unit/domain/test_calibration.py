"""The scale of similarities."""

import numpy as np
import numpy.typing as npt
import pytest

from lifehelper_data.domain.calibration import SimilarityScale, measure_scale


def unit(rows: list[list[float]]) -> npt.NDArray[np.float32]:
    """Rows of length 1."""
    array = np.array(rows, dtype=np.float32)
    unit_rows: npt.NDArray[np.float32] = array / np.linalg.norm(array, axis=1, keepdims=True)
    return unit_rows


def test_floor_is_the_median_of_pairs_and_ceiling_of_nearest_neighbours() -> None:
    vectors = unit([[1, 0], [1, 0], [0, 1], [0, 1]])  # nearest neighbour of each: its twin
    scale = measure_scale(vectors, random_pairs=5_000, neighbours=4, seed=1)
    assert scale is not None
    assert scale.ceiling == pytest.approx(1.0)
    assert scale.floor == pytest.approx(0.0)  # 2 of 3 partners are across
    assert (scale.random_pairs, scale.neighbours) == (5_000, 4)


def test_same_seed_same_scale_and_fewer_than_two_vectors_have_none() -> None:
    vectors = unit(np.random.default_rng(0).normal(size=(50, 8)).tolist())
    first = measure_scale(vectors, random_pairs=100, neighbours=10, seed=3)
    assert first == measure_scale(vectors, random_pairs=100, neighbours=10, seed=3)
    assert measure_scale(vectors[:1], random_pairs=100, neighbours=10, seed=3) is None


def test_cosines_are_scaled_and_clamped() -> None:
    scale = SimilarityScale(floor=0.8, ceiling=0.9, random_pairs=1, neighbours=1)
    assert scale.scaled(0.85) == pytest.approx(0.5)
    assert (scale.scaled(0.7), scale.scaled(0.95)) == (0.0, 1.0)
    flat = SimilarityScale(floor=0.9, ceiling=0.9, random_pairs=1, neighbours=1)
    assert flat.scaled(0.95) == 0.0
