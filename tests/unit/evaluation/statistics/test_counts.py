"""Counting, and refusing values that would let a missing case score."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics import Counts, count
from lifehelper_data.evaluation.statistics.counts import checked_clusters, mean

NAN = float("nan")


def test_undefined_is_neither_evaluated_nor_missing() -> None:
    found = count([1.0, 0.0, NAN, NAN, NAN], [False, False, False, True, True])
    assert found == Counts(evaluated=2, undefined=1, missing=2)
    assert found.total == 5


def test_no_cases_count_nothing() -> None:
    assert count([]) == Counts(evaluated=0, undefined=0, missing=0)


@given(st.lists(st.sampled_from(["value", "undefined", "missing"])))
def test_evaluated_undefined_and_missing_add_up(kinds: list[str]) -> None:
    found = count([0.5 if k == "value" else NAN for k in kinds], [k == "missing" for k in kinds])
    assert found.total == len(kinds)
    assert (found.evaluated, found.undefined, found.missing) == tuple(
        kinds.count(kind) for kind in ("value", "undefined", "missing")
    )


def test_missing_case_with_a_value_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"case 1 is missing but has value 0\.0"):
        count([1.0, 0.0], [False, True])


def test_infinite_value_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="value inf of case 1"):
        count([1.0, float("inf")])


def test_values_and_mask_must_fit() -> None:
    with pytest.raises(InvalidRequest, match=r"2 values but a mask of shape \(1,\)"):
        count([1.0, 1.0], [True])
    with pytest.raises(InvalidRequest, match=r"shape \(1, 1\)"):
        count([[1.0]])


def test_mean_leaves_undefined_out_and_does_not_depend_on_order() -> None:
    values = np.array([1e16, 1.0, NAN, -1e16, 1.0])
    assert mean(values) == mean(values[::-1].copy()) == 2 / 4
    assert mean(np.array([NAN])) is None


def test_cluster_labels_may_be_texts_or_numbers_but_not_empty() -> None:
    texts = checked_clusters(["b", "a", "b"], 3)
    assert texts is not None
    assert texts.tolist() == [1, 0, 1]
    wrong: list[Any] = [[1.0, NAN, 2.0], ["a", None, "b"]]
    for labels in wrong:
        with pytest.raises(InvalidRequest, match="empty or mixed"):
            checked_clusters(labels, 3)
    with pytest.raises(InvalidRequest, match="3 values but cluster labels of shape"):
        checked_clusters([1, 2], 3)
