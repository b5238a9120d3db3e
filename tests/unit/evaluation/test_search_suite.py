"""What the search suite makes of one ranking."""

import math
from typing import Any

import pytest

from lifehelper_data.evaluation.cases import Case
from lifehelper_data.evaluation.suite import Output, Score, Undefined
from lifehelper_data.evaluation.suites.search import METRICS, score_search

RANKING = ("ndcg@10", "mrr@10", "recall@10")


def scored(found: list[int], target: dict[str, int], **more: Any) -> Score:
    case = Case(case_id="c", family="c", input={"query": "q"}, target=target)
    value = {"book_ids": found, "titles": more.get("titles", []), "degraded": more.get("degraded")}
    return score_search(case, Output(value=value))


def test_graded_relevance_is_scored_by_rank() -> None:
    values = scored([9, 5, 7], {"5": 3, "7": 1, "8": 2}).values
    ideal = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    assert values["recall@10"] == pytest.approx(2 / 3)
    assert values["mrr@10"] == 1 / 2
    assert values["ndcg@10"] == pytest.approx((3 / math.log2(3) + 1 / math.log2(4)) / ideal)
    assert values["zero_result_rate"] == 0.0
    assert values["degraded_rate"] == 0.0


def test_grade_0_is_not_relevant() -> None:
    assert scored([5, 6], {"5": 0, "6": 1}).values["mrr@10"] == 1 / 2


@pytest.mark.parametrize("target", [{}, {"5": 0}])
def test_ranking_metrics_are_undefined_without_a_relevant_book(target: dict[str, int]) -> None:
    score = scored([5], target)
    assert {score.values[name] for name in RANKING} == {Undefined("no relevant book is known")}
    assert score.values["zero_result_rate"] == 0.0


def test_an_empty_result_scores_0_and_counts_as_zero_result() -> None:
    score = scored([], {"5": 1}, degraded="keyword-only")
    assert [score.values[name] for name in RANKING] == [0.0, 0.0, 0.0]
    assert score.values["zero_result_rate"] == 1.0
    assert score.values["degraded_rate"] == 1.0


def test_the_eleventh_book_is_too_late() -> None:
    assert scored([*range(1, 11), 5000], {"5000": 1}).values["recall@10"] == 0.0
    assert scored([*range(1, 10), 5000], {"5000": 1}).values["mrr@10"] == 1 / 10


def test_explanations_say_what_was_found_where_and_what_came_first() -> None:
    score = scored([9, 5], {"5": 1, "7": 1}, titles=["아홉", "다섯"])
    assert score.explanation == "found 5 at 2; not in the first 10: 7; first was '아홉' (9)"
    assert scored([5], {"5": 1}, titles=["다섯"]).explanation == "found 5 at 1"


def test_finding_nothing_is_worse_not_better() -> None:
    directions = {metric.name: metric.rule.higher_is_better for metric in METRICS}
    assert directions["zero_result_rate"] is directions["degraded_rate"] is False
    assert all(directions[name] for name in RANKING)
