"""rank_bm25 behind the search signature of the keyword index: small catalogs, and a reference."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lifehelper_data.domain.search import Field, KeywordWeights, QueryTokens
from lifehelper_data.domain.search.bm25 import Floats, Ints
from lifehelper_data.domain.search.vocabulary import Vocabulary
from lifehelper_data.stores.keyword_index import (
    DEFAULT_WEIGHTS,
    KeywordIndex,
    Mask,
    TokenMatch,
    check_request,
)


class RankBm25Engine:
    """One field, scored by rank_bm25.BM25Okapi over its Python lists.

    Time and memory grow with the catalog (0.2 s per query at 200,000 books): for small catalogs.
    """

    def __init__(
        self,
        book_ids: Ints,
        documents: Sequence[Sequence[str]],
        *,
        k1: float = 1.5,
        b: float = 0.75,
        epsilon: float = 0.25,
    ) -> None:
        """Take the content words of each book.

        Args:
            book_ids: int64 (n_books,), ascending.
            documents: content words per book, in the same order.
            k1: as in `Bm25`.
            b: as in `Bm25`.
            epsilon: as in `Bm25`.
        """
        from rank_bm25 import BM25Okapi  # only where this engine is configured

        self._book_ids = book_ids
        # rank_bm25 divides by the size of the vocabulary: without a word there is nothing to find.
        self._okapi = BM25Okapi(documents, k1=k1, b=b, epsilon=epsilon) if any(documents) else None

    def search(self, tokens: QueryTokens, k: int, mask: Mask | None = None) -> tuple[Ints, Floats]:
        """Return the k best books by the words of the query; bigrams are not looked at.

        Same shapes, order, mask and errors as `KeywordIndex.search`.
        """
        check_request(k, mask, len(self._book_ids))
        scores = np.zeros(len(self._book_ids))
        if self._okapi is not None:
            scores = np.asarray(self._okapi.get_scores(list(tokens.words)), dtype=np.float64)
        found = scores > 0 if mask is None else (scores > 0) & mask
        rows = np.flatnonzero(found)
        rows = rows[np.lexsort((rows, -scores[rows]))][:k]
        return self._book_ids[rows], scores[rows]


class RankBm25Fields:
    """All fields of an index, each scored by rank_bm25.BM25Okapi: an engine for small catalogs.

    It searches and explains like `KeywordIndex`, always by the formula `okapi` with its default
    parameters, whatever the impacts of the index were made with.

    Attributes:
        book_ids: int64 (n_books,), ascending.
    """

    def __init__(self, index: KeywordIndex) -> None:
        """Take the tokens of every field out of an index."""
        from rank_bm25 import BM25Okapi  # only where this engine is configured

        self.book_ids = index.book_ids
        self._okapi: dict[Field, Any] = {}
        for of in Field:
            documents = _documents(index, of)
            if any(documents):
                self._okapi[of] = BM25Okapi(documents)

    def search(
        self,
        tokens: QueryTokens,
        k: int,
        mask: Mask | None = None,
        weights: KeywordWeights = DEFAULT_WEIGHTS,
    ) -> tuple[Ints, Floats]:
        """Return the k best books; as `KeywordIndex.search`."""
        check_request(k, mask, len(self.book_ids))
        scores = np.zeros(len(self.book_ids))
        for of, okapi in self._okapi.items():
            asked = list(tokens.of(of))
            if asked and weights.of(of) > 0:
                scores += weights.of(of) * np.asarray(okapi.get_scores(asked), dtype=np.float64)
        found = scores > 0 if mask is None else (scores > 0) & mask
        rows = np.flatnonzero(found)
        rows = rows[np.lexsort((rows, -scores[rows]))][:k]
        return self.book_ids[rows], scores[rows]

    def explain(
        self, book_id: int, tokens: QueryTokens, weights: KeywordWeights = DEFAULT_WEIGHTS
    ) -> tuple[TokenMatch, ...]:
        """Return what a book's score is made of; as `KeywordIndex.explain`."""
        row = int(np.searchsorted(self.book_ids, book_id))
        if row == len(self.book_ids) or self.book_ids[row] != book_id:
            return ()
        matches: list[TokenMatch] = []
        for of, okapi in self._okapi.items():
            for token in tokens.of(of):
                impact = float(okapi.get_batch_scores([token], [row])[0])
                if impact != 0 and weights.of(of) > 0:
                    contribution = weights.of(of) * impact
                    matches.append(
                        TokenMatch(field=of, token=token, impact=impact, contribution=contribution)
                    )
        return tuple(matches)


def _documents(index: KeywordIndex, of: Field) -> list[list[str]]:
    """The tokens of each book in a field, repeats included, in vocabulary order."""
    terms = index.document_terms(of)
    vocabulary = Vocabulary(
        blob=index.array("vocabulary", of), offsets=index.array("vocabulary_offsets", of)
    )
    documents: list[list[str]] = []
    for start, stop in zip(terms.offsets[:-1], terms.offsets[1:], strict=True):
        pairs = zip(terms.terms[start:stop], terms.counts[start:stop], strict=True)
        documents.append(
            [vocabulary.term(int(t)).decode() for t, count in pairs for _ in range(int(count))]
        )
    return documents
