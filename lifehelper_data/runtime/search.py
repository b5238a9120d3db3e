"""Search on one pinned release: two legs, one fusion, reasons on request."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest, NotFound, Unavailable
from lifehelper_data.domain.search import KeywordWeights, QueryTokens, analyse_query
from lifehelper_data.domain.search.exact_title import title_key
from lifehelper_data.domain.search.filters import Mask, filter_classes, filter_mask
from lifehelper_data.domain.search.fusion import FusedBook, LegRanking, exact_titles_first, fuse
from lifehelper_data.domain.search.messages_ko import SearchMessage, message
from lifehelper_data.domain.text.normalize import normalize, squash
from lifehelper_data.models.encoder import Encoder
from lifehelper_data.models.korean import KoreanAnalyser
from lifehelper_data.runtime.requests import SearchRequest
from lifehelper_data.runtime.search_results import (
    LegReason,
    SearchExplanation,
    SearchResponse,
    SearchResult,
)
from lifehelper_data.settings import SearchTunables
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.keyword_reference import RankBm25Fields
from lifehelper_data.stores.search_catalog import SearchCatalog
from lifehelper_data.stores.vector_snapshot import VectorSnapshot

T = TypeVar("T")

KEYWORD = "keyword"
VECTOR = "vector"
KEYWORD_ONLY = "keyword-only"


class _Once:
    """Makes each named thing once, also when several threads ask."""

    def __init__(self) -> None:
        self._made: dict[str, object] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def get(self, name: str, make: Callable[[], T]) -> T:
        """Return the thing called `name`, made by `make` at the first call."""
        with self._guard:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            if name not in self._made:
                self._made[name] = make()
            return self._made[name]  # type: ignore[return-value]  # one type per name


@dataclass(slots=True)
class SearchEngine:
    """Everything a search needs of one release, loaded on first use and kept.

    Attributes:
        release_id: number of the pinned release.
        catalog: titles, filters and rows of its books.
        open_keyword: opens the keyword index; Unavailable if the release has none.
        open_vectors: opens the vectors; None if the release has none.
        load_encoder: loads the encoder for queries.
        tunables: pools and weights.
    """

    release_id: int
    catalog: SearchCatalog
    open_keyword: Callable[[], KeywordIndex | RankBm25Fields]
    open_vectors: Callable[[], VectorSnapshot | None]
    load_encoder: Callable[[], Encoder]
    tunables: SearchTunables
    _once: _Once = field(default_factory=_Once, init=False)

    def check(self, request: SearchRequest) -> None:
        """Refuse what can be refused before anything slow is loaded.

        Raises:
            InvalidRequest: the category filter is neither a category nor a class.
            Unavailable: the keyword index cannot be read.
        """
        self._classes(request.filters.category)
        self._keyword()

    def preload(self) -> None:
        """Load the analyser, the encoder and both indexes side by side."""
        with ThreadPoolExecutor(max_workers=3) as pool:
            legs: list[Future[object]] = [
                pool.submit(self._analysed, "책"),
                pool.submit(self._encoded_or_none, "책"),
                pool.submit(self._keyword),
            ]
            for leg in legs:
                leg.result()

    def search(self, request: SearchRequest, *, explain: bool = False) -> SearchResponse:
        """Answer a search.

        Raises:
            InvalidRequest: the category filter is neither a category nor a class.
            Unavailable: the keyword index cannot be read.
        """
        query = normalize(request.query)
        tokens = self._analysed(query)
        filters = request.filters.to_domain()
        mask = filter_mask(self.catalog.columns, filters, self._classes(filters.category))
        if not (tokens.words or tokens.bigrams):
            return self._response([], tokens, degraded=None, explain=explain)
        keyword = self._keyword_leg(tokens, mask)
        vector = self._vector_leg(query, mask)
        degraded = KEYWORD_ONLY if vector is None else None
        fused = fuse([keyword, *([vector] if vector else [])], k=self.tunables.rrf_k)
        ranked = exact_titles_first(fused, self._exact(query, mask))
        shown = self.catalog.existing(ranked, request.size)
        return self._response(shown, tokens, degraded=degraded, explain=explain)

    def _classes(self, category: str | None) -> frozenset[str] | None:
        if category is None:
            return None
        found = filter_classes(category, self.catalog.core_classes, self.catalog.columns.classes)
        if found is None:
            known = ", ".join(sorted(self.catalog.core_classes)) or "none"
            raise InvalidRequest(
                f"filters.category = {category!r} is neither an onboarding category ({known}) nor "
                "a catalog class",
                field="filters.category",
            )
        return found

    def _keyword_leg(self, tokens: QueryTokens, mask: Mask | None) -> LegRanking:
        index = self._keyword()
        ids, scores = index.search(
            tokens, self.tunables.keyword_pool, self._aligned(index.book_ids, mask), self._weights
        )
        return LegRanking(
            leg=KEYWORD,
            weight=self.tunables.keyword_weight,
            book_ids=ids.tolist(),
            scores=scores.tolist(),
        )

    def _vector_leg(self, query: str, mask: Mask | None) -> LegRanking | None:
        """Rank by meaning; None if the encoder or the vectors cannot be had."""
        try:
            snapshot = self._vectors()
            if snapshot is None or not len(snapshot.item_ids):
                return None
            vector = self._encoder().encode_queries([query])[0]
        except (NotFound, Unavailable):
            return None
        ids, cosines = snapshot.search(
            vector, self.tunables.vector_pool, self._aligned(snapshot.item_ids, mask)
        )
        return LegRanking(
            leg=VECTOR,
            weight=self.tunables.vector_weight,
            book_ids=ids.tolist(),
            scores=cosines.tolist(),
        )

    def _aligned(self, item_ids: npt.NDArray[np.int64], mask: Mask | None) -> Mask | None:
        """Return a mask over an index's items; items the catalog has not do not pass."""
        if mask is None:
            return None
        rows = self.catalog.columns.rows_of(item_ids)
        return np.where(rows >= 0, mask[rows], False)

    def _exact(self, query: str, mask: Mask | None) -> Sequence[int]:
        """Books whose title is the query, spaces aside, and that pass the filters."""
        found = self.catalog.titled(title_key(query), squash(query))
        if mask is None:
            return found
        rows = self.catalog.columns.rows_of(np.array(found, dtype=np.int64))
        return [book for book, row in zip(found, rows, strict=True) if row >= 0 and mask[row]]

    def _response(
        self,
        ranked: Sequence[FusedBook],
        tokens: QueryTokens,
        *,
        degraded: str | None,
        explain: bool,
    ) -> SearchResponse:
        rows = self.catalog.rows([book.book_id for book in ranked])
        results = tuple(
            SearchResult(
                **rows[book.book_id],
                explanation=self._explained(book, tokens) if explain else None,
            )
            for book in ranked
        )
        return SearchResponse(
            results=results,
            next_cursor=None,
            fallback=None if results else message(SearchMessage.NOTHING_FOUND),
            degraded=degraded,
            release_id=self.release_id,
        )

    def _explained(self, book: FusedBook, tokens: QueryTokens) -> SearchExplanation:
        return SearchExplanation(
            fused_score=book.score,
            legs=tuple(
                LegReason(leg=leg, rank=rank, score=book.scores[leg])
                for leg, rank in book.ranks.items()
            ),
            matched=self._keyword().explain(book.book_id, tokens, self._weights),
            exact_title=book.exact_title,
        )

    @property
    def _weights(self) -> KeywordWeights:
        return KeywordWeights(
            title=self.tunables.title_weight,
            author=self.tunables.author_weight,
            description=self.tunables.description_weight,
            bigrams=self.tunables.bigram_weight,
        )

    def _analysed(self, query: str) -> QueryTokens:
        return analyse_query(query, self._once.get("analyser", KoreanAnalyser))

    def _encoded_or_none(self, query: str) -> object:
        try:
            self._vectors()
            return self._encoder().encode_queries([query])
        except (NotFound, Unavailable):
            return None  # the search itself says so

    def _keyword(self) -> KeywordIndex | RankBm25Fields:
        return self._once.get("keyword", self.open_keyword)

    def _vectors(self) -> VectorSnapshot | None:
        return self._once.get("vectors", self.open_vectors)

    def _encoder(self) -> Encoder:
        return self._once.get("encoder", self.load_encoder)
