"""One published version of a vector table, as memory-mapped arrays. Opening imports no Lance."""

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest, NotFound, Unavailable
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.vector_codes import load_or_make_codes
from lifehelper_data.stores.vector_engine import Cosines, Nearest, VectorEngine, choose_engine
from lifehelper_data.stores.vector_files import VectorFiles, is_tag
from lifehelper_data.stores.vector_rows import (
    CHUNK,
    Ints,
    VectorRows,
    Vectors,
    bad_vectors,
    content_digest,
)
from lifehelper_data.stores.vector_version import (
    VectorVersion,
    load_facts,
    map_arrays,
    open_tagged,
    read_tagged,
    save_snapshot,
    tag_faults,
)

if TYPE_CHECKING:
    from lifehelper_data.domain.search.scan import ScanCodes

Mask = npt.NDArray[np.bool_]
_SPARSE_SHARE: Final = 0.25
"""Kept share below which the kept rows are gathered instead of scoring all."""


@dataclass(slots=True)
class VectorSnapshot:
    """The vectors of one tag. Safe to search from several threads.

    Attributes:
        version: what was published.
        item_ids: int64 (n,), ascending; position = row of every mask.
        vectors: float32 (n, dim), rows of length 1 within 1e-3, in the order of the ids.
    """

    version: VectorVersion
    item_ids: Ints
    vectors: Vectors
    _files: VectorFiles
    _table: Any = field(default=None)
    _codes: "ScanCodes | None" = field(default=None)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def open(cls, layout: Layout, name: str, vector_space_id: str, tag: str) -> "VectorSnapshot":
        """Map the vectors of a tag; nothing of it changes afterwards, whatever is deleted.

        Raises:
            NotFound: there is no such table or tag.
            Unavailable: the table is damaged; names it.
        """
        files = VectorFiles.of(layout, name, vector_space_id)
        if not is_tag(tag):
            raise InvalidRequest(f"{tag!r} is not the tag of a vector version", field="tag")
        version = load_facts(files, tag)
        arrays = None if version is None else map_arrays(files, version)
        if version is None or arrays is None:
            version, rows = _make_again(files, tag, version)
            arrays = map_arrays(files, version) or (rows.item_ids, rows.vectors)
        return cls(version=version, item_ids=arrays[0], vectors=arrays[1], _files=files)

    def __len__(self) -> int:
        return len(self.item_ids)

    def vector(self, item_id: int) -> Vectors:
        """Return the vector float32 (dim,) of an item.

        Raises:
            NotFound: it has none.
        """
        row = int(np.searchsorted(self.item_ids, item_id))
        if row == len(self) or self.item_ids[row] != item_id:
            raise NotFound(f"item {item_id!r} has no vector in {self.version.name!r}")
        found: Vectors = self.vectors[row]
        return found

    def mask(self, item_ids: Ints) -> Mask:
        """Return the mask that lets through these items; ids without a vector are ignored."""
        return np.isin(self.item_ids, item_ids)

    def search(
        self, query: Vectors, k: int, mask: Mask | None = None, *, approximate: bool = False
    ) -> tuple[Ints, Cosines]:
        """Return ids and cosines of the k nearest items (see `nearest`)."""
        found = self.nearest(query, k, mask, approximate=approximate)
        return found.item_ids, found.cosines

    def nearest(
        self, query: Vectors, k: int, mask: Mask | None = None, *, approximate: bool = False
    ) -> Nearest:
        """Return the k nearest items, and how they were found.

        An engine picks rows among which the best k are, and their cosines are computed in
        float64, row by row, so that equal vectors have equal cosines wherever they stand.

        Args:
            query: float32 (dim,), of length 1 within 1e-3.
            k: how many items at most, >= 1.
            mask: bool (n,), which items may be found, applied before anything is cut off.
            approximate: let the index choose the k items, if there is one and no mask.

        Returns:
            m <= k items and their cosines (dot products of vectors of length 1): higher cosine
            first, then lower id. No rows, or none let through: both empty.

        Raises:
            InvalidRequest: a bad query, a k below 1, or a mask of another length.
        """
        self._check(query, k, mask)
        considered = len(self) if mask is None else int(np.count_nonzero(mask))
        engine, recall = choose_engine(len(self), considered), 1.0
        if approximate and mask is None and self.version.indexed:
            engine, recall = VectorEngine.INDEX, self.version.recall or 0.0
        places = self._picked(engine, query, k, mask)
        cosines = _exact(self.vectors, places, query)
        order = np.lexsort((places, -cosines))[:k]
        return Nearest(
            item_ids=self.item_ids[places[order]],
            cosines=cosines[order],
            engine=engine,
            considered=considered,
            rescored=len(places),
            recall=recall,
        )

    def _picked(self, engine: VectorEngine, query: Vectors, k: int, mask: Mask | None) -> Ints:
        """Return the positions of rows among which the best k are."""
        match engine:
            case VectorEngine.GATHERED:
                return np.flatnonzero(np.ones(len(self), np.bool_) if mask is None else mask)
            case VectorEngine.FLOAT32:
                return self._by_float32(query, k, mask)
            case VectorEngine.INT8:
                from lifehelper_data.domain.search.scan import candidates  # numba, on need

                return candidates(self._codes_of_all(), query, k, mask)
            case VectorEngine.INDEX:
                return self._ask_index(query, k)

    def _codes_of_all(self) -> "ScanCodes":
        """Return the codes; the first search checks them, or makes them."""
        if self._codes is None:
            with self._lock:
                if self._codes is None:
                    self._codes = load_or_make_codes(self._files, self.version.tag, self.vectors)
        return self._codes

    def _by_float32(self, query: Vectors, k: int, mask: Mask | None) -> Ints:
        if mask is None:
            allowed, scores = None, self.vectors @ query
        else:
            allowed = np.flatnonzero(mask)
            sparse = len(allowed) < _SPARSE_SHARE * len(self)
            scores = self.vectors[allowed] @ query if sparse else (self.vectors @ query)[allowed]
        if len(scores) <= k:
            places = np.arange(len(scores))
        else:
            # twice the largest rounding error of a float32 dot product of vectors of length 1
            slack = 2 * len(query) * float(np.finfo(np.float32).eps)
            places = np.flatnonzero(scores >= np.partition(scores, -k)[-k] - slack)
        return places if allowed is None else allowed[places]

    def _ask_index(self, query: Vectors, k: int) -> Ints:
        from lifehelper_data.stores.vector_index import search_index

        if self._table is None:
            self._table = open_tagged(self._files, self.version.tag)
        found = search_index(self._files, self._table, query, k, self.version.probes or 1)
        return np.searchsorted(self.item_ids, np.unique(found)).astype(np.int64)

    def _check(self, query: Vectors, k: int, mask: Mask | None) -> None:
        if k < 1:
            raise InvalidRequest(f"k = {k!r}: ask for at least one item", field="k")
        dim = self.version.dim
        if query.shape != (dim,) or query.dtype != np.float32:
            raise InvalidRequest(
                f"the query is {query.dtype} {query.shape!r}; {self.version.name!r} in space "
                f"{self.version.vector_space_id!r} needs float32 {(dim,)!r}",
                field="query",
            )
        if len(bad_vectors(query[np.newaxis])):
            raise InvalidRequest(
                "the query vector is not finite or not of length 1; normalise it", field="query"
            )
        if mask is not None and (mask.shape != (len(self),) or mask.dtype != np.bool_):
            raise InvalidRequest(
                f"mask is {mask.dtype} {mask.shape!r}, there are {len(self)} items", field="mask"
            )


