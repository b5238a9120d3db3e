"""Search on one pinned release: two legs, one fusion, business rules, reasons on request."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.domain.search import QueryTokens
from lifehelper_data.domain.search.exact_title import title_key
from lifehelper_data.domain.search.filters import Mask, filter_classes, filter_mask
from lifehelper_data.domain.search.fusion import FusedBook, exact_titles_first, fuse
from lifehelper_data.domain.search.messages_ko import SearchMessage, message
from lifehelper_data.domain.search.ordering import Sort, boosted, first_of, ordered_by
from lifehelper_data.domain.text.normalize import normalize, squash
from lifehelper_data.models.encoder import Encoder
from lifehelper_data.runtime.legs import Language, Legs, Once
from lifehelper_data.runtime.requests import SearchRequest
from lifehelper_data.runtime.search_results import (
    LegReason,
    RankedPage,
    SearchExplanation,
    SearchResponse,
    SearchResult,
)
from lifehelper_data.settings import SearchTunables
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.keyword_reference import RankBm25Fields
from lifehelper_data.stores.search_catalog import SearchCatalog
from lifehelper_data.stores.vector_snapshot import VectorSnapshot

KEYWORD_ONLY = "keyword-only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The one long list that pages are cut from.

    Attributes:
        books: best first.
        tokens: what the query was read as.
        degraded: "keyword-only" if the vector leg could not answer.
    """

    books: Sequence[FusedBook]
    tokens: QueryTokens
    degraded: str | None


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
    language: Language = field(init=False)
    legs: Legs = field(init=False)
    _once: Once = field(default_factory=Once, init=False)

    def __post_init__(self) -> None:
        self.language = Language(load_encoder=self.load_encoder)
        self.legs = Legs(
            language=self.language,
            open_keyword=self.open_keyword,
            open_vectors=self.open_vectors,
            tunables=self.tunables,
        )

    def check(self, request: SearchRequest) -> None:
        """Refuse what can be refused before anything slow is loaded.

        Raises:
            InvalidRequest: the category filter is neither a category nor a class.
            Unavailable: the keyword index cannot be read.
        """
        self._classes(request.filters.category)
        self.legs.keyword()

    def preload(self) -> None:
        """Load the analyser, the encoder and both indexes side by side."""
        self.legs.preload()

    def rank(self, request: SearchRequest) -> Ranking:
        """Return the whole ranking of a request; its size and cursor do not matter.

        Raises:
            InvalidRequest: the category filter is neither a category nor a class.
            Unavailable: the keyword index cannot be read.
        """
        query = normalize(request.query)
        tokens = self.language.analysed(query)
        filters = request.filters.to_domain()
        mask = filter_mask(self.catalog.columns, filters, self._classes(filters.category))
        if not (tokens.words or tokens.bigrams):
            return Ranking(books=(), tokens=tokens, degraded=None)
        keyword = self.legs.keyword_leg(tokens, lambda index: self._aligned(index.book_ids, mask))
        vector = self.legs.vector_leg(query, lambda found: self._aligned(found.item_ids, mask))
        degraded = KEYWORD_ONLY if vector is None else None
        sort = Sort(request.sort)
        if vector is not None and sort is not Sort.RELEVANCE:
            vector = first_of(vector, self.tunables.sort_vector_pool)
        fused = fuse([keyword, *([vector] if vector else [])], k=self.tunables.rrf_k)
        exact = self._exact(query, mask)
        if sort is Sort.RELEVANCE:
            ranked = exact_titles_first(self._boosted(fused), exact)
        else:
            pool = sorted(exact_titles_first(fused, exact), key=lambda b: (-b.score, b.book_id))
            ranked = ordered_by(pool, self._sort_values(pool, sort), sort)
        return Ranking(books=self.catalog.existing(ranked), tokens=tokens, degraded=degraded)

    def search(self, request: SearchRequest, *, explain: bool = False) -> SearchResponse:
        """Answer with the first page and no cursor; `Workspace.search` goes on from there.

        Raises:
            InvalidRequest: the category filter is neither a category nor a class.
            Unavailable: the keyword index cannot be read.
        """
        page = self.page(self.rank(request), 0, request.size, explain=explain)
        return SearchResponse(
            results=page.results,
            next_cursor=None,
            fallback=page.fallback,
            degraded=page.degraded,
            release_id=self.release_id,
        )

    def page(self, ranking: Ranking, start: int, size: int, *, explain: bool = False) -> RankedPage:
        """Cut a page out of a ranking.

        Args:
            ranking: the whole ranking.
            start: results before the page.
            size: results on it at most.
            explain: add to each result why it stands there.
        """
        shown = ranking.books[start : start + size]
        rows = self.catalog.rows([book.book_id for book in shown])
        return RankedPage(
            results=tuple(
                SearchResult(
                    **rows[book.book_id],
                    explanation=self._explained(book, ranking.tokens) if explain else None,
                )
                for book in shown
            ),
            fallback=None if ranking.books else message(SearchMessage.NOTHING_FOUND),
            degraded=ranking.degraded,
            more=start + size < len(ranking.books),
        )

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

    def _boosted(self, fused: Sequence[FusedBook]) -> Sequence[FusedBook]:
        boost = self.tunables.popularity_boost
        if boost == 0 or not fused:
            return fused
        return boosted(fused, self._popularity(fused), boost)

    def _sort_values(self, pool: Sequence[FusedBook], sort: Sort) -> Sequence[float | None]:
        if sort is Sort.POPULAR:
            return self._popularity(pool)
        columns = self.catalog.columns
        values = columns.pub_year if sort is Sort.NEWEST else columns.price
        rows = columns.rows_of(_ids(pool))
        return [
            float(values[row]) if row >= 0 and values[row] >= 0 else None for row in rows.tolist()
        ]

    def _popularity(self, books: Sequence[FusedBook]) -> list[float]:
        values = self._once.get("popularity", self.catalog.popularity)
        rows = self.catalog.columns.rows_of(_ids(books))
        return [float(values[row]) if row >= 0 else 0.0 for row in rows.tolist()]

    def _explained(self, book: FusedBook, tokens: QueryTokens) -> SearchExplanation:
        return SearchExplanation(
            fused_score=book.score,
            legs=tuple(
                LegReason(
                    leg=leg,
                    rank=rank,
                    score=book.scores[leg],
                    contribution=book.contributions[leg],
                )
                for leg, rank in book.ranks.items()
            ),
            matched=self.legs.keyword().explain(book.book_id, tokens, self.legs.weights),
            exact_title=book.exact_title,
            popularity_term=book.popularity_term,
            sort_value=book.sort_value,
            relevance_rank=book.relevance_rank,
        )


def _ids(books: Sequence[FusedBook]) -> npt.NDArray[np.int64]:
    return np.array([book.book_id for book in books], dtype=np.int64)
