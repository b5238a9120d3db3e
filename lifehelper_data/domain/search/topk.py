"""The inner loops of keyword search, compiled: look terms up, add impacts, keep the best k.

Importing this module imports numba, so import it when the first search comes. Compiled code is kept
between processes where numba finds a writable folder (NUMBA_CACHE_DIR, beside this file, or the
user's cache); else each process compiles again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

_EVERY_DOCUMENT: Final = np.zeros(0, dtype=np.bool_)
# Visited postings per document from which one pass over all scores is cheaper than a second pass
# over the postings: the former reads in order, the latter jumps.
_DENSE_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldPostings:
    """The postings that a query's tokens have in one field.

    Attributes:
        documents: int32 (n,), document positions of the whole field.
        impacts: float64 (n,), impacts of the whole field.
        starts: int64 (n_tokens,), where each token's postings start.
        stops: int64 (n_tokens,), where they end.
        weight: factor on every impact of this field.
    """

    documents: Ints32
    impacts: Floats
    starts: Ints
    stops: Ints
    weight: float


def find_terms(blob: Bytes, offsets: Ints, tokens: Sequence[str]) -> Ints:
    """Return the number of each token in a sorted vocabulary; -1 where it is not in it.

    Args:
        blob: uint8, the terms in UTF-8, ascending, one after the other.
        offsets: int64 (n_terms + 1,), where each term starts and ends.
        tokens: what to look up.

    Returns:
        int64 (n_tokens,).
    """
    encoded = [token.encode() for token in tokens]
    ends = np.cumsum([0, *(len(token) for token in encoded)], dtype=np.int64)
    wanted = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    found = np.empty(len(encoded), dtype=np.int64)
    _find(blob, offsets, wanted, ends, found)
    return found


def top_k(
    fields: Sequence[FieldPostings], k: int, *, scratch: Floats, mask: Mask | None = None
) -> tuple[Ints, Floats]:
    """Return the k best documents by the sum of their weighted impacts.

    Contributions are added field by field, token by token, so that equal input gives equal bits.

    Args:
        fields: postings of the query's tokens, per field.
        k: how many documents at most, >= 1.
        scratch: float64 (n_documents,), all 0; it is all 0 again afterwards. One per thread.
        mask: bool (n_documents,), which documents may be found; applied before anything is cut
            off. None lets all through.

    Returns:
        Document positions int64 (m,) and scores float64 (m,), m <= k, only scores above 0: higher
        score first, then lower position. Nothing matches: both empty.
    """
    allowed = _EVERY_DOCUMENT if mask is None else mask
    visited = 0
    for field in fields:
        visited += _accumulate(
            field.documents,
            field.impacts,
            field.starts,
            field.stops,
            field.weight,
            allowed,
            scratch,
        )
    size = min(k, len(scratch), visited)
    scores = np.empty(size, dtype=np.float64)
    positions = np.empty(size, dtype=np.int64)
    kept = 0
    if visited > _DENSE_SHARE * len(scratch):
        kept = _drain_all(scratch, scores, positions)
    else:
        for field in fields:
            kept = _drain(
                field.documents, field.starts, field.stops, scratch, scores, positions, kept
            )
    order = np.lexsort((positions[:kept], -scores[:kept]))
    return positions[order], scores[order]


def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
    try:
        compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder to keep compiled code in
        compiled = numba.njit(nogil=True)(function)
    return compiled


@_jit
def _find(blob: Bytes, offsets: Ints, wanted: Bytes, ends: Ints, found: Ints) -> None:
    for token in range(len(found)):
        start, size = ends[token], ends[token + 1] - ends[token]
        low, high = 0, len(offsets) - 1
        found[token] = -1
        while low < high:
            middle = (low + high) // 2
            at, length = offsets[middle], offsets[middle + 1] - offsets[middle]
            shared = min(size, length)
            i = 0
            while i < shared and blob[at + i] == wanted[start + i]:
                i += 1
            if i == shared and size == length:
                found[token] = middle
                break
            if (i == shared and length < size) or (i < shared and blob[at + i] < wanted[start + i]):
                low = middle + 1
            else:
                high = middle


@_jit
def _accumulate(  # noqa: PLR0917 - compiled functions are called by position
    documents: Ints32,
    impacts: Floats,
    starts: Ints,
    stops: Ints,
    weight: float,
    allowed: Mask,
    scratch: Floats,
) -> int:
    visited = 0
    masked = len(allowed) > 0
    for token in range(len(starts)):
        visited += stops[token] - starts[token]
        if masked:
            for at in range(np.uint64(starts[token]), np.uint64(stops[token])):
                document = np.uint32(documents[at])
                if allowed[document]:
                    scratch[document] += weight * impacts[at]
        else:
            # Unsigned positions spare the check for Python's negative ones.
            for at in range(np.uint64(starts[token]), np.uint64(stops[token])):
                scratch[np.uint32(documents[at])] += weight * impacts[at]
    return visited


@_jit
def _offer(score: float, position: int, scores: Floats, positions: Ints, kept: int) -> int:
    # A heap with the worst kept document on top: lowest score, then highest position.
    if kept < len(scores):
        child = kept
        while child > 0:
            parent = (child - 1) // 2
            if scores[parent] < score or (scores[parent] == score and positions[parent] > position):
                break
            scores[child], positions[child] = scores[parent], positions[parent]
            child = parent
        scores[child], positions[child] = score, position
        return kept + 1
    if score < scores[0] or (score == scores[0] and position > positions[0]):
        return kept
    parent = 0
    while 2 * parent + 1 < kept:
        child = 2 * parent + 1
        right = child + 1
        if right < kept and (
            scores[right] < scores[child]
            or (scores[right] == scores[child] and positions[right] > positions[child])
        ):
            child = right
        if score < scores[child] or (score == scores[child] and position > positions[child]):
            break
        scores[parent], positions[parent] = scores[child], positions[child]
        parent = child
    scores[parent], positions[parent] = score, position
    return kept


@_jit
def _drain(  # noqa: PLR0917 - compiled functions are called by position
    documents: Ints32,
    starts: Ints,
    stops: Ints,
    scratch: Floats,
    scores: Floats,
    positions: Ints,
    kept: int,
) -> int:
    # A document is offered where it is met first; its score is 0 from then on.
    worst = scores[0] if kept == len(scores) else 0.0
    for token in range(len(starts)):
        for at in range(np.uint64(starts[token]), np.uint64(stops[token])):
            document = np.uint32(documents[at])
            score = scratch[document]
            scratch[document] = 0.0
            if score > 0.0 and score >= worst:
                kept = _offer(score, np.int64(document), scores, positions, kept)
                if kept == len(scores):
                    worst = scores[0]
    return kept


@_jit
def _drain_all(scratch: Floats, scores: Floats, positions: Ints) -> int:
    # Positions ascend, so a document must beat the worst kept one to be kept: a tie loses.
    kept, worst = 0, 0.0
    for document in range(np.uint64(len(scratch))):
        score = scratch[document]
        if score > worst:
            kept = _offer(score, np.int64(document), scores, positions, kept)
            if kept == len(scores):
                worst = scores[0]
    scratch[:] = 0.0
    return kept
