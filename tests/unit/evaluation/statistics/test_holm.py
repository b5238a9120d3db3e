"""Holm's correction."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics import holm


def test_each_p_is_multiplied_by_how_many_are_left_and_never_falls() -> None:
    found = holm([0.04, 0.01, 0.03, 0.005])
    assert found.tolist() == [2 * 0.03, 3 * 0.01, 2 * 0.03, 4 * 0.005]


def test_adjusted_p_is_at_most_one() -> None:
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]


def test_nan_stays_nan_and_does_not_count() -> None:
    found = holm([math.nan, 0.02, math.nan, 0.5])
    assert math.isnan(found[0])
    assert math.isnan(found[2])
    assert found[1] == 2 * 0.02  # two were asked, not four
    assert found[3] == 0.5


def test_nothing_asked_gives_nothing() -> None:
    assert holm([]).tolist() == []


@pytest.mark.parametrize("wrong", [-0.1, 1.1])
def test_what_is_no_probability_is_refused(wrong: float) -> None:
    with pytest.raises(InvalidRequest, match=r"is not in \[0, 1\]"):
        holm([0.5, wrong])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_order_does_not_matter_and_p_never_shrinks(p: list[float]) -> None:
    found = dict(zip(p, holm(p).tolist(), strict=True))
    backwards = dict(zip(p[::-1], holm(p[::-1]).tolist(), strict=True))
    assert found == backwards
    assert all(before <= after <= 1 for before, after in found.items())
