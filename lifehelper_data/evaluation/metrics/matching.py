"""The inner loop of the ranking metrics, compiled: find relevant items in result lists.

Importing this module imports numba.
"""

from typing import Final

import numpy as np

from lifehelper_data.evaluation.statistics.compiled import compiled
from lifehelper_data.evaluation.statistics.counts import Ints, Mask

_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
_TO_64: Final = np.uint64(58)
_ONE: Final = np.uint64(1)
_NONE: Final = np.uint64(0)


def match(
    items: Ints, offsets: Ints, relevant: Ints, relevant_offsets: Ints, depth: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the first places of relevant items, ascending by case, then rank.

    Args:
        items: int64, all lists one after the other.
        offsets: int64 (n_cases + 1,), their starts and ends.
        relevant: int64, relevant items, ascending and different within a case.
        relevant_offsets: int64 (n_cases + 1,).
        depth: how many ranks of each list are looked at, at most len(items) (a larger number could
            overflow).

    Returns:
        Case, rank (from 1), number of the hit within its case (from 1), and position in
        `relevant`; all int64 (n_hits,).
    """
    found = np.empty((4, len(relevant)), dtype=np.int64)
    seen = np.zeros(len(relevant), dtype=np.bool_)
    n = _match(items, offsets, relevant, relevant_offsets, depth, seen, found)
    return found[0, :n], found[1, :n], found[2, :n], found[3, :n]


@compiled
def _match(  # noqa: PLR0917 - compiled code is called by position
    items: Ints,
    offsets: Ints,
    relevant: Ints,
    relevant_offsets: Ints,
    depth: int,
    seen: Mask,
    found: Ints,
) -> int:
    n = 0
    for case in range(len(offsets) - 1):
        low, high = relevant_offsets[case], relevant_offsets[case + 1]
        first = n
        # One bit per relevant item, by a hash of its id: most other items are ruled out by it.
        bits = _NONE
        for at in range(low, high):
            bits |= _ONE << ((np.uint64(relevant[at]) * _SPREAD) >> _TO_64)
        start = offsets[case]
        for at in range(start, min(offsets[case + 1], start + depth)):
            item = items[at]
            if not bits & (_ONE << ((np.uint64(item) * _SPREAD) >> _TO_64)):
                continue
            left, right = low, high
            while left < right:
                middle = (left + right) // 2
                if relevant[middle] < item:
                    left = middle + 1
                else:
                    right = middle
            if left < high and relevant[left] == item and not seen[left]:
                seen[left] = True
                found[0, n] = case
                found[1, n] = at - start + 1
                found[2, n] = n - first + 1
                found[3, n] = left
                n += 1
    return n
