"""The approximate index of a vector table: made when it pays, covering every row, measured.

IVF_FLAT: the index keeps full vectors, so that recall depends on the number of probed partitions
alone. Measured at 200k x 384 on two cores: training 7 s and 15 ms a query at recall@10 0.99 (20
probes), against 99 s and 13 ms at recall 0.78 (refine 5) or 1.00 (refine 20) with IVF_PQ.
"""

from dataclasses import dataclass
from math import isqrt
from typing import Any, Final

import numpy as np

from lifehelper_data.domain.errors import CheckFailed
from lifehelper_data.stores.vector_files import VectorFiles
from lifehelper_data.stores.vector_rows import ITEM_ID, VECTOR, Ints, VectorRows, Vectors
from lifehelper_data.stores.vector_version import vector_indexes

RECALL_DEPTH: Final = 10
SAMPLED_ROWS: Final = 200
FIRST_PROBES: Final = 20
_SAMPLES_AT_A_TIME: Final = 50
_TIE: Final = 1e-5  # books of equal text have equal vectors: either one is a hit
_DISTANCE: Final = "dot"  # of vectors of length 1: ranks as cosine does


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexQuality:
    """How an index is to be searched, and how well it then finds.

    Attributes:
        probes: partitions that a search looks into.
        recall: share of the true ten best that it finds, over 200 sampled rows.
    """

    probes: int
    recall: float


def index_rows(files: VectorFiles, table: Any, rows: VectorRows, min_recall: float) -> IndexQuality:
    """Train an index over all rows, see that every row can be found through it, and measure it.

    It is trained anew each time: adding rows with Lance's `optimize` joined 447 partitions into 25,
    so that 20 probes read four fifths of all rows.

    Args:
        files: where the table lies; its lock is held.
        table: Lance's table at its newest version.
        rows: what it holds, n >= 1.
        min_recall: recall@10 to be reached.

    Raises:
        CheckFailed: it leaves rows out or finds too little.
    """
    count = len(rows.item_ids)
    train_index(files, table, count)
    left_out = max(unindexed_rows(files, table, count), _unreachable(files, table, rows))
    quality = _measure(files, table, rows, min_recall)
    if left_out or quality.recall < min_recall:
        raise CheckFailed(
            f"the index of {files.shown!r} leaves out {left_out} of {count} rows and finds "
            f"{quality.recall:.3f} of the true ten nearest with {quality.probes} probes, "
            f"{min_recall!r} is asked for; run `lifehelper build` again, or raise the number of "
            "rows from which an index is made",
            field=files.table_name,
        )
    return quality


def train_index(files: VectorFiles, table: Any, rows: int) -> None:
    """Make the index anew over what the table holds."""
    from lancedb.index import IvfFlat

    with files.readable():
        config = IvfFlat(distance_type=_DISTANCE, num_partitions=partitions(rows))
        table.create_index(VECTOR, config=config, replace=True)


def drop_index(files: VectorFiles, table: Any) -> None:
    """Remove the index, if there is one: few rows are searched exactly."""
    with files.readable():
        for name in vector_indexes(table):
            table.drop_index(name)


def unindexed_rows(files: VectorFiles, table: Any, rows: int) -> int:
    """Return how many of the table's rows no index covers."""
    with files.readable():
        names = vector_indexes(table)
        if not names:
            return rows
        stats = table.index_stats(names[0])
        return max(int(stats.num_unindexed_rows), abs(rows - int(stats.num_indexed_rows)))


def partitions(rows: int) -> int:
    """Return how many partitions an index over so many rows gets.

    >>> [partitions(rows) for rows in (1, 300, 200_000)]
    [1, 17, 447]
    """
    return max(1, isqrt(rows))


def search_index(files: VectorFiles, table: Any, query: Vectors, depth: int, probes: int) -> Ints:
    """Return ids int64 (m,), m <= depth, that the index finds for a query float32 (dim,)."""
    with files.readable():
        search = table.search(query, vector_column_name=VECTOR).distance_type(_DISTANCE)
        found = search.nprobes(probes).limit(depth).select([ITEM_ID, "_distance"]).to_arrow()
        ids: Ints = found[ITEM_ID].to_numpy().astype(np.int64)
        return ids


def _unreachable(files: VectorFiles, table: Any, rows: VectorRows) -> int:
    """Return how many rows a search of all partitions does not return.

    Lance's own statistics count the fragments that went into an index, not the rows in it.
    """
    count = len(rows.item_ids)
    found = search_index(files, table, rows.vectors[0], count, partitions(count))
    return count - int(np.isin(rows.item_ids, found).sum())


def _measure(files: VectorFiles, table: Any, rows: VectorRows, min_recall: float) -> IndexQuality:
    """Double the probes until the recall is reached or all partitions are probed."""
    count = len(rows.item_ids)
    sample = np.unique(np.linspace(0, count - 1, SAMPLED_ROWS).astype(np.int64))
    least = _tenth_best(rows, sample, min(RECALL_DEPTH, count))
    most_probes = partitions(count)
    probes = min(FIRST_PROBES, most_probes)
    while True:
        recall = _recall(files, table, rows, sample=sample, least=least, probes=probes)
        if recall >= min_recall or probes >= most_probes:
            return IndexQuality(probes=probes, recall=recall)
        probes = min(2 * probes, most_probes)


def _tenth_best(rows: VectorRows, sample: Ints, depth: int) -> Vectors:
    """Return float32 (n_sampled,): the exact score of the last of the true best."""
    best = []
    for start in range(0, len(sample), _SAMPLES_AT_A_TIME):
        queries = rows.vectors[sample[start : start + _SAMPLES_AT_A_TIME]]
        scores = queries @ rows.vectors.T
        place = scores.shape[1] - depth
        best.append(np.partition(scores, place, axis=1)[:, place])
    return np.concatenate(best)


def _recall(
    files: VectorFiles,
    table: Any,
    rows: VectorRows,
    *,
    sample: Ints,
    least: Vectors,
    probes: int,
) -> float:
    depth = min(RECALL_DEPTH, len(rows.item_ids))
    hits = 0
    for row, tenth_best in zip(sample, least, strict=True):
        query = rows.vectors[row]
        found = np.unique(search_index(files, table, query, depth, probes))
        scores = rows.vectors[np.searchsorted(rows.item_ids, found)] @ query
        hits += int((scores >= tenth_best - _TIE).sum())
    return hits / (depth * len(sample))