def _make_again(
    files: VectorFiles, tag: str, known: VectorVersion | None
) -> tuple[VectorVersion, VectorRows]:
    """Read a tag from Lance, check it, and keep it.

    Without facts the index is not used: how many probes it needs is unknown.
    """
    number, rows, indexed = read_tagged(files, tag)
    faults = tag_faults(files, tag, rows)
    if faults:
        raise Unavailable(
            f"version {tag!r} of vector table {files.shown!r} is damaged: {faults[0]}; restore the "
            "folder from a copy, or remove it and run `lifehelper build`",
            field=files.table_name,
        )
    dim = rows.vectors.shape[1]
    keep = known is not None and known.indexed and indexed
    version = VectorVersion(
        name=files.name,
        vector_space_id=files.vector_space_id,
        dim=dim,
        version=number,
        tag=tag,
        rows=len(rows.item_ids),
        content_digest=content_digest(files.vector_space_id, dim, rows.item_ids, rows.digests),
        indexed=keep,
        recall=known.recall if known and keep else None,
        probes=known.probes if known and keep else None,
    )
    with suppress(OSError):  # read-only or full: this reader is served from memory
        save_snapshot(files, version, rows)
    return version, rows


def _exact(vectors: Vectors, places: Ints, query: Vectors) -> Cosines:
    """Return float64 dot products; each depends on its row alone, not on its position."""
    wide = query.astype(np.float64)
    blocks = [
        (vectors[places[start : start + CHUNK]] * wide).sum(axis=1)
        for start in range(0, len(places), CHUNK)
    ]
    return np.concatenate(blocks) if blocks else np.zeros(0)
