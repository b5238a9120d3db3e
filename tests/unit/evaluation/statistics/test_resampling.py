"""Resampled and signed sums: what is drawn, and what it must not depend on."""

import numpy as np
import pytest

from lifehelper_data.evaluation.statistics.resampling import resampled_sums, signed_sums


def test_as_many_cells_are_drawn_as_there_are() -> None:
    for n in (1, 2, 7, 128, 129, 1025, 3000):
        sums = resampled_sums(np.ones((1, n)), resamples=20, seed=1)
        assert (sums == n).all()


def test_cells_are_drawn_as_a_multinomial() -> None:
    drawn = resampled_sums(np.eye(10), resamples=20_000, seed=2)
    assert (drawn.sum(axis=1) == 10).all()
    # binomial(10, 1 / 10): mean 1, variance 0.9; neighbours correlate by -1 / 9
    assert np.abs(drawn.mean(axis=0) - 1).max() < 4 * np.sqrt(0.9 / 20_000)
    assert np.abs(drawn.var(axis=0) - 0.9).max() < 0.06
    apart = np.asarray(np.corrcoef(drawn.T))[~np.eye(10, dtype=bool)]
    assert np.abs(apart + 1 / 9).max() < 4 / np.sqrt(20_000)


def test_a_column_depends_on_no_other_column_thread_or_share() -> None:
    columns = np.random.default_rng(3).normal(size=(5, 2500))
    whole = resampled_sums(columns, resamples=37, seed=4, threads=1)
    for threads in (2, 3, 40):
        assert np.array_equal(whole, resampled_sums(columns, resamples=37, seed=4, threads=threads))
    alone = resampled_sums(columns[3:4], resamples=37, seed=4)
    assert np.array_equal(whole[:, 3:4], alone)
    fewer = resampled_sums(columns, resamples=11, seed=4)
    assert np.array_equal(whole[:11], fewer)


def test_other_seeds_draw_otherwise() -> None:
    column = np.arange(50.0)[None]
    seen = {resampled_sums(column, resamples=1, seed=seed)[0, 0] for seed in range(-5, 6)}
    assert len(seen) > 8  # of 11; sums of 50 small integers may coincide
    assert resampled_sums(column, resamples=1, seed=1) != resampled_sums(
        column, resamples=1, seed=-1
    )


@pytest.mark.parametrize("n", [1, 3, 4, 5, 64, 65, 500])
def test_signs_are_fair_and_independent(n: int) -> None:
    values = np.random.default_rng(5).normal(size=n)
    sums = signed_sums(values, permutations=20_000, seed=6)
    deviation = float(np.sqrt(np.sum(values**2)))
    assert abs(sums.mean()) < 4 * deviation / np.sqrt(20_000)
    assert sums.std() == pytest.approx(deviation, rel=0.03)
    assert np.abs(sums).max() <= np.abs(values).sum() + 1e-9


def test_signed_sums_do_not_depend_on_threads() -> None:
    values = np.random.default_rng(7).normal(size=333)
    one = signed_sums(values, permutations=100, seed=8, threads=1)
    assert np.array_equal(one, signed_sums(values, permutations=100, seed=8, threads=3))
