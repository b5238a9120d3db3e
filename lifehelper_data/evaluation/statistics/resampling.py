"""The inner loops of resampling, compiled: bootstrap sums and sums under random signs.

Importing this module imports numba. Random numbers are SplitMix64 (Steele, Lea & Flood 2014,
"Fast Splittable Pseudorandom Number Generators") in counter mode: number i of resample b is a
function of (seed, b, i), so results depend neither on threads nor on how work is cut. Sums are
taken in one fixed order.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from lifehelper_data.evaluation.statistics.compiled import compiled
from lifehelper_data.evaluation.statistics.counts import Floats

Bytes = npt.NDArray[np.uint8]

LANES: Final = 128  # partial sums of a column; measured: 0.20 ns a cell, 0.83 with one or eight
STEP: Final = 2 * LANES  # cells per visit of the partial sums; measured: 0.14 ns a cell
BLOCK: Final = 1024  # cells of a column that stay in the processor's cache
GROUP: Final = 8  # resamples that share one read of a block
_WORTH_THREADS: Final = 10**7  # cells visited: some 10 ms
NIBBLE: Final = 4  # signs that are looked up at once
_GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_A: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B: Final = np.uint64(0x94D049BB133111EB)
_S30: Final = np.uint64(30)
_S27: Final = np.uint64(27)
_S31: Final = np.uint64(31)
_S32: Final = np.uint64(32)
_LOW32: Final = np.uint64(0xFFFFFFFF)
_LOW4: Final = np.uint64(15)
_S4: Final = np.uint64(4)


def resampled_sums(
    columns: Floats, *, resamples: int, seed: int, threads: int | None = None
) -> Floats:
    """Return sums of columns over cells drawn with replacement, as many as there are cells.

    All columns see the same draws. A column's sums do not depend on the other columns. A cell is
    drawn with a probability that differs from 1 / n_cells by less than 2 ** -32.

    Args:
        columns: float64 (n_columns, n_cells), n_cells >= 1.
        resamples: how many times.
        seed: any integer.
        threads: how many at once; None: one per core.

    Returns:
        float64 (resamples, n_columns).
    """
    n_columns, n_cells = columns.shape
    padded = np.zeros((n_columns, -(-n_cells // STEP) * STEP))
    padded[:, :n_cells] = columns
    sums = np.empty((resamples, n_columns))
    key = _key(seed, 1)

    def work(first: int, last: int) -> None:
        _bootstrap(padded, n_cells, key, first, last, sums)

    _share(work, resamples, columns.size, threads)
    return sums


def signed_sums(
    values: Floats, *, permutations: int, seed: int, threads: int | None = None
) -> Floats:
    """Return sums of the values under independent fair signs.

    Args:
        values: float64 (n,), n >= 1.
        permutations: how many times.
        seed: any integer.
        threads: how many at once; None: one per core.

    Returns:
        float64 (permutations,).
    """
    padded = np.zeros(-(-len(values) // NIBBLE) * NIBBLE)
    padded[: len(values)] = values
    bits = np.arange(2**NIBBLE)[:, None] >> np.arange(NIBBLE) & 1
    table = np.zeros((len(padded) // NIBBLE, 2**NIBBLE))
    for at in range(NIBBLE):
        table += padded[at::NIBBLE, None] * (1.0 - 2.0 * bits[:, at])
    sums = np.empty(permutations)
    key = _key(seed, 2)

    def work(first: int, last: int) -> None:
        _signed(table, key, first, last, sums)

    _share(work, permutations, len(values), threads)
    return sums


def _key(seed: int, purpose: int) -> np.uint64:
    sequence = np.random.SeedSequence(abs(seed), spawn_key=(purpose, seed < 0))
    return np.uint64(sequence.generate_state(1, np.uint64)[0])


def _share(work: Callable[[int, int], None], n: int, cells: int, threads: int | None) -> None:
    wanted = threads or (os.cpu_count() or 1 if n * cells > _WORTH_THREADS else 1)
    if wanted == 1:
        work(0, n)
        return
    edges = np.linspace(0, n, wanted + 1).astype(int).tolist()
    with ThreadPoolExecutor(wanted) as pool:
        for done in [pool.submit(work, a, b) for a, b in pairwise(edges)]:
            done.result()


@compiled
def _stream(key: np.uint64, number: int) -> np.uint64:
    """Return where the random numbers of one resample start."""
    z = key + np.uint64(number) * _MIX_A
    z = (z ^ (z >> _S30)) * _MIX_A
    z = (z ^ (z >> _S27)) * _MIX_B
    return z ^ (z >> _S31)


@compiled
def _draw(state: np.uint64, n_cells: int, drawn: Bytes) -> None:
    """Count how often each of the cells is drawn in n_cells draws, two per random number."""
    drawn[:] = 0
    cells = np.uint64(n_cells)
    for pair in range((n_cells + 1) // 2):
        state += _GAMMA
        z = (state ^ (state >> _S30)) * _MIX_A
        z = (z ^ (z >> _S27)) * _MIX_B
        z = z ^ (z >> _S31)
        drawn[np.int64(((z >> _S32) * cells) >> _S32)] += np.uint8(1)
        if 2 * pair + 1 < n_cells:
            drawn[np.int64(((z & _LOW32) * cells) >> _S32)] += np.uint8(1)


@compiled
def _add_block(columns: Floats, drawn: Bytes, times: Floats, low: int, partial: Floats) -> None:
    """Add the cells of one block, each as often as drawn, to partial sums per lane."""
    high = min(low + BLOCK, columns.shape[1])
    for r in range(len(drawn)):
        for at in range(low, high):
            times[r, at - low] = drawn[r, at]
    for column in range(len(columns)):
        for r in range(len(drawn)):
            lanes = partial[column, r]
            for at in range(low, high, STEP):
                weights = times[r, at - low : at - low + STEP]
                values = columns[column, at : at + STEP]
                for lane in range(LANES):
                    lanes[lane] += (
                        weights[lane] * values[lane] + weights[lane + LANES] * values[lane + LANES]
                    )


@compiled
def _bootstrap(  # noqa: PLR0917 - compiled code is called by position
    columns: Floats, n_cells: int, key: np.uint64, first: int, last: int, sums: Floats
) -> None:
    # A cell of one resample is drawn Poisson(1) times; 256 times has probability 1e-507.
    drawn = np.empty((GROUP, columns.shape[1]), dtype=np.uint8)
    times = np.empty((GROUP, BLOCK))
    partial = np.empty((len(columns), GROUP, LANES))
    for start in range(first, last, GROUP):
        size = min(GROUP, last - start)
        for r in range(size):
            _draw(_stream(key, start + r), n_cells, drawn[r])
        partial[:] = 0.0
        for low in range(0, columns.shape[1], BLOCK):
            _add_block(columns, drawn[:size], times, low, partial)
        for column in range(len(columns)):
            for r in range(size):
                total = 0.0
                for lane in range(LANES):
                    total += partial[column, r, lane]
                sums[start + r, column] = total


@compiled
def _signed(table: Floats, key: np.uint64, first: int, last: int, sums: Floats) -> None:
    groups = len(table)
    for b in range(first, last):
        state = _stream(key, b)
        total = 0.0
        for start in range(0, groups, 16):
            state += _GAMMA
            z = (state ^ (state >> _S30)) * _MIX_A
            z = (z ^ (z >> _S27)) * _MIX_B
            z = z ^ (z >> _S31)
            for at in range(start, min(start + 16, groups)):
                total += table[at, np.int64(z & _LOW4)]
                z >>= _S4
        sums[b] = total
