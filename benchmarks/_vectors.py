"""Vectors to measure on: as crowded as those of sentences, and the fixture's own."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.kit import FIXTURES, Quality, require
from lifehelper_data.domain.ports import Progress
from lifehelper_data.domain.text.normalize import normalize
from lifehelper_data.models.encoder import VectorSpace
from lifehelper_data.models.native_folder import default_space
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.vector_files import VectorFiles
from lifehelper_data.stores.vector_index import partitions
from lifehelper_data.stores.vector_rows import VectorRows
from lifehelper_data.stores.vector_snapshot import VectorSnapshot
from lifehelper_data.stores.vector_version import VectorVersion, save_snapshot

# Read when LanceDB is first imported: it would print a warning per search, which costs it time.
os.environ.setdefault("LANCEDB_LOG", "error")

Vectors = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

DIM: Final = 384
DEPTH: Final = 10
INDEX_RECALL: Final = 0.98
ROW_BYTES: Final = DIM + 8  # codes, scale, error
NAME: Final = "books"
SPACE: Final = "0123456789abcdef"
CROWDED: Final = (0.75, 0.95)  # multilingual-e5-small: 98 % of pairs of books lie at 0.81-0.88
_TAG: Final = "c-0123456789abcdef"
_FIRST_PROBES: Final = 10
_CLUSTERS: Final = 400
_AT_A_TIME: Final = 20_000
# Chosen so that pairs, nearest neighbours and the spectrum are like those of the fixture's books:
# cosines of pairs 0.82 (there 0.85) and the first 64 directions hold 55 % (59 %) of what differs.
_SHARED, _APART = 0.9, 0.42
_BETWEEN, _WITHIN = 0.55, 0.65
_SPECTRUM: Final = 24


def sentence_like(rows: int, *, seed: int) -> Vectors:
    """Return float32 (rows, 384) of length 1: a shared direction, clusters, a falling spectrum."""
    rng = np.random.default_rng(seed)
    widths = 1 / np.sqrt(1 + np.arange(DIM) / _SPECTRUM)
    widths *= _APART / np.hypot(_BETWEEN, _WITHIN) / np.linalg.norm(widths)
    # the cosine transform spreads every direction over all numbers, as a model does
    waves = np.pi * np.outer(np.arange(DIM) + 0.5, np.arange(DIM)) / DIM
    basis = (np.cos(waves) * np.sqrt(2 / DIM)).astype(np.float32)
    basis[:, 0] /= np.sqrt(np.float32(2))
    centres = _BETWEEN * rng.normal(size=(_CLUSTERS, DIM)) * widths
    sizes = np.arange(1, _CLUSTERS + 1) ** -0.7
    of = rng.choice(_CLUSTERS, rows, p=sizes / sizes.sum())
    found = np.empty((rows, DIM), dtype=np.float32)
    for start in range(0, rows, _AT_A_TIME):
        part = of[start : start + _AT_A_TIME]
        apart = centres[part] + _WITHIN * rng.standard_normal((len(part), DIM)) * widths
        block = _SHARED * basis[:, 1] + apart.astype(np.float32) @ basis.T
        found[start : start + len(part)] = unit_rows(block)
    return found


def queries_near(vectors: Vectors, count: int, *, seed: int) -> Vectors:
    """Return float32 (count, dim) of length 1, each some way off a row: cosine about 0.93."""
    rng = np.random.default_rng(seed)
    rows = vectors[rng.integers(0, len(vectors), count)]
    away = rng.standard_normal(rows.shape) * 0.4 / np.sqrt(rows.shape[1])
    return unit_rows(rows + away)


def fixture_vectors() -> Vectors:
    """Return the fixture's books as multilingual-e5-small sees them: float32 (450, 384)."""
    with np.load(FIXTURES / "vectors" / "books.npz", allow_pickle=False) as file:
        return unit_rows(file["vectors"])


def unit_rows(rows: npt.NDArray[Any]) -> Vectors:
    """Return rows scaled to length 1, in float32."""
    wide = rows.astype(np.float64)
    return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True), dtype=np.float32)


