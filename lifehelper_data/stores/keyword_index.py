"""The keyword index: a folder of memory-mapped arrays, searched without loading it.

`<array>.npy` holds the books and the digests of their texts; `<field>.<array>.npy` holds, per
field, the vocabulary, the terms of each document (what the next build reuses) and the postings;
`meta.json` names every file with its size and hash. Nothing in a folder changes once it has its
name.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest, Unavailable
from lifehelper_data.domain.search import Field, KeywordWeights, QueryTokens
from lifehelper_data.domain.search.bm25 import Bm25, DocumentTerms, Floats, Formula, Ints

if TYPE_CHECKING:
    from lifehelper_data.domain.search.topk import FieldPostings

FORMAT_VERSION: Final = 1
META_FILE: Final = "meta.json"
REMEDY: Final = "run `lifehelper build` to make it again"
BOOK_IDS: Final = "book_ids"
DIGESTS: Final = "digests"
FIELD_ARRAYS: Final = (
    "vocabulary",  # uint8: the terms in UTF-8, ascending, one after the other
    "vocabulary_offsets",  # int64 (n_terms + 1,)
    "document_offsets",  # int64 (n_documents + 1,)
    "document_terms",  # int32 (n,)
    "document_counts",  # int32 (n,)
    "posting_offsets",  # int64 (n_terms + 1,)
    "posting_documents",  # int32 (n,)
    "posting_impacts",  # float64 (n,)
)
DEFAULT_WEIGHTS: Final = KeywordWeights()

Mask = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenMatch:
    """One token of a query found in one field of a book.

    Attributes:
        field: where.
        token: which.
        impact: its BM25 in that field.
        contribution: impact times the field's weight: its share of the score.
    """

    field: Field
    token: str
    impact: float
    contribution: float


def file_name(array: str, of: Field | None = None) -> str:
    """Return the file that holds an array of the index, or of one of its fields."""
    return f"{array}.npy" if of is None else f"{of}.{array}.npy"


@dataclass(slots=True)
class KeywordIndex:
    """An opened index. Safe to search from several threads.

    Attributes:
        folder: where it lies.
        identity: sha256 of its logical content; equal however it was built.
        analysis_version: analyser and rules that its tokens come from.
        bm25: formula and parameters of its impacts.
        book_ids: int64 (n_books,), ascending; position = row of every mask.
    """

    folder: Path
    identity: str
    analysis_version: str
    bm25: Bm25
    book_ids: Ints
    _arrays: dict[str, Array] = field(default_factory=dict)
    _free_scratch: list[Floats] = field(default_factory=list)

    @classmethod
    def open(cls, folder: Path) -> "KeywordIndex":
        """Map an index; its files are read as searches need them.

        Raises:
            Unavailable: the folder or a file is missing, cut short or not an index; names it.
        """
        meta = read_meta(folder)
        try:
            index = cls(
                folder=folder,
                identity=str(meta["identity"]),
                analysis_version=str(meta["analysis_version"]),
                bm25=_bm25(meta["bm25"]),
                book_ids=map_array(folder / file_name(BOOK_IDS)),
            )
            for name, entry in sorted(meta["files"].items()):
                _check_size(folder / name, int(entry["bytes"]))
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(folder / META_FILE, f"bad or missing entry: {error}") from error
        for of in Field:
            for array in ("vocabulary", "vocabulary_offsets", *FIELD_ARRAYS[5:]):
                index.array(array, of)
        return index

    def __len__(self) -> int:
        return len(self.book_ids)

    def array(self, name: str, of: Field | None = None) -> Array:
        """Return an array of the index, mapped read-only."""
        file = file_name(name, of)
        if file not in self._arrays:
            self._arrays[file] = map_array(self.folder / file)
        return self._arrays[file]

    def document_terms(self, of: Field) -> DocumentTerms:
        """Return the terms of each document in a field."""
        return DocumentTerms(
            offsets=self.array("document_offsets", of),
            terms=self.array("document_terms", of),
            counts=self.array("document_counts", of),
        )

    def mask(self, book_ids: Ints) -> Mask:
        """Return the mask that lets through these books; ids that are not indexed are ignored."""
        return np.isin(self.book_ids, book_ids)

    def search(
        self,
        tokens: QueryTokens,
        k: int,
        mask: Mask | None = None,
        weights: KeywordWeights = DEFAULT_WEIGHTS,
    ) -> tuple[Ints, Floats]:
        """Return the k best books by the weighted sum of BM25 over fields.

        Args:
            tokens: the query; without a token nothing is found.
            k: how many books at most, >= 1.
            mask: bool (n_books,), which books may be found, applied before anything is cut off.
            weights: of the fields; a field of weight 0 is not searched.

        Returns:
            Book ids int64 (m,) and scores float64 (m,), m <= k, scores above 0: higher score
            first, then lower book_id.

        Raises:
            InvalidRequest: k below 1, or a mask of another length.
        """
        from lifehelper_data.domain.search.topk import top_k  # numba, on need

        check_request(k, mask, len(self))
        postings = []
        for of in Field:
            weight = weights.of(of)
            if weight == 0:
                continue
            _, starts, stops = self._locate(of, tokens.of(of))
            if len(starts):
                postings.append(self._field_postings(of, starts, stops, weight))
        try:
            scratch = self._free_scratch.pop()
        except IndexError:  # as many as threads that search at a time
            scratch = np.zeros(len(self), dtype=np.float64)
        positions, scores = top_k(postings, k, scratch=scratch, mask=mask)
        self._free_scratch.append(scratch)
        return self.book_ids[positions], scores

    def explain(
        self, book_id: int, tokens: QueryTokens, weights: KeywordWeights = DEFAULT_WEIGHTS
    ) -> tuple[TokenMatch, ...]:
        """Return what a book's score is made of, in the order in which `search` adds it up.

        Summing the contributions from left to right gives the score to the bit. A repeated token
        appears as often as it counts. A book that does not match, or is not indexed: empty.
        """
        row = int(np.searchsorted(self.book_ids, book_id))
        if row == len(self) or self.book_ids[row] != book_id:
            return ()
        matches = []
        for of in Field:
            weight = weights.of(of)
            found, starts, stops = self._locate(of, tokens.of(of))
            documents = self.array("posting_documents", of)
            for token, start, stop in zip(found, starts, stops, strict=True):
                at = start + int(np.searchsorted(documents[start:stop], row))
                if weight > 0 and at < stop and documents[at] == row:
                    impact = float(self.array("posting_impacts", of)[at])
                    matches.append(
                        TokenMatch(
                            field=of, token=token, impact=impact, contribution=weight * impact
                        )
                    )
        return tuple(matches)

    def verify(self) -> None:
        """Read every file and compare it with the hash it was published with.

        Raises:
            Unavailable: a file holds other bytes; names it.
        """
        for name, entry in sorted(read_meta(self.folder)["files"].items()):
            path = self.folder / name
            with path.open("rb") as handle:
                if hashlib.file_digest(handle, "sha256").hexdigest() != entry["sha256"]:
                    raise _damaged(path, "its bytes have changed")

    def _locate(self, of: Field, tokens: Sequence[str]) -> tuple[list[str], Ints, Ints]:
        from lifehelper_data.domain.search.topk import find_terms  # numba, on need

        if not tokens:
            return [], np.zeros(0, np.int64), np.zeros(0, np.int64)
        terms = find_terms(
            self.array("vocabulary", of), self.array("vocabulary_offsets", of), tokens
        )
        found = [token for token, term in zip(tokens, terms, strict=True) if term >= 0]
        terms = terms[terms >= 0]
        offsets = self.array("posting_offsets", of)
        return found, offsets[terms], offsets[terms + 1]

    def _field_postings(
        self, of: Field, starts: Ints, stops: Ints, weight: float
    ) -> "FieldPostings":
        from lifehelper_data.domain.search.topk import FieldPostings  # numba

        return FieldPostings(
            documents=self.array("posting_documents", of),
            impacts=self.array("posting_impacts", of),
            starts=starts,
            stops=stops,
            weight=weight,
        )


def check_request(k: int, mask: Mask | None, rows: int) -> None:
    """Refuse a k below 1 and a mask that is not bool (n_books,)."""
    if k < 1:
        raise InvalidRequest(f"k = {k!r}: ask for at least one book", field="k")
    if mask is not None and (mask.shape != (rows,) or mask.dtype != np.bool_):
        raise InvalidRequest(
            f"mask is {mask.dtype} {mask.shape!r}, the index holds {rows} books", field="mask"
        )


def read_meta(folder: Path) -> dict[str, Any]:
    """Return the description of an index.

    Raises:
        Unavailable: missing, not JSON, or of another format version.
    """
    path = folder / META_FILE
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from error
    found = meta.get("format_version") if isinstance(meta, dict) else None
    if found != FORMAT_VERSION:
        raise _damaged(path, f"format version {found!r}, this package reads {FORMAT_VERSION}")
    return dict(meta)


def map_array(path: Path) -> Array:
    """Map an array file read-only.

    Raises:
        Unavailable: missing or not an array file; names it.
    """
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _damaged(path, str(error)) from error
    return np.asarray(mapped)  # a plain view: compiled code does not know np.memmap


def _bm25(meta: dict[str, Any]) -> Bm25:
    return Bm25(**{**meta, "formula": Formula(meta["formula"])})


def _check_size(path: Path, expected: int) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise _damaged(path, str(error)) from error
    if size != expected:
        raise _damaged(path, f"{size} bytes instead of {expected}")


def _damaged(path: Path, why: str) -> Unavailable:
    return Unavailable(f"keyword index file {str(path)!r} cannot be used: {why}; {REMEDY}")
