"""The measuring sticks measured: false alarms, coverage and power, by simulation.

Tolerances are three standard errors of a share of that many simulations. The full tier runs 1,000
simulations (nominal 5 %: ±2.1 points), the regular one fewer, with their own wider tolerance.
"""

import math
import os
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from lifehelper_data.evaluation.statistics import (
    MetricRule,
    Verdict,
    bootstrap_mean,
    compare,
    minimal_detectable_effect,
    sign_flip_p,
    wilson,
)

Floats: TypeAlias = npt.NDArray[np.float64]
Draw: TypeAlias = Callable[[np.random.Generator], Floats]

FULL = os.environ.get("LIFEHELPER_TEST_TIER") == "full"
N_CASES = 500
FIVE = np.arange(N_CASES) // 5
RULE = MetricRule(name="m", higher_is_better=True, margin=0, gated=False, kind="mean")


def simulations(full: int, regular: int) -> int:
    return full if FULL else regular


def three_errors(share: float, n: int) -> float:
    return 3 * math.sqrt(share * (1 - share) / n)


def families(rng: np.random.Generator) -> Floats:
    """100 families of five: a share of 0.8 of the variance is between families."""
    return np.repeat(rng.normal(0, 1, 100), 5) + rng.normal(0, 0.5, N_CASES)


@pytest.mark.parametrize(
    ("draw", "clusters"),
    [
        (lambda rng: rng.normal(0, 1, N_CASES), None),
        (lambda rng: rng.lognormal(0, 1, N_CASES), None),
        (families, FIVE),
        (lambda rng: np.exp(families(rng)), FIVE),
    ],
    ids=["normal", "skewed", "normal, clusters", "skewed, clusters"],
)
def test_two_equal_systems_differ_in_five_percent_of_comparisons(draw: Draw, clusters: Any) -> None:
    n = simulations(1000, 250)
    rng = np.random.default_rng(0)
    verdicts = [
        compare(
            draw(rng), draw(rng), rule=RULE, clusters=clusters, resamples=100, seed=seed
        ).verdict
        for seed in range(n)
    ]
    alarms = sum(found in {Verdict.BETTER, Verdict.WORSE} for found in verdicts) / n
    print(f"false alarms: {alarms:.3f} of {n}")  # noqa: T201 - the figure, with pytest -s
    assert abs(alarms - 0.05) <= three_errors(0.05, n)


def test_ignoring_clusters_would_raise_false_alarms() -> None:
    rng = np.random.default_rng(0)
    p = [sign_flip_p(families(rng) - families(rng), seed=seed) for seed in range(100)]
    assert np.mean(np.array(p, dtype=float) < 0.05) > 0.15  # measured: 0.33


@pytest.mark.parametrize("n_cases", [200, pytest.param(500, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    ("kind", "truth"),
    [("binomial", 0.3), ("log-normal", math.exp(0.5**2 / 2)), ("clustered", 0.0)],
)
def test_intervals_hold_the_truth_in_95_percent(n_cases: int, kind: str, truth: float) -> None:
    n = simulations(1000, 200)
    rng = np.random.default_rng(1)
    found = 0
    for seed in range(n):
        if kind == "binomial":
            interval = wilson(int(rng.binomial(n_cases, 0.3)), n_cases)
        elif kind == "log-normal":
            interval = bootstrap_mean(rng.lognormal(0, 0.5, n_cases), seed=seed)
        else:  # n_cases clusters of one to seven
            labels = np.repeat(np.arange(n_cases), rng.integers(1, 8, n_cases))
            values = rng.normal(0, 1, n_cases)[labels] + rng.normal(0, 1, len(labels))
            interval = bootstrap_mean(values, clusters=labels, seed=seed)
        assert interval is not None
        found += interval.low <= truth <= interval.high
    print(f"coverage, {kind}, {n_cases} cases: {found / n:.3f} of {n}")  # noqa: T201 - see above
    assert abs(found / n - 0.95) <= three_errors(0.95, n)


@pytest.mark.full
@pytest.mark.parametrize("n_cases", [200, 500])
def test_very_skewed_means_are_reported_and_not_far_off(n_cases: int) -> None:
    # Log-normal with sigma 1 (skewness 6): no bootstrap of 200 cases covers fully. Reported only.
    rng = np.random.default_rng(1)
    found = 0
    for seed in range(1000):
        interval = bootstrap_mean(rng.lognormal(0, 1, n_cases), seed=seed)
        assert interval is not None
        found += interval.low <= math.exp(0.5) <= interval.high
    print(f"coverage, log-normal sigma 1, {n_cases} cases: {found / 1000:.3f}")  # noqa: T201
    assert found / 1000 > 0.88


@pytest.mark.parametrize("kind", ["normal", "skewed", "clusters"])
def test_an_effect_of_the_detectable_size_is_found_with_power_80_percent(kind: str) -> None:
    n = simulations(1000, 300)
    rng = np.random.default_rng(2)
    labels = FIVE if kind == "clusters" else None
    deviation = {  # of one independent case, or of the mean of a family
        "normal": 1.0,
        "skewed": math.sqrt((math.exp(0.25) - 1) * math.exp(0.25)),
        "clusters": math.sqrt(1 + 0.25 / 5),
    }[kind]
    independent = 100 if kind == "clusters" else N_CASES
    planted = (1.959964 + 0.841621) * deviation / math.sqrt(independent)
    hits, promised = 0, []
    for seed in range(n):
        if kind == "normal":
            noise = rng.normal(0, 1, N_CASES)
        elif kind == "skewed":
            noise = rng.lognormal(0, 0.5, N_CASES) - math.exp(0.125)
        else:
            noise = families(rng)
        differences = noise + planted
        p = sign_flip_p(differences, clusters=labels, seed=seed)
        assert p is not None
        hits += p < 0.05
        promised.append(minimal_detectable_effect(differences, clusters=labels))
    print(f"power, {kind}: {hits / n:.3f} of {n}")  # noqa: T201 - the figure, with pytest -s
    assert np.mean(np.array(promised, dtype=float)) == pytest.approx(planted, rel=0.03)
    assert abs(hits / n - 0.8) <= three_errors(0.8, n)