def crowded(vectors: Vectors) -> Quality:
    """Require that pairs of rows are as near to each other as those of sentences."""
    sample = vectors[:: max(1, len(vectors) // 1000)]
    cosines = (sample @ sample.T)[np.triu_indices(len(sample), 1)]
    middle = float(np.median(cosines))
    return require(
        "cosine of pairs of rows, median",
        round(middle, 3),
        f"{CROWDED[0]}-{CROWDED[1]}, as of sentences",
        holds=CROWDED[0] <= middle <= CROWDED[1],
    )


def numpy_top(vectors: Vectors, query: Vectors, k: int) -> Ints:
    """Return the k best rows as numpy finds them in float32, best first: the peer of P2."""
    scores = vectors @ query
    places = np.argpartition(scores, len(scores) - min(k, len(scores)))[-k:]
    return np.asarray(places[np.argsort(-scores[places], kind="stable")])


def true_top(vectors: Vectors, query: Vectors, k: int, mask: Mask | None = None) -> list[int]:
    """Return the k best rows by their cosine in float64, ties by position."""
    scores = vectors @ query
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    # float32 errs by far less than what lies between the k-th and the (8 k)-th
    many = min(8 * k, len(scores) if mask is None else int(mask.sum()))
    places = np.sort(np.argpartition(scores, len(scores) - many)[len(scores) - many :])
    exact = (vectors[places] * query.astype(np.float64)).sum(axis=1)
    return [int(row) for row in places[np.lexsort((places, -exact))][:k]]


def recall(found: Sequence[Sequence[int]], true: Sequence[Sequence[int]], depth: int) -> float:
    """Return the share of the true best `depth` that was found among the first `depth`.

    >>> recall([[1, 2, 9]], [[2, 1, 3]], 3) == 2 / 3
    True
    """
    hits = sum(len(set(a[:depth]) & set(b[:depth])) for a, b in zip(found, true, strict=True))
    return hits / sum(len(b[:depth]) for b in true)


@contextmanager
def snapshot_of(vectors: Vectors, ids: Ints | None = None) -> Iterator[VectorSnapshot]:
    """Yield a snapshot of rows as a search opens it; it is gone afterwards.

    Args:
        vectors: float32 (n, dim), of length 1.
        ids: int64 (n,), ascending; None numbers the rows from 0.
    """
    rows, dim = vectors.shape
    version = VectorVersion(
        name=NAME,
        vector_space_id=SPACE,
        dim=dim,
        version=1,
        tag=_TAG,
        rows=rows,
        content_digest="0" * 64,
        indexed=False,
        recall=None,
        probes=None,
    )
    known = np.arange(rows, dtype=np.int64) if ids is None else ids
    kept = VectorRows(item_ids=known, digests=[], vectors=vectors)
    with tempfile.TemporaryDirectory() as folder:
        layout = Layout(Path(folder))
        save_snapshot(VectorFiles.of(layout, NAME, SPACE), version, kept)
        yield VectorSnapshot.open(layout, NAME, SPACE, _TAG)


class GivenVectors:
    """An encoder that is told the vectors of its texts, where its own time is not the question."""

    precision = "fp32"

    def __init__(self, rows: Mapping[str, Vectors]) -> None:
        self.space: VectorSpace = default_space()
        self._rows = {normalize(text): row for text, row in rows.items()}

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, dim)."""
        return np.stack([self._rows[normalize(text)] for text in texts])

    def encode_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """Return float32 (n, dim)."""
        del progress
        return self.encode_queries(texts)


class LanceTable:
    """A LanceDB table with an IVF_FLAT index over its column "vector", tuned to a recall.

    IVF_FLAT, because it was faster at that recall than the others tried (IVF_PQ and
    IVF_SQ with refinement); partitions as many as the package would take.

    Attributes:
        table: LanceDB's table.
        probes: partitions to look into: as few as reach the recall on the queries, by doubling.
        reached: the recall, checked.
    """

    def __init__(
        self, folder: Path, columns: Mapping[str, Any], vectors: Vectors, queries: Sequence[Vectors]
    ) -> None:
        import lancedb
        import pyarrow as pa
        from lancedb.index import IvfFlat

        rows, dim = vectors.shape
        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dim)
        places = pa.array(np.arange(rows))
        self.table: Any = lancedb.connect(folder).create_table(
            "vectors", pa.table({**columns, "place": places, "vector": column})
        )
        config = IvfFlat(distance_type="dot", num_partitions=partitions(rows))
        self.table.create_index("vector", config=config)
        true = [true_top(vectors, query, DEPTH) for query in queries]
        self.probes, found = _FIRST_PROBES // 2, 0.0
        while found < INDEX_RECALL and self.probes < partitions(rows):
            self.probes *= 2
            found = recall([self.nearest(query, DEPTH) for query in queries], true, DEPTH)
        self.reached = require(
            f"recall@{DEPTH} of LanceDB's IVF_FLAT, {self.probes} probes",
            round(found, 4),
            f">= {INDEX_RECALL}",
            holds=found >= INDEX_RECALL,
        )

    def nearest(self, query: Vectors, k: int) -> list[int]:
        """Return the rows that the index finds, best first."""
        asked = self.table.search(query, vector_column_name="vector").distance_type("dot")
        listed = asked.nprobes(self.probes).limit(k).select(["place", "_distance"]).to_arrow()
        return [int(place) for place in listed["place"].to_pylist()]
