"""Building a keyword index: only texts that changed are analysed, the rest comes from before."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.domain.ports import NoProgress, Progress
from lifehelper_data.domain.search import Field, TextAnalyser
from lifehelper_data.domain.search.bm25 import Bm25, DocumentTerms, Ints, build_postings
from lifehelper_data.domain.search.vocabulary import (
    TermCollector,
    Vocabulary,
    merge_vocabularies,
    offsets_of,
    ranges,
)
from lifehelper_data.domain.text.bigrams import bigrams
from lifehelper_data.stores.keyword_index import (
    BOOK_IDS,
    DIGESTS,
    FIELD_ARRAYS,
    Array,
    KeywordIndex,
    file_name,
)
from lifehelper_data.stores.keyword_write import write_index

SOURCES: Final = ("title", "author", "description")
BATCH_ROWS: Final = 4096
DIGEST_BYTES: Final = 16  # of a SHA-256: 128 bits tell any two texts apart
BIGRAM_VERSION: Final = "bigrams-1"
_NO_TEXT: Final = bytes(DIGEST_BYTES)
_ANALYSED: Final = -1
_EMPTY: Final = -2
_SOURCE_OF: Final[Mapping[Field, str]] = {
    Field.TITLE: "title",
    Field.AUTHOR: "author",
    Field.DESCRIPTION: "description",
    Field.TITLE_BIGRAMS: "title",
    Field.AUTHOR_BIGRAMS: "author",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexBuildReport:
    """What a build made and what it cost.

    Attributes:
        folder: the index, named by its identity.
        identity: sha256 of the logical content.
        rows: books in the index.
        analysed: texts that were analysed.
        reused: texts whose tokens came from the previous index.
        size_bytes: bytes of all files.
        seconds: wall time.
    """

    folder: Path
    identity: str
    rows: int
    analysed: int
    reused: int
    size_bytes: int
    seconds: float


def build_keyword_index(
    parent: Path,
    documents: Iterable[pl.DataFrame],
    analyser: TextAnalyser,
    *,
    previous: KeywordIndex | None = None,
    bm25: Bm25 | None = None,
    progress: Progress | None = None,
    total: int | None = None,
    seconds: Callable[[], float] = time.monotonic,
) -> IndexBuildReport:
    """Build an index in `parent/<identity>`, whole or not at all.

    Args:
        parent: folder of all keyword indexes; created if missing.
        documents: frames with book_id (int64), title, author, description (text or null), over
            all frames strictly ascending in book_id. No frame gives an empty index.
        analyser: content words.
        previous: an index whose tokens are reused where the text of a field is the same. Ignored
            if it was made by another version of analyser or rules.
        bm25: formula and parameters; None takes the defaults.
        progress: shows documents read.
        total: how many documents to expect, for progress.
        seconds: a monotonic clock.

    Returns:
        The report. The same documents give the same bytes whatever `previous` is.

    Raises:
        InvalidRequest: book_id not strictly ascending; names the id.
    """
    started = seconds()
    bm25 = bm25 or Bm25()
    version = f"{analyser.version} {BIGRAM_VERSION}"
    if previous is not None and previous.analysis_version != version:
        previous = None
    reading = _Reading(analyser=analyser, previous=previous)
    for batch in _batches(documents):
        reading.read(batch)
        (progress or NoProgress()).step("keyword index", reading.rows, total)
    folder, identity, size = write_index(parent, _arrays(reading, bm25), version, bm25)
    return IndexBuildReport(
        folder=folder,
        identity=identity,
        rows=reading.rows,
        analysed=reading.analysed,
        reused=reading.reused,
        size_bytes=size,
        seconds=seconds() - started,
    )


@dataclass(slots=True)
class _Reading:
    """The tokens of all documents, collected batch by batch.

    `rows_before` says per source text and document where its tokens are: a row of `previous`,
    `_ANALYSED` (next in the collectors) or `_EMPTY`.
    """

    analyser: TextAnalyser
    previous: KeywordIndex | None
    rows: int = 0
    analysed: int = 0
    reused: int = 0
    book_ids: list[Ints] = field(default_factory=list)
    digests: list[npt.NDArray[np.uint8]] = field(default_factory=list)
    rows_before: dict[str, list[Ints]] = field(
        default_factory=lambda: {source: [] for source in SOURCES}
    )
    collectors: dict[Field, TermCollector] = field(
        default_factory=lambda: {of: TermCollector() for of in Field}
    )

    def read(self, batch: pl.DataFrame) -> None:
        """Add the next documents."""
        ids = batch["book_id"].to_numpy().astype(np.int64)
        self._require_ascending(ids)
        texts = {source: batch[source].to_list() for source in SOURCES}
        digests = np.stack([_digests(texts[source]) for source in SOURCES], axis=1)
        wanted: dict[str, list[str]] = {}
        for place, source in enumerate(SOURCES):
            before = self._rows_before(ids, digests[:, place], place)
            self.rows_before[source].append(before)
            wanted[source] = [texts[source][at] for at in np.flatnonzero(before == _ANALYSED)]
            self.analysed += len(wanted[source])
            self.reused += int(np.count_nonzero(before >= 0))
        self._collect(wanted)
        self.book_ids.append(ids)
        self.digests.append(digests)
        self.rows += len(ids)

    def matrix(self, of: Field) -> tuple[DocumentTerms, Vocabulary]:
        """Return the terms of every document in a field, numbered in its final vocabulary."""
        before = _joined(self.rows_before[_SOURCE_OF[of]], np.int64)
        old, old_vocabulary = self._previous_field(of)
        new = self.collectors[of].matrix()
        starts, sizes = np.zeros(len(before), np.int64), np.zeros(len(before), np.int64)
        reused, analysed = before >= 0, before == _ANALYSED
        starts[reused] = old.offsets[before[reused]]
        sizes[reused] = np.diff(old.offsets)[before[reused]]
        starts[analysed] = len(old.terms) + new.offsets[:-1]
        sizes[analysed] = np.diff(new.offsets)
        picks = ranges(starts, sizes)
        used = np.zeros(len(old_vocabulary), dtype=np.bool_)
        used[old.terms[picks[picks < len(old.terms)]]] = True
        vocabulary, old_numbers, new_numbers = merge_vocabularies(
            old_vocabulary, used, list(self.collectors[of].numbers)
        )
        terms = np.concatenate((old_numbers[old.terms], new_numbers[new.terms]))
        counts = np.concatenate((old.counts, new.counts))
        merged = DocumentTerms(
            offsets=offsets_of(sizes), terms=terms[picks].astype(np.int32), counts=counts[picks]
        )
        return merged, vocabulary

    def _collect(self, wanted: Mapping[str, Sequence[str]]) -> None:
        distinct = list(dict.fromkeys(text for texts in wanted.values() for text in texts))
        # an analyser is not asked, and so not loaded, where nothing changed
        analysed = self.analyser.content_words(distinct) if distinct else []
        words = dict(zip(distinct, analysed, strict=True))
        for of in Field:
            collector = self.collectors[of]
            for text in wanted[_SOURCE_OF[of]]:
                collector.add(bigrams(text) if of.by_bigrams else words[text])

    def _rows_before(self, ids: Ints, digests: npt.NDArray[np.uint8], place: int) -> Ints:
        empty = ~digests.any(axis=1)
        before = np.where(empty, _EMPTY, _ANALYSED).astype(np.int64)
        if self.previous is not None and len(self.previous):
            known = self.previous.book_ids
            rows = np.minimum(np.searchsorted(known, ids), len(known) - 1)
            equal = (self.previous.array(DIGESTS)[rows, place] == digests).all(axis=1)
            same = (known[rows] == ids) & equal & ~empty
            before[same] = rows[same]
        return before

    def _previous_field(self, of: Field) -> tuple[DocumentTerms, Vocabulary]:
        if self.previous is None:
            return TermCollector().matrix(), Vocabulary.of(())
        return self.previous.document_terms(of), Vocabulary(
            blob=self.previous.array("vocabulary", of),
            offsets=self.previous.array("vocabulary_offsets", of),
        )

    def _require_ascending(self, ids: Ints) -> None:
        last = self.book_ids[-1][-1:] if self.book_ids else ids[:0]
        joined = np.concatenate((last, ids))
        wrong = np.flatnonzero(np.diff(joined) <= 0)
        if len(wrong):
            raise InvalidRequest(
                f"book_id {int(joined[wrong[0] + 1])!r} comes after {int(joined[wrong[0]])!r}: "
                "documents of a keyword index must be in order of book_id, each once",
                field="book_id",
            )


def _batches(documents: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    for frame in documents:
        if not frame.is_empty():
            yield from frame.select("book_id", *SOURCES).iter_slices(BATCH_ROWS)


def _digests(texts: Sequence[str | None]) -> npt.NDArray[np.uint8]:
    joined = b"".join(
        hashlib.sha256(text.encode()).digest()[:DIGEST_BYTES] if text else _NO_TEXT
        for text in texts
    )
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, DIGEST_BYTES)


def _joined(pieces: Sequence[Array], dtype: npt.DTypeLike) -> Array:
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=dtype)


def _arrays(reading: _Reading, bm25: Bm25) -> Iterator[tuple[str, Array]]:
    yield file_name(BOOK_IDS), _joined(reading.book_ids, np.int64)
    digests = _joined(reading.digests, np.uint8)
    yield file_name(DIGESTS), digests.reshape(-1, len(SOURCES), DIGEST_BYTES)
    for of in Field:
        matrix, vocabulary = reading.matrix(of)
        postings = build_postings(matrix, len(vocabulary), bm25)
        arrays: tuple[Array, ...] = (
            vocabulary.blob,
            vocabulary.offsets,
            matrix.offsets,
            matrix.terms,
            matrix.counts,
            postings.offsets,
            postings.documents,
            postings.impacts,
        )
        for name, values in zip(FIELD_ARRAYS, arrays, strict=True):
            yield file_name(name, of), values
