"""Rows of a vector table: what makes them good, and what identifies them."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.stores.vector_files import VectorFiles

Ints = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float32]

ITEM_ID: Final = "item_id"
TEXT_DIGEST: Final = "text_digest"
VECTOR: Final = "vector"
LENGTH_TOLERANCE: Final = 1e-3
CHUNK: Final = 2048
"""Ids in one SQL filter, and rows in one float64 pass."""
_HEX: Final = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRows:
    """Rows of a table.

    Attributes:
        item_ids: int64 (n,), ascending.
        digests: the hex digest of each text.
        vectors: float32 (n, dim), contiguous.
    """

    item_ids: Ints
    digests: list[str]
    vectors: Vectors

    def faults(self, name: str) -> list[str]:
        """Return what is wrong with the rows, in the words of a message."""
        found = []
        repeated = self.item_ids[1:][self.item_ids[1:] == self.item_ids[:-1]]
        if len(repeated):
            found.append(f"{name} {int(repeated[0])} stands in it more than once")
        bad = bad_vectors(self.vectors)
        if len(bad):
            found.append(
                f"{len(bad)} vectors are not finite or not of length 1, the first that of {name} "
                f"{int(self.item_ids[bad[0]])}"
            )
        return found


def bad_vectors(vectors: Vectors) -> Ints:
    """Return the positions of vectors that are not finite or not of length 1 within 1e-3."""
    bad = []
    for start in range(0, len(vectors), CHUNK):
        block = vectors[start : start + CHUNK].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.sqrt(np.square(block).sum(axis=1))
        # a comparison with NaN is false, so that NaN and infinity are bad, too
        bad.append(start + np.flatnonzero(~(np.abs(lengths - 1) <= LENGTH_TOLERANCE)))
    return np.concatenate(bad).astype(np.int64) if bad else np.zeros(0, np.int64)


def check_rows(item_ids: Ints, digests: Sequence[str], vectors: Vectors, dim: int) -> None:
    """Refuse rows that may not be written.

    Raises:
        InvalidRequest: wrong shapes or types, an id twice, a digest that is not lower-case hex, or
            a vector that is not finite or not of length 1 within 1e-3; names the first bad id.
    """
    check_ids(item_ids)
    if vectors.shape != (len(item_ids), dim) or vectors.dtype != np.float32:
        raise InvalidRequest(
            f"vectors are {vectors.dtype} {vectors.shape!r}; {len(item_ids)} ids of a table of "
            f"dim {dim} need float32 {(len(item_ids), dim)!r}",
            field="vectors",
        )
    if len(digests) != len(item_ids):
        raise InvalidRequest(
            f"{len(digests)} digests for {len(item_ids)} ids; give one per id", field="digests"
        )
    for item_id, digest in zip(item_ids, digests, strict=True):
        if not _HEX.fullmatch(digest):
            raise InvalidRequest(
                f"text digest {digest!r} of item {int(item_id)} is not lower-case hex",
                field="digests",
            )
    bad = bad_vectors(vectors)
    if len(bad):
        raise InvalidRequest(
            f"the vector of item {int(item_ids[bad[0]])} is not finite or not of length 1 within "
            f"{LENGTH_TOLERANCE}; normalise it in float32 ({len(bad)} of {len(item_ids)} are bad)",
            field="vectors",
        )


def check_ids(item_ids: Ints) -> None:
    """Refuse ids that are not int64 (n,) or not unique."""
    if item_ids.ndim != 1 or item_ids.dtype != np.int64:
        raise InvalidRequest(
            f"item ids are {item_ids.dtype} {item_ids.shape!r}, not int64 (n,)", field="item_ids"
        )
    ordered = np.sort(item_ids)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        raise InvalidRequest(
            f"item {int(repeated[0])} is given twice in one call; give each id once",
            field="item_ids",
        )


def content_digest(vector_space_id: str, dim: int, item_ids: Ints, digests: Sequence[str]) -> str:
    """Return the hex sha256 of a table's content, whatever the history of its writes.

    Vectors are not in it: they follow from text and space, and their last bits from batch sizes.

    Args:
        vector_space_id: the space.
        dim: length of the vectors.
        item_ids: int64 (n,), ascending.
        digests: the digest of each text.
    """
    digest = hashlib.sha256(f"vectors|{vector_space_id}|{dim}|{len(item_ids)}\n".encode())
    lines = (f"{i}:{text}" for i, text in zip(item_ids.tolist(), digests, strict=True))
    digest.update("\n".join(lines).encode())
    return digest.hexdigest()


def read_keys(files: VectorFiles, table: Any) -> tuple[Ints, list[str]]:
    """Return ids int64 (n,), ascending, and their digests, of the version that is checked out."""
    with files.readable():
        found = table.search().select([ITEM_ID, TEXT_DIGEST]).to_arrow()
        ids = found[ITEM_ID].to_numpy().astype(np.int64)
        order = np.argsort(ids, kind="stable")
        return ids[order], found[TEXT_DIGEST].take(order).to_pylist()


def read_rows(files: VectorFiles, table: Any) -> VectorRows:
    """Return all rows of the version that is checked out.

    Needs twice the memory of the vectors for a moment.
    """
    with files.readable():
        dim = table.schema.field(VECTOR).type.list_size
        found = table.to_arrow()
        ids = found[ITEM_ID].to_numpy().astype(np.int64)
        order = np.argsort(ids, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        vectors = np.empty((len(ids), dim), dtype=np.float32)
        start = 0
        for chunk in found[VECTOR].chunks:
            vectors[place[start : start + len(chunk)]] = as_matrix(chunk, dim)
            start += len(chunk)
        return VectorRows(
            item_ids=ids[order], digests=found[TEXT_DIGEST].take(order).to_pylist(), vectors=vectors
        )


def as_matrix(chunk: Any, dim: int) -> Vectors:
    """Return an Arrow array of lists as float32 (n, dim)."""
    values: Vectors = chunk.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(chunk), dim)
