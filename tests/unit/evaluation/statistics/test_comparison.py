"""Verdicts: each row of the table, and what must never be said."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics import (
    Comparison,
    Counts,
    Interval,
    MetricRule,
    Paired,
    Verdict,
    compare,
    compare_all,
)
from lifehelper_data.evaluation.statistics.comparison import judge

NAN = math.nan


def rule(margin: float = 0.01, *, higher: bool = True, name: str = "mrr@10") -> MetricRule:
    return MetricRule(name=name, higher_is_better=higher, margin=margin, gated=True, kind="mean")


def between(low: float, high: float) -> Interval:
    return Interval(low=low, high=high, method="bca")


@pytest.mark.parametrize(
    ("effect", "interval", "p", "verdict"),
    [
        (0.03, between(0.02, 0.04), 0.001, Verdict.BETTER),
        (-0.03, between(-0.04, -0.02), 0.001, Verdict.WORSE),
        (0.03, between(-0.01, 0.07), 0.2, Verdict.TOO_SMALL),
        (0.03, between(-0.01, 0.07), 0.05, Verdict.TOO_SMALL),  # not below 0.05
        (0.0101, between(0.0001, 0.02), 0.04, Verdict.BETTER),  # |effect| above the margin
        (0.01, between(0.0001, 0.02), 0.04, Verdict.TOO_SMALL),  # there is one; does it matter?
        (0.005, between(0.002, 0.008), 0.001, Verdict.NO_DIFFERENCE),  # known not to matter
        (0.0, between(-0.01, 0.01), 1.0, Verdict.NO_DIFFERENCE),
        (0.0, between(-0.011, 0.01), 1.0, Verdict.TOO_SMALL),
        (0.02, None, 1.0, Verdict.TOO_SMALL),
        (None, None, None, Verdict.TOO_SMALL),
    ],
)
def test_verdict_table(
    effect: float | None, interval: Interval | None, p: float | None, verdict: Verdict
) -> None:
    assert judge(rule(), effect, interval, p)[0] == verdict
    swapped = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
    assert judge(rule(higher=False), effect, interval, p)[0] == swapped.get(verdict, verdict)


def test_reasons_tell_the_three_sorts_of_too_small_apart() -> None:
    reasons = {
        judge(rule(), 0.01, between(0.0001, 0.02), 0.04)[1],
        judge(rule(), 0.03, between(-0.01, 0.07), 0.2)[1],
        judge(rule(), 0.02, None, 1.0)[1],
        judge(rule(), None, None, None)[1],
    }
    assert len(reasons) == 4
    assert any("whether it matters cannot be told" in reason for reason in reasons)


def test_effect_is_new_minus_base_over_evaluated_pairs() -> None:
    found = compare([0.1, 0.2, NAN, 0.9], [0.3, 0.3, 0.5, NAN], rule=rule(), seed=1)
    assert found.base_mean == pytest.approx((0.1 + 0.2) / 2)
    assert found.new_mean == pytest.approx((0.3 + 0.3) / 2)
    assert found.effect == pytest.approx((0.2 + 0.1) / 2)
    assert found.counts == Counts(evaluated=2, undefined=2, missing=0)


def test_a_pair_missing_on_either_side_is_missing_before_it_is_undefined() -> None:
    found = compare(
        [0.1, NAN, NAN, 0.4, NAN],
        [0.2, 0.3, NAN, NAN, NAN],
        base_missing=[False, True, False, False, False],
        new_missing=[False, False, False, True, True],
        rule=rule(),
        seed=1,
    )
    assert found.counts == Counts(evaluated=1, undefined=1, missing=3)
    assert found.verdict == Verdict.TOO_SMALL
    assert found.interval is None


def test_nothing_to_compare_has_no_numbers() -> None:
    found = compare([NAN], [NAN], rule=rule(), seed=1)
    assert (found.effect, found.base_mean, found.interval) == (None, None, None)
    assert (found.p, found.p_holm, found.detectable) == (None, None, None)
    assert found.verdict == Verdict.TOO_SMALL


@settings(max_examples=40)
@given(
    st.lists(st.one_of(st.just(NAN), st.floats(-1e3, 1e3)), min_size=2, max_size=30),
    st.sampled_from([0.0, 0.01]),
    st.booleans(),
)
def test_a_run_against_itself_is_never_better(
    values: list[float], margin: float, higher: bool
) -> None:
    found = compare(values, values, rule=rule(margin, higher=higher), resamples=100, seed=1)
    if found.counts.evaluated >= 2:
        assert (found.effect, found.p, found.verdict) == (0.0, 1.0, Verdict.NO_DIFFERENCE)
        assert found.interval is not None
        assert (found.interval.low, found.interval.high) == (0.0, 0.0)
    else:
        assert found.verdict == Verdict.TOO_SMALL


def test_planted_effect_is_found_in_its_direction() -> None:
    rng = np.random.default_rng(1)
    base = rng.random(400)
    new = base + rng.normal(0.05, 0.1, 400)
    better = compare(base, new, rule=rule(), seed=1)
    assert better.verdict == Verdict.BETTER
    assert compare(new, base, rule=rule(), seed=1).verdict == Verdict.WORSE
    assert compare(base, new, rule=rule(higher=False), seed=1).verdict == Verdict.WORSE
    assert better.interval is not None
    assert better.interval.low < 0.05 < better.interval.high


def test_five_pairs_are_never_better() -> None:
    found = compare([0.0] * 5, [1.0, 0.9, 0.8, 1.0, 0.9], rule=rule(), seed=1)
    assert found.p == 2 / 2**5
    assert found.verdict == Verdict.TOO_SMALL


def test_p_values_are_corrected_over_the_suite() -> None:
    rng = np.random.default_rng(2)
    base = rng.random(300)
    noise = rng.normal(0, 0.1, (20, 300))
    noise -= noise.mean(axis=1, keepdims=True)  # effects are exactly 0, but 2.5 errors in the first
    alone = compare(base, base + noise[0] + 0.0145, rule=rule(), seed=1)
    metrics = [
        Paired(rule=rule(name=f"m{at}"), base=base, new=base + noise[at] + 0.0145 * (at == 0))
        for at in range(20)
    ]
    suite = compare_all(metrics, seed=1)
    assert alone.p is not None
    assert 0.05 / 20 < alone.p < 0.05
    assert alone.p_holm == alone.p
    assert suite[0].p == alone.p
    assert suite[0].p_holm == pytest.approx(20 * alone.p)
    assert alone.verdict == Verdict.BETTER
    assert suite[0].verdict == Verdict.TOO_SMALL


def test_a_metric_that_cannot_be_asked_does_not_weigh_on_the_others() -> None:
    base, new = [0.0] * 8, [0.5, 1.0] * 4
    alone = compare(base, new, rule=rule(), seed=1)
    beside = compare_all(
        [
            Paired(rule=rule(), base=base, new=new),
            Paired(rule=rule(name="none"), base=[NAN] * 8, new=[NAN] * 8),
        ],
        seed=1,
    )
    assert beside[0] == alone
    assert compare_all([], seed=1) == ()


def test_metrics_with_other_clusters_and_lengths_do_not_disturb_each_other() -> None:
    rng = np.random.default_rng(3)
    one, two = rng.random(250), rng.random(400)
    labels = np.arange(400) // 4
    parts = [
        Paired(rule=rule(name="a"), base=one, new=one + rng.normal(0, 0.1, 250)),
        Paired(rule=rule(name="b"), base=two, new=two + rng.normal(0, 1, 400), clusters=labels),
        Paired(rule=rule(name="c"), base=two, new=two + rng.normal(0, 1, 400)),
    ]
    together = compare_all(parts, seed=4)
    for paired, found in zip(parts, together, strict=True):
        alone = compare_all([paired], seed=4)[0]
        assert (found.interval, found.p, found.detectable) == (
            alone.interval,
            alone.p,
            alone.detectable,
        )
    assert [found.interval and found.interval.method for found in together] == [
        "bca",
        "percentile by cluster",
        "bca",
    ]


def test_order_of_cases_changes_nothing() -> None:
    rng = np.random.default_rng(5)
    base, new, labels = rng.random(300), rng.random(300), rng.integers(0, 90, 300)
    order = rng.permutation(300)

    def at(places: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Comparison:
        return compare(base[places], new[places], clusters=labels[places], rule=rule(), seed=1)

    assert at(np.arange(300)) == at(order)


def test_sides_of_different_length_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="'mrr@10': 2 base values but 1 new ones"):
        compare([0.1, 0.2], [0.1], rule=rule(), seed=1)


@pytest.mark.parametrize("margin", [-0.1, NAN, math.inf])
def test_margin_must_be_a_size(margin: float) -> None:
    with pytest.raises(InvalidRequest, match="margin"):
        rule(margin)
