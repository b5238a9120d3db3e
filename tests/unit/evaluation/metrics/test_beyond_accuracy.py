"""Coverage, novelty, diversity, calibration, popularity: by hand, and what is undefined."""

import math
from itertools import combinations

import numpy as np
import pytest

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.metrics import (
    Rankings,
    catalog_coverage,
    class_counts,
    class_diversity,
    exposure_gini,
    miscalibration,
    novelty,
    popularity_percentile,
    recommended_popularity,
    shown,
    vector_diversity,
)

CATALOG = [10, 20, 30, 40]
LISTS = Rankings.from_lists([[30, 99, 10, 30], [], [40], [99]])


def test_shown_items_are_known_different_and_within_k() -> None:
    found = shown(LISTS, CATALOG, 10)
    assert found.case.tolist() == [0, 0, 2]
    assert found.position.tolist() == [0, 2, 3]
    assert found.sizes.tolist() == [2, 0, 1, 0]
    assert shown(LISTS, CATALOG, 2).position.tolist() == [2, 3]  # 99 takes up rank 2


def test_catalog_must_ascend() -> None:
    for wrong in ([10, 10], [20, 10]):
        with pytest.raises(InvalidRequest, match="not strictly ascending"):
            shown(LISTS, wrong, 10)
    with pytest.raises(InvalidRequest, match="cut-off 0"):
        shown(LISTS, CATALOG, 0)


def test_coverage_is_over_the_catalog() -> None:
    assert catalog_coverage(shown(LISTS, CATALOG, 10)) == 3 / 4
    assert catalog_coverage(shown(LISTS, CATALOG, 1)) == 2 / 4
    assert catalog_coverage(shown(LISTS, [], 10)) is None
    assert catalog_coverage(shown(Rankings.from_lists([]), CATALOG, 10)) is None
    assert catalog_coverage(shown(Rankings.from_lists([[]]), CATALOG, 10)) == 0.0


def test_novelty_is_mean_self_information() -> None:
    found = novelty(shown(LISTS, CATALOG, 10), [16, 3, 4, 0], 16)
    assert found[0] == (-math.log2(16 / 16) - math.log2(4 / 16)) / 2
    assert found[2] == math.log2(16)  # nobody has it: as if one user had
    assert np.isnan(found[[1, 3]]).all()
    assert not np.signbit(found[0])


def test_novelty_needs_counts_of_the_same_users() -> None:
    with pytest.raises(InvalidRequest, match="n_users 15, but an item has 16 users"):
        novelty(shown(LISTS, CATALOG, 10), [16, 3, 4, 0], 15)
    with pytest.raises(InvalidRequest, match=r"users_of_item of shape \(2,\) for 4 items"):
        novelty(shown(LISTS, CATALOG, 10), [1, 2], 15)
    with pytest.raises(InvalidRequest, match=r"users_of_item -1\.0 of item 1"):
        novelty(shown(LISTS, CATALOG, 10), [1, -1, 1, 1], 15)


def test_vector_diversity_is_the_mean_over_all_pairs() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(50, 7))
    vectors[3] = 0  # no vector: left out
    lists = [rng.permutation(50)[: rng.integers(0, 9)].tolist() for _ in range(2500)]
    found = vector_diversity(shown(Rankings.from_lists(lists), range(50), 10), vectors)
    for at, items in enumerate(lists):
        units = [vectors[i] / np.linalg.norm(vectors[i]) for i in items if i != 3]
        if len(units) < 2:
            assert np.isnan(found[at])
        else:
            expected = np.mean([1 - a @ b for a, b in combinations(units, 2)])
            assert found[at] == pytest.approx(expected, abs=1e-12)


def test_vector_diversity_has_the_same_bits_in_any_batch() -> None:
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(60, 13)).astype(np.float32)
    items = np.array([rng.permutation(60)[:6] for _ in range(1500)])
    whole = vector_diversity(shown(Rankings.from_matrix(items), range(60), 10), vectors)
    for at in range(0, 1500, 50):
        one = Rankings.from_matrix(items[at : at + 3, ::-1])
        alone = vector_diversity(shown(one, range(60), 10), vectors)
        assert np.array_equal(alone, whole[at : at + 3])


