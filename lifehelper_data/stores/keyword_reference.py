"""rank_bm25 behind the search signature of the keyword index: small catalogs, and a reference."""

from collections.abc import Sequence

import numpy as np

from lifehelper_data.domain.search import QueryTokens
from lifehelper_data.domain.search.bm25 import Floats, Ints
from lifehelper_data.stores.keyword_index import Mask, check_request


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
