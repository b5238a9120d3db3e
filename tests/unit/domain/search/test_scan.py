"""The quantised scan: what it leaves out is proven not to be among the best k.

The laws are checked in float64 against every row, with no quantising in between.
"""

from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lifehelper_data.domain.search.scan import (
    ScanCodes,
    broken_bounds,
    candidates,
    centre_of,
    quantise,
)

Vectors = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

COMPILES = settings(deadline=None, max_examples=150)  # the first example waits for the compiler


def unit_rows(rows: npt.NDArray[Any]) -> Vectors:
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(rows / lengths, dtype=np.float32)


def kept(vectors: Vectors) -> ScanCodes:
    return quantise(vectors, centre_of(vectors))


def products(vectors: Vectors, query: Vectors) -> npt.NDArray[np.float64]:
    return np.asarray((vectors.astype(np.float64) * query.astype(np.float64)).sum(axis=1))


def best(vectors: Vectors, query: Vectors, k: int, mask: Mask | None = None) -> Ints:
    """Return the k best of all rows, ties by position, from every product in float64."""
    scores = products(vectors, query)
    places = np.flatnonzero(np.ones(len(vectors), np.bool_) if mask is None else mask)
    return places[np.lexsort((places, -scores[places]))][:k]


def kinds(rng: np.random.Generator, rows: int, dim: int) -> dict[str, Vectors]:
    """Return rows of several kinds, all of length 1."""
    spread = rng.normal(size=(rows, dim))
    crowded = 3 + 0.4 * spread + 0.5 * rng.normal(size=(5, dim))[rng.integers(0, 5, rows)]
    repeated = spread[rng.integers(0, max(1, rows // 9), rows)]
    spiky = np.eye(dim)[rng.integers(0, dim, rows)] + 1e-4 * spread
    return {
        "spread": unit_rows(spread),
        "crowded": unit_rows(crowded),
        "repeated": unit_rows(repeated),
        "spiky": unit_rows(spiky),
        "all equal": unit_rows(np.repeat(spread[:1], rows, axis=0)),
    }


def assert_holds_the_best(
    codes: ScanCodes, vectors: Vectors, query: Vectors, k: int, mask: Mask | None = None
) -> None:
    found = candidates(codes, query, k, mask)
    assert found.dtype == np.int64
    assert (np.diff(found) > 0).all()
    if mask is not None:
        assert mask[found].all()
    # every row that ties with the k-th best is there, not only those of lowest position
    wanted = best(vectors, query, k, mask)
    if len(wanted):
        scores = products(vectors, query)
        reach = scores >= scores[wanted].min()
        assert set(np.flatnonzero(reach if mask is None else reach & mask)) <= set(found)


@pytest.mark.parametrize("rows", [1, 2, 255, 256, 257, 1000])
@pytest.mark.parametrize("dim", [1, 3, 384])
def test_candidates_hold_the_best_of_any_kind_of_rows(rows: int, dim: int) -> None:
    rng = np.random.default_rng([rows, dim])
    for name, vectors in kinds(rng, rows, dim).items():
        codes = kept(vectors)
        assert len(codes) == rows, name
        for query in unit_rows(rng.normal(size=(3, dim))):
            for k in (1, 10, rows, rows + 7):
                assert_holds_the_best(codes, vectors, query, k)
        assert_holds_the_best(codes, vectors, vectors[rows // 2], 10)


@pytest.mark.parametrize("share", [0, 0.001, 0.01, 0.1, 0.124, 0.126, 0.5, 0.99, 1])
def test_candidates_pass_the_mask_whatever_its_share(share: float) -> None:
    rng = np.random.default_rng(int(1000 * share))
    vectors = kinds(rng, 3000, 24)["crowded"]
    codes = kept(vectors)
    random = rng.random(3000) < share
    in_a_row = np.arange(3000) < 3000 * share
    for mask in (random, in_a_row, in_a_row[::-1].copy()):
        for query in unit_rows(rng.normal(size=(3, 24))):
            for k in (1, 10, 4000):
                assert_holds_the_best(codes, vectors, query, k, mask)
        found = candidates(codes, vectors[0], 4000, mask)
        assert found.tolist() == np.flatnonzero(mask).tolist()


def test_candidates_are_few_among_crowded_rows() -> None:
    rng = np.random.default_rng(3)
    vectors = kinds(rng, 20_000, 64)["crowded"]
    codes = kept(vectors)
    for query in vectors[:5]:
        assert len(candidates(codes, query, 10)) < 200


def test_centre_makes_errors_of_crowded_rows_smaller() -> None:
    vectors = kinds(np.random.default_rng(4), 1000, 384)["crowded"]
    without = quantise(vectors, np.zeros(384, dtype=np.float32))
    assert kept(vectors).errors.mean() < 0.6 * without.errors.mean()


def test_no_rows_have_no_candidates() -> None:
    nothing = np.zeros((0, 4), dtype=np.float32)
    query = unit_rows(np.ones((1, 4)))[0]
    assert centre_of(nothing).tolist() == [0, 0, 0, 0]
    assert candidates(kept(nothing), query, 3).tolist() == []
    assert candidates(kept(nothing), query, 3, np.zeros(0, np.bool_)).tolist() == []
    assert broken_bounds(kept(nothing), nothing).tolist() == []


def test_codes_of_a_row_by_hand() -> None:
    row = np.array([[0.5, -0.25, 0.1]], dtype=np.float32)
    codes = quantise(row, np.array([0.25, 0, 0], dtype=np.float32))
    # less the centre: 0.25, -0.25, 0.1; the largest is 127 steps of 0.25 / 127
    assert codes.codes.tolist() == [[127, -127, 51]]
    assert codes.scales[0] == np.float32(0.25 / 127)
    scale = float(np.float32(0.25 / 127))
    rests = (0.25 - 127 * scale, 0.25 - 127 * scale, float(np.float32(0.1)) - 51 * scale)
    lost = sum(rest**2 for rest in rests) ** 0.5
    assert lost <= float(codes.errors[0]) <= lost * (1 + 4e-7)


def test_row_at_the_centre_has_no_codes_and_no_error() -> None:
    vectors = unit_rows(np.ones((4, 3)))
    codes = kept(vectors)
    assert not codes.codes.any()
    assert codes.errors.max() <= 1e-7
    assert candidates(codes, vectors[0], 2).tolist() == [0, 1, 2, 3]


def test_sums_of_the_largest_codes_do_not_overflow() -> None:
    # all codes 127 and all of the query at its most: 127 * steps * dim must stay below 2**31
    for dim in (384, 1024, 4096):
        same = unit_rows(np.ones((1, dim)))
        vectors = np.concatenate([same, -same, unit_rows(np.eye(1, dim))])
        codes = quantise(vectors, np.zeros(dim, dtype=np.float32))
        assert candidates(codes, same[0], 1).tolist() == [0]
        assert candidates(codes, -same[0], 1).tolist() == [1]


def test_what_the_query_loses_in_rounding_is_allowed_for() -> None:
    # rows of +-1/2 lose nothing; of the query 0.49 steps become 0 and 0.51 steps become 1
    step = 1 / np.iinfo(np.int16).max
    query = np.array([1, 0.49 * step, 0.49 * step, 0.51 * step], dtype=np.float32)
    better = [1, 1, 1, -1]  # (1 + (0.49 + 0.49 - 0.51) steps) / 2, as rounded (1 - 1 step) / 2
    worse = [1, -1, -1, 1]  # (1 + (0.51 - 0.49 - 0.49) steps) / 2, as rounded (1 + 1 step) / 2
    vectors = np.array([worse, better], dtype=np.float32) / np.float32(2)
    codes = quantise(vectors, np.zeros(4, dtype=np.float32))
    assert codes.errors.max() < 1e-7
    assert candidates(codes, query, 1).tolist() == [0, 1]


def test_rows_moved_from_their_bound_are_found() -> None:
    vectors = kinds(np.random.default_rng(5), 300, 16)["crowded"]
    codes = kept(vectors)
    assert broken_bounds(codes, vectors).tolist() == []
    codes.codes[7, 3] += 2
    codes.scales[9] = np.nan
    codes.errors[20] = np.inf
    codes.errors[30] = 0
    assert broken_bounds(codes, vectors).tolist() == [7, 9, 20, 30]


def test_threads_that_search_at_a_time_find_the_same() -> None:
    rng = np.random.default_rng(6)
    vectors = kinds(rng, 4000, 32)["crowded"]
    codes = kept(vectors)
    alone = [candidates(codes, query, 10).tolist() for query in vectors[:40]]
    together: list[list[list[int]]] = [[], [], []]

    def search(found: list[list[int]]) -> None:
        found.extend(candidates(codes, query, 10).tolist() for query in vectors[:40])

    threads = [Thread(target=search, args=(found,)) for found in together]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == [alone] * 3


NUMBERS = st.floats(-1, 1, width=32)
ROWS = st.tuples(st.integers(1, 40), st.integers(1, 9)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=NUMBERS)
)


@COMPILES
@given(ROWS, st.integers(1, 50), st.data())
def test_law_nothing_among_the_best_is_left_out(rows: Vectors, k: int, data: st.DataObject) -> None:
    rows[:, 0] += 2  # no row of length 0
    vectors = unit_rows(rows)
    query = vectors[data.draw(st.integers(0, len(vectors) - 1))]
    mask = data.draw(st.none() | arrays(np.bool_, len(vectors)))
    centre = data.draw(st.sampled_from([centre_of(vectors), -query, 100 * query]))
    codes = quantise(vectors, centre)
    assert broken_bounds(codes, vectors).tolist() == []
    assert_holds_the_best(codes, vectors, query, k, mask)


@COMPILES
@given(ROWS, st.permutations(range(40)))
def test_law_codes_of_a_row_do_not_depend_on_the_others(rows: Vectors, order: list[int]) -> None:
    rows[:, 0] += 2
    vectors = unit_rows(rows)
    centre = centre_of(vectors)
    moved = [at for at in order if at < len(vectors)]
    straight, shuffled = quantise(vectors, centre), quantise(vectors[moved], centre)
    assert np.array_equal(straight.codes[moved], shuffled.codes)
    assert np.array_equal(straight.scales[moved], shuffled.scales)
    assert np.array_equal(straight.errors[moved], shuffled.errors)
