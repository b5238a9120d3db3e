"""The paired sign-flip test."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics import sign_flip_p

NAN = math.nan


def test_few_pairs_are_enumerated() -> None:
    # sums of 1, 2, 4 under all signs: 7 5 3 1 -1 -3 -5 -7; 7 and -7 are as far as 7
    assert sign_flip_p([1.0, 2.0, 4.0], seed=1) == 2 / 8
    # 1 + 2 - 4 = -1: everything is as far from 0
    assert sign_flip_p([1.0, 2.0, -4.0], seed=1) == 1.0
    # 1 - 2 + 4 = 3: 7, 5, 3 and their mirror images
    assert sign_flip_p([1.0, -2.0, 4.0], seed=1) == 6 / 8


def test_ties_of_rounded_sums_count() -> None:
    # 0.1 + 0.2 + 0.3 adds up to 0.6 or to 0.6000000000000001, by the order
    for values in ([0.1, 0.2, 0.3], [0.3, 0.2, 0.1]):
        assert sign_flip_p(values, seed=1) == 2 / 8


def test_pairs_without_a_difference_have_no_say() -> None:
    assert sign_flip_p([0.0] * 50 + [1.0, 2.0, 4.0, NAN], seed=1) == 2 / 8
    assert sign_flip_p([0.0] * 50, seed=1) == 1.0


def test_no_pair_has_no_p() -> None:
    assert sign_flip_p([], seed=1) is None
    assert sign_flip_p([NAN], seed=1) is None


def test_clusters_change_sign_together() -> None:
    values = [1.0, 1.0, 2.0, 2.0]
    assert sign_flip_p(values, seed=1) == 2 / 16
    assert sign_flip_p(values, clusters=["a", "a", "b", "b"], seed=1) == 2 / 4
    # within cluster "a" the differences cancel
    assert sign_flip_p([1.0, -1.0, 2.0, 2.0], clusters=["a", "a", "b", "b"], seed=1) == 2 / 2


def test_drawn_signs_are_never_certain() -> None:
    assert sign_flip_p([1.0] * 100, permutations=999, seed=1) == 1 / 1000


def test_drawn_p_is_near_the_exact_one() -> None:
    values = np.random.default_rng(1).normal(0.5, 1, 13)
    exact = sign_flip_p(values, seed=1)  # 2 ** 13 = 8,192 <= 10,000
    drawn = sign_flip_p(values, permutations=8_191, seed=1)
    assert exact is not None
    assert drawn is not None
    assert exact * 8192 == int(exact * 8192)
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 8_191))


def test_p_of_many_pairs_is_that_of_the_normal_test() -> None:
    values = np.random.default_rng(2).normal(0.1, 1, 400)
    z = values.sum() / math.sqrt(np.sum(values**2))
    expected = math.erfc(abs(z) / math.sqrt(2))
    found = sign_flip_p(values, permutations=50_000, seed=3)
    assert found == pytest.approx(expected, abs=4 * math.sqrt(expected / 50_000))


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_order_direction_and_threads_do_not_matter(seed: int) -> None:
    values = np.random.default_rng(seed).normal(0.2, 1, 30)
    p = sign_flip_p(values, permutations=500, seed=seed, threads=1)
    assert p == sign_flip_p(values[::-1].copy(), permutations=500, seed=seed, threads=3)
    # mirrored values are sorted the other way round: other signs are drawn, exact p are equal
    assert sign_flip_p(-values[:8], seed=seed) == sign_flip_p(values[:8], seed=seed)


def test_too_few_permutations_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="99 permutations"):
        sign_flip_p([1.0], permutations=99, seed=1)
