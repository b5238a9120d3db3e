"""Wilson's interval and the bootstrap of means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics import (
    Interval,
    bootstrap_mean,
    bootstrap_means,
    wilson,
)

NAN = float("nan")


def found(interval: Interval | None) -> Interval:
    """Return the interval that has to be there."""
    assert interval is not None
    return interval


def test_wilson_solves_its_equation() -> None:
    # an end p satisfies |share - p| = z sqrt(p (1 - p) / n)
    interval = found(wilson(7, 25))
    for end in (interval.low, interval.high):
        assert abs(7 / 25 - end) == pytest.approx(
            1.959963984540054 * np.sqrt(end * (1 - end) / 25), rel=1e-12
        )


def test_wilson_ends_at_the_borders_but_is_no_point() -> None:
    none, all_of_them = found(wilson(0, 10)), found(wilson(10, 10))
    z2 = 1.959963984540054**2
    assert none.low == 0
    assert none.high == pytest.approx(z2 / (10 + z2), rel=1e-12)
    assert all_of_them.high == 1
    assert all_of_them.low == pytest.approx(10 / (10 + z2), rel=1e-12)


def test_wilson_of_nothing_is_no_interval() -> None:
    assert wilson(0, 0) is None


def test_wilson_refuses_what_cannot_be() -> None:
    with pytest.raises(InvalidRequest, match="11 successes of 10"):
        wilson(11, 10)
    with pytest.raises(InvalidRequest, match="level 95"):
        wilson(1, 10, level=95)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share(case: tuple[int, int]) -> None:
    successes, n = case
    interval = found(wilson(successes, n))
    assert 0 <= interval.low <= successes / n <= interval.high <= 1
    mirrored = found(wilson(n - successes, n))
    assert mirrored.low == pytest.approx(1 - interval.high, abs=1e-12)


def test_one_case_or_none_has_no_interval() -> None:
    assert bootstrap_mean([], seed=1) is None
    assert bootstrap_mean([NAN, NAN], seed=1) is None
    assert bootstrap_mean([0.3, NAN], seed=1) is None
    assert bootstrap_mean([0.3, 0.4, 0.5], clusters=["a"] * 3, seed=1) is None


def test_equal_values_give_a_point_that_warns() -> None:
    interval = found(bootstrap_mean([0.1] * 300, seed=1))
    assert (interval.low, interval.high, interval.method) == (0.1, 0.1, "point")
    assert interval.warning == (
        "all 300 independent cases have the same value; rarer values were not seen"
    )


def test_below_200_independent_cases_percentiles_are_taken_with_a_warning() -> None:
    values = np.random.default_rng(1).random(400)
    few = found(bootstrap_mean(values[:199], seed=1))
    assert few.method == "percentile"
    assert few.warning is not None
    assert "only 199 independent cases" in few.warning
    enough = found(bootstrap_mean(values[:200], seed=1))
    assert (enough.method, enough.warning) == ("bca", None)
    by_two = found(bootstrap_mean(values[:398], clusters=np.arange(398) // 2, seed=1))
    assert by_two.method == "percentile by cluster"
    assert by_two.warning is not None
    assert "only 199 independent clusters" in by_two.warning
    assert found(bootstrap_mean(values, clusters=np.arange(400) // 2, seed=1)).method == (
        "bca by cluster"
    )


def test_symmetric_values_give_the_normal_interval() -> None:
    values = np.random.default_rng(2).normal(5, 2, 2000)
    half = 1.959964 * values.std() / np.sqrt(2000)
    interval = found(bootstrap_mean(values, seed=3))
    assert interval.low == pytest.approx(values.mean() - half, abs=half * 0.06)
    assert interval.high == pytest.approx(values.mean() + half, abs=half * 0.06)


def test_bca_of_skewed_values_leans_to_the_long_tail() -> None:
    values = np.random.default_rng(3).lognormal(0, 1, 300)
    interval = found(bootstrap_mean(values, seed=3))
    assert interval.high - values.mean() > 1.15 * (values.mean() - interval.low)


def test_bca_equals_efrons_formula_on_its_own_resamples() -> None:
    from statistics import NormalDist

    from lifehelper_data.evaluation.statistics.resampling import resampled_sums

    values = np.sort(np.random.default_rng(4).lognormal(0, 0.8, 250))
    means = resampled_sums(values[None], resamples=5000, seed=5)[:, 0] / 250
    normal = NormalDist()
    z0 = normal.inv_cdf(float(np.mean(means < values.mean())))
    left_out = (values.sum() - values) / 249
    u = left_out.mean() - left_out
    a = np.sum(u**3) / (6 * np.sum(u**2) ** 1.5)
    levels = [normal.cdf(z0 + (z0 + z) / (1 - a * (z0 + z))) for z in (-1.959964, 1.959964)]
    interval = found(bootstrap_mean(values, resamples=5000, seed=5))
    assert [interval.low, interval.high] == pytest.approx(np.quantile(means, levels), rel=1e-9)


def test_clusters_that_agree_count_as_one_observation() -> None:
    means = np.random.default_rng(5).normal(size=300)
    fourfold = found(bootstrap_mean(np.repeat(means, 4), clusters=np.arange(1200) // 4, seed=1))
    single = found(bootstrap_mean(means, seed=1))
    ignored = found(bootstrap_mean(np.repeat(means, 4), seed=1))
    assert fourfold.low == pytest.approx(single.low, rel=1e-9)
    assert fourfold.high == pytest.approx(single.high, rel=1e-9)
    assert ignored.high - ignored.low < 0.6 * (single.high - single.low)


def test_uneven_clusters_use_the_ratio_of_sums() -> None:
    rng = np.random.default_rng(6)
    clusters = np.repeat(np.arange(400), rng.integers(1, 9, 400))
    values = rng.normal(1, 1, len(clusters))
    sums, sizes = np.bincount(clusters, values), np.bincount(clusters)
    apart = sums - values.mean() * sizes
    half = 1.959964 * np.sqrt(np.sum(apart**2)) / len(values)
    interval = found(bootstrap_mean(values, clusters=clusters, seed=7))
    assert interval.high - interval.low == pytest.approx(2 * half, rel=0.06)


def test_singleton_clusters_are_no_clusters() -> None:
    values = np.random.default_rng(7).random(250)
    alone = found(bootstrap_mean(values, seed=1))
    each = found(bootstrap_mean(values, clusters=np.arange(250), seed=1))
    assert (each.low, each.high) == (alone.low, alone.high)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.booleans())
def test_order_labels_undefined_cases_and_other_metrics_change_nothing(
    seed: int, clustered: bool
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random(60)
    labels = rng.integers(0, 20, 60) if clustered else None
    plain = bootstrap_mean(values, clusters=labels, resamples=200, seed=seed)
    order = rng.permutation(60)
    renamed = None if labels is None else (100 - labels)[order]
    assert plain == bootstrap_mean(values[order], clusters=renamed, resamples=200, seed=seed)
    longer = np.concatenate([values, [NAN, NAN]])
    more = None if labels is None else np.concatenate([labels, [0, 999]])
    assert plain == bootstrap_mean(longer, clusters=more, resamples=200, seed=seed)
    others = np.column_stack([rng.random(60), values, np.full(60, NAN), np.ones(60)])
    many = bootstrap_means(others, clusters=labels, resamples=200, seed=seed, threads=2)
    assert many[1] == plain
    assert many[2] is None
    assert found(many[3]).method == "point"


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="99 resamples"):
        bootstrap_mean([1.0, 2.0], resamples=99, seed=1)
    with pytest.raises(InvalidRequest, match=r"level 1\.0"):
        bootstrap_mean([1.0, 2.0], level=1.0, seed=1)
    with pytest.raises(InvalidRequest, match=r"matrix of shape \(2,\)"):
        bootstrap_means([1.0, 2.0], seed=1)
    with pytest.raises(InvalidRequest, match=r"values of shape \(1, 2\)"):
        bootstrap_mean([[1.0, 2.0]], seed=1)


def test_within_takes_both_ends() -> None:
    assert Interval(low=-0.01, high=0.01, method="bca").within(0.01)
    assert not Interval(low=-0.011, high=0.0, method="bca").within(0.01)
    assert not Interval(low=0.0, high=0.011, method="bca").within(0.01)
