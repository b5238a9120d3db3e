"""How the nearest vectors are found: which engine answers which search, and what it did.

Measured at 200,000 x 384, rows like those of multilingual-e5-small, top 50, sides taking turns on
two shared cores: int8 4-5 ms of one core, numpy in float32 16-39 ms of both (`lifehelper bench
vectors` repeats it). LanceDB's IVF_FLAT at recall 0.993 took 0.65 times as long as int8 in the
middle and as long at p95, misses some, and trains for 7 s or more. So an index is asked only by
who wants it: every other search is exact.

Also tried: the first 64-160 principal components, with Cauchy-Schwarz for the others, read less but
leave 45-100 % of the rows possible; a second thread saves a quarter on an idle machine only.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from lifehelper_data.stores.vector_codes import wants_codes
from lifehelper_data.stores.vector_rows import Ints

Cosines = npt.NDArray[np.float64]

GATHER_AT_MOST: Final = 256
"""Rows let through by a mask that are scored one by one. Measured at 200,000 x 384: of 200 rows
0.14 ms beside 0.20 ms with codes, of 2,000 rows 1.9 ms beside 0.7 ms."""


class VectorEngine(StrEnum):
    """Who picks the rows whose cosines are then computed in float64."""

    GATHERED = "gathered"
    """Nobody: all rows that the mask lets through are scored."""
    FLOAT32 = "float32"
    """A product in float32, with room for its rounding."""
    INT8 = "int8"
    """A scan of one byte per number, with a proven bound (`domain.search.scan`)."""
    INDEX = "ivf_flat"
    """LanceDB's index: misses some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """What a search found, and how.

    Attributes:
        item_ids: int64 (m,): higher cosine first, then lower id.
        cosines: float64 (m,).
        engine: who picked the rows.
        considered: rows let through by the mask.
        rescored: rows whose cosine was computed exactly.
        recall: 1.0 where no nearer row can have been missed, which is proven; else recall@10 as
            it was measured when the index was made.
    """

    item_ids: Ints
    cosines: Cosines
    engine: VectorEngine
    considered: int
    rescored: int
    recall: float


def choose_engine(rows: int, considered: int) -> VectorEngine:
    """Return the fastest exact engine.

    Args:
        rows: in the snapshot.
        considered: let through by the mask; all of them without one.

    >>> [choose_engine(*sizes).value for sizes in ((450, 450), (10**5, 10**5), (10**5, 100))]
    ['float32', 'int8', 'gathered']
    """
    if considered < rows and considered <= GATHER_AT_MOST:
        return VectorEngine.GATHERED
    return VectorEngine.INT8 if wants_codes(rows) else VectorEngine.FLOAT32