def test_alike_items_have_no_diversity_and_opposites_two() -> None:
    lists = Rankings.from_lists([[0, 1], [0, 2]])
    found = vector_diversity(shown(lists, range(3), 5), [[0.1, 0.3], [0.2, 0.6], [-0.1, -0.3]])
    assert found == pytest.approx([0, 2], abs=1e-12)
    assert found.min() >= 0


def test_class_diversity_counts_pairs() -> None:
    lists = Rankings.from_lists([[0, 1, 2, 3], [0, 1], [0, 2], [0, 4], [0]])
    found = class_diversity(shown(lists, range(5), 10), [0, 0, 1, 2, -1])
    assert found[:3].tolist() == [5 / 6, 0, 1]
    assert np.isnan(found[3:]).all()  # fewer than two items with a class


def test_class_counts() -> None:
    lists = Rankings.from_lists([[0, 1, 2], [4]])
    found = class_counts(shown(lists, range(5), 10), [0, 0, 2, 1, -1])
    assert found.tolist() == [[2, 0, 1], [0, 0, 0]]
    assert class_counts(shown(lists, range(5), 10), [-1] * 5).shape == (2, 0)
    with pytest.raises(InvalidRequest, match=r"classes of shape \(1,\)"):
        class_counts(shown(lists, range(5), 10), [1])


def test_miscalibration_is_the_divergence_from_the_history() -> None:
    found = miscalibration([[3, 1, 0], [3, 1, 0], [0, 0, 0], [1, 0, 0]],
                           [[6, 2, 0], [0, 1, 1], [1, 0, 0], [0, 0, 0]])  # fmt: skip
    p, q = (0.75, 0.25), (0.01 * 0.75, 0.99 * 0.5 + 0.01 * 0.25)
    assert found[0] == pytest.approx(0, abs=1e-15)
    assert found[1] == pytest.approx(sum(a * math.log(a / b) for a, b in zip(p, q, strict=True)))
    assert np.isnan(found[2:]).all()


def test_miscalibration_is_bounded_by_its_smoothing() -> None:
    rng = np.random.default_rng(3)
    found = miscalibration(rng.integers(0, 3, (2000, 5)), rng.integers(0, 3, (2000, 5)))
    assert np.nanmin(found) >= 0
    assert np.nanmax(found) <= -math.log(0.01) + 1e-12
    assert miscalibration([[1, 0]], [[0, 1]], smoothing=0.5)[0] == pytest.approx(math.log(2))


def test_miscalibration_refuses_wrong_numbers() -> None:
    with pytest.raises(InvalidRequest, match="lists of shape"):
        miscalibration([[1, 2]], [[1]])
    with pytest.raises(InvalidRequest, match=r"listed has -1\.0"):
        miscalibration([[1, 2]], [[1, -1]])
    with pytest.raises(InvalidRequest, match="smoothing 0"):
        miscalibration([[1]], [[1]], smoothing=0)


def test_popularity_of_what_is_shown() -> None:
    found = shown(LISTS, CATALOG, 10)
    mean = recommended_popularity(found, [5, 5, 9, 1])
    assert (mean[0], mean[2]) == ((5 + 9) / 2, 1)
    assert np.isnan(mean[[1, 3]]).all()
    share = popularity_percentile(found, [5, 5, 9, 1])
    assert share[0] == ((1 + 2 / 2) / 4 + (3 + 1 / 2) / 4) / 2
    assert share[2] == (0 + 1 / 2) / 4
    assert np.isnan(share[[1, 3]]).all()


def test_gini_of_exposure() -> None:
    even = Rankings.from_lists([[10, 20], [30, 40]])
    assert exposure_gini(shown(even, CATALOG, 10)) == 0
    # exposures 0, 0, 1, 2: (1 * 1 + 3 * 2) / (4 * 3)
    uneven = Rankings.from_lists([[30, 10], [30]])
    assert exposure_gini(shown(uneven, CATALOG, 10)) == (1 * 1 + 3 * 2) / (4 * 3)
    assert exposure_gini(shown(Rankings.from_lists([[]]), CATALOG, 10)) is None
