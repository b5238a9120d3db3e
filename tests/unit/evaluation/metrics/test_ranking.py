"""Ranking metrics: tiny cases by hand, then laws on 100,000 made-up cases."""

import math

import numpy as np
import numpy.typing as npt
import pytest

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.metrics import (
    Rankings,
    RankingSpec,
    Relevance,
    find_hits,
    ranking_metrics,
)

METRICS = ("recall", "precision", "hit", "ndcg", "ndcg-exp", "mrr", "map")


def of_one(items: list[int], grades: dict[int, float], name: str) -> float:
    found = ranking_metrics(Rankings.from_lists([items]), Relevance.from_grades([grades]), [name])
    return float(found[name][0])


LIST = [7, 1, 8, 2, 3]
GRADES: dict[int, float] = {1: 1, 2: 3, 3: 2, 4: 1}
IDEAL_3 = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("recall@1", 0.0),
        ("recall@2", 1 / 4),
        ("recall@5", 3 / 4),
        ("recall@50", 3 / 4),
        ("precision@4", 2 / 4),
        ("precision@50", 3 / 50),
        ("hit@1", 0.0),
        ("hit@2", 1.0),
        ("mrr@1", 0.0),
        ("mrr@5", 1 / 2),
        ("map@2", (1 / 2) / 4),
        ("map@5", (1 / 2 + 2 / 4 + 3 / 5) / 4),
        ("ndcg@1", 0.0),
        ("ndcg@3", (1 / math.log2(3)) / IDEAL_3),
        (
            "ndcg@5",
            (1 / math.log2(3) + 3 / math.log2(5) + 2 / math.log2(6)) / (IDEAL_3 + 1 / math.log2(5)),
        ),
        (
            "ndcg-exp@3",
            (1 / math.log2(3)) / (7 / math.log2(2) + 3 / math.log2(3) + 1 / math.log2(4)),
        ),
    ],
)
def test_by_hand(name: str, expected: float) -> None:
    assert of_one(LIST, GRADES, name) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_best_order_is_one_and_nothing_found_is_zero(metric: str) -> None:
    assert of_one([2, 3, 1], {1: 1, 2: 3, 3: 2}, f"{metric}@3") == 1.0
    assert of_one([8, 9], {1: 1}, f"{metric}@3") == 0.0


@pytest.mark.parametrize("metric", METRICS)
def test_nothing_relevant_is_undefined_and_an_empty_list_is_zero(metric: str) -> None:
    name = f"{metric}@10"
    assert math.isnan(of_one([1, 2], {}, name))
    assert math.isnan(of_one([1, 2], {1: 0}, name))
    assert math.isnan(of_one([], {}, name))
    assert of_one([], {1: 1}, name) == 0.0


@pytest.mark.parametrize("metric", METRICS)
def test_target_listed_three_times_counts_once_at_its_first_place(metric: str) -> None:
    thrice = of_one([9, 1, 1, 1, 2], {1: 1, 2: 1}, f"{metric}@5")
    others = of_one([9, 1, 7, 8, 2], {1: 1, 2: 1}, f"{metric}@5")
    assert thrice == others <= 1
    # the repeats keep their ranks: 2 stands at rank 5
    assert of_one([9, 1, 1, 1, 2], {2: 1}, "mrr@5") == 1 / 5


def test_specs_and_names_are_the_same() -> None:
    lists, relevant = Rankings.from_lists([LIST]), Relevance.from_grades([GRADES])
    spec = RankingSpec.parse("ndcg-exp@3")
    assert ranking_metrics(lists, relevant, [spec]).keys() == {"ndcg-exp@3"}
    assert ranking_metrics(lists, relevant, []) == {}


@pytest.mark.parametrize("name", ["ndcg", "ndcg@0", "ndgc@10", "ndcg@-1", "NDCG@10", "ndcg@1.5"])
def test_unknown_metric_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match=r"metric|cut-off 0"):
        RankingSpec.parse(name)


def test_cases_must_match() -> None:
    with pytest.raises(InvalidRequest, match="rankings of 1 cases but relevance of 2"):
        ranking_metrics(Rankings.from_lists([[1]]), Relevance.from_lists([[1], [2]]), ["hit@1"])


