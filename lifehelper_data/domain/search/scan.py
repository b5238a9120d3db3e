"""Nearest vectors by a scan of one byte per number, proven to miss none of the best k.

A row x is kept as centre + scale * codes + rest, codes whole numbers in -127..127. Because
q.x = q.centre + scale * q.codes + q.rest and |q.rest| <= |q| |rest| (Cauchy-Schwarz), the codes
bound every product from both sides by the length of the rest alone. A row whose upper bound lies
below the k-th best lower bound is not among the best k; what is left (100 to 300 of 200,000 rows
like those of multilingual-e5-small) has to be scored exactly by the caller.

The scan reads 77 MB instead of the 307 MB of 200,000 x 384 numbers in float32 and keeps up with
the memory on one thread (3.5 ms; two threads 2.5 ms, and a busy machine makes them wait for each
other). Measured beside it: codes times a query of int8 2.9 ms, of int32 6.1 ms; of int8 the query
loses as much as the rows, of int16 next to nothing.

Importing this module imports numba, so import it when the first search comes. Compiled code is kept
between processes where numba finds a writable folder. It notices a change of this file only, so
what is compiled here calls nothing of other files.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

Codes8 = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]
Ints16 = npt.NDArray[np.int16]
Ints32 = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

LARGEST_CODE: Final = 127
_EVERY_ROW: Final = np.zeros(0, dtype=np.bool_)
_CENTRE_ROWS: Final = 8192  # rows behind the centre: where it lies decides speed, never results
_BLOCK: Final = 256  # rows multiplied before they are compared: keeps the inner loop free of jumps
# Kept share of a block from which all its rows are read in order: jumping between rows is slower.
_DENSE_SHARE: Final = 0.125
# On lengths and bounds: float32 rounds by 6e-8 of them, float64 by less than 1e-12.
_ROUND_UP: Final = 1 + 2e-7
_ROUNDING: Final = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanCodes:
    """Vectors in one byte per number, and how wrong each may be.

    Attributes:
        centre: float32 (dim,), taken off every row.
        codes: int8 (n, dim), contiguous, -127 to 127.
        scales: float32 (n,), what one step of a row's codes is worth.
        errors: float32 (n,), at least the length of row - centre - scale * codes.
    """

    centre: Vectors
    codes: Codes8
    scales: Vectors
    errors: Vectors

    def __len__(self) -> int:
        return len(self.codes)


def centre_of(vectors: Vectors) -> Vectors:
    """Return the mean float32 (dim,) of evenly spaced rows; of no rows: zeros.

    Sentence vectors share a direction, and what is left without it needs a smaller scale: the mean
    error of rows like those of multilingual-e5-small is 0.003 instead of 0.007.

    >>> centre_of(np.array([[1, 0], [0, 1]], dtype=np.float32)).tolist()
    [0.5, 0.5]
    """
    if len(vectors) == 0:
        return np.zeros(vectors.shape[1], dtype=np.float32)
    sample = vectors[:: max(1, len(vectors) // _CENTRE_ROWS)]
    return np.asarray(sample.mean(axis=0, dtype=np.float64), dtype=np.float32)


def quantise(vectors: Vectors, centre: Vectors) -> ScanCodes:
    """Return the codes of rows; each depends on its row and the centre alone.

    Args:
        vectors: float32 (n, dim), contiguous, finite.
        centre: float32 (dim,).

    >>> kept = quantise(np.array([[0.25, -0.5]], dtype=np.float32), np.zeros(2, dtype=np.float32))
    >>> kept.codes.tolist(), round(127 * float(kept.scales[0]), 6), bool(kept.errors[0] < 0.5 / 127)
    ([[64, -127]], 0.5, True)
    """
    rows, dim = vectors.shape
    codes = np.empty((rows, dim), dtype=np.int8)
    scales, errors = np.empty((2, rows), dtype=np.float32)
    _quantise(vectors, centre, codes, scales, errors)
    return ScanCodes(centre=centre, codes=codes, scales=scales, errors=errors)


def broken_bounds(kept: ScanCodes, vectors: Vectors) -> Ints:
    """Return the positions int64 (m,), ascending, of rows that lie farther off than their error.

    Args:
        kept: the codes of n rows.
        vectors: float32 (n, dim), contiguous, what they should be codes of.
    """
    broken = np.zeros(len(kept), dtype=np.bool_)
    _find_broken(vectors, kept.centre, kept.codes, kept.scales, kept.errors, broken)
    return np.flatnonzero(broken)


def candidates(kept: ScanCodes, query: Vectors, k: int, mask: Mask | None = None) -> Ints:
    """Return the positions of all rows that can be among the k of the largest product.

    Args:
        kept: the codes of n rows of length 1 or about.
        query: float32 (dim,), finite.
        k: how many are wanted, >= 1.
        mask: bool (n,), which rows may be found. None lets all through.

    Returns:
        int64 (m,), ascending, m >= min(k, rows let through): the same whatever the machine does
        besides. No rows, or none let through: empty.
    """
    dim = len(query)
    wide = query.astype(np.float64)
    # as many steps as products of 127 of them can be added up in int32
    steps = min(np.iinfo(np.int16).max, np.iinfo(np.int32).max // (LARGEST_CODE * dim))
    step = (float(np.abs(wide).max(initial=0.0)) / steps) or 1.0
    coarse = np.rint(wide / step).astype(np.int16)
    lost = float(np.linalg.norm(wide - step * coarse))
    longest = LARGEST_CODE * np.sqrt(dim) * float(kept.scales.max(initial=0.0))
    places = np.empty(len(kept), dtype=np.int32)
    upper = np.empty(len(kept), dtype=np.float64)
    found = _scan(
        kept.codes,
        kept.scales,
        kept.errors,
        coarse,
        step,
        float(np.linalg.norm(wide)) * (1 + _ROUNDING),
        lost * longest + _ROUNDING,
        np.full(min(k, max(len(kept), 1)), -np.inf),
        _EVERY_ROW if mask is None else mask,
        places,
        upper,
    )
    return places[:found].astype(np.int64)


def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
    try:
        compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder to keep compiled code in
        compiled = numba.njit(nogil=True)(function)
    return compiled


@_jit
def _quantise(
    vectors: Vectors, centre: Vectors, codes: Codes8, scales: Vectors, errors: Vectors
) -> None:
    rows, dim = vectors.shape
    rest = np.empty(dim, dtype=np.float64)
    for row in range(rows):
        largest = 0.0
        for at in range(dim):
            rest[at] = np.float64(vectors[row, at]) - np.float64(centre[at])
            largest = max(largest, abs(rest[at]))
        scales[row] = np.float32(largest / LARGEST_CODE)
        scale = np.float64(scales[row])  # the error is that of the scale as it is kept
        lost = 0.0
        for at in range(dim):
            code = 0.0
            if scale > 0.0:
                code = np.rint(rest[at] / scale)
                code = min(max(code, -np.float64(LARGEST_CODE)), np.float64(LARGEST_CODE))
            codes[row, at] = np.int8(code)
            lost += (rest[at] - scale * code) ** 2
        errors[row] = np.float32(np.sqrt(lost) * _ROUND_UP)


@_jit
def _find_broken(  # noqa: PLR0917 - compiled functions are called by position
    vectors: Vectors,
    centre: Vectors,
    codes: Codes8,
    scales: Vectors,
    errors: Vectors,
    broken: Mask,
) -> None:
    rows, dim = vectors.shape
    for row in range(rows):
        scale = np.float64(scales[row])
        lost = 0.0
        for at in range(dim):
            rest = np.float64(vectors[row, at]) - np.float64(centre[at])
            lost += (rest - scale * np.float64(codes[row, at])) ** 2
        # written so that NaN is broken
        broken[row] = not np.sqrt(lost) <= np.float64(errors[row]) or not errors[row] < np.inf


@_jit
def _multiply(codes: Codes8, query: Ints16, rows: Ints32, products: Ints32) -> None:
    for at in range(np.uint64(len(rows))):
        row = np.uint64(rows[at])
        total = np.int32(0)
        for place in range(np.uint64(codes.shape[1])):
            total += np.int32(codes[row, place]) * np.int32(query[place])
        products[at] = total


@_jit
def _multiply_all(codes: Codes8, query: Ints16, products: Ints32) -> None:
    for row in range(np.uint64(len(codes))):
        total = np.int32(0)
        for place in range(np.uint64(codes.shape[1])):
            total += np.int32(codes[row, place]) * np.int32(query[place])
        products[row] = total


@_jit
def _replace_lowest(best: Floats, value: float) -> None:
    # `best` is a heap with its lowest number on top.
    parent = 0
    while 2 * parent + 1 < len(best):
        child = 2 * parent + 1
        if child + 1 < len(best) and best[child + 1] < best[child]:
            child += 1
        if best[child] >= value:
            break
        best[parent] = best[child]
        parent = child
    best[parent] = value


@_jit
def _scan(  # noqa: PLR0917 - compiled functions are called by position
    codes: Codes8,
    scales: Vectors,
    errors: Vectors,
    query: Ints16,
    step: float,
    length: float,
    lost: float,
    best: Floats,
    allowed: Mask,
    places: Ints32,
    upper: Floats,
) -> int:
    # `best` holds the best lower bounds so far: a row that does not reach the worst of them now
    # never will, because they only rise.
    masked = len(allowed) > 0
    rows = np.empty(_BLOCK, dtype=np.int32)
    products = np.empty(_BLOCK, dtype=np.int32)
    noted = 0
    for start in range(0, len(codes), _BLOCK):
        size = min(_BLOCK, len(codes) - start)
        kept = size
        if masked:
            kept = 0
            for row in range(start, start + size):
                rows[kept] = row
                kept += int(allowed[row])  # no jump: masks are hard to foresee
        if kept >= _DENSE_SHARE * size:
            _multiply_all(codes[start : start + size], query, products)
            listed = False
        else:
            _multiply(codes, query, rows[:kept], products)
            listed = True
        for at in range(kept):
            row = int(rows[at]) if masked else start + at
            product = products[at] if listed else products[row - start]
            middle = np.float64(scales[row]) * step * np.float64(product)
            error = length * np.float64(errors[row]) + lost
            if middle + error >= best[0]:
                places[noted] = row
                upper[noted] = middle + error
                noted += 1
                if middle - error > best[0]:
                    _replace_lowest(best, middle - error)
    found = 0
    for at in range(noted):
        if upper[at] >= best[0]:
            places[found] = places[at]
            found += 1
    return found
