"""Making rankings and relevance, and refusing what they cannot be."""

import math
from typing import Any

import numpy as np
import pytest

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.metrics import Rankings, Relevance


def test_lists_arrays_and_matrices_are_the_same_rankings() -> None:
    for made in (
        Rankings.from_lists([[3, 1], [2, 5]]),
        Rankings.from_lists([np.array([3, 1]), np.array([2, 5])]),
        Rankings.from_matrix([[3, 1], [2, 5]]),
    ):
        assert made.items.tolist() == [3, 1, 2, 5]
        assert made.items.dtype == np.int64
        assert made.offsets.tolist() == [0, 2, 4]
        assert len(made) == 2


def test_no_case_and_empty_lists() -> None:
    assert len(Rankings.from_lists([])) == 0
    assert Rankings.from_lists([[], []]).offsets.tolist() == [0, 0, 0]
    assert len(Relevance.from_lists([])) == 0
    assert Relevance.from_lists([[], []]).sizes.tolist() == [0, 0]


def test_scores_order_by_score_then_id() -> None:
    made = Rankings.from_scores([{9: 0.5, 2: 0.7, 1: 0.5}, {}])
    assert made.items.tolist() == [2, 1, 9]
    assert made.scores is not None
    assert made.scores.tolist() == [0.7, 0.5, 0.5]
    assert made.offsets.tolist() == [0, 3, 3]


def test_a_pair_given_twice_counts_once_with_its_highest_grade() -> None:
    made = Relevance.from_pairs([1, 0, 1, 1], [5, 7, 5, 2], [1, 2, 3, 1], n_cases=3)
    assert made.items.tolist() == [7, 2, 5]
    assert made.grades.tolist() == [2, 1, 3]
    assert made.ideal.tolist() == [2, 3, 1]
    assert made.sizes.tolist() == [1, 2, 0]
    assert made.cases.tolist() == [0, 1, 1]


def test_grade_zero_is_not_relevant() -> None:
    assert Relevance.from_grades([{1: 0, 2: 1}, {3: 0}]).sizes.tolist() == [1, 0]


def test_largest_and_negative_ids_are_kept() -> None:
    big = 2**53 - 1
    assert Rankings.from_lists([[big, -1]]).items.tolist() == [big, -1]


@pytest.mark.parametrize("grade", [-1.0, math.nan, math.inf])
def test_wrong_grade_is_refused(grade: float) -> None:
    with pytest.raises(InvalidRequest, match="of item 4; give a finite number"):
        Relevance.from_grades([{4: grade}])


def test_text_ids_are_refused() -> None:
    wrong: list[Any] = [["a"]]
    with pytest.raises(InvalidRequest, match="map text ids to numbers first"):
        Rankings.from_lists(wrong)
    with pytest.raises(InvalidRequest, match="ids of type float64"):
        Rankings.from_matrix([[1.5]])


@pytest.mark.parametrize(
    "scores", [[[1.0, 2.0], [0.0]], [[2.0, math.nan], [0.0]], [[1, 1], [math.nan]]]
)
def test_scores_must_not_rise_within_a_list(scores: list[list[float]]) -> None:
    with pytest.raises(InvalidRequest, match="rise or are NaN"):
        Rankings.from_lists([[1, 2], [3]], scores)


def test_scores_may_rise_between_lists_also_empty_ones() -> None:
    made = Rankings.from_lists([[], [1, 2], [], [], [3]], [[], [2.0, 1.0], [], [], [9.0]])
    assert made.scores is not None


def test_one_score_per_item() -> None:
    with pytest.raises(InvalidRequest, match="2 items but scores of shape"):
        Rankings.from_lists([[1, 2]], [[1.0]])


@pytest.mark.parametrize("offsets", [[0, 1], [1, 2], [0, 3, 2], []])
def test_offsets_must_cut_the_items(offsets: list[int]) -> None:
    with pytest.raises(InvalidRequest, match="do not cut 2 items"):
        Rankings(items=np.array([1, 2]), offsets=np.array(offsets, dtype=np.int64))


def test_case_out_of_range_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="case 2; give one from 0 to 1"):
        Relevance.from_pairs([2], [1], n_cases=2)
    with pytest.raises(InvalidRequest, match="give three arrays of one length"):
        Relevance.from_pairs([0], [1, 2], n_cases=2)
