"""Summaries of a metric, over all cases and by slice."""

import math

import numpy as np
import pytest

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics import (
    Counts,
    MetricRule,
    Paired,
    Verdict,
    bootstrap_mean,
    compare,
    compare_slices,
    summarise,
    summarise_slices,
    wilson,
)

NAN = math.nan
SHARE = MetricRule(
    name="leak_rate", higher_is_better=False, margin=0.01, gated=True, kind="proportion"
)
MEAN = MetricRule(name="ndcg@10", higher_is_better=True, margin=0.01, gated=False, kind="mean")


def test_proportion_has_wilsons_interval_over_evaluated_cases() -> None:
    found = summarise([1, 0, 1, 1, NAN, NAN], [False] * 5 + [True], rule=SHARE, seed=1)
    assert found.mean == 3 / 4
    assert found.counts == Counts(evaluated=4, undefined=1, missing=1)
    assert found.interval == wilson(3, 4)


def test_proportion_by_cluster_has_the_bootstraps() -> None:
    values = np.repeat(np.arange(250) % 3 == 0, 4).astype(float)
    labels = np.arange(1000) // 4
    found = summarise(values, rule=SHARE, clusters=labels, seed=1)
    assert found.interval == bootstrap_mean(values, clusters=labels, seed=1)
    each = summarise(values, rule=SHARE, clusters=np.arange(1000), seed=1)
    assert each.interval == wilson(int(values.sum()), 1000)


def test_twenty_of_twenty_in_two_clusters_prove_little() -> None:
    for value, successes in ((1.0, 2), (0.0, 0)):
        found = summarise([value] * 20, rule=SHARE, clusters=["a", "b"] * 10, seed=1)
        by_cluster = wilson(successes, 2)
        assert found.interval is not None
        assert by_cluster is not None
        assert (found.interval.low, found.interval.high) == (by_cluster.low, by_cluster.high)
        assert found.interval.method == "wilson by cluster"


def test_mean_has_the_bootstraps_interval() -> None:
    values = np.random.default_rng(1).random(300)
    found = summarise(values, rule=MEAN, seed=2)
    assert found.interval == bootstrap_mean(values, seed=2)
    assert found.mean == math.fsum(values) / 300


def test_nothing_evaluated_is_no_number() -> None:
    for rule in (SHARE, MEAN):
        found = summarise([NAN, NAN], [True, False], rule=rule, clusters=[1, 1], seed=1)
        assert (found.mean, found.interval) == (None, None)
        assert found.counts == Counts(evaluated=0, undefined=1, missing=1)


def test_proportion_with_another_value_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"'leak_rate' is a proportion but has value 0\.5"):
        summarise([1.0, 0.5], rule=SHARE, seed=1)


def test_slices_are_summaries_of_their_cases_and_say_when_they_are_small() -> None:
    values = np.random.default_rng(3).random(100)
    labels = ["warm"] * 60 + ["cold"] * 29 + [None] * 11
    found = summarise_slices(values, name="history", labels=labels, rule=MEAN, seed=1)
    assert [(one.name, one.value) for one in found] == [("history", "cold"), ("history", "warm")]
    cold, warm = found
    assert cold.summary == summarise(values[60:89], rule=MEAN, seed=1)
    assert warm.summary == summarise(values[:60], rule=MEAN, seed=1)
    assert cold.warning == "only 29 cases evaluated, fewer than 30: read with care"
    assert warm.warning is None


def test_a_slice_is_small_by_its_evaluated_cases() -> None:
    values, lost = [0.5] * 29 + [NAN] * 71, [False] * 50 + [True] * 50
    (found,) = summarise_slices(
        values, lost, name="x", labels=["a"] * 100, rule=MEAN, clusters=range(100), seed=1
    )
    assert found.summary.counts == Counts(evaluated=29, undefined=21, missing=50)
    assert found.warning is not None


def test_slices_are_compared_on_their_pairs_and_corrected_together() -> None:
    rng = np.random.default_rng(4)
    base = rng.random(200)
    new = base + np.concatenate([rng.normal(0.2, 0.1, 100), np.zeros(100)])
    labels = ["a"] * 100 + ["b"] * 80 + ["c"] * 20
    paired = Paired(rule=MEAN, base=base, new=new, clusters=np.arange(200) // 2)
    a, b, c = compare_slices(paired, name="class", labels=labels, seed=1)
    alone = compare(base[:100], new[:100], rule=MEAN, clusters=np.arange(100) // 2, seed=1)
    assert (a.comparison.effect, a.comparison.interval) == (alone.effect, alone.interval)
    assert alone.p is not None
    assert a.comparison.p_holm == pytest.approx(3 * alone.p)
    assert a.comparison.verdict == Verdict.BETTER
    assert b.comparison.verdict == c.comparison.verdict == Verdict.NO_DIFFERENCE
    assert (a.warning, b.warning) == (None, None)
    assert c.warning is not None


def test_labels_must_fit_the_cases() -> None:
    with pytest.raises(InvalidRequest, match="2 cases but 1 slice labels"):
        summarise_slices([0.1, 0.2], name="x", labels=["a"], rule=MEAN, seed=1)
