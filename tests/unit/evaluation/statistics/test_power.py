"""The minimal detectable effect."""

import math

import numpy as np
import pytest

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics import minimal_detectable_effect
from lifehelper_data.evaluation.statistics.power import standard_error

Z = 1.959963984540054 + 0.8416212335729143  # of 0.975 and 0.8


def test_it_is_2_8_standard_errors() -> None:
    values = [0.0, 1.0] * 50
    error = math.sqrt(100 / 99 * 0.25) / 10
    assert standard_error(values) == pytest.approx(error, rel=1e-12)
    assert minimal_detectable_effect(values) == pytest.approx(Z * error, rel=1e-12)


def test_power_and_alpha_move_it() -> None:
    values = [0.0, 1.0] * 50
    error = math.sqrt(100 / 99 * 0.25) / 10
    found = minimal_detectable_effect(values, power=0.9, alpha=0.01)
    assert found == pytest.approx((2.5758293035489 + 1.2815515655446) * error, rel=1e-9)


def test_clusters_that_agree_need_a_larger_effect() -> None:
    means = np.random.default_rng(1).normal(size=100)
    clustered = minimal_detectable_effect(np.repeat(means, 4), clusters=np.arange(400) // 4)
    assert clustered == pytest.approx(minimal_detectable_effect(means), rel=1e-9)
    assert clustered == pytest.approx(
        2 * (minimal_detectable_effect(np.repeat(means, 4)) or 0), rel=0.01
    )


def test_uneven_clusters() -> None:
    # sums 3 and 1 of 2 and 1 values, mean 4 / 3: residuals 3 - 8/3 and 1 - 4/3, both 1/3 from 0
    error = standard_error([1.0, 2.0, 1.0], clusters=["a", "a", "b"])
    assert error == pytest.approx(math.sqrt(2 / 1 * 2 * (1 / 3) ** 2) / 3, rel=1e-12)


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert minimal_detectable_effect([]) is None
    assert minimal_detectable_effect([0.1] * 1000) is None  # no spread was seen
    five, six = [0.0, 1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    assert minimal_detectable_effect(five) is None  # 2 / 2 ** 5 = 0.0625
    assert minimal_detectable_effect(six) is not None  # 2 / 2 ** 6 = 0.03125
    assert standard_error([1.0]) is None


def test_undefined_pairs_are_left_out() -> None:
    values = [0.0, 1.0] * 10
    assert minimal_detectable_effect([*values, math.nan]) == minimal_detectable_effect(values)


@pytest.mark.parametrize(("power", "alpha"), [(0.5, 0.05), (1.0, 0.05), (0.8, 0.0), (0.8, 0.5)])
def test_wrong_probabilities_are_refused(power: float, alpha: float) -> None:
    with pytest.raises(InvalidRequest, match="give one in"):
        minimal_detectable_effect([0.0, 1.0], power=power, alpha=alpha)
