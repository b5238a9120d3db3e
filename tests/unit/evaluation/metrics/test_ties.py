"""Worst, expected and best values under ties, against every order there is."""

from itertools import groupby, permutations, product
from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.metrics import (
    Rankings,
    Relevance,
    ranking_metrics,
    with_ties,
)

NAMES = [
    f"{metric}@{k}"
    for metric in ("recall", "precision", "hit", "ndcg", "ndcg-exp", "mrr", "map")
    for k in (1, 2, 3, 5, 9)
]


def every_order(items: list[int], scores: list[float]) -> list[list[int]]:
    """Return the list in every order of its ties; later repeats are items of no relevance."""
    named = [item if items.index(item) == at else -1 - at for at, item in enumerate(items)]
    groups = [
        [item for _, item in group]
        for _, group in groupby(zip(scores, named, strict=True), key=lambda pair: pair[0])
    ]
    orders = product(*(permutations(group) for group in groups))
    return [[item for group in order for item in group] for order in orders]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 2)), max_size=6),
    st.dictionaries(st.integers(0, 8), st.sampled_from([0, 1, 2, 2.5]), max_size=5),
)
def test_ties_equal_every_order_tried(
    listed: list[tuple[int, int]], grades: dict[int, float]
) -> None:
    listed = sorted(listed, key=lambda pair: -pair[1])
    items, scores = [item for item, _ in listed], [float(score) for _, score in listed]
    orders = every_order(items, scores)
    tried = ranking_metrics(
        Rankings.from_lists(orders), Relevance.from_grades([grades] * len(orders)), NAMES
    )
    found = with_ties(
        Rankings.from_lists([items], [scores]), Relevance.from_grades([grades]), NAMES
    )
    for name in NAMES:
        low, expected, high = (
            float(side[0]) for side in (found[name].low, found[name].expected, found[name].high)
        )
        if isnan(expected):
            assert isnan(low)
            assert isnan(high)
            assert np.isnan(tried[name]).all()
            continue
        assert low == pytest.approx(tried[name].min(), abs=1e-12), name
        assert high == pytest.approx(tried[name].max(), abs=1e-12), name
        assert expected == pytest.approx(tried[name].mean(), abs=1e-12), name


def test_by_hand() -> None:
    # one relevant item among four of equal score: rank 1 to 4, each with probability 1 / 4
    found = with_ties(
        Rankings.from_lists([[5, 6, 7, 8]], [[0.5] * 4]),
        Relevance.from_lists([[7]]),
        ["mrr@4", "mrr@2", "hit@3", "recall@1"],
    )
    assert found["mrr@4"].expected[0] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert found["mrr@2"].expected[0] == pytest.approx((1 + 1 / 2) / 4)
    assert found["hit@3"].expected[0] == pytest.approx(3 / 4)
    assert found["recall@1"].expected[0] == pytest.approx(1 / 4)
    assert (found["mrr@4"].low[0], found["mrr@4"].high[0]) == (1 / 4, 1)


def test_without_ties_nothing_is_uncertain() -> None:
    rng = np.random.default_rng(1)
    items = np.array([rng.permutation(30)[:12] for _ in range(300)])
    scores = np.tile(-np.arange(12.0), (300, 1))
    relevance = Relevance.from_lists([rng.permutation(30)[:4] for _ in range(300)])
    plain = ranking_metrics(Rankings.from_matrix(items), relevance, NAMES)
    found = with_ties(Rankings.from_matrix(items, scores), relevance, NAMES)
    for name in NAMES:
        assert np.array_equal(found[name].low, plain[name])
        assert np.array_equal(found[name].high, plain[name])
        assert np.abs(found[name].expected - plain[name]).max() < 1e-12


def test_large_groups_stay_in_order_and_bounds() -> None:
    rng = np.random.default_rng(2)
    scores = -np.sort(-rng.integers(0, 3, (2000, 40)).astype(float), axis=1)
    rankings = Rankings.from_matrix(rng.integers(0, 60, (2000, 40)), scores)
    relevance = Relevance.from_lists(
        [rng.integers(0, 60, rng.integers(0, 30)) for _ in range(2000)]
    )
    names = [f"{name.partition('@')[0]}@{k}" for name in NAMES[::5] for k in (1, 10, 25, 100)]
    plain = ranking_metrics(rankings, relevance, names)
    for name, found in with_ties(rankings, relevance, names).items():
        defined = relevance.sizes > 0
        low, expected, high = (v[defined] for v in (found.low, found.expected, found.high))
        assert (low <= expected + 1e-12).all(), name
        assert (expected <= high + 1e-12).all(), name
        assert (low <= plain[name][defined]).all(), name
        assert (plain[name][defined] <= high).all(), name
        assert low.min() >= 0, name
        assert high.max() <= 1, name
        assert expected.max() <= 1, name
        assert np.isnan(found.expected[~defined]).all()


def test_batches_change_no_bit() -> None:
    rng = np.random.default_rng(3)
    scores = -np.sort(-rng.integers(0, 3, (200, 9)).astype(float), axis=1)
    items = rng.integers(0, 20, (200, 9))
    relevant = [rng.integers(0, 20, 4) for _ in range(200)]
    whole = with_ties(Rankings.from_matrix(items, scores), Relevance.from_lists(relevant), NAMES)
    for at in range(0, 200, 7):
        alone = with_ties(
            Rankings.from_matrix(items[at : at + 1], scores[at : at + 1]),
            Relevance.from_lists(relevant[at : at + 1]),
            NAMES,
        )
        for name in NAMES:
            assert alone[name].low[0] == whole[name].low[at]
            assert alone[name].expected[0] == whole[name].expected[at]
            assert alone[name].high[0] == whole[name].high[at]


def test_rankings_without_scores_have_no_ties() -> None:
    with pytest.raises(InvalidRequest, match="rankings without scores"):
        with_ties(Rankings.from_lists([[1]]), Relevance.from_lists([[1]]), ["hit@1"])