def test_no_cases_give_empty_arrays() -> None:
    found = ranking_metrics(Rankings.from_lists([]), Relevance.from_lists([]), ["hit@1", "map@3"])
    assert [len(values) for values in found.values()] == [0, 0]


NAMES = [f"{metric}@{k}" for metric in METRICS for k in (1, 3, 10, 60)]


def fuzz(n: int, seed: int) -> tuple[list[list[int]], list[dict[int, float]]]:
    """Lists with repeats, empty ones, ids unknown to the relevance, k > n, a single item."""
    rng = np.random.default_rng(seed)
    lengths, sizes = rng.integers(0, 14, n), rng.integers(0, 7, n)
    items, relevant = rng.integers(0, 12, (n, 13)).tolist(), rng.integers(0, 9, (n, 6)).tolist()
    grades = (rng.integers(0, 8, (n, 6)) / 2).tolist()
    lists = [row[:length] for row, length in zip(items, lengths, strict=True)]
    graded = [
        dict(zip(ids[:size], values[:size], strict=True))
        for ids, values, size in zip(relevant, grades, sizes, strict=True)
    ]
    return lists, graded


def test_100_000_cases_stay_in_bounds_and_are_undefined_only_without_relevant_items() -> None:
    lists, graded = fuzz(100_000, seed=1)
    relevance = Relevance.from_grades(graded)
    found = ranking_metrics(Rankings.from_lists(lists), relevance, NAMES)
    undefined = relevance.sizes == 0
    assert 10_000 < undefined.sum() < 50_000
    for name, values in found.items():
        assert np.array_equal(np.isnan(values), undefined), name
        assert values[~undefined].min() == 0, name
        assert 0 < values[~undefined].max() <= 1, name
        assert 0 < np.nanmean(values) < 1, name


def test_batches_order_and_empty_neighbours_change_no_bit() -> None:
    lists, graded = fuzz(3_000, seed=2)

    def of(places: list[int]) -> dict[str, npt.NDArray[np.float64]]:
        return ranking_metrics(
            Rankings.from_lists([lists[at] for at in places]),
            Relevance.from_grades([graded[at] for at in places]),
            NAMES,
        )

    whole = of(list(range(3_000)))
    order = np.random.default_rng(3).permutation(3_000).tolist()
    for size in (1, 7, 1_000):
        for start in range(0, 3_000 if size > 1 else 200, size):
            places = order[start : start + size]
            for name, values in of(places).items():
                assert np.array_equal(values, whole[name][places], equal_nan=True)
    lists.insert(5, [])
    graded.insert(5, {})
    for name, values in of(list(range(3_001))).items():
        assert np.array_equal(np.delete(values, 5), whole[name], equal_nan=True)


def test_other_metrics_and_cut_offs_change_no_bit() -> None:
    lists, graded = fuzz(500, seed=4)
    rankings, relevance = Rankings.from_lists(lists), Relevance.from_grades(graded)
    together = ranking_metrics(rankings, relevance, NAMES)
    for name in NAMES:
        alone = ranking_metrics(rankings, relevance, [name])[name]
        assert np.array_equal(alone, together[name], equal_nan=True)


def test_ids_are_only_names() -> None:
    lists, graded = fuzz(500, seed=5)
    rename = (np.random.default_rng(6).permutation(12) * (2**52 // 12) - 2**50).tolist()
    renamed = ranking_metrics(
        Rankings.from_lists([[rename[item] for item in one] for one in lists]),
        Relevance.from_grades([{rename[item]: grade for item, grade in g.items()} for g in graded]),
        NAMES,
    )
    plain = ranking_metrics(Rankings.from_lists(lists), Relevance.from_grades(graded), NAMES)
    for name in NAMES:
        assert np.array_equal(plain[name], renamed[name], equal_nan=True)


def test_hits_are_looked_for_down_to_the_depth_asked_for() -> None:
    lists, relevant = Rankings.from_lists([[1, 2], [9, 1, 2]]), Relevance.from_lists([[1, 2]] * 2)
    every, first = find_hits(lists, relevant), find_hits(lists, relevant, 1)
    assert (every.case.tolist(), every.rank.tolist()) == ([0, 0, 1, 1], [1, 2, 2, 3])
    assert every.nth.tolist() == [1, 2, 1, 2]
    assert (first.case.tolist(), first.rank.tolist()) == ([0], [1])
