"""BM25 as a table of impacts: what one token adds to one document's score.

Sources: Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond"; the
floor on negative idf as in the ATIRE variant of rank_bm25 (Trotman, Jia & Crane 2012); the Lucene
variant as in Kamphuis et al. 2020, "Which BM25 Do You Mean?".
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]


class Formula(StrEnum):
    """Which BM25."""

    OKAPI = "okapi"
    LUCENE = "lucene"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bm25:
    """A BM25 and its parameters.

    Attributes:
        formula: `okapi` equals rank_bm25.BM25Okapi bit for bit: every document counts, also one
            without a token; a token in more than half of the documents gets `epsilon` times the
            mean idf of the vocabulary. In a catalog of a few books its idf may be 0 or negative, so
            that a matching book scores nothing. `lucene` counts only documents that have the field,
            and its idf is always above 0.
        k1: how fast repeats of a token saturate, >= 0.
        b: how much long documents are held back, 0 to 1.
        epsilon: share of the mean idf that replaces a negative one (`okapi` only).
    """

    formula: Formula = Formula.LUCENE
    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentTerms:
    """Which terms each document holds, document by document.

    Attributes:
        offsets: int64 (n_documents + 1,), where each document's terms start and end.
        terms: int32 (n,), term numbers; within a document in order of their first occurrence.
        counts: int32 (n,), occurrences in the document, >= 1.
    """

    offsets: Ints
    terms: Ints32
    counts: Ints32

    @property
    def n_documents(self) -> int:
        """How many documents, those without a term included."""
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """Which documents hold each term, term by term.

    Attributes:
        offsets: int64 (n_terms + 1,), where each term's documents start and end.
        documents: int32 (n,), document positions, ascending within a term.
        impacts: float64 (n,), what the term adds to the score of that document.
    """

    offsets: Ints
    documents: Ints32
    impacts: Floats


def build_postings(matrix: DocumentTerms, n_terms: int, bm25: Bm25) -> Postings:
    """Turn document-wise counts into term-wise impacts.

    Args:
        matrix: terms by document.
        n_terms: size of the vocabulary; every term occurs in at least one document.
        bm25: formula and parameters.

    Returns:
        Postings. No documents or no terms give empty ones. Sums are taken in document order, so
        equal input gives equal bits.
    """
    sizes = np.diff(matrix.offsets)
    n_documents = matrix.n_documents
    documents = np.repeat(np.arange(n_documents, dtype=np.int64), sizes)
    frequencies = np.bincount(matrix.terms, minlength=n_terms).astype(np.int64)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(frequencies)))
    order = _by_term(matrix.terms)
    documents = documents[order]
    counts = matrix.counts[order].astype(np.int64)
    lengths = _lengths(matrix, sizes)
    idf = np.repeat(inverse_frequencies(matrix, frequencies, bm25), frequencies)
    return Postings(
        offsets=offsets,
        documents=documents.astype(np.int32),
        impacts=idf * _saturation(counts, lengths[documents], lengths, bm25),
    )


def inverse_frequencies(matrix: DocumentTerms, frequencies: Ints, bm25: Bm25) -> Floats:
    """Return the weight of each term by how rare it is, float64 (n_terms,).

    okapi: log(N - n + 0.5) - log(n + 0.5), N documents, n of them with the term; a negative value
    is replaced by epsilon times the mean over the vocabulary. lucene: log(1 + (N - n + 0.5) /
    (n + 0.5)), N documents that have any term.

    Args:
        matrix: terms by document.
        frequencies: int64 (n_terms,), documents per term.
        bm25: formula and parameters.
    """
    if bm25.formula is Formula.LUCENE:
        filled = int(np.count_nonzero(np.diff(matrix.offsets)))
        return _of_distinct(frequencies, lambda n: math.log(1 + (filled - n + 0.5) / (n + 0.5)))
    total = matrix.n_documents
    idf = _of_distinct(frequencies, lambda n: math.log(total - n + 0.5) - math.log(n + 0.5))
    if len(idf):
        # rank_bm25 sums in the order in which words first occur; cumsum adds one by one as it does.
        _, first = np.unique(matrix.terms, return_index=True)
        mean = float(np.cumsum(idf[np.argsort(first)])[-1]) / len(idf)
        idf[idf < 0] = bm25.epsilon * mean
    return idf


def _by_term(terms: Ints32) -> Ints:
    # Stable, so documents stay in order. numpy sorts 16-bit numbers by radix, ten times faster
    # than wider ones: lower half first, then upper half.
    order = np.argsort((terms & 0xFFFF).astype(np.uint16), kind="stable")
    upper = (terms[order] >> 16).astype(np.uint16)
    return order[np.argsort(upper, kind="stable")] if upper.any() else order


def _of_distinct(frequencies: Ints, weight: Callable[[int], float]) -> Floats:
    # math.log, not np.log: the vectorised one may differ in the last bit between processors.
    distinct, positions = np.unique(frequencies, return_inverse=True)
    values = np.array([weight(int(n)) for n in distinct], dtype=np.float64)
    return values[positions]


def _lengths(matrix: DocumentTerms, sizes: Ints) -> Ints:
    documents = np.repeat(np.arange(matrix.n_documents), sizes)
    # Counts are whole numbers far below 2**53: the float64 sums of bincount are exact.
    sums = np.bincount(documents, weights=matrix.counts, minlength=matrix.n_documents)
    return sums.astype(np.int64)


def _saturation(counts: Ints, of_document: Ints, lengths: Ints, bm25: Bm25) -> Floats:
    k1, b = bm25.k1, bm25.b
    total = int(lengths.sum())
    if total == 0:
        return np.zeros(len(counts))
    match bm25.formula:
        case Formula.OKAPI:  # the very order of rank_bm25's operations
            mean = total / len(lengths)
            return counts * (k1 + 1) / (counts + k1 * (1 - b + b * of_document / mean))
        case Formula.LUCENE:
            mean = total / int(np.count_nonzero(lengths))
            return counts / (counts + k1 * (1 - b + b * of_document / mean))
